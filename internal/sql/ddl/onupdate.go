package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// setOnUpdate is ON UPDATE of a column: the form of the expression is that of a default.
func (e *Env) setOnUpdate(ctx context.Context, c *catalog.Column, x ast.Expr) (err error) {
	if _, null := x.(*ast.NullLit); null {
		c.OnUpdate = "NULL"
		return nil
	}
	if c.OnUpdate, err = e.defaultText(ctx, x, c.Type); err != nil {
		return err
	}
	if strings.Contains(c.OnUpdate, "::regclass") { // nothing would keep the sequence
		return pgerr.Unsupported("sequences in ON UPDATE are not supported").At(x.Position())
	}
	return planner.CheckDefault(ctx, e.plannerEnv(e.Coll), &catalog.Column{Name: c.Name, Type: c.Type, Default: c.OnUpdate})
}

func generatedOnUpdate(c *catalog.Column, t *catalog.Table) error {
	return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" of relation \"%s\" is generated and cannot have ON UPDATE", c.Name, t.Name)
}

// columnOnUpdate is SET ON UPDATE and DROP ON UPDATE.
func (a *alteration) columnOnUpdate(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	col.OnUpdate = ""
	if c.Kind == ast.AlterColumnSetOnUpdate {
		if col.Generated != "" || col.Identity != 0 {
			return generatedOnUpdate(col, a.t)
		}
		if err := a.e.setOnUpdate(ctx, col, c.X); err != nil {
			return err
		}
	}
	return a.put(ctx)
}
