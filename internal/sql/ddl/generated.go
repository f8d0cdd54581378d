package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// pendingGenerated is a generated column whose expression waits for all columns of
// the table to be known.
type pendingGenerated struct {
	column string
	x      ast.Expr
}

// generate gives a column of t its expression. All are the columns that get one in the
// same statement, g among them.
func (e *Env) generate(ctx context.Context, t *catalog.Table, g pendingGenerated, all ...pendingGenerated) error {
	ord, _ := t.ColumnByName(g.column)
	text, cols, err := e.rowText(ctx, t, g.x, t.Columns[ord].Type, inGenerated)
	if err != nil {
		return e.placed(err)
	}
	for _, id := range cols {
		c := &t.Columns[t.ColumnByID(id)]
		pending := slices.ContainsFunc(all, func(o pendingGenerated) bool { return o.column == c.Name })
		if c.Generated != "" || c.Name == g.column || pending {
			return e.placed(pgerr.New(pgerr.InvalidObjectDefinition, "cannot use generated column \"%s\" in column generation expression", c.Name).
				WithDetail("A generated column cannot reference another generated column.").At(g.x.Position()))
		}
	}
	t.Columns[ord].Generated, t.Columns[ord].BaseColumns = text, cols
	return nil
}

// checkDerived makes sure that what a table derives from its rows depends on them
// only.
func checkDerived(t *catalog.Table, d *plan.Derived) error {
	if d == nil {
		return nil
	}
	for _, c := range d.Columns {
		if !planner.Immutable(c.Value) {
			if t.Columns[c.Ord].IndexExpression() {
				return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
			}
			return pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
		}
	}
	for _, p := range d.Predicates {
		if !planner.Immutable(p.Cond) {
			return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index predicate must be marked IMMUTABLE")
		}
	}
	return nil
}

// derivedParts are parts of what a table derives from its rows.
type derivedParts struct {
	columns    []catalog.ColumnID // generated ones, or expressions of indexes
	predicates []catalog.IndexID
	// bare is without the conversion to the column's type.
	bare bool
}

// computeConstants fails as the constants do in parts of what t derives: PostgreSQL computes these when it
// defines the parts, whether or not there are rows.
func (e *Env) computeConstants(ctx context.Context, t *catalog.Table, parts derivedParts) error {
	ins, next, err := e.planDefaults(ctx, t)
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
	if err := e.optimizePlan(ctx, prep); err != nil {
		return err
	}
	return prep.Failure()
}

// of are the expressions of the parts.
func (parts derivedParts) of(t *catalog.Table, d *plan.Derived) (out []plan.Expr) {
	for _, c := range d.Columns {
		if !slices.Contains(parts.columns, t.Columns[c.Ord].ID) {
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
func (e *Env) expressionColumn(ctx context.Context, t *catalog.Table, x ast.Expr) (*catalog.Column, error) {
	text, cols, err := e.rowText(ctx, t, x, nil, inIndexExpression)
	if err != nil {
		return nil, err
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.IndexExpression() && c.Generated == text {
			return c, nil
		}
	}
	value, err := e.expressionType(ctx, t, text)
	if err != nil {
		return nil, err
	}
	for i := range t.Columns { // a cast to the column's own type changes nothing
		if c := &t.Columns[i]; value.Attnum != 0 && c.Attnum == value.Attnum && !c.Hidden && c.ValueType().Shown().Oid == value.Type.Shown().Oid {
			return c, nil
		}
	}
	c := catalog.Column{
		Name: expressionName(text), Type: value.Type, Hidden: true, Virtual: true, Attnum: hiddenAttnum, Generated: text, BaseColumns: cols,
	}
	if err := appendColumn(t, &c); err != nil {
		return nil, err
	}
	return &t.Columns[len(t.Columns)-1], nil
}

// expressionName is an expression as messages and listings show it: in parentheses
// unless it is a call.
func expressionName(text string) string {
	if x, err := parser.ParseExpr(text); err == nil {
		switch x.(type) {
		case *ast.FuncCall, *ast.Coalesce, *ast.NullIf, *ast.MinMax:
			return text
		}
	}
	return "(" + text + ")"
}

// expressionType returns what an expression over the columns of t yields.
func (e *Env) expressionType(ctx context.Context, t *catalog.Table, text string) (plan.Column, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return plan.Column{}, err
	}
	st := &ast.Select{
		Items: []ast.SelectItem{{X: x}},
		From: []ast.TableExpr{&ast.TableRef{
			Name: ast.TableName{Schema: scratchSchema, Table: scratchNew}, Alias: ast.Alias{Name: t.Name},
		}},
	}
	env := e.plannerEnv(&scratchResolver{Collection: e.Coll, table: t})
	env.Stored = true
	prep, err := planner.Plan(ctx, st, env)
	if err != nil {
		return plan.Column{}, err
	}
	return prep.Columns[0], nil
}

// dropUnusedExpressions removes the hidden columns of t that no index has any more.
func dropUnusedExpressions(t *catalog.Table) {
	t.Columns = slices.DeleteFunc(t.Columns, func(c catalog.Column) bool {
		return c.IndexExpression() && !slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool {
			return slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Column == c.ID })
		})
	})
}

// dependsOn reports whether an index of t has a column in its key, its expressions,
// its predicate or among those it stores.
func dependsOn(t *catalog.Table, ix *catalog.Index, id catalog.ColumnID) bool {
	if usesColumn(ix, id) || slices.Contains(ix.WhereColumns, id) {
		return true
	}
	return slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
		ord := t.ColumnByID(k.Column)
		return ord >= 0 && t.Columns[ord].IndexExpression() && slices.Contains(t.Columns[ord].BaseColumns, id)
	})
}

// generatedFrom returns the generated columns of t that read a column.
func generatedFrom(t *catalog.Table, id catalog.ColumnID) []*catalog.Column {
	var out []*catalog.Column
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Generated != "" && !c.Hidden && slices.Contains(c.BaseColumns, id) {
			out = append(out, c)
		}
	}
	return out
}

// dropExpression is ALTER COLUMN DROP EXPRESSION: the values stay.
func (a *alteration) dropExpression(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if col.Generated == "" {
		if c.IfExists {
			a.e.skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" is not a stored generated column, skipping", col.Name, a.t.Name)
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is not a stored generated column", col.Name, a.t.Name)
	}
	if col.Virtual {
		return pgerr.Unsupported("ALTER TABLE / DROP EXPRESSION is not supported for virtual generated columns").
			WithDetail("Column \"%s\" of relation \"%s\" is a virtual generated column.", col.Name, a.t.Name)
	}
	col.Generated, col.BaseColumns = "", nil
	return a.put(ctx)
}

// renameInDerived renames a column in generated columns and indexes.
func renameInDerived(t *catalog.Table, id catalog.ColumnID, from, to string) error {
	var err error
	for i := range t.Columns {
		c := &t.Columns[i]
		if !slices.Contains(c.BaseColumns, id) {
			continue
		}
		if c.Generated, err = renameInExpr(c.Generated, from, to); err != nil {
			return err
		}
		if c.IndexExpression() {
			c.Name = expressionName(c.Generated)
		}
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if slices.Contains(ix.WhereColumns, id) {
			if ix.Where, err = renameInExpr(ix.Where, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}
