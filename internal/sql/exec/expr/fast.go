package expr

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// operand is an argument of a fast operator. One that stands in a list of values, or in the row, is read without a call.
type operand struct {
	list *[]types.Datum // where pos counts, if that is within: parameters, the fields of a row among them, or a constant
	pos  int
	row  bool // it stands at pos of the row
	f    Func // what computes any other
}

func (c *Compiler) operandOf(e plan.Expr, s Scope) (operand, error) {
	if k, ok := e.(*plan.Const); ok {
		return operand{list: &[]types.Datum{k.D}}, nil
	}
	if ref, ok := e.(*plan.ColRef); ok {
		if pos := s.Find(ref.Col); pos >= 0 {
			return operand{pos: pos, row: true}, nil
		}
	}
	f, err := c.Expr(e, s)
	o := operand{f: f}
	switch e := e.(type) {
	case *plan.Param:
		o.list, o.pos = &c.state.params, e.Index
	case *plan.FieldSelect:
		if fields := c.fieldsOf(e.Arg); fields != nil {
			o.list, o.pos = fields, e.Field
		}
	}
	return o, err
}

func (o *operand) get(row types.Row) (types.Datum, error) {
	if o.list != nil && o.pos < len(*o.list) {
		return (*o.list)[o.pos], nil
	}
	return o.compute(row)
}

// integer is get for an integer, of which it reads no more than that.
func (o *operand) integer(row types.Row) (n int64, null bool, err error) {
	if o.list != nil && o.pos < len(*o.list) {
		d := &(*o.list)[o.pos]
		return d.Int(), d.IsNull(), nil
	}
	d, err := o.compute(row)
	return d.Int(), d.IsNull(), err
}

func (o *operand) compute(row types.Row) (types.Datum, error) {
	if o.row {
		return row[o.pos], nil
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
		x, none, err := l.integer(row)
		if err != nil {
			return false, err
		}
		y, missing, err := r.integer(row)
		if err != nil || none || missing {
			return false, err
		}
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
	sum, bin := arithmeticOf(e.Fn), c.fastBinary(e.Fn)
	if bin == nil {
		return nil, false, nil
	}
	l, r, err := c.operandsOf(e, s)
	if err != nil {
		return nil, false, err
	}
	if sum != nil {
		return sum.of(l, r), true, nil
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
	if sum := arithmeticOf(fn); sum != nil {
		return sum.binary
	}
	return nil
}

func integer(t *types.T) bool {
	return t.Oid == types.Int2.Oid || t.Oid == types.Int4.Oid || t.Oid == types.Int8.Oid
}

// arithmetic is +, - or * of integers, with the range of its result's type.
type arithmetic struct {
	op     byte
	lo, hi int64
	ret    *types.T
}

// arithmeticOf returns which arithmetic an operator is; nil for division and the rest, which are left to the general call.
func arithmeticOf(fn *call.Overload) *arithmetic {
	if !fn.Strict || len(fn.Args) != 2 || !integer(fn.Args[0]) || !integer(fn.Args[1]) || !integer(fn.Ret) {
		return nil
	}
	m := &arithmetic{lo: math.MinInt64, hi: math.MaxInt64, ret: fn.Ret}
	switch fn.Name {
	case "+", "-", "*":
		m.op = fn.Name[0]
	default:
		return nil
	}
	switch fn.Ret.Oid {
	case types.Int2.Oid:
		m.lo, m.hi = math.MinInt16, math.MaxInt16
	case types.Int4.Oid:
		m.lo, m.hi = math.MinInt32, math.MaxInt32
	}
	return m
}

// of computes it of operands.
func (m *arithmetic) of(l, r operand) Func {
	return func(row types.Row) (types.Datum, error) {
		x, none, err := l.integer(row)
		if err != nil {
			return types.Null, err
		}
		y, missing, err := r.integer(row)
		if err != nil || none || missing {
			return types.Null, err
		}
		return m.result(x, y)
	}
}

// binary computes it of values, none of which is NULL.
func (m *arithmetic) binary(a, b types.Datum) (types.Datum, error) { return m.result(a.Int(), b.Int()) }

func (m *arithmetic) result(x, y int64) (types.Datum, error) {
	v, err := m.sum(x, y)
	if err != nil {
		return types.Null, err
	}
	return types.NewInt(v), nil
}

func (m *arithmetic) sum(x, y int64) (v int64, err error) {
	var over bool
	switch m.op {
	case '+':
		v = x + y
		over = (v > x) != (y > 0)
	case '-':
		v = x - y
		over = (v < x) != (y > 0)
	default:
		v = x * y
		over = x != 0 && (v/x != y || (x == -1 && y == math.MinInt64))
	}
	if over || v < m.lo || v > m.hi {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", m.ret.SQLName)
	}
	return v, nil
}

// into computes it of operands.
func (m *arithmetic) into(l, r operand) Into {
	return func(row types.Row, to *types.Datum) error {
		x, none, err := l.integer(row)
		if err != nil {
			return err
		}
		y, missing, err := r.integer(row)
		if err != nil {
			return err
		}
		if none || missing {
			*to = types.Null
			return nil
		}
		v, err := m.sum(x, y)
		if err == nil {
			*to = types.NewInt(v)
		}
		return err
	}
}

// Into compiles an expression for a caller that keeps its values.
func (c *Compiler) Into(e plan.Expr, s Scope) (Into, error) {
	if e, ok := e.(*plan.Call); ok && len(e.Args) == 2 && e.Fn.Operator {
		if m := arithmeticOf(e.Fn); m != nil {
			l, r, err := c.operandsOf(e, s)
			if err != nil {
				return nil, err
			}
			return m.into(l, r), nil
		}
	}
	f, err := c.Expr(e, s)
	if err != nil {
		return nil, err
	}
	return func(row types.Row, to *types.Datum) error {
		d, err := f(row)
		if err == nil {
			*to = d.Clone()
		}
		return err
	}, nil
}

// ComparisonOf returns which of the six comparison operators fn is, if it is one.
func ComparisonOf(fn *call.Overload) (op Comparison, ok bool) {
	if !fn.Operator || !fn.Strict || len(fn.Args) != 2 {
		return 0, false
	}
	op, ok = comparisons[fn.Name]
	return op, ok
}
