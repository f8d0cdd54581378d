package casts

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// MoneyFromDecimal returns a number of units as money, rounded to cents.
func MoneyFromDecimal(d types.Datum) (types.Datum, error) {
	if !d.IsNaN() && !d.IsInf() {
		d = types.Unscaled(types.RoundDecimal(d, typeio.MoneyDigits)) // in cents
	}
	return castDecimal(nil, d, types.Int8)
}

// errMoneyRange is 22003 for an amount that has no place in money.
func errMoneyRange() error { return pgerr.New(pgerr.NumericValueOutOfRange, "money out of range") }

// MoneyFromFloat returns a number of cents as money, rounded to even.
func MoneyFromFloat(cents float64) (types.Datum, error) {
	r := math.RoundToEven(cents)
	if !(r >= math.MinInt64 && r < -math.MinInt64) {
		return types.Null, errMoneyRange()
	}
	return types.NewInt(int64(r)), nil
}

// addSystemCasts declares the casts of system types.
func addSystemCasts(add castAdder) {
	add(types.Xid8, types.CastExplicit, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewInt(int64(uint32(d.Uint64()))), nil
	}, types.Xid)
	add(types.Money, types.CastAssignment, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewDecimalInt(d.Int(), typeio.MoneyDigits), nil
	}, types.Numeric)
	add(types.Numeric, types.CastAssignment, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return MoneyFromDecimal(d)
	}, types.Money)
	for _, t := range []*types.T{types.Int4, types.Int8} {
		add(t, types.CastAssignment, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
			return MoneyFromDecimal(types.NewDecimalInt(d.Int(), 0))
		}, types.Money)
	}
}
