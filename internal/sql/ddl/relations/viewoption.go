package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

const checkOption = "check_option"

// ViewOptions reads the parameters of CREATE VIEW, WITH CHECK OPTION among them.
func ViewOptions(st *ast.CreateView) ([]string, error) {
	params := st.With
	if st.Check != ast.CheckNone {
		value := catalog.CheckCascaded
		if st.Check == ast.CheckLocal {
			value = catalog.CheckLocal
		}
		params = append(slices.Clip(params), ast.StorageParam{Loc: st.Loc, Name: checkOption, Value: &ast.StrLit{Val: value}})
	}
	return ViewParameters.Set(nil, params)
}

// CheckOptions verifies that the view can have its options: its rows have to be those of
// one relation for WITH CHECK OPTION.
func CheckOptions(ctx context.Context, e *statement.Env, v *catalog.Table) error {
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
