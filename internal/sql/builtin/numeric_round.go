package builtin

import (
	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/types"
)

func absDecimal(d types.Datum) types.Datum {
	if !d.IsNaN() && d.DecimalSign() < 0 {
		return NegDecimal(d)
	}
	return d
}

func floorDecimal(d types.Datum) types.Datum {
	t := types.TruncDecimal(d, 0)
	if !special(d) && d.DecimalSign() < 0 && types.Compare(t, d) != 0 {
		t, _ = SubDecimal(t, oneDecimal(1))
	}
	return t
}

func ceilDecimal(d types.Datum) types.Datum { return NegDecimal(floorDecimal(NegDecimal(d))) }

func signDecimal(d types.Datum) types.Datum {
	if d.IsNaN() {
		return d
	}
	return oneDecimal(int64(d.DecimalSign()))
}

// trimScale drops zeros at the end of the fraction.
func trimScale(d types.Datum) types.Datum {
	if special(d) || d.DecimalScale() == 0 {
		return d
	}
	n, scale := signedCoeff(d), d.DecimalScale()
	ten := apd.NewBigInt(10)
	var q, r apd.BigInt
	for scale > 0 {
		if q.QuoRem(n, ten, &r); r.Sign() != 0 {
			break
		}
		n.Set(&q)
		scale--
	}
	t, err := decimalOf(n, scale)
	if err != nil {
		return d
	}
	return t
}
