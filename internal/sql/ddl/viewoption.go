package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

const checkOption = "check_option"

// viewOptions reads the parameters of CREATE VIEW, WITH CHECK OPTION among them.
func viewOptions(st *ast.CreateView) ([]string, error) {
	params := st.With
	if st.Check != ast.CheckNone {
		value := catalog.CheckCascaded
		if st.Check == ast.CheckLocal {
			value = catalog.CheckLocal
		}
		params = append(slices.Clip(params), ast.StorageParam{Loc: st.Loc, Name: checkOption, Value: &ast.StrLit{Val: value}})
	}
	return viewParameters.set(nil, params)
}

// checkOptions verifies that the view can have its options: its rows have to be those of
// one relation for WITH CHECK OPTION.
func (e *Env) checkOptions(ctx context.Context, v *catalog.Table) error {
	if v.View.Option("security_barrier")+v.View.Option("security_invoker") != "" {
		e.ignore(noViewSecurity)
	}
	if v.View.CheckOption() == "" {
		return nil
	}
	why, err := planner.NotUpdatable(v, func(n ast.TableName) *catalog.Table {
		t, err := e.Coll.ResolveTable(ctx, n.Catalog, n.Schema, n.Table)
		if err != nil {
			return nil
		}
		return t
	})
	if err == nil && why != "" {
		err = pgerr.Unsupported("WITH CHECK OPTION is supported only on automatically updatable views").WithHint("%s", why)
	}
	return err
}

// viewParams is SET (...) and RESET (...) of a view.
func (a *alteration) viewParams(ctx context.Context, c *ast.AlterCmd) error {
	v := *a.t.View
	a.t.View = &v
	var err error
	if c.Kind == ast.AlterResetParams {
		if v.Options, err = resetOptions(v.Options, c.Params); err != nil {
			return err
		}
		return a.put(ctx)
	}
	if v.Options, err = viewParameters.set(v.Options, c.Params); err != nil {
		return err
	}
	if err := a.e.checkOptions(ctx, a.t); err != nil {
		return err
	}
	return a.put(ctx)
}

// viewDefault is ALTER COLUMN SET DEFAULT and DROP DEFAULT of a view, which hold for rows
// that are inserted through it.
func (a *alteration) viewDefault(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.Default = ""
	if c.Kind == ast.AlterColumnSetDefault {
		if err := a.e.setDefault(ctx, col, c.X); err != nil {
			return err
		}
		if err := planner.CheckDefault(ctx, a.e.plannerEnv(a.e.Coll), col); err != nil {
			return defaultMessage(err)
		}
	}
	return a.put(ctx)
}

// renameViewColumn is RENAME COLUMN of a view: its query stays what it is.
func (a *alteration) renameViewColumn(ctx context.Context, c *ast.AlterCmd) error {
	ord, ok := a.t.ColumnByName(c.Name)
	if !ok {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	}
	if _, taken := a.t.ColumnByName(c.NewName); taken {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", c.NewName, a.t.Name)
	}
	return a.renameUsedColumn(ctx, &a.t.Columns[ord], c.NewName, func() error {
		a.t.Columns[ord].Name = c.NewName
		return a.put(ctx)
	})
}
