package ddl

import (
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// uniqueNames are the names of the columns of relations that have several of one name,
// each name once. The text of a view finds columns by name; a star finds them by place.
type uniqueNames map[*planner.Relation][]ast.Name

// of is how a query calls a column.
func (c uniqueNames) of(col planner.NotedColumn) ast.Name {
	if names, ok := c[col.Relation]; ok {
		return names[col.At]
	}
	return col.Name
}

// tellApart gives the relations of a query of which a star reads several columns of one
// name an alias with names of their own. It is an error if the query also takes their row
// as a whole: the names of its fields would change with them.
func tellApart(q ast.Node, notes *planner.Notes) (uniqueNames, error) {
	starred := starredRepeats(notes)
	if len(starred) == 0 {
		return nil, nil
	}
	names, mentioned := uniqueNames{}, mentionedColumns(q, notes)
	for r := range starred {
		names[r] = numberRepeated(r.Columns, mentioned)
	}
	for ref, c := range notes.Columns {
		if c.Name == "" && names[c.Relation] != nil {
			return nil, pgerr.Unsupported("a view that reads the row of a relation and its columns of one name is not supported").At(ref.Pos)
		}
	}
	ast.Walk(q, func(n ast.Node) bool {
		if te, ok := n.(ast.TableExpr); ok {
			if r := notes.Relations[te]; names[r] != nil {
				setAlias(te, ast.Alias{Name: r.Alias, Cols: names[r]})
			}
		}
		return true
	})
	return names, nil
}

// starredRepeats are the relations of which a star reads several columns of one name.
func starredRepeats(notes *planner.Notes) map[*planner.Relation]bool {
	out := map[*planner.Relation]bool{}
	for _, cols := range notes.Stars {
		for _, c := range cols {
			if c.Relation != nil && repeats(c.Relation.Columns, c.Name) {
				out[c.Relation] = true
			}
		}
	}
	return out
}

// mentionedColumns are the names that references and joins find columns by. A new name
// that is one of them would be found in the place of another column.
func mentionedColumns(q ast.Node, notes *planner.Notes) map[ast.Name]bool {
	out := map[ast.Name]bool{}
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnRef:
			out[n.Column] = true
		case *ast.Join:
			for _, name := range notes.Using[n] {
				out[name] = true
			}
		}
		return true
	})
	return out
}

func repeats(names []ast.Name, name ast.Name) bool {
	first := slices.Index(names, name)
	return first >= 0 && slices.Contains(names[first+1:], name)
}

// numberRepeated gives names that come again a number, with none of the taken ones.
func numberRepeated(names []ast.Name, taken map[ast.Name]bool) []ast.Name {
	seen := map[ast.Name]bool{}
	var out []ast.Name
	for _, n := range names {
		unique := n
		for i := 1; seen[unique] || unique != n && taken[unique]; i++ {
			unique = n + "_" + strconv.Itoa(i)
		}
		seen[unique] = true
		out = append(out, unique)
	}
	return out
}

func setAlias(te ast.TableExpr, a ast.Alias) {
	switch te := te.(type) {
	case *ast.TableRef:
		te.Alias = a
	case *ast.SubqueryRef:
		te.Alias = a
	case *ast.FuncRef:
		te.Alias = a
	}
}

// wrapJoins makes queries of the joins with an alias of which a star reads several columns
// of one name. An alias list alone does not do: columns that tables get later would shift
// the places.
// It reports whether there are any.
func wrapJoins(q ast.Node, notes *planner.Notes) (any bool) {
	starred := starredRepeats(notes)
	wrap := func(te *ast.TableExpr) {
		j, ok := (*te).(*ast.Join)
		if !ok || j.Alias.Name == "" || !starred[notes.Relations[j]] {
			return
		}
		star := ast.SelectItem{X: &ast.ColumnRef{Loc: j.Loc, Star: true}}
		sub := &ast.Select{Loc: j.Loc, Items: []ast.SelectItem{star}, From: []ast.TableExpr{j}}
		*te = &ast.SubqueryRef{Loc: j.Loc, Lateral: true, Query: sub, Alias: j.Alias}
		j.Alias, any = ast.Alias{}, true
	}
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			for i := range n.From {
				wrap(&n.From[i])
			}
		case *ast.Join:
			wrap(&n.L)
			wrap(&n.R)
		}
		return true
	})
	return any
}
