package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// PendingGenerated is a generated column whose expression waits for all columns of
// the table to be known.
type PendingGenerated struct {
	Column string
	X      ast.Expr
}

// Generate gives a column of t its expression. All are the columns that get one in the
// same statement, g among them.
func Generate(ctx context.Context, e *statement.Env, t *catalog.Table, g PendingGenerated, all ...PendingGenerated) error {
	ord, _ := t.ColumnByName(g.Column)
	text, cols, err := storedtext.RowText(ctx, e, t, g.X, t.Columns[ord].Type, storedtext.InGenerated)
	if err != nil {
		return storedtext.Placed(e, err)
	}
	for _, id := range cols {
		c := &t.Columns[t.ColumnByID(id)]
		pending := slices.ContainsFunc(all, func(o PendingGenerated) bool { return o.Column == c.Name })
		if c.Generated != "" || c.Name == g.Column || pending {
			return storedtext.Placed(e, pgerr.New(pgerr.InvalidObjectDefinition, "cannot use generated column \"%s\" in column generation expression", c.Name).
				WithDetail("A generated column cannot reference another generated column.").At(g.X.Position()))
		}
	}
	t.Columns[ord].Generated, t.Columns[ord].BaseColumns = text, cols
	return nil
}

// DerivedParts are parts of what a table derives from its rows.
type DerivedParts struct {
	Columns    []catalog.ColumnID // generated ones, or expressions of indexes
	predicates []catalog.IndexID
	// bare is without the conversion to the column's type.
	bare bool
}

// ComputeConstants fails as the constants do in parts of what t derives: PostgreSQL computes these when it
// defines the parts, whether or not there are rows.
func ComputeConstants(ctx context.Context, e *statement.Env, t *catalog.Table, parts DerivedParts) error {
	ins, next, err := storedtext.PlanDefaults(ctx, e, t)
	if err != nil || ins.Derived == nil {
		return err
	}
	rows := &plan.Values{}
	for i, id := range ins.Derived.Cols {
		rows.Cols = append(rows.Cols, plan.Column{ID: id, Name: t.Columns[i].Name, Type: t.Columns[i].ValueType()})
	}
	p := &plan.Project{Input: rows}
	for _, x := range parts.of(t, ins.Derived) {
		p.Cols, p.Exprs = append(p.Cols, plan.Column{ID: next, Type: x.Type()}), append(p.Exprs, x)
		next++
	}
	prep := &plan.Prepared{Root: p, Columns: p.Cols, NextCol: next}
	if err := e.OptimizePlan(ctx, prep); err != nil {
		return err
	}
	return prep.Failure()
}

// of are the expressions of the parts.
func (parts DerivedParts) of(t *catalog.Table, d *plan.Derived) (out []plan.Expr) {
	for _, c := range d.Columns {
		if !slices.Contains(parts.Columns, t.Columns[c.Ord].ID) {
			continue
		}
		x, to := c.Value, t.Columns[c.Ord].Type
		cast, converted := x.(*plan.Cast)
		switch {
		case parts.bare && converted && cast.Mode == plan.CastAssignment:
			x = cast.Arg
		case !parts.bare && to.Typmod >= 0:
			x = &plan.Cast{Arg: x, T: to, Mode: plan.CastAssignment}
		}
		out = append(out, x)
	}
	for _, p := range d.Predicates {
		if slices.Contains(parts.predicates, p.Index) {
			out = append(out, p.Cond)
		}
	}
	return out
}

// expressionColumn returns the hidden column of t that stands for an expression of an
// index, which it makes if there is none.
func expressionColumn(ctx context.Context, e *statement.Env, t *catalog.Table, x ast.Expr) (*catalog.Column, error) {
	text, cols, err := storedtext.RowText(ctx, e, t, x, nil, storedtext.InIndexExpression)
	if err != nil {
		return nil, err
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.IndexExpression() && c.Generated == text {
			return c, nil
		}
	}
	value, err := ExpressionType(ctx, e, t, text)
	if err != nil {
		return nil, err
	}
	for i := range t.Columns { // a cast to the column's own type changes nothing
		if c := &t.Columns[i]; value.Attnum != 0 && c.Attnum == value.Attnum && !c.Hidden && c.ValueType().Shown().Oid == value.Type.Shown().Oid {
			return c, nil
		}
	}
	c := catalog.Column{
		Name: storedtext.ExpressionName(text), Type: value.Type, Hidden: true, Virtual: true, Attnum: hiddenAttnum, Generated: text, BaseColumns: cols,
	}
	if err := AppendColumn(t, &c); err != nil {
		return nil, err
	}
	return &t.Columns[len(t.Columns)-1], nil
}

// ExpressionType returns what an expression over the columns of t yields.
func ExpressionType(ctx context.Context, e *statement.Env, t *catalog.Table, text string) (plan.Column, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return plan.Column{}, err
	}
	st := &ast.Select{
		Items: []ast.SelectItem{{X: x}},
		From: []ast.TableExpr{&ast.TableRef{
			Name: ast.TableName{Schema: storedtext.ScratchSchema, Table: storedtext.ScratchNew}, Alias: ast.Alias{Name: t.Name},
		}},
	}
	env := storedtext.PlannerEnv(e, &storedtext.ScratchResolver{Collection: e.Coll, Table: t})
	env.Stored = true
	prep, err := planner.Plan(ctx, st, env)
	if err != nil {
		return plan.Column{}, err
	}
	return prep.Columns[0], nil
}

// DependsOn reports whether an index of t has a column in its key, its expressions,
// its predicate or among those it stores.
func DependsOn(t *catalog.Table, ix *catalog.Index, id catalog.ColumnID) bool {
	if storedtext.UsesColumn(ix, id) || slices.Contains(ix.WhereColumns, id) {
		return true
	}
	return slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
		ord := t.ColumnByID(k.Column)
		return ord >= 0 && t.Columns[ord].IndexExpression() && slices.Contains(t.Columns[ord].BaseColumns, id)
	})
}

// GeneratedFrom returns the generated columns of t that read a column.
func GeneratedFrom(t *catalog.Table, id catalog.ColumnID) []*catalog.Column {
	var out []*catalog.Column
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Generated != "" && !c.Hidden && slices.Contains(c.BaseColumns, id) {
			out = append(out, c)
		}
	}
	return out
}

// RenameInDerived renames a column in generated columns and indexes.
func RenameInDerived(t *catalog.Table, id catalog.ColumnID, from, to string) error {
	var err error
	for i := range t.Columns {
		c := &t.Columns[i]
		if !slices.Contains(c.BaseColumns, id) {
			continue
		}
		if c.Generated, err = storedtext.RenameInExpr(c.Generated, from, to); err != nil {
			return err
		}
		if c.IndexExpression() {
			c.Name = storedtext.ExpressionName(c.Generated)
		}
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if slices.Contains(ix.WhereColumns, id) {
			if ix.Where, err = storedtext.RenameInExpr(ix.Where, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}
