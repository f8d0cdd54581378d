package planner

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// triggers returns the triggers of t that a kind of change fires, nil for none. set are the assignments of an UPDATE.
func (b *builder) triggers(t *catalog.Table, event ast.TriggerEvents, set []plan.SetCol) (*plan.Triggers, error) {
	if len(t.Triggers) == 0 {
		return nil, nil
	}
	var out *plan.Triggers
	for _, g := range t.TriggerOrder() {
		if g.Events&event == 0 || event == ast.OnUpdate && !assigns(t, g, set) {
			continue
		}
		if out == nil {
			out = &plan.Triggers{Event: event, Table: t, Old: b.freshRow(t), New: b.freshRow(t), Row: catalog.RowType(t)}
			for i := range t.Columns {
				if t.Columns[i].InStar() {
					out.Ords = append(out.Ords, i)
				}
			}
		}
		x := &plan.Trigger{Trigger: g, Table: t}
		var err error
		if x.Schema, err = b.schemaName(t); err != nil {
			return nil, err
		}
		if x.Fn, err = b.tableByID(g.Function); err != nil {
			return nil, err
		}
		if g.When != "" {
			x.When, err = b.storedExpr(g.When, func(e ast.Expr) (plan.Expr, error) { return b.triggerWhen(e, t, out.Old, out.New) })
			if err != nil {
				return nil, err
			}
		}
		addTrigger(out, x)
	}
	return out, nil
}

// StatementTriggers returns the triggers that a statement on a table fires which changes no single rows: TRUNCATE; nil
// for none.
func StatementTriggers(ctx context.Context, env *Env, t *catalog.Table, event ast.TriggerEvents) (*plan.Triggers, error) {
	b := &builder{ctx: ctx, env: env}
	return b.triggers(t, event, nil)
}

// addTrigger puts a trigger among those that fire at its time.
func addTrigger(list *plan.Triggers, g *plan.Trigger) {
	to := &list.AfterStatement
	switch {
	case g.Timing == ast.TriggerInstead:
		to = &list.InsteadOf
	case g.Timing == ast.TriggerBefore && g.Row:
		to = &list.BeforeRow
	case g.Timing == ast.TriggerBefore:
		to = &list.BeforeStatement
	case g.Row:
		to = &list.AfterRow
	}
	*to = append(*to, g)
	list.OldTable = list.OldTable || g.OldTable != ""
	list.NewTable = list.NewTable || g.NewTable != ""
}

// assigns reports whether an UPDATE assigns to a column that the trigger is for.
func assigns(t *catalog.Table, g *catalog.Trigger, set []plan.SetCol) bool {
	return len(g.Columns) == 0 || slices.ContainsFunc(generatedBy(t, set), func(sc plan.SetCol) bool {
		return slices.Contains(g.Columns, t.Columns[sc.Ord].ID)
	})
}

// triggerWhen plans the condition of a trigger over rows with the given identifiers.
func (b *builder) triggerWhen(e ast.Expr, t *catalog.Table, before, after []plan.ColID) (plan.Expr, error) {
	old, row, err := b.triggerRows(t, before, after)
	if err != nil {
		return nil, err
	}
	return b.boolExpr(e, "WHEN", &scope{clause: clauseTrigger, items: []*item{old, row}})
}

// triggerRows are the rows that a condition knows.
func (b *builder) triggerRows(t *catalog.Table, before, after []plan.ColID) (old, row *item, err error) {
	if old, err = b.rowItem(t, "old", before); err != nil {
		return nil, nil, err
	}
	row, err = b.rowItem(t, "new", after)
	return old, row, err
}

// TriggerCondition is the condition of a trigger as CREATE TRIGGER reads it.
type TriggerCondition struct {
	Cond     plan.Expr
	Old, New []plan.ColID // the columns of t in both rows
	Notes    *Notes
	// Relations are the two rows, as Notes knows them.
	Relations [2]*Relation
}

// PlanTriggerCondition plans the condition of a trigger on t.
func PlanTriggerCondition(ctx context.Context, env *Env, e ast.Expr, t *catalog.Table) (*TriggerCondition, error) {
	noting := *env
	noting.Notes = NewNotes()
	b := &builder{ctx: ctx, env: &noting, text: e}
	out := &TriggerCondition{Old: b.freshRow(t), New: b.freshRow(t), Notes: noting.Notes}
	old, row, err := b.triggerRows(t, out.Old, out.New)
	if err != nil {
		return nil, err
	}
	out.Relations = [...]*Relation{old.relation(), row.relation()}
	out.Cond, err = b.boolExpr(e, "WHEN", &scope{clause: clauseTrigger, items: []*item{old, row}})
	return out, err
}

// allColumns are assignments, without values, to all columns of t.
func allColumns(t *catalog.Table) []plan.SetCol {
	set := make([]plan.SetCol, len(t.Columns))
	for ord := range set {
		set[ord].Ord = ord
	}
	return set
}

// transitionRow returns the type of the rows of a transition table that the function knows, nil if it knows none of the
// name.
func (b *builder) transitionRow(name ast.Name) *types.T {
	if v := b.env.Variables; v != nil && v.Rows != nil {
		return v.Rows(name)
	}
	return nil
}

// transitionRef plans a reference to a transition table with rows of a type.
func (b *builder) transitionRef(te *ast.TableRef, row *types.T) (*fromItem, error) {
	if te.Sample != nil {
		return nil, errSample(te)
	}
	n := &plan.TransitionScan{Name: te.Name.Table, Alias: aliasOf(te)}
	for i, f := range row.Fields() {
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: f.Name, Type: f.Type})
		n.Ords = append(n.Ords, i)
	}
	it := colsItem(n.Alias, n.Cols)
	return &fromItem{node: n, items: []*item{it}}, renameCols(it, te.Alias.Cols)
}
