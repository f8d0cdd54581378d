package deparse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// columnNamer names the columns of the relations of one FROM. USING names a column of both sides
// and of the result alike, so that a join passes names down to its sides: first all joins choose
// the names of the columns that they merge, then relations number the other columns around them.
type columnNamer struct {
	d *deparser
	// merged are the names of all merged columns. It is nil where a relation's name tells each of
	// them from others, so that it has to differ from the names in its own join only.
	merged map[ast.Name]bool
	// chosen are the names that columns of relations get from joins.
	chosen map[*planner.Relation]givenNames
}

// givenNames are names of columns of a relation, by those that the query uses, and names that
// none of its columns may have beside these.
type givenNames struct {
	names map[ast.Name]ast.Name
	above []ast.Name
}

// nameColumns names the columns of the items of a FROM.
func (d *deparser) nameColumns(from []ast.TableExpr) {
	n := &columnNamer{d: d, chosen: map[*planner.Relation]givenNames{}}
	if slices.ContainsFunc(from, d.computesUnnamed) {
		n.merged = map[ast.Name]bool{}
	}
	for _, te := range from {
		n.choose(te, givenNames{})
	}
	for _, te := range from {
		n.rename(te)
	}
}

// computesUnnamed reports whether te has a join that computes a column which no relation's name
// stands before.
func (d *deparser) computesUnnamed(te ast.TableExpr) bool {
	j, ok := te.(*ast.Join)
	return ok && (d.notes.Computes[j] && j.Alias.Name == "" || d.computesUnnamed(j.L) || d.computesUnnamed(j.R))
}

// choose chooses the names of the columns that the joins in te merge, where te's columns are given
// names by the joins around it.
func (n *columnNamer) choose(te ast.TableExpr, given givenNames) {
	r := n.d.notes.Relations[te]
	j, ok := te.(*ast.Join)
	if !ok {
		n.chosen[r] = given
		return
	}
	below := givenNames{names: map[ast.Name]ast.Name{}, above: slices.Clone(given.above)}
	if r == nil {
		maps.Copy(below.names, given.names)
	}
	outputs := givenNames{names: maps.Clone(given.names), above: given.above}
	if outputs.names == nil {
		outputs.names = map[ast.Name]ast.Name{}
	}
	var using []ast.Name
	for i, name := range n.d.notes.Using[j] {
		output := name
		if r != nil {
			output = r.Columns[i]
		}
		to, ok := given.names[output]
		if !ok {
			to = n.unused(output, outputs)
		}
		outputs.names[output], below.names[name] = to, to
		below.above = append(below.above, to)
		using = append(using, to)
	}
	if r != nil {
		n.chosen[r] = outputs
	}
	n.d.setUsing(j, using)
	n.choose(j.L, below)
	n.choose(j.R, below)
}

// unused numbers the name of a merged column if it would be that of another.
func (n *columnNamer) unused(name ast.Name, given givenNames) ast.Name {
	taken := n.taken(given)
	for _, to := range given.names {
		taken[to] = true
	}
	to := numbered(name, taken)
	if n.merged != nil {
		n.merged[to] = true
	}
	return to
}

// taken are the names that columns may only have if a join gives them.
func (n *columnNamer) taken(given givenNames) map[ast.Name]bool {
	out := map[ast.Name]bool{}
	maps.Copy(out, n.merged)
	for _, name := range given.above {
		out[name] = true
	}
	return out
}

// rename gives the columns of the relations in te their names, those of a join's sides first: a join
// has the names of its sides where its alias gives no others.
func (n *columnNamer) rename(te ast.TableExpr) {
	r := n.d.notes.Relations[te]
	j, isJoin := te.(*ast.Join)
	if isJoin {
		n.rename(j.L)
		n.rename(j.R)
	}
	if r == nil {
		return
	}
	names := r.Columns
	if isJoin {
		names = append(slices.Clone(j.Alias.Cols), n.d.joinColumns(j)[len(j.Alias.Cols):]...)
	}
	given, fixed := n.chosen[r], map[int]ast.Name{}
	for name, to := range given.names { // where a name comes again, the first column is meant
		if i := slices.Index(r.Columns, name); i >= 0 && !r.Later[i] {
			fixed[i] = to
		}
	}
	n.d.setColumns(r, distinctNames(names, fixed, n.taken(given)))
}

func (d *deparser) setUsing(j *ast.Join, names []ast.Name) {
	if d.using == nil {
		d.using = map[*ast.Join][]ast.Name{}
	}
	d.using[j] = names
}

// columnsOf are the names of a relation's columns, of which each has its own.
func (d *deparser) columnsOf(r *planner.Relation) []ast.Name {
	if columns, ok := d.columns[r]; ok {
		return columns
	}
	columns := distinctNames(r.Columns, nil, map[ast.Name]bool{})
	d.setColumns(r, columns)
	return columns
}

func (d *deparser) setColumns(r *planner.Relation, names []ast.Name) {
	if d.columns == nil {
		d.columns = map[*planner.Relation][]ast.Name{}
	}
	d.columns[r] = names
}

// distinctNames numbers names that come again or are taken, to which it adds them. Those in
// fixed, by position, are as they are.
func distinctNames(names []ast.Name, fixed map[int]ast.Name, taken map[ast.Name]bool) []ast.Name {
	for _, n := range fixed {
		taken[n] = true
	}
	out := make([]ast.Name, len(names))
	for i, n := range names {
		unique, ok := fixed[i]
		if !ok {
			unique = numbered(n, taken)
		}
		taken[unique], out[i] = true, unique
	}
	return out
}

// numbered returns a name, or if it is taken the name with the first number that makes it another.
func numbered(name ast.Name, taken map[ast.Name]bool) ast.Name {
	unique := name
	for k := 1; taken[unique]; k++ {
		unique = name + "_" + strconv.Itoa(k)
	}
	return unique
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
