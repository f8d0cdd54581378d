package types

import (
	"cmp"
	"math"
	"math/bits"
	"strconv"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var pow10 = [19]int64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// Pow10Big returns 10^n for n ≥ 0.
func Pow10Big(n int) *apd.BigInt {
	var z apd.BigInt
	if n < len(pow10) {
		return z.SetInt64(pow10[n])
	}
	return z.Exp(apd.NewBigInt(10), apd.NewBigInt(int64(n)), nil)
}

// RoundDecimal rounds half away from zero to scale fractional digits, which
// then is the display scale; a negative scale rounds before the point and
// displays none. Special values stay as they are.
func RoundDecimal(d Datum, scale int32) Datum { return rescale(d, scale, true) }

// TruncDecimal is RoundDecimal towards zero.
func TruncDecimal(d Datum, scale int32) Datum { return rescale(d, scale, false) }

func rescale(d Datum, scale int32, round bool) Datum {
	if d.k > decBig {
		return d
	}
	drop := d.m - scale
	if d.k == decSmall {
		if r, ok := rescaleSmall(d.n, drop, round); ok {
			if scale < 0 {
				return scaleUp(NewDecimalInt(r, 0), -scale)
			}
			return NewDecimalInt(r, scale)
		}
	}
	if drop <= 0 {
		r := scaleUp(d, -drop)
		r.m = scale
		return r
	}
	return rescaleBig(d, scale, drop, round)
}

// rescaleSmall drops digits of a coefficient, or adds zeros when drop < 0.
func rescaleSmall(n int64, drop int32, round bool) (int64, bool) {
	switch {
	case n == 0:
		return 0, true
	case drop == 0:
		return n, true
	case drop < 0:
		if drop <= -int32(len(pow10)) {
			return 0, false
		}
		return MulInt64(n, pow10[-drop])
	case drop >= int32(len(pow10)):
		// 10^19 is more than twice any coefficient but the largest.
		return 0, drop > int32(len(pow10)) || !round
	}
	p := pow10[drop]
	q, r := n/p, n%p
	if round && AbsInt64(r) >= p-AbsInt64(r) {
		if n < 0 {
			q--
		} else {
			q++
		}
	}
	return q, true
}

func rescaleBig(d Datum, scale, drop int32, round bool) Datum {
	var x apd.Decimal
	d.Decimal(&x)
	var q, r apd.BigInt
	p := Pow10Big(int(drop))
	q.QuoRem(&x.Coeff, p, &r)
	if round {
		r.Lsh(&r, 1)
		if r.Cmp(p) >= 0 {
			q.Add(&q, apd.NewBigInt(1))
		}
	}
	if scale < 0 {
		q.Mul(&q, Pow10Big(int(-scale)))
		scale = 0
	}
	return NewDecimalBig(&q, x.Negative, scale)
}

// scaleUp multiplies the coefficient by 10^n and keeps the display scale.
func scaleUp(d Datum, n int32) Datum {
	if n <= 0 {
		return d
	}
	if d.k == decSmall && n < int32(len(pow10)) {
		if r, ok := MulInt64(d.n, pow10[n]); ok {
			return NewDecimalInt(r, d.m)
		}
	}
	var x apd.Decimal
	d.Decimal(&x)
	x.Coeff.Mul(&x.Coeff, Pow10Big(int(n)))
	return NewDecimalBig(&x.Coeff, x.Negative, d.m)
}

// compareDecimals orders decimals: -Infinity, finite values, Infinity, NaN.
func compareDecimals(a, b Datum) int {
	if a.k > decBig || b.k > decBig {
		return cmp.Compare(decimalRank(a), decimalRank(b))
	}
	if a.k == decSmall && b.k == decSmall {
		if a.m == b.m {
			return cmp.Compare(a.n, b.n)
		}
		if sa, sb := a.DecimalSign(), b.DecimalSign(); sa != sb {
			return cmp.Compare(sa, sb)
		}
		if r, ok := compareScaled(a, b); ok {
			return r
		}
	}
	if r := compareMagnitudes(a, b); r != 0 {
		return r
	}
	var x, y apd.Decimal
	return a.Decimal(&x).Cmp(b.Decimal(&y))
}

// compareMagnitudes compares finite decimals by their signs and their magnitudes; 0 says that
// these are too close to tell. Only then are coefficients of thousands of digits brought to one
// scale.
func compareMagnitudes(a, b Datum) int {
	sign := a.DecimalSign()
	if r := cmp.Compare(sign, b.DecimalSign()); r != 0 || sign == 0 {
		return r
	}
	const far = 2 // 1, and as much again for what is lost by rounding
	switch d := a.magnitude() - b.magnitude(); {
	case d >= far:
		return sign
	case d <= -far:
		return -sign
	}
	return 0
}

// magnitude is the binary logarithm of a finite decimal that is not zero, or up to 1 more.
func (d Datum) magnitude() float64 {
	n := bits.Len64(AbsUint64(d.n))
	if d.k == decBig {
		n = 8*(len(d.s)-1) + bits.Len8(d.s[0])
	}
	return float64(n) - float64(d.m)*(math.Ln10/math.Ln2)
}

// compareScaled compares small decimals of one sign and different scales by a
// 128-bit product.
func compareScaled(a, b Datum) (int, bool) {
	if a.m > b.m {
		r, ok := compareScaled(b, a)
		return -r, ok
	}
	diff := b.m - a.m
	if diff >= int32(len(pow10)) {
		return 0, false
	}
	hi, lo := bits.Mul64(AbsUint64(a.n), uint64(pow10[diff]))
	r := 1
	if hi == 0 {
		r = cmp.Compare(lo, AbsUint64(b.n))
	}
	if a.n < 0 {
		r = -r
	}
	return r, true
}

// AbsUint64 returns the absolute value of n.
func AbsUint64(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func decimalRank(d Datum) int {
	switch d.k {
	case decNegInf:
		return -1
	case decPosInf:
		return 1
	case decNaN:
		return 2
	}
	return 0
}

// reduceDecimal strips trailing zeros of a finite decimal, before the point
// too: the result has one form per value. scale may come out negative.
func reduceDecimal(d Datum) Datum {
	if d.k == decBig {
		var x apd.Decimal
		d.Decimal(&x)
		if _, n := x.Reduce(&x); n == 0 {
			return d
		}
		return NewDecimalBig(&x.Coeff, x.Negative, -x.Exponent)
	}
	if d.n == 0 {
		return NewDecimalInt(0, 0)
	}
	for d.n%10 == 0 {
		d.n /= 10
		d.m--
	}
	return d
}

// fitNumeric applies the modifier numeric(precision, scale).
func fitNumeric(d Datum, precision, scale int32) (Datum, error) {
	switch d.k {
	case decNaN:
		return d, nil
	case decPosInf, decNegInf:
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").WithDetail(
			"A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
	}
	d = RoundDecimal(d, scale)
	if before := decimalIntDigits(d); before > int(precision-scale) {
		limit, power := precision-scale, "10^"
		if limit == 0 {
			limit, power = 1, ""
		}
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").WithDetail(
			"A field with precision %d, scale %d must round to an absolute value less than %s%d.",
			precision, scale, power, limit)
	}
	return d, nil
}

// decimalIntDigits returns the power of ten just above |d|: 3 for 123.4, 0 for
// 0.5, -1 for 0.05. Zero has the least.
func decimalIntDigits(d Datum) int {
	if d.k == decSmall {
		if d.n == 0 {
			return math.MinInt32
		}
		return digits64(AbsUint64(d.n)) - int(d.m)
	}
	var x apd.Decimal
	d.Decimal(&x)
	return int(x.NumDigits()) - int(d.m)
}

func digits64(n uint64) int {
	c := 1
	for n >= 10 {
		n /= 10
		c++
	}
	return c
}

// NumericOverflow is 22003 for a numeric with too many digits.
func NumericOverflow() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
}

// DecimalFromFloat converts as the cast from float8 (15 significant digits) or
// float4 (6) does.
func DecimalFromFloat(f float64, single bool) Datum {
	switch {
	case math.IsNaN(f):
		return DecimalNaN
	case math.IsInf(f, 1):
		return DecimalInf
	case math.IsInf(f, -1):
		return DecimalNegInf
	}
	prec := 15
	if single {
		prec = 6
	}
	var buf [32]byte
	d, err := ParseDecimal(string(appendGeneral(buf[:0], f, prec)))
	if err != nil {
		return DecimalNaN // cannot happen: %g output is valid input
	}
	return d
}

// DecimalToFloat converts to the nearest float64.
func DecimalToFloat(d Datum) float64 {
	switch d.k {
	case decNaN:
		return NaN()
	case decPosInf:
		return math.Inf(1)
	case decNegInf:
		return math.Inf(-1)
	case decSmall:
		if d.n > -1<<53 && d.n < 1<<53 && d.m <= 22 {
			return float64(d.n) / floatPow10[d.m] // both exact: one rounding
		}
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(AppendDecimal(buf[:0], d)), 64)
	return f
}

var floatPow10 = [23]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// DecimalToInt rounds half away from zero to an int64, false when it does not
// fit.
func DecimalToInt(d Datum) (int64, bool) {
	if d.k > decBig {
		return 0, false
	}
	r := RoundDecimal(d, 0)
	return r.n, r.k == decSmall
}
