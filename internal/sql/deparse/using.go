package deparse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// nameMerged names the columns that the joins below te merge. USING names a column of both sides and
// of the result alike: where the result's alias gives it another name the sides get that one too.
// passed are the names, by those that the query uses, that te's columns get from the join above.
func (d *deparser) nameMerged(te ast.TableExpr, passed map[ast.Name]ast.Name) {
	j, ok := te.(*ast.Join)
	if !ok {
		d.rename(d.notes.Relations[te], passed)
		return
	}
	r := d.notes.Relations[j]
	d.rename(r, passed)
	below := map[ast.Name]ast.Name{}
	if r == nil {
		maps.Copy(below, passed)
	}
	using := slices.Clone(d.notes.Using[j])
	for i, name := range using {
		to, ok := passed[name]
		if r != nil && len(j.Alias.Cols) > 0 {
			to, ok = d.columnsOf(r)[i], true
		}
		if ok && to != name {
			using[i], below[name] = to, to
		}
	}
	if d.using == nil {
		d.using = map[*ast.Join][]ast.Name{}
	}
	d.using[j] = using
	d.nameMerged(j.L, below)
	d.nameMerged(j.R, below)
}

// rename gives columns of a relation other names.
func (d *deparser) rename(r *planner.Relation, names map[ast.Name]ast.Name) {
	if r == nil || len(names) == 0 {
		return
	}
	fixed := map[int]ast.Name{}
	for i, n := range r.Columns {
		if to, ok := names[n]; ok {
			fixed[i] = to
		}
	}
	if len(fixed) > 0 {
		d.setColumns(r, distinctNames(r.Columns, fixed))
	}
}

// columnsOf are the names of a relation's columns, of which each has its own.
func (d *deparser) columnsOf(r *planner.Relation) []ast.Name {
	if columns, ok := d.columns[r]; ok {
		return columns
	}
	columns := distinctNames(r.Columns, nil)
	d.setColumns(r, columns)
	return columns
}

func (d *deparser) setColumns(r *planner.Relation, names []ast.Name) {
	if d.columns == nil {
		d.columns = map[*planner.Relation][]ast.Name{}
	}
	d.columns[r] = names
}

// distinctNames numbers names that come again. Those in fixed, by position, are as they are.
func distinctNames(names []ast.Name, fixed map[int]ast.Name) []ast.Name {
	seen := map[ast.Name]bool{}
	for _, n := range fixed {
		seen[n] = true
	}
	out := make([]ast.Name, len(names))
	for i, n := range names {
		unique, ok := fixed[i]
		if !ok {
			unique = n
			for k := 1; seen[unique]; k++ {
				unique = n + "_" + strconv.Itoa(k)
			}
		}
		seen[unique], out[i] = true, unique
	}
	return out
}

// itemColumns are the names of the columns of an item of FROM.
func (d *deparser) itemColumns(te ast.TableExpr) []ast.Name {
	if r := d.notes.Relations[te]; r != nil {
		return d.columnsOf(r)
	}
	if j, ok := te.(*ast.Join); ok {
		return d.joinColumns(j)
	}
	return nil
}

// joinColumns are the names that the columns of a join have from its sides: first those that it merges.
func (d *deparser) joinColumns(j *ast.Join) []ast.Name {
	merged := d.using[j]
	out := slices.Clone(merged)
	for _, side := range []ast.TableExpr{j.L, j.R} {
		for _, n := range d.itemColumns(side) {
			if !slices.Contains(merged, n) {
				out = append(out, n)
			}
		}
	}
	return out
}
