package optimizer

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// pushBarrier moves the conditions below n that tell of no row.
func (o *optimizer) pushBarrier(n *plan.Barrier, conds []plan.Expr) plan.Node {
	var below, above []plan.Expr
	for _, c := range conds {
		if !plan.Volatile(c) && leakproof(c) || plant.On(plant.BarrierPassed) {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	n.Input = o.push(n.Input, below)
	return filtered(n, above)
}

// dropBarriers drops the barriers in a query, once conditions stay where they are. The scans below go on guarding theirs.
func (o *optimizer) dropBarriers(n plan.Node) plan.Node {
	eachChild(n, o.dropBarriers)
	b, ok := n.(*plan.Barrier)
	if !ok {
		return n
	}
	plan.Walk(b.Input, func(n plan.Node) bool {
		if s, ok := n.(*plan.Scan); ok {
			s.Guarded = true
		}
		return true
	})
	return b.Input
}

// leakproof reports whether computing a condition tells nobody of the values of columns. It is a rule of what may: the rest
// does not count as leakproof.
func leakproof(e plan.Expr) bool {
	ok := true
	plan.WalkExpr(e, func(x plan.Expr) bool {
		ok = ok && leakproofNode(x)
		return ok
	})
	return ok
}

// leakproofNode is leakproof for an expression without its operands.
func leakproofNode(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Const, *plan.ColRef, *plan.Param, *plan.CaseOperand, *plan.SessionValue, *plan.And, *plan.Or, *plan.Not, *plan.Is,
		*plan.Coalesce, *plan.Case, *plan.ArrayCtor, *plan.RowCtor, *plan.FieldSelect, *plan.Subscript:
		return true
	case *plan.Call:
		return builtin.Leakproof(e.Fn) || !refersToColumns(e)
	case *plan.Cast:
		return leakproofCast(e)
	case *plan.IsDistinct:
		return leakproofOps(e.Eq)
	case *plan.NullIf:
		return leakproofOps(e.Eq)
	case *plan.MinMax:
		return leakproofOps(e.Less)
	case *plan.InList:
		return leakproofOps(e.Eq)
	case *plan.AnyAll:
		return leakproofOps(e.Op)
	case *plan.RowCompare:
		return leakproofOps(e.Eq...) && leakproofOps(e.Less...)
	}
	return false
}

func leakproofOps(ops ...*call.Overload) bool {
	for _, o := range ops {
		if o == nil || !builtin.Leakproof(o) {
			return false
		}
	}
	return true
}

// leakproofCast reports whether a conversion fits every value: to a wider number, or to a type with the same form.
func leakproofCast(e *plan.Cast) bool {
	from, to := e.Arg.Type(), e.T
	if e.Mode == plan.CastCollate || !refersToColumns(e.Arg) {
		return true
	}
	if to.OfDomain() || to.IsDomain() || to.Typmod >= 0 {
		return false
	}
	if from.Family == types.IntFamily && to.Family == types.IntFamily && integerWidth(to) >= integerWidth(from) {
		return true
	}
	c, ok := casts.Find(from, to)
	return ok && c.Method == 'b'
}

// integerWidth orders the types of integers; those that are no numbers come first.
func integerWidth(t *types.T) int {
	switch t.Oid {
	case types.Int2.Oid:
		return 1
	case types.Int4.Oid:
		return 2
	case types.Int8.Oid:
		return 3
	}
	return 0
}
