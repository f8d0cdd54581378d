package storedtext

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// TriggerCondition checks the condition of a trigger g on t and sets the text to store, with the columns that it reads.
func TriggerCondition(ctx context.Context, e *statement.Env, t *catalog.Table, g *catalog.Trigger, x ast.Expr) error {
	var err error
	ast.Walk(x, func(n ast.Node) bool {
		if err == nil {
			err = CheckExprNode(n, "trigger WHEN conditions", "trigger WHEN condition")
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	text, err := pinnedText(ctx, e, x)
	if err != nil {
		return err
	}
	env := PlannerEnv(e, e.Coll)
	c, err := planner.PlanTriggerCondition(ctx, env, x, t)
	if err != nil {
		return err
	}
	if err := triggerReferences(t, g, c, c.Cond, true); err != nil {
		return err
	}
	if g.When = text; len(c.Notes.Literals) == 0 && len(c.Notes.Operators) == 0 {
		return nil
	}
	stored, err := parser.ParseExpr(text)
	if err != nil {
		return err
	}
	if c, err = planner.PlanTriggerCondition(ctx, env, stored, t); err != nil {
		return err
	}
	if fixed := FixOperators(c.Notes); RestateLiterals(e, c.Notes) || fixed {
		g.When = ast.Format(stored)
	}
	return nil
}

// triggerReferences notes the columns that a condition reads, if named says so: those of a row as a whole are not.
func triggerReferences(t *catalog.Table, g *catalog.Trigger, c *planner.TriggerCondition, x plan.Expr, named bool) (err error) {
	plan.WalkExpr(x, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.ColRef:
			if err == nil {
				err = triggerReference(t, g, c, x, named)
			}
		case *plan.RowCtor:
			if x.T == nil || !named || err != nil {
				break
			}
			for _, f := range x.Fields {
				if err == nil {
					err = triggerReferences(t, g, c, f, false)
				}
			}
			return false
		}
		return err == nil
	})
	return err
}

// triggerReference notes a column that a condition names, or says why it can't read it.
func triggerReference(t *catalog.Table, g *catalog.Trigger, c *planner.TriggerCondition, r *plan.ColRef, named bool) error {
	ord := slices.Index(c.Old, r.Col)
	isNew := ord < 0
	if isNew {
		ord = slices.Index(c.New, r.Col)
	}
	refuse := func(message string) error {
		return pgerr.New(pgerr.InvalidObjectDefinition, "%s", message).At(r.Pos)
	}
	switch {
	case !g.Row:
		return refuse("statement trigger's WHEN condition cannot reference column values")
	case !isNew && g.Events&ast.OnInsert != 0:
		return refuse("INSERT trigger's WHEN condition cannot reference OLD values")
	case isNew && g.Events&ast.OnDelete != 0:
		return refuse("DELETE trigger's WHEN condition cannot reference NEW values")
	case isNew && g.Timing == ast.TriggerBefore && t.Columns[ord].Generated != "":
		return pgerr.New(pgerr.InvalidObjectDefinition, "BEFORE trigger's WHEN condition cannot reference NEW generated columns").
			WithDetail("Column \"%s\" is a generated column.", t.Columns[ord].Name).At(r.Pos)
	}
	if id := t.Columns[ord].ID; named && !slices.Contains(g.WhenColumns, id) {
		g.WhenColumns = append(g.WhenColumns, id)
	}
	return nil
}
