package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// viewParams is SET (...) and RESET (...) of a view.
func (a *Alteration) viewParams(ctx context.Context, c *ast.AlterCmd) error {
	v := *a.T.View
	a.T.View = &v
	var err error
	if c.Kind == ast.AlterResetParams {
		if v.Options, err = relations.ResetOptions(v.Options, c.Params); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	if v.Options, err = relations.ViewParameters.Set(v.Options, c.Params); err != nil {
		return err
	}
	if err := relations.CheckOptions(ctx, a.E, a.T); err != nil {
		return err
	}
	return a.Put(ctx)
}

// viewDefault is ALTER COLUMN SET DEFAULT and DROP DEFAULT of a view, which hold for rows
// that are inserted through it.
func (a *Alteration) viewDefault(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.Default = ""
	if c.Kind == ast.AlterColumnSetDefault {
		if err := storedtext.SetDefault(ctx, a.E, col, c.X); err != nil {
			return err
		}
		if err := planner.CheckDefault(ctx, storedtext.PlannerEnv(a.E, a.E.Coll), col); err != nil {
			return storedtext.DefaultMessage(err)
		}
	}
	return a.Put(ctx)
}

// renameViewColumn is RENAME COLUMN of a view: its query stays what it is.
func (a *Alteration) renameViewColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := a.T.ColumnByName(c.Name)
	if !ok {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	}
	if _, taken := a.T.ColumnByName(c.NewName); taken {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", c.NewName, a.T.Name)
	}
	return a.renameUsedColumn(ctx, &a.T.Columns[ord], c.NewName, func() error {
		a.T.Columns[ord].Name = c.NewName
		return a.Put(ctx)
	})
}

// rewriteViews changes the queries of the views, and the conditions of policies, that use the relation. change gets each with
// the notes of its planning and reports whether it has changed it.
func (a *Alteration) rewriteViews(ctx context.Context, change func(v *catalog.Table, q *ast.Select, notes *planner.Notes) bool) ([]*catalog.Table, error) {
	views, err := a.viewsOf(ctx)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Table
	for _, v := range views {
		if v, err = a.E.LockByID(ctx, v.ID); err != nil {
			return nil, err
		}
		q, notes, err := relations.ReadView(ctx, a.E, v.View)
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
	policed, err := a.rewritePolicies(ctx, change)
	return append(out, policed...), err
}

func (a *Alteration) viewColumn(col *catalog.Column, name ast.Name) relations.ViewColumn {
	return relations.ViewColumn{T: a.T, Source: planner.ColumnSource{Table: a.T.Oid, Attnum: col.Attnum}, Old: col.Name, New: name}
}

// renameUsedColumn renames a column with rename and makes the views that use the relation
// mean by their names what they meant.
func (a *Alteration) renameUsedColumn(ctx context.Context, col *catalog.Column, name ast.Name, rename func() error) error {
	c := a.viewColumn(col, name)
	views, err := a.rewriteViews(ctx, c.RenameIn)
	if err != nil {
		return err
	}
	if err := rename(); err != nil {
		return err
	}
	return relations.PutViews(ctx, a.E, views)
}

// unlistColumn takes a column that is dropped out of the alias lists of views that do not
// use it: the names that follow it stay with their columns.
func (a *Alteration) unlistColumn(ctx context.Context, col *catalog.Column) ([]*catalog.Table, error) {
	c := a.viewColumn(col, "")
	return a.rewriteViews(ctx, func(v *catalog.Table, q *ast.Select, notes *planner.Notes) (changed bool) {
		c.Notes = notes
		if viewUses(v, a.T.ID, col.ID) { // and goes with the column
			return false
		}
		ast.Walk(q, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TableRef:
				changed = c.Of(n) && c.Unlist(&n.Alias, notes.Relations[n]) || changed
			case *ast.Join:
				changed = n.Alias.Name != "" && c.Unlist(&n.Alias, notes.Relations[n]) || changed
			}
			return true
		})
		return changed
	})
}
