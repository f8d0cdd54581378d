package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// rewriteViews changes the queries of the views that use the relation. change gets each with
// the notes of its planning and reports whether it has changed it.
func (a *alteration) rewriteViews(ctx context.Context, change func(v *catalog.Table, q *ast.Select, notes *planner.Notes) bool) ([]*catalog.Table, error) {
	views, err := a.viewsOf(ctx)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Table
	for _, v := range views {
		if v, err = a.e.lockByID(ctx, v.ID); err != nil {
			return nil, err
		}
		q, notes, err := a.e.readView(ctx, v.View)
		if err != nil {
			return nil, err
		}
		if change(v, q, notes) {
			view := *v.View
			view.Query = ast.Format(q)
			v.View = &view
			out = append(out, v)
		}
	}
	return out, nil
}

// putViews writes views that have changed and makes sure that they still mean something.
func (e *Env) putViews(ctx context.Context, views []*catalog.Table) error {
	for _, v := range views {
		if err := e.Coll.Put(ctx, v); err != nil {
			return err
		}
	}
	for _, v := range views {
		if _, _, err := e.readView(ctx, v.View); err != nil {
			return err
		}
	}
	return nil
}

// readView parses and plans the stored query of a view.
func (e *Env) readView(ctx context.Context, v *catalog.View) (*ast.Select, *planner.Notes, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil, nil, err
	}
	q := st.AST.(*ast.Select)
	_, notes, err := e.noted(ctx, q, v)
	return q, notes, err
}

// viewColumn is a column of a relation that the queries of views use.
type viewColumn struct {
	t      *catalog.Table
	source planner.ColumnSource
	old    ast.Name // its name
	new    ast.Name // that it is to get
	notes  *planner.Notes
}

func (a *alteration) viewColumn(col *catalog.Column, name ast.Name) viewColumn {
	return viewColumn{t: a.t, source: planner.ColumnSource{Table: a.t.Oid, Attnum: col.Attnum}, old: col.Name, new: name}
}

// renameUsedColumn renames a column with rename and makes the views that use the relation
// mean by their names what they meant.
func (a *alteration) renameUsedColumn(ctx context.Context, col *catalog.Column, name ast.Name, rename func() error) error {
	c := a.viewColumn(col, name)
	views, err := a.rewriteViews(ctx, c.renameIn)
	if err != nil {
		return err
	}
	if err := rename(); err != nil {
		return err
	}
	return a.e.putViews(ctx, views)
}

// renameIn has a view's query call the column by its new name where only references hang
// on it, and keep the old one by an alias list where more does.
func (c viewColumn) renameIn(_ *catalog.Table, q *ast.Select, notes *planner.Notes) bool {
	c.notes = notes
	used := notes.Reads[c.source] || c.mentioned(q)
	switch {
	case used && c.renamable(q):
		c.rename(q)
	case used:
		c.keepName(q)
	}
	return fieldNames{c.old: c.new}.rename(q, notes, c.t.Oid) || used
}

// mentioned reports whether the new name stands in the query: it might mean the column.
func (c viewColumn) mentioned(q ast.Node) (found bool) {
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnRef:
			found = found || n.Column == c.new
		case *ast.FieldSelect:
			found = found || n.Field == c.new
		case *ast.Join:
			found = found || slices.Contains(c.notes.Using[n], c.new)
		case *ast.Select:
			found = found || slices.ContainsFunc(n.Items, func(it ast.SelectItem) bool { return it.Alias == c.new })
		}
		return !found
	})
	return found
}

// renamable reports whether nothing in a query hangs on the column's name but references
// to it: joins by name do, and joins with an alias, and stars, and other relations' columns
// with the new name.
func (c viewColumn) renamable(q ast.Node) bool {
	if c.mentioned(q) {
		return false
	}
	ok := true
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Join:
			r := c.notes.Relations[n]
			ok = ok && !slices.Contains(c.notes.Using[n], c.old) && (r == nil || !slices.Contains(r.Sources, c.source))
		case *ast.TableRef:
			ok = ok && !(c.of(n) && len(n.Alias.Cols) > 0)
		case *ast.ColumnRef:
			ok = ok && !(n.Star && slices.ContainsFunc(c.notes.Stars[n], c.meant)) && !c.shadowed(n)
		}
		return ok
	})
	return ok
}

// shadowed reports whether a bare reference to the column cannot name its relation.
func (c viewColumn) shadowed(ref *ast.ColumnRef) bool {
	col, ok := c.notes.Columns[ref]
	return ok && col.Shadowed && c.meant(col)
}

// of reports whether an item of FROM is the relation that has the column.
func (c viewColumn) of(te ast.TableExpr) bool {
	r := c.notes.Relations[te]
	return r != nil && r.View != nil && r.View.ID == c.t.ID
}

// meant reports whether a column is the one to rename, under its own name.
func (c viewColumn) meant(col planner.NotedColumn) bool {
	return col.Relation != nil && col.Relation.View != nil && col.Relation.View.ID == c.t.ID && col.Name == c.old
}

// rename changes the references to the column, with the names of outputs as they are.
func (c viewColumn) rename(q ast.Node) {
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			for i := range n.Items {
				if it := &n.Items[i]; it.Alias == "" && planner.ColumnName(it.X) == c.old {
					it.Alias = c.old
				}
			}
		case *ast.ColumnRef:
			if col, ok := c.notes.Columns[n]; ok && c.meant(col) {
				n.Column = c.new
				if n.Table == "" {
					n.Table = col.Relation.Alias
				}
			}
		case *ast.FieldSelect:
			if col, ok := c.notes.FieldColumns[n]; ok && c.meant(col) {
				n.Field = c.new
			}
		}
		return true
	})
}

// keepName gives the relation's references an alias list with the names that it has now.
func (c viewColumn) keepName(q ast.Node) {
	ast.Walk(q, func(n ast.Node) bool {
		if te, ok := n.(*ast.TableRef); ok && c.of(te) {
			r := c.notes.Relations[te]
			te.Alias = ast.Alias{Name: r.Alias, Cols: seenNames(r)}
		}
		return true
	})
}

// seenNames are the columns of a relation that the view knows, as it calls them.
func seenNames(r *planner.Relation) (names []ast.Name) {
	for i, name := range r.Columns {
		if !r.Later[i] {
			names = append(names, name)
		}
	}
	return names
}

// unlistColumn takes a column that is dropped out of the alias lists of views that do not
// use it: the names that follow it stay with their columns.
func (a *alteration) unlistColumn(ctx context.Context, col *catalog.Column) ([]*catalog.Table, error) {
	c := a.viewColumn(col, "")
	return a.rewriteViews(ctx, func(v *catalog.Table, q *ast.Select, notes *planner.Notes) (changed bool) {
		c.notes = notes
		if viewUses(v, a.t.ID, col.ID) { // and goes with the column
			return false
		}
		ast.Walk(q, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TableRef:
				changed = c.of(n) && c.unlist(&n.Alias, notes.Relations[n]) || changed
			case *ast.Join:
				changed = n.Alias.Name != "" && c.unlist(&n.Alias, notes.Relations[n]) || changed
			}
			return true
		})
		return changed
	})
}

// unlist takes the column out of the list of an alias of relation r.
func (c viewColumn) unlist(alias *ast.Alias, r *planner.Relation) bool {
	at := 0 // its place among the columns that the view sees
	for i, s := range r.Sources {
		if r.Later[i] {
			continue
		}
		if s == c.source {
			break
		}
		at++
	}
	if at >= len(alias.Cols) {
		return false
	}
	alias.Cols = slices.Delete(slices.Clone(alias.Cols), at, at+1)
	return true
}
