package decimal

import (
	"math/bits"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Abs returns d without its sign.
func Abs(d types.Datum) types.Datum {
	if !d.IsNaN() && d.DecimalSign() < 0 {
		return Neg(d)
	}
	return d
}

// Floor returns the greatest integer that is not above d.
func Floor(d types.Datum) types.Datum {
	t := types.TruncDecimal(d, 0)
	if !IsSpecial(d) && d.DecimalSign() < 0 && types.Compare(t, d) != 0 {
		t, _ = Sub(t, FromInt(1))
	}
	return t
}

// Ceil returns the least integer that is not below d.
func Ceil(d types.Datum) types.Datum { return Neg(Floor(Neg(d))) }

// Sign returns -1, 0 or 1, and NaN for NaN.
func Sign(d types.Datum) types.Datum {
	if d.IsNaN() {
		return d
	}
	return FromInt(int64(d.DecimalSign()))
}

// TrimScale drops zeros at the end of the fraction.
func TrimScale(d types.Datum) types.Datum {
	if IsSpecial(d) || d.DecimalScale() == 0 {
		return d
	}
	n, scale := SignedCoeff(d), d.DecimalScale()
	var q, r apd.BigInt
	for zeros := 1 << (bits.Len32(uint32(scale)) - 1); zeros > 0; zeros /= 2 {
		if zeros > int(scale) || n.Sign() != 0 && n.TrailingZeroBits() < uint(zeros) {
			continue
		}
		if q.QuoRem(n, Pow10Big(int64(zeros)), &r); r.Sign() == 0 {
			n.Set(&q)
			scale -= int32(zeros)
		}
	}
	t, err := Of(n, scale)
	if err != nil {
		return d
	}
	return t
}
