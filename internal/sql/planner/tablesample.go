package planner

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// tableSample restricts the rows of a table to a sample: those whose key hashes
// to a small enough number. Rows have no pages here, so SYSTEM chooses rows as
// BERNOULLI does.
func (b *builder) tableSample(ts *ast.TableSample, it *item, node plan.Node, s *scope) (plan.Node, error) {
	switch strings.ToLower(ts.Method.Name) {
	case "bernoulli", "system":
	default:
		return nil, pgerr.New(pgerr.UndefinedObject, "tablesample method %s does not exist", ts.Method.String()).At(ts.Pos)
	}
	if len(ts.Args) != 1 {
		return nil, pgerr.New(pgerr.InvalidTablesampleArgument, "tablesample method %s requires 1 argument, not %d",
			ts.Method.Name, len(ts.Args)).At(ts.Pos)
	}
	in := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, clause: clauseFrom}
	percent, err := b.sampleArg(ts.Args[0], types.Float4, "TABLESAMPLE", in)
	if err != nil {
		return nil, err
	}
	from := b.sampleSeed(ts)
	if ts.Repeatable != nil {
		if from, err = b.sampleArg(ts.Repeatable, types.Float8, "REPEATABLE", in); err != nil {
			return nil, err
		}
	}
	cond := &plan.Call{Fn: builtin.TableSample(), Args: []plan.Expr{percent, from, sampleKey(it)}, T: types.Bool, Pos: ts.Pos}
	return filter(node, cond), nil
}

// sampleSeed is a seed for the whole execution: a subquery, which is computed once.
func (b *builder) sampleSeed(ts *ast.TableSample) plan.Expr {
	n := &plan.Project{Input: oneRow(), Exprs: []plan.Expr{&plan.Call{Fn: builtin.SampleSeed(), T: types.Float8, Pos: ts.Pos}}}
	n.Cols = []plan.Column{{ID: b.newCol(), Name: "seed", Type: types.Float8, NotNull: true}}
	b.nextSub++
	return &plan.Subquery{Kind: plan.ScalarSubquery, Plan: n, T: types.Float8, ID: b.nextSub}
}

func (b *builder) sampleArg(e ast.Expr, t *types.T, what string, s *scope) (plan.Expr, error) {
	x, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	y, ok, err := b.coerce(x, t, plan.CastAssignment, e.Position())
	if err == nil && !ok {
		err = pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type %s, not type %s", what, t.SQLName, x.Type().SQLName).At(e.Position())
	}
	return y, err
}

// sampleKey is the primary key of a table, or all columns of one without.
func sampleKey(it *item) plan.Expr {
	row := &plan.RowCtor{}
	if len(it.table.Indexes) == 0 {
		for i := range it.cols {
			row.Fields = append(row.Fields, it.cols[i].ref(0))
		}
		return row
	}
	for _, k := range it.table.Primary().Columns {
		row.Fields = append(row.Fields, it.cols[it.table.ColumnByID(k.Column)].ref(0))
	}
	return row
}
