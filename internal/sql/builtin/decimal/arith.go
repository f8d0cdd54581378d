package decimal

import (
	"math"
	"math/bits"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Scales of numeric results: at least so many significant digits in a quotient
// or a transcendental function, at most so many digits after the point.
const (
	minSigDigits    = 16
	maxDisplayScale = 1000
	maxResultScale  = 2000
)

// ErrNumericOverflow is 22003 for a result of more digits than a numeric holds.
var ErrNumericOverflow = pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")

// Pow10Int holds the powers of ten of an int64.
var Pow10Int = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// Pow10Big returns 10^n.
func Pow10Big(n int64) *apd.BigInt {
	if n < int64(len(Pow10Int)) {
		return apd.NewBigInt(Pow10Int[n])
	}
	return new(apd.BigInt).Exp(apd.NewBigInt(10), apd.NewBigInt(n), nil)
}

// IsSpecial reports whether a decimal is NaN or infinite.
func IsSpecial(d types.Datum) bool { return d.IsNaN() || d.InfSign() != 0 }

// SignedCoeff returns the coefficient of a finite decimal with its sign.
func SignedCoeff(d types.Datum) *apd.BigInt {
	var x apd.Decimal
	d.Decimal(&x)
	if x.Negative {
		negate(&x.Coeff)
	}
	return &x.Coeff
}

// negate changes the sign of n, but not of zero: a BigInt can hold a minus
// zero, which math/big does not expect.
func negate(n *apd.BigInt) {
	if n.Sign() != 0 {
		n.Neg(n)
	}
}

// Of returns n × 10^-scale and checks the limits of numeric.
func Of(n *apd.BigInt, scale int32) (types.Datum, error) {
	x := apd.Decimal{Exponent: -scale, Negative: n.Sign() < 0}
	x.Coeff.Abs(n)
	if TooLarge(&x) {
		return types.Null, call.Fail(ErrNumericOverflow)
	}
	return types.NewDecimal(&x), nil
}

// TooLarge reports whether x has more digits before the point than a numeric can.
func TooLarge(x *apd.Decimal) bool {
	// 3.33 bits make a digit; only huge numbers need to be counted exactly.
	return x.Coeff.BitLen() > 3*types.MaxDecimalDigits && x.NumDigits()+int64(x.Exponent) > types.MaxDecimalDigits
}

// Add returns a + b at the larger scale of the two.
func Add(a, b types.Datum) (types.Datum, error) {
	ca, sa, oka := a.SmallDecimal()
	cb, sb, okb := b.SmallDecimal()
	if oka && okb {
		if r, ok := addSmall(ca, sa, cb, sb); ok {
			return r, nil
		}
	}
	if IsSpecial(a) || IsSpecial(b) {
		return AddSpecial(a, b), nil
	}
	scale := max(a.DecimalScale(), b.DecimalScale())
	x, y := AlignedCoeff(a, scale), AlignedCoeff(b, scale)
	return Of(x.Add(x, y), scale)
}

// addSmall adds in 64 bits if that cannot overflow.
func addSmall(ca int64, sa int32, cb int64, sb int32) (types.Datum, bool) {
	if sa < sb {
		ca, sa, cb, sb = cb, sb, ca, sa
	}
	if sa != sb {
		if sa-sb >= int32(len(Pow10Int)) {
			return types.Null, false
		}
		p := Pow10Int[sa-sb]
		r := cb * p
		if r/p != cb {
			return types.Null, false
		}
		cb = r
	}
	s := ca + cb
	if (ca >= 0) == (cb >= 0) && (s >= 0) != (ca >= 0) {
		return types.Null, false
	}
	return types.NewDecimalInt(s, sa), true
}

// AlignedCoeff returns the signed coefficient of d at a scale not below its own.
func AlignedCoeff(d types.Datum, scale int32) *apd.BigInt {
	n := SignedCoeff(d)
	if up := scale - d.DecimalScale(); up > 0 {
		n.Mul(n, Pow10Big(int64(up)))
	}
	return n
}

// AddSpecial is Add where NaN or an infinity takes part.
func AddSpecial(a, b types.Datum) types.Datum {
	ia, ib := a.InfSign(), b.InfSign()
	switch {
	case a.IsNaN() || b.IsNaN() || ia != 0 && ib != 0 && ia != ib:
		return types.DecimalNaN
	case ia != 0:
		return a
	}
	return b
}

// Neg returns -d.
func Neg(d types.Datum) types.Datum {
	if c, s, ok := d.SmallDecimal(); ok && c != math.MinInt64 {
		return types.NewDecimalInt(-c, s)
	}
	switch {
	case d.IsNaN():
		return d
	case d.InfSign() > 0:
		return types.DecimalNegInf
	case d.InfSign() < 0:
		return types.DecimalInf
	}
	var x apd.Decimal
	d.Decimal(&x)
	x.Negative = !x.Negative
	return types.NewDecimal(&x)
}

// Sub returns a - b at the larger scale of the two.
func Sub(a, b types.Datum) (types.Datum, error) { return Add(a, Neg(b)) }

// Mul returns a × b; the scales add up.
func Mul(a, b types.Datum) (types.Datum, error) {
	ca, sa, oka := a.SmallDecimal()
	cb, sb, okb := b.SmallDecimal()
	if oka && okb {
		if hi, lo := bits.Mul64(AbsUint(ca), AbsUint(cb)); hi == 0 && lo <= math.MaxInt64 && sa+sb <= types.MaxDecimalScale {
			r := int64(lo)
			if (ca < 0) != (cb < 0) {
				r = -r
			}
			return types.NewDecimalInt(r, sa+sb), nil
		}
	}
	if IsSpecial(a) || IsSpecial(b) {
		return MulSpecial(a, b), nil
	}
	x := SignedCoeff(a)
	r, err := Of(x.Mul(x, SignedCoeff(b)), a.DecimalScale()+b.DecimalScale())
	if err == nil && r.DecimalScale() > types.MaxDecimalScale {
		r = types.RoundDecimal(r, types.MaxDecimalScale)
	}
	return r, err
}

// MulSpecial is Mul where NaN or an infinity takes part.
func MulSpecial(a, b types.Datum) types.Datum {
	if a.IsNaN() || b.IsNaN() {
		return types.DecimalNaN
	}
	return InfinityOf(a.DecimalSign() * b.DecimalSign())
}

// InfinityOf returns the infinity of a sign, NaN for 0.
func InfinityOf(sign int) types.Datum {
	switch {
	case sign > 0:
		return types.DecimalInf
	case sign < 0:
		return types.DecimalNegInf
	}
	return types.DecimalNaN
}

// leading returns what PostgreSQL's choice of scales looks at: a number's
// weight in base 10000 and its first digit of that base; zeros for zero.
func leading(d types.Datum) (weight, first int) {
	digits, top := LeadingDigits(d)
	if digits == 0 {
		return 0, 0
	}
	exp := digits - int(d.DecimalScale()) - 1 // of the first decimal digit
	weight = floorDiv(exp, 4)
	n := exp - 4*weight + 1 // decimal digits in the first digit of base 10000
	for have := min(digits, 8); have > n; have-- {
		top /= 10
	}
	for have := min(digits, 8); have < n; have++ {
		top *= 10
	}
	return weight, top
}

// LeadingDigits returns the number of decimal digits of d's coefficient and
// the first eight of them as a number.
func LeadingDigits(d types.Datum) (digits, top int) {
	if c, _, ok := d.SmallDecimal(); ok {
		u := AbsUint(c)
		for v := u; v > 0; v /= 10 {
			digits++
		}
		for i := digits; i > 8; i-- {
			u /= 10
		}
		return digits, int(u)
	}
	var x apd.Decimal
	d.Decimal(&x)
	s := x.Coeff.String()
	for i := 0; i < 8 && i < len(s); i++ {
		top = 10*top + int(s[i]-'0')
	}
	return len(s), top
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// clampScale brings a result scale into the range of displayed scales and to
// at least the scales of the operands.
func clampScale(scale int, operands ...types.Datum) int32 {
	for _, d := range operands {
		scale = max(scale, int(d.DecimalScale()))
	}
	return int32(min(max(scale, 0), maxDisplayScale))
}

// QuotientScale chooses the scale of a / b so that the quotient has at least
// minSigDigits significant digits.
func QuotientScale(a, b types.Datum) int32 {
	wa, fa := leading(a)
	wb, fb := leading(b)
	w := wa - wb
	if fa <= fb {
		w--
	}
	return clampScale(minSigDigits-4*w, a, b)
}

// Div returns a / b, rounded half away from zero.
func Div(a, b types.Datum) (types.Datum, error) {
	if IsSpecial(a) || IsSpecial(b) {
		return divSpecial(a, b)
	}
	if b.DecimalSign() == 0 {
		return types.Null, call.Fail(call.ErrDivisionByZero)
	}
	return DivToScale(a, b, QuotientScale(a, b), true)
}

// DivToScale divides finite decimals to a scale, rounding or truncating.
func DivToScale(a, b types.Datum, scale int32, round bool) (types.Datum, error) {
	up := int64(scale) + int64(b.DecimalScale()) - int64(a.DecimalScale())
	ca, _, oka := a.SmallDecimal()
	cb, _, okb := b.SmallDecimal()
	if oka && okb && up >= 0 && up < int64(len(Pow10Int)) {
		ub := AbsUint(cb)
		if hi, lo := bits.Mul64(AbsUint(ca), uint64(Pow10Int[up])); hi < ub {
			q, r := bits.Div64(hi, lo, ub)
			if round && r >= ub-r {
				q++
			}
			if q <= math.MaxInt64 {
				n := int64(q)
				if (ca < 0) != (cb < 0) {
					n = -n
				}
				return types.NewDecimalInt(n, scale), nil
			}
		}
	}
	x, y := SignedCoeff(a), SignedCoeff(b)
	if up >= 0 {
		x.Mul(x, Pow10Big(up))
	} else {
		y.Mul(y, Pow10Big(-up))
	}
	neg := (x.Sign() < 0) != (y.Sign() < 0)
	x.Abs(x)
	y.Abs(y)
	var q, r apd.BigInt
	q.QuoRem(x, y, &r)
	if round && r.Lsh(&r, 1).Cmp(y) >= 0 {
		q.Add(&q, apd.NewBigInt(1))
	}
	if neg {
		negate(&q)
	}
	return Of(&q, scale)
}

func divSpecial(a, b types.Datum) (types.Datum, error) {
	switch {
	case a.IsNaN() || b.IsNaN():
		return types.DecimalNaN, nil
	case b.DecimalSign() == 0:
		return types.Null, call.Fail(call.ErrDivisionByZero)
	case a.InfSign() != 0 && b.InfSign() != 0:
		return types.DecimalNaN, nil
	case a.InfSign() != 0:
		return InfinityOf(a.InfSign() * b.DecimalSign()), nil
	}
	return types.NewDecimalInt(0, 0), nil
}

// Mod is the remainder of the truncated quotient: it has the sign of a.
func Mod(a, b types.Datum) (types.Datum, error) {
	switch {
	case a.IsNaN() || b.IsNaN():
		return types.DecimalNaN, nil
	case b.DecimalSign() == 0:
		return types.Null, call.Fail(call.ErrDivisionByZero)
	case a.InfSign() != 0:
		return types.DecimalNaN, nil
	case b.InfSign() != 0:
		return a, nil
	}
	ca, sa, oka := a.SmallDecimal()
	cb, sb, okb := b.SmallDecimal()
	if oka && okb && sa == sb && cb != -1 {
		return types.NewDecimalInt(ca%cb, sa), nil
	}
	scale := max(sa, sb, a.DecimalScale(), b.DecimalScale())
	x := AlignedCoeff(a, scale)
	return Of(x.Rem(x, AlignedCoeff(b, scale)), scale)
}

// DivTrunc is div(a, b): the truncated quotient.
func DivTrunc(a, b types.Datum) (types.Datum, error) {
	if IsSpecial(a) || IsSpecial(b) {
		return divSpecial(a, b)
	}
	if b.DecimalSign() == 0 {
		return types.Null, call.Fail(call.ErrDivisionByZero)
	}
	return DivToScale(a, b, 0, false)
}

// FromInt returns an integer as a numeric.
func FromInt(n int64) types.Datum { return types.NewDecimalInt(n, 0) }

// inexact is the context of transcendental functions at a precision.
func inexact(precision int) *apd.Context {
	return &apd.Context{
		Precision: uint32(max(precision, 20)), Rounding: apd.RoundHalfUp,
		MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent,
	}
}

// guardDigits are computed beyond the result's, so that rounding is right but
// for cases next to impossible.
const guardDigits = 12

// rounded turns the result of a transcendental function into a numeric.
func rounded(x *apd.Decimal, scale int32, err error) (types.Datum, error) {
	if err != nil || x.Form != apd.Finite || int64(x.Exponent)+x.NumDigits() > types.MaxDecimalDigits {
		return types.Null, call.Fail(ErrNumericOverflow)
	}
	return types.RoundDecimal(types.NewDecimal(x), scale), nil
}

// AbsUint returns an integer without its sign.
func AbsUint(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
