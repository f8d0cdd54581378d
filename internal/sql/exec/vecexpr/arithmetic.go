package vecexpr

import (
	"math"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// arithmetic is an operator that kernels compute.
type arithmetic uint8

const (
	plus arithmetic = iota + 1
	minus
	times
	over   // of integers
	modulo // of integers
)

var arithmetics = map[string]arithmetic{"+": plus, "-": minus, "*": times, "/": over, "%": modulo}

// operand is an argument of an operator: an expression, or one value for all rows.
type operand struct {
	vec   Expr
	fixed expr.Func // nil if vec is set
}

// operand compiles an argument.
func (c Compiler) operand(e plan.Expr) (o operand, err error) {
	if c.fixed(e) {
		o.fixed, err = c.Rows.Expr(e, nil)
		return o, err
	}
	o.vec, err = c.Expr(e)
	return o, err
}

// fixed reports whether e has one value for all rows.
func (c Compiler) fixed(e plan.Expr) bool {
	return len(c.ColumnsOf(e)) == 0 && !plan.Volatile(e)
}

// eval returns the operand's vector, or its value for all rows.
func (o *operand) eval(f *Frame) (v *vector.Vector, d types.Datum) {
	if o.vec != nil {
		return o.vec.Eval(f), d
	}
	if len(f.Sel) == 0 {
		return nil, d
	}
	d, err := o.fixed(nil)
	if err != nil {
		f.Fail(f.Sel[0], err)
	}
	return nil, d
}

// value returns the operand for one row.
func value(v *vector.Vector, d types.Datum, i uint16) types.Datum {
	if v == nil {
		return d
	}
	return v.Datum(i)
}

// binary is an operator with two operands.
type binary struct {
	left, right operand
	row         expr.BinaryFunc // the operator for one row
	nulls       [vector.BatchRows]uint16
}

// binary compiles the operands of a call.
func (c Compiler) binary(e *plan.Call) (b binary, err error) {
	if b.left, err = c.operand(e.Args[0]); err != nil {
		return b, err
	}
	if b.right, err = c.operand(e.Args[1]); err != nil {
		return b, err
	}
	b.row, err = c.Rows.Binary(e.Fn, e.Args[0].Type(), e.Args[1].Type())
	return b, err
}

// present returns the rows of sel that are not NULL in v.
func present(v *vector.Vector, sel, buf vector.Selection) vector.Selection {
	if v == nil || !v.Nulls.Any() || plant.On(plant.NullsAsValues) {
		return sel
	}
	n := 0
	for _, i := range sel {
		buf[n] = i
		n += one(!v.Nulls.Has(i))
	}
	return buf[:n]
}

// calculation is +, -, * of integers or numerics, / or % of integers.
type calculation struct {
	binary
	op     arithmetic
	limits limits // of integers
	family types.Family
	out    vector.Vector
}

// arithmetic compiles an operator that kernels compute; it returns nil for any other call.
func (c Compiler) arithmetic(e *plan.Call) (Expr, error) {
	op := arithmetics[e.Fn.Name]
	if op == 0 || !e.Fn.Operator || !e.Fn.Strict || len(e.Args) != 2 || len(e.Fn.Args) != 2 {
		return nil, nil
	}
	x := &calculation{op: op, family: e.Fn.Ret.Family}
	switch {
	case integers(e.Fn.Args[0], e.Fn.Args[1]) && integer(e.Fn.Ret):
		x.limits = limitsOf(e.Fn)
	case op <= times && e.Fn.Args[0].Family == types.DecimalFamily && e.Fn.Args[1].Family == types.DecimalFamily:
	default:
		return nil, nil
	}
	var err error
	x.binary, err = c.binary(e)
	return x, err
}

func limitsOf(fn *call.Overload) limits {
	switch fn.Ret.Oid {
	case types.Int2.Oid:
		return limits{math.MinInt16, math.MaxInt16}
	case types.Int4.Oid:
		return limits{math.MinInt32, math.MaxInt32}
	}
	return limits{math.MinInt64, math.MaxInt64}
}

// Eval implements Expr.
func (x *calculation) Eval(f *Frame) *vector.Vector {
	a, ad := x.left.eval(f)
	b, bd := x.right.eval(f)
	x.out.Reset(x.family, f.N)
	if a == nil && ad.IsNull() || b == nil && bd.IsNull() {
		for _, i := range f.Sel {
			x.out.Nulls.Add(i)
		}
		return &x.out
	}
	for _, v := range []*vector.Vector{a, b} {
		if v != nil {
			x.out.Nulls.Union(&v.Nulls)
		}
	}
	sel := present(&x.out, f.Sel, x.nulls[:])
	if x.family == types.IntFamily {
		x.ints(f, sel, a, b, ad, bd)
	} else {
		x.decimals(f, sel, a, b, ad, bd)
	}
	return &x.out
}

// ints computes integers. A row whose result does not fit fails as the operator for one row says.
func (x *calculation) ints(f *Frame, sel vector.Selection, a, b *vector.Vector, ad, bd types.Datum) {
	op, l, r, c := x.op, a, b, bd.Int()
	if a == nil {
		if l, r, c = b, nil, ad.Int(); op != plus && op != times {
			x.rowByRow(f, sel, a, b, ad, bd) // a constant minus, or over, a column is rare
			return
		}
	}
	if l == nil {
		x.rowByRow(f, sel, a, b, ad, bd)
		return
	}
	var right []int64
	if r != nil {
		right = r.Ints
	}
	n := intKernel(op, x.limits, x.out.Ints, l.Ints, right, c, sel)
	if n < len(sel) {
		x.rowByRow(f, sel[n:n+1], a, b, ad, bd)
	}
}

// decimals computes numerics of one scale whose results fit 64 bits by a kernel, others one by one.
func (x *calculation) decimals(f *Frame, sel vector.Selection, a, b *vector.Vector, ad, bd types.Datum) {
	l, ok := small(a, ad)
	r, ok2 := small(b, bd)
	if ok && ok2 && len(sel) > 0 && x.aligned(&l, &r) {
		n := decimalKernel(x.op, x.out.Ints, l, r, sel)
		if n == len(sel) {
			return
		}
	}
	x.out.Generalize()
	x.rowByRow(f, sel, a, b, ad, bd)
}

// decimalOperand is an operand whose coefficients fit 64 bits: those of a vector, or one for all
// rows; times factor.
type decimalOperand struct {
	coeffs []int64
	coeff  int64
	scale  int32
	factor int64
}

func small(v *vector.Vector, d types.Datum) (o decimalOperand, ok bool) {
	o.factor = 1
	if v == nil {
		o.coeff, o.scale, ok = d.SmallDecimal()
		return o, ok
	}
	o.coeffs, o.scale = v.Ints, v.Scale
	return o, v.Kind == vector.Decimals && v.Scale >= 0
}

// aligned sets the scale of the result, and the factors that bring operands of a sum to it; it reports
// false if they are too large.
func (x *calculation) aligned(l, r *decimalOperand) bool {
	if x.op == times {
		x.out.Scale = l.scale + r.scale
		return x.out.Scale <= types.MaxDecimalScale
	}
	x.out.Scale = max(l.scale, r.scale)
	for _, o := range []*decimalOperand{l, r} {
		up := int(x.out.Scale - o.scale)
		if up >= len(pow10) {
			return false
		}
		o.factor = pow10[up]
	}
	return true
}

var pow10 = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12}

// at returns the coefficient at i, and whether it fits.
func (o *decimalOperand) at(i uint16) (int64, bool) {
	c := o.coeff
	if o.coeffs != nil {
		c = o.coeffs[i]
	}
	if o.factor == 1 {
		return c, true
	}
	return mul64(c, o.factor)
}

// decimalKernel computes coefficients for the rows of sel, up to the first that does not fit, and
// returns how many it has computed.
func decimalKernel(op arithmetic, out []int64, l, r decimalOperand, sel vector.Selection) int {
	for n, i := range sel {
		a, ok := l.at(i)
		b, ok2 := r.at(i)
		var v int64
		var fits bool
		switch op {
		case plus:
			v, fits = add64(a, b)
		case minus:
			v, fits = sub64(a, b)
		default:
			v, fits = mul64(a, b)
		}
		if !ok || !ok2 || !fits || v == math.MinInt64 {
			return n
		}
		out[i] = v
	}
	return len(sel)
}

// rowByRow computes the rows of sel with the operator for one row.
func (x *calculation) rowByRow(f *Frame, sel vector.Selection, a, b *vector.Vector, ad, bd types.Datum) {
	for _, i := range f.Trim(sel) {
		d, err := x.row(value(a, ad, i), value(b, bd, i))
		if err != nil {
			f.Fail(i, err)
			return
		}
		x.out.Set(i, d)
	}
}
