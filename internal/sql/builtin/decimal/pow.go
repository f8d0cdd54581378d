package decimal

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Pow is base ^ exp for numerics.
func Pow(base, exp types.Datum) (types.Datum, error) {
	if IsSpecial(base) || IsSpecial(exp) {
		return powSpecial(base, exp)
	}
	integral := types.Compare(types.TruncDecimal(exp, 0), exp) == 0
	switch {
	case base.DecimalSign() == 0 && exp.DecimalSign() < 0:
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	case base.DecimalSign() < 0 && !integral:
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if integral {
		if n, ok := types.DecimalToInt(exp); ok && n == int64(int32(n)) {
			return PowInt(base, n)
		}
	}
	if base.DecimalSign() == 0 {
		return types.NewDecimalInt(0, minSigDigits), nil
	}
	return powGeneral(base, exp, integral)
}

// powSpecial follows POSIX pow() for NaN and the infinities.
func powSpecial(base, exp types.Datum) (types.Datum, error) {
	isOne := func(d types.Datum) bool { return !IsSpecial(d) && types.Compare(d, FromInt(1)) == 0 }
	switch {
	case base.IsNaN():
		if !exp.IsNaN() && exp.InfSign() == 0 && exp.DecimalSign() == 0 {
			return FromInt(1), nil
		}
		return base, nil
	case exp.IsNaN():
		if isOne(base) {
			return FromInt(1), nil
		}
		return exp, nil
	case isOne(base) || exp.DecimalSign() == 0:
		return FromInt(1), nil
	}
	if s := exp.InfSign(); s != 0 {
		order := types.Compare(Abs(base), FromInt(1))
		switch {
		case base.DecimalSign() == 0 && s < 0:
			return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
		case order == 0:
			return FromInt(1), nil
		case (order > 0) == (s > 0):
			return types.DecimalInf, nil
		}
		return FromInt(0), nil
	}
	// base is infinite, exp finite and not zero
	if base.InfSign() > 0 {
		if exp.DecimalSign() > 0 {
			return types.DecimalInf, nil
		}
		return FromInt(0), nil
	}
	if types.Compare(types.TruncDecimal(exp, 0), exp) != 0 {
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if exp.DecimalSign() < 0 {
		return FromInt(0), nil
	}
	odd, err := Mod(exp, FromInt(2))
	if err != nil {
		return types.Null, err
	}
	if odd.DecimalSign() == 0 {
		return types.DecimalInf, nil
	}
	return types.DecimalNegInf, nil
}

// PowInt is base ^ n at the scale that PostgreSQL 15 gives integer powers.
func PowInt(base types.Datum, n int64) (types.Datum, error) {
	scale := clampScale(minSigDigits, base)
	switch {
	case n == 0:
		return types.RoundDecimal(FromInt(1), scale), nil
	case n == 1:
		return types.RoundDecimal(base, scale), nil
	case n == -1:
		return DivToScale(FromInt(1), base, scale, true)
	case base.DecimalSign() == 0:
		return types.NewDecimalInt(0, scale), nil
	}
	digits, top := LeadingDigits(base)
	weight := float64(n) * (math.Log10(float64(top)) + float64(digits-min(digits, 8)-int(base.DecimalScale())))
	switch {
	case weight > types.MaxDecimalDigits+1:
		return types.Null, call.Fail(ErrNumericOverflow)
	case weight+1 < -float64(scale):
		return types.NewDecimalInt(0, scale), nil
	}
	precision := 1 + int(scale) + int(weight) + int(math.Log(math.Abs(float64(n)))) + guardDigits
	var x apd.Decimal
	base.Decimal(&x)
	negative := x.Negative && n%2 != 0
	r := powBits(&x, AbsUint(n), precision)
	if n < 0 {
		if _, err := inexact(precision).Quo(&r, apd.New(1, 0), &r); err != nil {
			return types.Null, call.Fail(ErrNumericOverflow)
		}
	}
	r.Negative = negative
	return rounded(&r, scale, nil)
}

// powBits raises the absolute value of x to n ≥ 1 by squaring, to a number of digits at
// each step. Package apd ends at exponents of 100000, numerics do not.
func powBits(x *apd.Decimal, n uint64, precision int) apd.Decimal {
	square := apd.Decimal{Exponent: x.Exponent}
	square.Coeff.Set(&x.Coeff)
	r := *apd.New(1, 0)
	times := func(a, b *apd.Decimal) {
		a.Exponent += b.Exponent
		a.Coeff.Mul(&a.Coeff, &b.Coeff)
		if drop := a.NumDigits() - int64(precision); drop > 0 {
			a.Coeff.Quo(&a.Coeff, Pow10Big(drop))
			a.Exponent += int32(drop)
		}
	}
	for {
		if n&1 == 1 {
			times(&r, &square)
		}
		if n >>= 1; n == 0 {
			return r
		}
		times(&square, &square)
	}
}

// powGeneral is e^(exp × ln |base|), negated for an odd power of a negative
// base.
func powGeneral(base, exp types.Datum, integral bool) (types.Datum, error) {
	abs := Abs(base)
	ln := estimateLn(abs) * types.DecimalToFloat(exp)
	if math.Abs(ln) > maxResultScale*3.01 {
		if ln > 0 {
			return types.Null, call.Fail(ErrNumericOverflow)
		}
		return types.NewDecimalInt(0, maxDisplayScale), nil
	}
	weight := ln * math.Log10E
	scale := clampScale(minSigDigits-int(weight), base, exp)
	precision := int(scale) + max(int(weight), 0) + guardDigits
	digits, _ := LeadingDigits(exp)
	digits = precision + max(digits-int(exp.DecimalScale()), 0) + 2*guardDigits
	lnBase, err := lnFixed(abs, digits).decimal(int32(digits))
	if err != nil {
		return types.Null, err
	}
	p, err := Mul(lnBase, exp)
	if err != nil {
		return types.Null, err
	}
	var x apd.Decimal
	r, err := expFixed(p.Decimal(&x), precision).decimal(scale)
	if err != nil || !integral || base.DecimalSign() > 0 {
		return r, err
	}
	odd, err := Mod(exp, FromInt(2))
	if err == nil && odd.DecimalSign() != 0 {
		r = Neg(r)
	}
	return r, err
}

// estimateLn returns ln(d) for d > 0 in float precision, also where d itself
// is beyond the range of floats or close to one.
func estimateLn(d types.Datum) float64 {
	if types.Compare(d, types.NewDecimalInt(9, 1)) >= 0 && types.Compare(d, types.NewDecimalInt(11, 1)) <= 0 {
		if x, err := Sub(d, FromInt(1)); err == nil {
			return math.Log1p(types.DecimalToFloat(x))
		}
	}
	digits, top := LeadingDigits(d)
	return math.Log(float64(top)) + float64(digits-min(digits, 8)-int(d.DecimalScale()))*math.Ln10
}
