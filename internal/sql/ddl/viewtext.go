package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// viewColumn is a column that the queries of views have to call by a new name.
type viewColumn struct {
	table    catalog.ID
	old, new ast.Name
	notes    *planner.Notes
}

// renameUsedColumn makes the views that use a column of the relation call it by a new
// name, and then renames it with rename.
func (a *alteration) renameUsedColumn(ctx context.Context, col *catalog.Column, name ast.Name, rename func() error) error {
	views, err := a.viewsOf(ctx)
	if err != nil {
		return err
	}
	c := viewColumn{table: a.t.ID, old: col.Name, new: name}
	var changed []*catalog.Table
	for _, v := range views {
		if !viewUses(v, a.t.ID, col.ID) {
			continue
		}
		if v, err = c.renameIn(ctx, a.e, v); err != nil {
			return err
		}
		if v == nil {
			return a.unviewedColumn(ctx, col, "renaming a column used by this view is not supported")
		}
		changed = append(changed, v)
	}
	if err := rename(); err != nil {
		return err
	}
	for _, v := range changed {
		if err := a.e.Coll.Put(ctx, v); err != nil {
			return err
		}
	}
	for _, v := range changed { // they still mean something
		st, err := parser.ParseStored(v.View.Query)
		if err != nil {
			return err
		}
		if _, err := a.e.planQuery(ctx, st.AST); err != nil {
			return err
		}
	}
	return nil
}

// renameIn returns a view with its query changed, nil if that cannot be done.
func (c *viewColumn) renameIn(ctx context.Context, e *Env, v *catalog.Table) (*catalog.Table, error) {
	if err := e.Coll.LockExclusive(ctx, v.ID); err != nil {
		return nil, err
	}
	cur, err := e.Coll.TableByID(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	st, err := parser.ParseStored(cur.View.Query)
	if err != nil {
		return nil, err
	}
	env := e.plannerEnv(e.Coll)
	env.Notes = planner.NewNotes()
	c.notes = env.Notes
	if _, err := planner.Plan(ctx, st.AST, env); err != nil {
		return nil, err
	}
	if !c.renamable(st.AST) {
		return nil, nil
	}
	c.rename(st.AST)
	cur = cur.Clone()
	view := *cur.View
	view.Query = ast.Format(st.AST)
	cur.View = &view
	return cur, nil
}

// meant reports whether a column is the one to rename.
func (c *viewColumn) meant(col planner.NotedColumn) bool {
	return col.Relation != nil && col.Relation.View != nil && col.Relation.View.ID == c.table && col.Name == c.old
}

// renamable reports whether nothing in a query hangs on the column's name but references
// to it: joins by name do, and columns named in an alias, and fields of rows.
func (c *viewColumn) renamable(q ast.Node) bool {
	ok := true
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Join:
			using := c.notes.Using[n]
			ok = ok && !n.Natural && !slices.Contains(using, c.old) && !slices.Contains(using, c.new)
		case *ast.TableRef:
			r := c.notes.Relations[n]
			ok = ok && (r == nil || r.View == nil || r.View.ID != c.table || len(n.Alias.Cols) == 0)
		case *ast.FieldSelect:
			ok = ok && n.Field != c.old
		}
		return ok
	})
	return ok
}

// rename changes the references to the column, with the names of outputs as they are.
func (c *viewColumn) rename(q ast.Node) {
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			n.Items = c.renameItems(n.Items)
		case *ast.ColumnRef:
			if col, ok := c.notes.Columns[n]; ok && c.meant(col) {
				n.Column = c.new
				if n.Table == "" {
					n.Table = col.Relation.Alias
				}
			}
		}
		return true
	})
}

// renameItems gives outputs that are called like the column a name of their own.
func (c *viewColumn) renameItems(items []ast.SelectItem) []ast.SelectItem {
	var out []ast.SelectItem
	for _, it := range items {
		ref, ok := it.X.(*ast.ColumnRef)
		if ok && ref.Star && slices.ContainsFunc(c.notes.Stars[ref], c.meant) {
			out = append(out, c.expand(ref)...)
			continue
		}
		if it.Alias == "" && planner.ColumnName(it.X) == c.old {
			it.Alias = c.old
		}
		out = append(out, it)
	}
	return out
}

// expand returns the columns that a star stands for.
func (c *viewColumn) expand(star *ast.ColumnRef) []ast.SelectItem {
	out := expandStar(star, c.notes, nil)
	for i, col := range c.notes.Stars[star] {
		if c.meant(col) {
			out[i].X.(*ast.ColumnRef).Column, out[i].Alias = c.new, c.old
		}
	}
	return out
}

// expandStar returns the columns that a star stands for, called as in names.
func expandStar(star *ast.ColumnRef, notes *planner.Notes, names uniqueNames) []ast.SelectItem {
	var out []ast.SelectItem
	for _, col := range notes.Stars[star] {
		it := ast.SelectItem{}
		ref := &ast.ColumnRef{Loc: star.Loc, Column: col.Name}
		if col.Relation != nil {
			ref.Table = col.Relation.Alias
		}
		if name := names.of(col); name != col.Name {
			ref.Column, it.Alias = name, col.Name
		}
		it.X = ref
		out = append(out, it)
	}
	return out
}

// fixColumns makes a query read the columns that it reads now whatever columns are added
// to its relations: stars become what they stand for, and natural joins name the columns
// that they join by.
func fixColumns(q ast.Node, notes *planner.Notes) error {
	names, err := tellApart(q, notes)
	if err != nil {
		return err
	}
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			n.Items = expandStars(n.Items, notes, names)
		case *ast.Join:
			fixNatural(n, notes.Using[n])
		}
		return true
	})
	return nil
}

func expandStars(items []ast.SelectItem, notes *planner.Notes, names uniqueNames) []ast.SelectItem {
	var out []ast.SelectItem
	for _, it := range items {
		if ref, ok := it.X.(*ast.ColumnRef); ok && ref.Star {
			out = append(out, expandStar(ref, notes, names)...)
		} else {
			out = append(out, it)
		}
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
