package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// PutViews writes views that have changed and makes sure that they still mean something.
func PutViews(ctx context.Context, e *statement.Env, views []*catalog.Table) error {
	for _, v := range views {
		if err := e.Coll.Put(ctx, v); err != nil {
			return err
		}
	}
	for _, v := range views {
		if v.View == nil { // it has a policy
			continue
		}
		if _, _, err := ReadView(ctx, e, v.View); err != nil {
			return err
		}
	}
	return nil
}

// ReadView parses and plans the stored query of a view.
func ReadView(ctx context.Context, e *statement.Env, v *catalog.View) (*ast.Select, *planner.Notes, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil, nil, err
	}
	q := st.AST.(*ast.Select)
	_, notes, err := Noted(ctx, e, q, v)
	return q, notes, err
}

// ViewColumn is a column of a relation that the queries of views use.
type ViewColumn struct {
	T      *catalog.Table
	Source planner.ColumnSource
	Old    ast.Name // its name
	New    ast.Name // that it is to get
	Notes  *planner.Notes
}

// RenameIn has a view's query call the column by its new name where only references hang
// on it, and keep the old one by an alias list where more does.
func (c ViewColumn) RenameIn(_ *catalog.Table, q *ast.Select, notes *planner.Notes) bool {
	c.Notes = notes
	used := notes.Reads[c.Source] || c.mentioned(q)
	switch {
	case used && c.renamable(q):
		c.rename(q)
	case used:
		c.keepName(q)
	}
	return storedtext.FieldNames{c.Old: c.New}.Rename(q, notes, c.T.Oid) || used
}

// mentioned reports whether the new name stands in the query: it might mean the column.
func (c ViewColumn) mentioned(q ast.Node) (found bool) {
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnRef:
			found = found || n.Column == c.New
		case *ast.FieldSelect:
			found = found || n.Field == c.New
		case *ast.Join:
			found = found || slices.Contains(c.Notes.Using[n], c.New)
		case *ast.Select:
			found = found || slices.ContainsFunc(n.Items, func(it ast.SelectItem) bool { return it.Alias == c.New })
		}
		return !found
	})
	return found
}

// renamable reports whether nothing in a query hangs on the column's name but references
// to it: joins by name do, and joins with an alias, and stars, and other relations' columns
// with the new name.
func (c ViewColumn) renamable(q ast.Node) bool {
	if c.mentioned(q) {
		return false
	}
	ok := true
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Join:
			r := c.Notes.Relations[n]
			ok = ok && !slices.Contains(c.Notes.Using[n], c.Old) && (r == nil || !slices.Contains(r.Sources, c.Source))
		case *ast.TableRef:
			ok = ok && !(c.Of(n) && len(n.Alias.Cols) > 0)
		case *ast.ColumnRef:
			ok = ok && !(n.Star && slices.ContainsFunc(c.Notes.Stars[n], c.meant)) && !c.shadowed(n)
		}
		return ok
	})
	return ok
}

// shadowed reports whether a bare reference to the column cannot name its relation.
func (c ViewColumn) shadowed(ref *ast.ColumnRef) bool {
	col, ok := c.Notes.Columns[ref]
	return ok && col.Shadowed && c.meant(col)
}

// Of reports whether an item of FROM is the relation that has the column.
func (c ViewColumn) Of(te ast.TableExpr) bool {
	r := c.Notes.Relations[te]
	return r != nil && r.View != nil && r.View.ID == c.T.ID
}

// meant reports whether a column is the one to rename, under its own name.
func (c ViewColumn) meant(col planner.NotedColumn) bool {
	return col.Relation != nil && col.Relation.View != nil && col.Relation.View.ID == c.T.ID && col.Name == c.Old
}

// rename changes the references to the column, with the names of outputs as they are.
func (c ViewColumn) rename(q ast.Node) {
	ast.Walk(q, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select:
			for i := range n.Items {
				if it := &n.Items[i]; it.Alias == "" && planner.ColumnName(it.X) == c.Old {
					it.Alias = c.Old
				}
			}
		case *ast.ColumnRef:
			if col, ok := c.Notes.Columns[n]; ok && c.meant(col) {
				n.Column = c.New
				if n.Table == "" {
					n.Table = col.Relation.Alias
				}
			}
		case *ast.FieldSelect:
			if col, ok := c.Notes.FieldColumns[n]; ok && c.meant(col) {
				n.Field = c.New
			}
		}
		return true
	})
}

// keepName gives the relation's references an alias list with the names that it has now.
func (c ViewColumn) keepName(q ast.Node) {
	ast.Walk(q, func(n ast.Node) bool {
		if te, ok := n.(*ast.TableRef); ok && c.Of(te) {
			r := c.Notes.Relations[te]
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

// Unlist takes the column out of the list of an alias of relation r.
func (c ViewColumn) Unlist(alias *ast.Alias, r *planner.Relation) bool {
	at := 0 // its place among the columns that the view sees
	for i, s := range r.Sources {
		if r.Later[i] {
			continue
		}
		if s == c.Source {
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
