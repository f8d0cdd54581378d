package types

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"
)

// Forms of a decimal datum (Datum.k). A finite one is a coefficient and a
// display scale, as in PostgreSQL: 1.10 is 110 at scale 2 and stays so.
const (
	decSmall  uint8 = iota // n: signed coefficient; m: scale
	decBig                 // s: magnitude, big endian; h: 1 when negative; m: scale
	decNaN                 // compares above everything
	decPosInf              // +Infinity
	decNegInf              // -Infinity
)

// Limits of numeric.
const (
	// MaxDecimalScale is the largest display scale of a numeric.
	MaxDecimalScale = 16383
	// MaxDecimalDigits bounds the digits before the decimal point.
	MaxDecimalDigits = 131072
	// MaxDecimalPrecision is the largest precision that can be declared.
	MaxDecimalPrecision = 1000
)

// The special decimals.
var (
	DecimalNaN    = Datum{fam: DecimalFamily, k: decNaN}
	DecimalInf    = Datum{fam: DecimalFamily, k: decPosInf}
	DecimalNegInf = Datum{fam: DecimalFamily, k: decNegInf}
)

// NewDecimalInt returns the decimal coeff × 10^-scale, displayed with scale
// fractional digits; scale must not be negative. It does not allocate.
func NewDecimalInt(coeff int64, scale int32) Datum {
	if coeff == math.MinInt64 { // decSmall is symmetric, so that each value has one form
		return NewDecimalBig(new(apd.BigInt).SetUint64(1<<63), true, scale)
	}
	return Datum{fam: DecimalFamily, n: coeff, m: scale}
}

// NewDecimal returns x as a decimal. A negative exponent becomes the display
// scale; a positive one is multiplied out, and minus zero loses its sign. It
// does not keep x, and allocates only when the coefficient exceeds an int64.
func NewDecimal(x *apd.Decimal) Datum {
	switch x.Form {
	case apd.Finite:
	case apd.Infinite:
		if x.Negative {
			return DecimalNegInf
		}
		return DecimalInf
	default:
		return DecimalNaN
	}
	if x.Exponent > 0 {
		var c apd.BigInt
		c.Mul(&x.Coeff, Pow10Big(int(x.Exponent)))
		return NewDecimalBig(&c, x.Negative, 0)
	}
	return NewDecimalBig(&x.Coeff, x.Negative, -x.Exponent)
}

// NewDecimalBig returns ±c × 10^-scale for c ≥ 0.
func NewDecimalBig(c *apd.BigInt, neg bool, scale int32) Datum {
	if c.IsInt64() {
		n := c.Int64()
		if neg {
			n = -n
		}
		return Datum{fam: DecimalFamily, n: n, m: scale}
	}
	d := Datum{fam: DecimalFamily, k: decBig, m: scale, s: string(c.Bytes())}
	if neg {
		d.h = 1
	}
	return d
}

// Decimal stores d in dst and returns dst.
func (d Datum) Decimal(dst *apd.Decimal) *apd.Decimal {
	switch d.k {
	case decSmall:
		dst.Form = apd.Finite
		dst.Exponent = -d.m
		dst.Negative = d.n < 0
		dst.Coeff.SetInt64(AbsInt64(d.n))
	case decBig:
		dst.Form = apd.Finite
		dst.Exponent = -d.m
		dst.Negative = d.h == 1
		dst.Coeff.SetBytes([]byte(d.s))
	case decNaN:
		*dst = apd.Decimal{Form: apd.NaN}
	default:
		*dst = apd.Decimal{Form: apd.Infinite, Negative: d.k == decNegInf}
	}
	return dst
}

// SmallDecimal returns the coefficient and display scale of a finite decimal
// whose coefficient fits an int64: the fast path of arithmetic.
func (d Datum) SmallDecimal() (coeff int64, scale int32, ok bool) {
	return d.n, d.m, d.fam == DecimalFamily && d.k == decSmall
}

// FloorDecimal returns the largest multiple of 10^-scale, as a coefficient, that is not above d, and whether it
// is d itself; ok is false if that does not fit an int64, or takes long to find out.
func (d Datum) FloorDecimal(scale int32) (coeff int64, exact, ok bool) {
	const mostDown, mostBytes = 38, 32
	down := int64(d.m) - int64(scale)
	if d.fam != DecimalFamily || d.k > decBig || len(d.s) > mostBytes || down > mostDown || -down > mostDown {
		return 0, false, false
	}
	x := big.NewInt(d.n)
	if d.k == decBig {
		if x.SetBytes([]byte(d.s)); d.h == 1 {
			x.Neg(x)
		}
	}
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(down, -down)), nil)
	if down <= 0 {
		x.Mul(x, factor)
		return x.Int64(), true, x.IsInt64()
	}
	rest := new(big.Int)
	x.DivMod(x, factor, rest) // the divisor is positive: rounds down
	return x.Int64(), rest.Sign() == 0, x.IsInt64()
}

// IsNaN reports whether d is a decimal or float NaN.
func (d Datum) IsNaN() bool {
	switch d.fam {
	case DecimalFamily:
		return d.k == decNaN
	case FloatFamily:
		return math.IsNaN(d.Float())
	}
	return false
}

// IsInf reports whether d is infinite: a decimal, float, date or timestamp.
func (d Datum) IsInf() bool { return d.InfSign() != 0 }

// InfSign returns 1 for infinity, -1 for minus infinity, else 0.
func (d Datum) InfSign() int {
	switch d.fam {
	case DecimalFamily:
		switch d.k {
		case decPosInf:
			return 1
		case decNegInf:
			return -1
		}
	case FloatFamily:
		switch f := d.Float(); {
		case math.IsInf(f, 1):
			return 1
		case math.IsInf(f, -1):
			return -1
		}
	case DateFamily:
		return InfSign(d.n, DateNegInf, DateInf)
	case TimestampFamily, TimestampTZFamily:
		return InfSign(d.n, TimestampNegInf, TimestampInf)
	}
	return 0
}

// InfSign returns -1 if n is lo, which stands for minus infinity, 1 if it is hi, and else 0.
func InfSign(n, lo, hi int64) int {
	switch n {
	case lo:
		return -1
	case hi:
		return 1
	}
	return 0
}

// Unscaled returns the coefficient of a finite decimal as a decimal without fractional digits.
func Unscaled(d Datum) Datum {
	d.m = 0
	return d
}

// DecimalScale returns the display scale of a finite decimal, 0 for others.
func (d Datum) DecimalScale() int32 {
	if d.k > decBig {
		return 0
	}
	return d.m
}

// DecimalSign returns -1, 0 or 1; 1 for NaN.
func (d Datum) DecimalSign() int {
	switch d.k {
	case decSmall:
		switch {
		case d.n < 0:
			return -1
		case d.n == 0:
			return 0
		}
		return 1
	case decBig:
		if d.h == 1 {
			return -1
		}
		return 1
	case decNegInf:
		return -1
	}
	return 1
}

// IsMinInt64 reports whether a long decimal of scale 0 is -2^63, the one
// integer that has no short form.
func IsMinInt64(d Datum) bool {
	return d.h == 1 && d.m == 0 && d.Str() == "\x80\x00\x00\x00\x00\x00\x00\x00"
}
