package decimal

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// bitsPerDigit is log2(10), rounded up.
const bitsPerDigit = 3.3220

// fixedPoint is the number n / 2^frac.
type fixedPoint struct {
	n    *apd.BigInt
	frac uint
}

// expFixed computes e^x for |x| ≤ 2^14 or so as a fixed-point number with a
// relative error below 10^-digits. It halves x until it is small, sums the
// Taylor series and squares the result as often.
func expFixed(x *apd.Decimal, digits int) fixedPoint {
	// e^x may be smaller than one by its decimal exponent.
	f, _ := x.Float64()
	small := 0
	if f < 0 {
		small = int(-f*math.Log10E) + 1
	}
	const margin = 24 // digits lost in halving and summing
	frac := uint(float64(digits+2*small+margin)*bitsPerDigit) + 64
	// A halving doubles the error of the result, and has each term of the series add a bit more.
	halvings := uint(math.Sqrt(float64(frac)))
	frac += halvings
	// n = x × 2^frac
	n := new(apd.BigInt).Lsh(&x.Coeff, frac)
	if x.Exponent >= 0 {
		n.Mul(n, Pow10Big(int64(x.Exponent)))
	} else {
		n.Quo(n, Pow10Big(int64(-x.Exponent)))
	}
	if x.Negative {
		negate(n)
	}
	halvings = uint(max(0, n.BitLen()-int(frac)+int(halvings)))
	n.Rsh(n, halvings)
	one := new(apd.BigInt).Lsh(apd.NewBigInt(1), frac)
	sum := new(apd.BigInt).Set(one)
	term := new(apd.BigInt).Set(one)
	for i := int64(1); term.BitLen() > 1; i++ { // a negative term shifts to -1, not 0
		term.Mul(term, n)
		term.Rsh(term, frac)
		term.Quo(term, apd.NewBigInt(i))
		sum.Add(sum, term)
	}
	for ; halvings > 0; halvings-- {
		sum.Mul(sum, sum)
		sum.Rsh(sum, frac)
	}
	return fixedPoint{n: sum, frac: frac}
}

// quotient is p / q, which is not zero, rounded to a scale.
func (p fixedPoint) quotient(q fixedPoint, scale int32) (types.Datum, error) {
	const guard = 64 // bits, so that what is cut off hardly ever changes what decimal rounds to
	frac := uint(float64(scale)*bitsPerDigit) + guard
	n := new(apd.BigInt).Lsh(p.n, q.frac+frac)
	n.Quo(n, new(apd.BigInt).Lsh(q.n, p.frac))
	return fixedPoint{n: n, frac: frac}.decimal(scale)
}

// decimal rounds the number to a scale, half up.
func (p fixedPoint) decimal(scale int32) (types.Datum, error) {
	n := new(apd.BigInt).Mul(p.n, Pow10Big(int64(scale)))
	n.Add(n, new(apd.BigInt).Lsh(apd.NewBigInt(1), p.frac-1))
	return Of(n.Rsh(n, p.frac), scale)
}

// Exp is e to the power of d.
func Exp(d types.Datum) (types.Datum, error) {
	switch {
	case d.IsNaN() || d.InfSign() > 0:
		return d, nil
	case d.InfSign() < 0:
		return FromInt(0), nil
	}
	return expToScale(d, d)
}

// expToScale is e^d at the scale that d's size and the operands' scales ask for.
func expToScale(d types.Datum, operands ...types.Datum) (types.Datum, error) {
	val := types.DecimalToFloat(d)
	weight := min(max(val*math.Log10E, -maxResultScale), maxResultScale)
	scale := clampScale(minSigDigits-int(weight), operands...)
	switch {
	case val > 3*maxResultScale:
		return types.Null, call.Fail(ErrNumericOverflow)
	case val < -3*maxResultScale:
		return types.NewDecimalInt(0, scale), nil
	}
	var x apd.Decimal
	d.Decimal(&x)
	return expFixed(&x, int(scale)+max(int(val*math.Log10E), 0)).decimal(scale)
}
