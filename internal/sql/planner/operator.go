package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Operators that users have made are found where an operator stands in an expression. What else compares values (IN, BETWEEN, CASE,
// USING, DISTINCT, keys of joins) knows only those of the system, of which the layers below know what they do.

// writtenOperator is operator for one that stands in the expression e.
func (b *builder) writtenOperator(e ast.Expr, op ast.Operator, args []plan.Expr, pos []int, at int) (plan.Expr, error) {
	ts := argTypes(args)
	fn, err := b.ownOperator(e, op, ts)
	if err != nil {
		return nil, pgerr.From(err).At(at)
	}
	if fn == nil {
		return b.operator(op, args, pos, at)
	}
	return b.finishCall(fn, args, ts, pos, at)
}

// ownOperator returns the function behind the operator that e means, if a user has made that, else nil.
func (b *builder) ownOperator(e ast.Expr, op ast.Operator, ts []*types.T) (*call.Overload, error) {
	t, err := b.findOperator(op, ts)
	if err != nil || t == nil {
		return nil, err
	}
	b.noteTable(t)
	def := t.Routine.Operator
	if def.Shell() {
		return nil, pgerr.New(pgerr.UndefinedFunction, "operator is only a shell: %s", call.CallText(op.Name, true, t.Overload().Args))
	}
	fn, err := b.functionOf(def.Function)
	if err != nil {
		return nil, err
	}
	if fn.Routine != nil {
		b.calls(fn)
	}
	if b.env.Notes != nil {
		in, err := b.schemaName(t)
		if err != nil {
			return nil, err
		}
		b.env.Notes.noteOperator(e, in, t.Oid)
	}
	return fn, nil
}

// findOperator returns the operator that users have made and that op means for operands of types, nil if it means another.
func (b *builder) findOperator(op ast.Operator, ts []*types.T) (*catalog.Table, error) {
	finder, ok := b.env.Catalog.(catalog.OperatorFinder)
	if !ok || op.Schema == "pg_catalog" {
		return nil, nil
	}
	found, err := finder.FindOperators(b.ctx, op.Schema, operatorName(op.Name))
	if err != nil {
		return nil, err
	}
	var system []*call.Overload
	if op.Schema == "" {
		system = builtin.OperatorsSeen(op.Name, ts, b.hasExtension)
	}
	return ChooseOperator(found, system, ts)
}

// ChooseOperator chooses among the operators of a name that users have made and those of the system; nil is one of the system, or none.
func ChooseOperator(found []*catalog.Table, system []*call.Overload, ts []*types.T) (*catalog.Table, error) {
	candidates := slices.Clip(system)
	for _, t := range found {
		if o := t.Overload(); len(o.Args) == len(ts) && !hides(system, o) {
			candidates = append(candidates, o)
		}
	}
	if len(candidates) == len(system) {
		return nil, nil
	}
	fn, err := builtin.Resolve(candidates, ts)
	if err != nil {
		return nil, err
	}
	t, _ := fn.Routine.(*catalog.Table)
	return t, nil
}

// operatorName is the name under which an operator is kept.
func operatorName(name string) string {
	if name == "!=" {
		return "<>"
	}
	return name
}

// NotedOperator is an operator that a user has made.
type NotedOperator struct {
	Schema ast.Name
	Oid    uint32
}

// noteOperator notes which operator of a user an expression means.
func (n *Notes) noteOperator(e ast.Expr, schema ast.Name, oid uint32) {
	if n.Operators == nil {
		n.Operators = map[ast.Expr]NotedOperator{}
	}
	n.Operators[e] = NotedOperator{schema, oid}
}

// OperatorOf returns the operator that stands in an expression, nil if it is none with operands.
func OperatorOf(e ast.Node) (op *ast.Operator, operands int) {
	switch e := e.(type) {
	case *ast.BinaryOp:
		return &e.Op, 2
	case *ast.UnaryOp:
		return &e.Op, 1
	case *ast.Quantified:
		return &e.Op, 2
	}
	return nil, 0
}
