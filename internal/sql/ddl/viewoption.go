package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
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
	return setViewOptions(nil, params)
}

// setViewOptions adds parameters to those that a view has.
func setViewOptions(options []string, params []ast.StorageParam) ([]string, error) {
	for i := range params {
		p := &params[i]
		if p.Namespace != "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter namespace \"%s\"", p.Namespace)
		}
		if slices.ContainsFunc(params[:i], func(o ast.StorageParam) bool { return o.Name == p.Name }) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" specified more than once", p.Name)
		}
	}
	for i := range params {
		value, err := viewOption(&params[i])
		if err != nil {
			return nil, err
		}
		options = append(resetViewOption(options, params[i].Name), params[i].Name+"="+value)
	}
	return options, nil
}

func resetViewOption(options []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return strings.HasPrefix(o, name+"=") })
}

// viewOption returns the value of a parameter, as it was written.
func viewOption(p *ast.StorageParam) (string, error) {
	value := "true"
	if p.Value != nil {
		value = paramText(&ast.Option{Value: p.Value})
	}
	switch {
	case !slices.Contains(viewStorage, p.Name):
		return "", pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", p.Name)
	case p.Name != checkOption:
		if _, err := types.ParseText(types.Bool, value, nil); err != nil {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for boolean option \"%s\": %s", p.Name, value)
		}
	case !strings.EqualFold(value, catalog.CheckLocal) && !strings.EqualFold(value, catalog.CheckCascaded):
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for enum option \"%s\": %s", p.Name, value).
			WithDetail("Valid values are \"local\" and \"cascaded\".")
	default:
		value = strings.ToLower(value)
	}
	return value, nil
}

// checkOptions verifies that the view can have its options: its rows have to be those of
// one relation for WITH CHECK OPTION.
func (e *Env) checkOptions(ctx context.Context, v *catalog.Table) error {
	if v.View.Option("security_barrier")+v.View.Option("security_invoker") != "" {
		e.noEffect(noViewSecurity)
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
	if c.Kind == ast.AlterResetParams {
		for _, p := range c.Params {
			v.Options = resetViewOption(v.Options, p.Name)
		}
		return a.put(ctx)
	}
	var err error
	if v.Options, err = setViewOptions(v.Options, c.Params); err != nil {
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
	col, err := a.column(c.Name, 0)
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
