package decimal

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lnFixed computes ln(d) for finite d > 0 with an absolute error below 10^-digits.
//
// It writes d as m × 2^k with m near one, takes square roots of m until what is left is close
// to one, and sums the series of the inverse hyperbolic tangent.
func lnFixed(d types.Datum, digits int) fixedPoint {
	frac := uint(float64(max(digits, 0))*bitsPerDigit) + 64
	// Each root doubles the error of the result, and has each term of the series add two bits more.
	most := uint(math.Sqrt(float64(frac)) / 2)
	frac += most + 32
	m, k := binaryParts(d, frac)
	one := new(apd.BigInt).Lsh(apd.NewBigInt(1), frac)
	distance := new(apd.BigInt).Sub(m, one)
	roots := uint(0)
	for uint(distance.BitLen())+most > frac && roots < most {
		m = integerSqrt(m.Lsh(m, frac))
		distance.Sub(m, one)
		roots++
	}
	sum := atanhFixed(distance, m.Add(m, one), frac)
	sum.Lsh(sum, roots+1)
	if k != 0 {
		sum.Add(sum, new(apd.BigInt).Mul(ln2Fixed(frac), apd.NewBigInt(int64(k))))
	}
	return fixedPoint{n: sum, frac: frac}
}

// binaryParts returns m and k so that d = m × 2^k, with m between 2/3 and 4/3 as a fixed-point
// number.
func binaryParts(d types.Datum, frac uint) (m *apd.BigInt, k int) {
	m = SignedCoeff(d)
	scale := Pow10Big(int64(d.DecimalScale()))
	up := int(frac) + 2 + scale.BitLen() - m.BitLen()
	k = -up
	if up > 0 {
		m.Lsh(m, uint(up))
	} else {
		m.Rsh(m, uint(-up))
	}
	m.Quo(m, scale)
	// m has frac+2 or frac+3 bits now.
	limit := new(apd.BigInt).Quo(new(apd.BigInt).Lsh(apd.NewBigInt(4), frac), apd.NewBigInt(3))
	for k += int(frac); m.Cmp(limit) >= 0; k++ {
		m.Rsh(m, 1)
	}
	return m, k
}

// atanhFixed computes atanh(num / den) of a small quotient as a fixed-point number.
func atanhFixed(num, den *apd.BigInt, frac uint) *apd.BigInt {
	negative := num.Sign() < 0
	power := new(apd.BigInt).Abs(num)
	power.Quo(power.Lsh(power, frac), den)
	square := new(apd.BigInt).Mul(power, power)
	square.Rsh(square, frac)
	sum, term := new(apd.BigInt).Set(power), new(apd.BigInt)
	for i := int64(3); power.Sign() != 0; i += 2 {
		power.Mul(power, square)
		power.Rsh(power, frac)
		sum.Add(sum, term.Quo(power, apd.NewBigInt(i)))
	}
	if negative {
		negate(sum)
	}
	return sum
}

// ln2Fixed computes ln(2) as a fixed-point number, by a formula after Machin.
func ln2Fixed(frac uint) *apd.BigInt {
	sum := new(apd.BigInt)
	for _, t := range [...]struct{ factor, den int64 }{{18, 26}, {-2, 4801}, {8, 8749}} {
		part := atanhInverse(t.den, frac)
		sum.Add(sum, part.Mul(part, apd.NewBigInt(t.factor)))
	}
	return sum
}

// atanhInverse computes atanh(1 / den) for a small den > 1, which takes no long division.
func atanhInverse(den int64, frac uint) *apd.BigInt {
	power := new(apd.BigInt).Lsh(apd.NewBigInt(1), frac)
	power.Quo(power, apd.NewBigInt(den))
	square := apd.NewBigInt(den * den)
	sum, term := new(apd.BigInt).Set(power), new(apd.BigInt)
	for i := int64(3); power.Sign() != 0; i += 2 {
		power.Quo(power, square)
		sum.Add(sum, term.Quo(power, apd.NewBigInt(i)))
	}
	return sum
}

// lnWeight estimates the decimal weight of ln(d) for d > 0, as PostgreSQL does
// to choose scales.
func lnWeight(d types.Datum) int {
	nearOne := types.Compare(d, types.NewDecimalInt(9, 1)) >= 0 && types.Compare(d, types.NewDecimalInt(11, 1)) <= 0
	if nearOne {
		x, err := Sub(d, FromInt(1))
		if err != nil || x.DecimalSign() == 0 {
			return 0
		}
		weight, first := leading(x)
		return 4*weight + int(math.Log10(float64(first)))
	}
	digits, top := LeadingDigits(d)
	exp := digits - min(digits, 8) - int(d.DecimalScale())
	ln := math.Log(float64(top)) + float64(exp)*math.Ln10
	return int(math.Log10(math.Abs(ln)))
}

func checkLog(d types.Datum) error {
	if d.IsNaN() {
		return nil
	}
	return LogArgument(d.DecimalSign() == 0, d.DecimalSign() < 0)
}

// Ln is the natural logarithm of d; 2201E unless d is positive.
func Ln(d types.Datum) (types.Datum, error) {
	if err := checkLog(d); err != nil {
		return types.Null, err
	}
	if IsSpecial(d) {
		return d, nil
	}
	scale := clampScale(minSigDigits-lnWeight(d), d)
	return lnFixed(d, int(scale)+guardDigits).decimal(scale)
}

// Log10 is the logarithm of d to base 10.
func Log10(d types.Datum) (types.Datum, error) { return Log(FromInt(10), d) }

// Log is the logarithm of x to a base.
func Log(base, x types.Datum) (types.Datum, error) {
	if base.IsNaN() || x.IsNaN() {
		return types.DecimalNaN, nil
	}
	if IsSpecial(base) || IsSpecial(x) {
		if base.DecimalSign() < 0 || x.DecimalSign() < 0 {
			return types.Null, LogArgument(false, true)
		}
	}
	for _, d := range []types.Datum{base, x} {
		if err := checkLog(d); err != nil {
			return types.Null, err
		}
	}
	switch {
	case base.InfSign() > 0 && x.InfSign() > 0:
		return types.DecimalNaN, nil
	case base.InfSign() > 0:
		return FromInt(0), nil
	case x.InfSign() > 0:
		return types.DecimalInf, nil
	}
	wb, wx := lnWeight(base), lnWeight(x)
	scale := clampScale(minSigDigits-(wx-wb), base, x)
	digits := int(scale) + wx - wb + guardDigits // significant ones
	lb := lnFixed(base, digits-wb)
	if lb.n.Sign() == 0 {
		return types.Null, call.Fail(call.ErrDivisionByZero)
	}
	return lnFixed(x, digits-wx).quotient(lb, scale)
}

// LogArgument is the error of a logarithm of zero or less, nil otherwise.
func LogArgument(zero, negative bool) error {
	switch {
	case zero:
		return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of zero")
	case negative:
		return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of a negative number")
	}
	return nil
}
