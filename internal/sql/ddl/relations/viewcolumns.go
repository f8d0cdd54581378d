package relations

import (
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// fixColumns makes the names in a query mean what they mean now when its relations are
// renamed or moved: each is found by one word, stars become what they stand for, natural
// joins name the columns that they join by, and functions in FROM name their columns.
func fixColumns(q ast.Node, notes *planner.Notes) {
	distinguish(q, notes)
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			n.Items = expandStars(n.Items, notes)
			for i := range n.Values {
				n.Values[i] = expandElems(n.Values[i], notes)
			}
		case *ast.Row:
			n.Elems = expandElems(n.Elems, notes)
		case *ast.Join:
			fixNatural(n, notes.Using[n])
		case *ast.FuncRef:
			nameColumns(n, notes.Relations[n])
		}
		return true
	})
}

// distinguish takes the schemas off references to columns. A relation whose name alone means
// another one too gets an alias.
func distinguish(q ast.Node, notes *planner.Notes) {
	qualified := map[*planner.Relation]bool{}
	for ref, c := range notes.Columns {
		qualified[c.Relation] = qualified[c.Relation] || ref.Schema != ""
	}
	for ref, cols := range notes.Stars {
		qualified[cols[0].Relation] = qualified[cols[0].Relation] || ref.Schema != ""
	}
	taken := map[ast.Name]int{}
	for _, r := range notes.Relations {
		taken[r.Alias]++
	}
	ast.Walk(q, func(n ast.Node) bool {
		te, ok := n.(*ast.TableRef)
		if r := notes.Relations[te]; ok && qualified[r] && taken[r.Alias] > 1 {
			taken[r.Alias]--
			r.Alias = unusedName(r.Alias, taken)
			te.Alias.Name = r.Alias
		}
		return true
	})
	named := func(ref *ast.ColumnRef, r *planner.Relation) {
		if ref.Table != "" && r != nil {
			ref.Catalog, ref.Schema, ref.Table = "", "", r.Alias
		}
	}
	for ref, c := range notes.Columns {
		named(ref, c.Relation)
	}
	for ref, cols := range notes.Stars {
		named(ref, cols[0].Relation)
	}
}

// unusedName returns a name with the first number that makes it one that is not taken, and
// takes it.
func unusedName(name ast.Name, taken map[ast.Name]int) ast.Name {
	for i := 1; ; i++ {
		if n := name + "_" + strconv.Itoa(i); taken[n] == 0 {
			taken[n]++
			return n
		}
	}
}

func expandStars(items []ast.SelectItem, notes *planner.Notes) []ast.SelectItem {
	var out []ast.SelectItem
	for _, it := range items {
		if list, ok := starParts(it.X, notes); ok {
			for _, x := range list {
				out = append(out, ast.SelectItem{X: x})
			}
			continue
		}
		out = append(out, it)
	}
	return out
}

// expandElems is expandStars for the elements of ROW and VALUES.
func expandElems(elems []ast.Expr, notes *planner.Notes) []ast.Expr {
	var out []ast.Expr
	for _, x := range elems {
		if list, ok := starParts(x, notes); ok {
			out = append(out, list...)
			continue
		}
		out = append(out, x)
	}
	return out
}

// starParts returns what x stands for if it is a star whose parts names find.
func starParts(x ast.Expr, notes *planner.Notes) ([]ast.Expr, bool) {
	switch x := x.(type) {
	case *ast.ColumnRef:
		if x.Star && nameable(notes.Stars[x]) {
			return expandStar(x, notes.Stars[x]), true
		}
	case *ast.FieldSelect:
		if x.Star && !repeats(notes.Fields[x]) {
			return expandRecord(x, notes), true
		}
	}
	return nil, false
}

// nameable reports whether names find the columns that a star finds by their places: those
// of a relation with several of one name they do not, nor what several joins compute under
// one name.
func nameable(cols []planner.NotedColumn) bool {
	for i, c := range cols {
		if c.Relation == nil {
			if slices.ContainsFunc(cols[i+1:], func(o planner.NotedColumn) bool { return o.Name == c.Name }) ||
				slices.ContainsFunc(cols[:i], func(o planner.NotedColumn) bool { return o.Name == c.Name }) {
				return false
			}
		} else if c.Relation.Alias == "" || c.Relation.Repeats(c.Name) {
			return false
		}
	}
	return true
}

func repeats(names []ast.Name) bool {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return true
		}
	}
	return false
}

// expandStar returns the columns that a star stands for.
func expandStar(star *ast.ColumnRef, cols []planner.NotedColumn) []ast.Expr {
	var out []ast.Expr
	for _, col := range cols {
		ref := &ast.ColumnRef{Loc: star.Loc, Column: col.Name}
		if col.Relation != nil {
			ref.Table = col.Relation.Alias
		}
		out = append(out, ref)
	}
	return out
}

// expandRecord returns the fields that (x).* stands for.
func expandRecord(star *ast.FieldSelect, notes *planner.Notes) []ast.Expr {
	var out []ast.Expr
	for _, name := range notes.Fields[star] {
		out = append(out, &ast.FieldSelect{Loc: star.Loc, X: star.X, Field: name})
	}
	return out
}

func fixNatural(j *ast.Join, using []ast.Name) {
	switch {
	case !j.Natural:
		return
	case len(using) > 0:
		j.Using = using
	case j.Kind == ast.JoinInner:
		j.Kind = ast.JoinCross
	default:
		j.On = &ast.BoolLit{Loc: j.Loc, Val: true}
	}
	j.Natural = false
}

// nameColumns gives functions in FROM the names that their columns have now.
func nameColumns(te *ast.FuncRef, r *planner.Relation) {
	if te.Cols == nil && r != nil && r.Alias != "" {
		te.Alias = ast.Alias{Name: r.Alias, Cols: r.Columns}
	}
}
