package expr

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// operandKind says where a fast operator finds an operand without a call.
type operandKind uint8

const (
	fromExpr operandKind = iota
	fromRow
	fromConst
	fromParam
)

// operand is an argument of a fast operator.
type operand struct {
	kind  operandKind
	pos   int
	d     types.Datum
	f     Func
	state *State
}

func (c *Compiler) operandOf(e plan.Expr, s Scope) (operand, error) {
	switch e := e.(type) {
	case *plan.Const:
		return operand{kind: fromConst, d: e.D}, nil
	case *plan.ColRef:
		if pos := s.Find(e.Col); pos >= 0 {
			return operand{kind: fromRow, pos: pos}, nil
		}
	case *plan.Param:
		return operand{kind: fromParam, pos: e.Index, state: c.state, f: c.param(e)}, nil
	}
	f, err := c.Expr(e, s)
	return operand{f: f}, err
}

func (o *operand) get(row types.Row) (types.Datum, error) {
	switch o.kind {
	case fromRow:
		return row[o.pos], nil
	case fromConst:
		return o.d, nil
	case fromParam:
		if o.pos < len(o.state.params) {
			return o.state.params[o.pos], nil
		}
	}
	return o.f(row)
}

// FastComparison returns which comparison fn is, if it is one of a type whose order needs no call.
func FastComparison(fn *call.Overload) (op Comparison, ok bool) {
	if op, ok = ComparisonOf(fn); !ok {
		return 0, false
	}
	return op, fn.Args[0].Family == fn.Args[1].Family && Simple(fn.Args[0])
}

// operandsOf compiles both arguments of a call.
func (c *Compiler) operandsOf(e *plan.Call, s Scope) (l, r operand, err error) {
	if l, err = c.operandOf(e.Args[0], s); err == nil {
		r, err = c.operandOf(e.Args[1], s)
	}
	return l, r, err
}

// fastPred compiles a comparison of common types as a condition.
func (c *Compiler) fastPred(e *plan.Call, s Scope) (Pred, bool, error) {
	op, ok := FastComparison(e.Fn)
	if !ok || len(e.Args) != 2 {
		return nil, false, nil
	}
	l, r, err := c.operandsOf(e, s)
	if err != nil {
		return nil, false, err
	}
	if e.Fn.Args[0].Family == types.IntFamily {
		return intPred(op, l, r), true, nil
	}
	cmp := c.CompareOf(e.Fn.Args[0])
	return func(row types.Row) (bool, error) {
		a, err := l.get(row)
		if err != nil {
			return false, err
		}
		b, err := r.get(row)
		if err != nil || a.IsNull() || b.IsNull() {
			return false, err
		}
		return op.Holds(cmp(a, b)), nil
	}, true, nil
}

// intPred is the condition of the hottest comparisons.
func intPred(op Comparison, l, r operand) Pred {
	return func(row types.Row) (bool, error) {
		a, err := l.get(row)
		if err != nil {
			return false, err
		}
		b, err := r.get(row)
		if err != nil || a.IsNull() || b.IsNull() {
			return false, err
		}
		x, y := a.Int(), b.Int()
		switch op {
		case EQ:
			return x == y, nil
		case NE:
			return x != y, nil
		case LT:
			return x < y, nil
		case LE:
			return x <= y, nil
		case GT:
			return x > y, nil
		}
		return x >= y, nil
	}
}

// fastCall compiles comparisons of common types and integer arithmetic.
func (c *Compiler) fastCall(e *plan.Call, s Scope) (Func, bool, error) {
	if len(e.Args) != 2 || len(e.Fn.Args) != 2 || !e.Fn.Operator {
		return nil, false, nil
	}
	bin := c.fastBinary(e.Fn)
	if bin == nil {
		return nil, false, nil
	}
	l, r, err := c.operandsOf(e, s)
	if err != nil {
		return nil, false, err
	}
	return func(row types.Row) (types.Datum, error) {
		a, err := l.get(row)
		if err != nil {
			return types.Null, err
		}
		b, err := r.get(row)
		if err != nil || a.IsNull() || b.IsNull() {
			return types.Null, err
		}
		return bin(a, b)
	}, true, nil
}

// BinaryFunc is a binary operator on two values.
type BinaryFunc func(a, b types.Datum) (types.Datum, error)

// fastBinary returns an operator that needs no general call, or nil. Its
// operands must not be NULL.
func (c *Compiler) fastBinary(fn *call.Overload) BinaryFunc {
	if op, ok := FastComparison(fn); ok {
		cmp := c.CompareOf(fn.Args[0])
		return func(a, b types.Datum) (types.Datum, error) { return types.NewBool(op.Holds(cmp(a, b))), nil }
	}
	if fn.Strict && integer(fn.Args[0]) && integer(fn.Args[1]) && integer(fn.Ret) {
		return intArithmetic(fn.Name, fn.Ret)
	}
	return nil
}

func integer(t *types.T) bool {
	return t.Oid == types.Int2.Oid || t.Oid == types.Int4.Oid || t.Oid == types.Int8.Oid
}

// intArithmetic returns +, - or * with the range check of type t; division and
// the rest are left to the general call.
func intArithmetic(name string, t *types.T) BinaryFunc {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	errRange := pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", t.SQLName)
	switch t.Oid {
	case types.Int2.Oid:
		lo, hi = math.MinInt16, math.MaxInt16
	case types.Int4.Oid:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	check := func(v int64, overflow bool) (types.Datum, error) {
		if overflow || v < lo || v > hi {
			e := *errRange
			return types.Null, &e
		}
		return types.NewInt(v), nil
	}
	switch name {
	case "+":
		return func(a, b types.Datum) (types.Datum, error) {
			x, y := a.Int(), b.Int()
			v := x + y
			return check(v, (v > x) != (y > 0))
		}
	case "-":
		return func(a, b types.Datum) (types.Datum, error) {
			x, y := a.Int(), b.Int()
			v := x - y
			return check(v, (v < x) != (y > 0))
		}
	case "*":
		return func(a, b types.Datum) (types.Datum, error) {
			x, y := a.Int(), b.Int()
			v := x * y
			over := x != 0 && (v/x != y || (x == -1 && y == math.MinInt64))
			return check(v, over)
		}
	}
	return nil
}

// ComparisonOf returns which of the six comparison operators fn is, if it is one.
func ComparisonOf(fn *call.Overload) (op Comparison, ok bool) {
	if !fn.Operator || !fn.Strict || len(fn.Args) != 2 {
		return 0, false
	}
	op, ok = comparisons[fn.Name]
	return op, ok
}
