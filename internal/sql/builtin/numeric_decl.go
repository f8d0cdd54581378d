package builtin

import (
	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func binaryNumeric(f func(a, b types.Datum) (types.Datum, error)) EvalFunc {
	return func(_ *Context, args []types.Datum) (types.Datum, error) { return f(args[0], args[1]) }
}

func unaryNumeric(f func(d types.Datum) types.Datum) EvalFunc {
	return func(_ *Context, args []types.Datum) (types.Datum, error) { return f(args[0]), nil }
}

func numericOperators() []*Overload {
	add, sub, mul, div := binaryNumeric(AddDecimal), binaryNumeric(SubDecimal), binaryNumeric(MulDecimal), binaryNumeric(DivDecimal)
	return []*Overload{
		op("numeric + numeric numeric", add), op("numeric - numeric numeric", sub),
		op("numeric * numeric numeric", mul), op("numeric / numeric numeric", div),
		op("numeric % numeric numeric", binaryNumeric(ModDecimal)),
		op("numeric ^ numeric numeric", binaryNumeric(powDecimal)),
		op("+ numeric numeric", identity), op("- numeric numeric", unaryNumeric(NegDecimal)),
		op("@ numeric numeric", unaryNumeric(absDecimal)),
	}
}

func numericFunctions() []*Overload {
	one := func(sig string, f func(d types.Datum) types.Datum) *Overload { return fn(sig, unaryNumeric(f)) }
	errs := func(sig string, f func(d types.Datum) (types.Datum, error)) *Overload {
		return fn(sig, func(_ *Context, a []types.Datum) (types.Datum, error) { return f(a[0]) })
	}
	return []*Overload{
		one("abs(numeric) numeric", absDecimal),
		fn("numeric_inc(numeric) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return AddDecimal(a[0], types.NewDecimalInt(1, 0))
		}),
		fn("int8_sum(numeric,int8) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			switch {
			case a[1].IsNull():
				return a[0], nil
			case a[0].IsNull():
				return types.NewDecimalInt(a[1].Int(), 0), nil
			}
			return AddDecimal(a[0], types.NewDecimalInt(a[1].Int(), 0))
		}).nonStrict(),
		one("ceil(numeric) numeric", ceilDecimal), one("ceiling(numeric) numeric", ceilDecimal), one("floor(numeric) numeric", floorDecimal),
		one("round(numeric) numeric", func(d types.Datum) types.Datum { return types.RoundDecimal(d, 0) }),
		one("trunc(numeric) numeric", func(d types.Datum) types.Datum { return types.TruncDecimal(d, 0) }),
		fn("round(numeric,int4) numeric", toScale(types.RoundDecimal)), fn("trunc(numeric,int4) numeric", toScale(types.TruncDecimal)),
		one("sign(numeric) numeric", signDecimal),
		fn("mod(numeric,numeric) numeric", binaryNumeric(ModDecimal)), fn("div(numeric,numeric) numeric", binaryNumeric(TruncDivDecimal)),
		fn("power(numeric,numeric) numeric", binaryNumeric(powDecimal)), fn("pow(numeric,numeric) numeric", binaryNumeric(powDecimal)),
		errs("sqrt(numeric) numeric", sqrtDecimal), errs("exp(numeric) numeric", expDecimal), errs("ln(numeric) numeric", lnDecimal),
		errs("log(numeric) numeric", log10Decimal), errs("log10(numeric) numeric", log10Decimal),
		fn("log(numeric,numeric) numeric", binaryNumeric(logDecimal)),
		fn("gcd(numeric,numeric) numeric", gcdNumeric), fn("lcm(numeric,numeric) numeric", lcmNumeric),
		fn("factorial(int8) numeric", factorial),
		fn("scale(numeric) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if special(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(a[0].DecimalScale())), nil
		}),
		fn("min_scale(numeric) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if special(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(trimScale(a[0]).DecimalScale())), nil
		}),
		one("trim_scale(numeric) numeric", trimScale),
		fn("width_bucket(numeric,numeric,numeric,int4) int4", widthBucketNumeric),
	}
}

// toScale declares round or trunc to a scale, which reaches from before the first
// digit that a numeric can have to its last.
func toScale(f func(d types.Datum, scale int32) types.Datum) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		d := f(a[0], int32(min(max(a[1].Int(), -types.MaxDecimalDigits-1), types.MaxDecimalScale)))
		if special(d) || a[1].Int() >= 0 {
			return d, nil
		}
		var x apd.Decimal
		if tooLarge(d.Decimal(&x)) { // rounded up to one digit more
			return types.Null, fail(errNumericOverflow)
		}
		return d, nil
	}
}

// maxFactorial is the largest argument whose factorial numeric can hold.
const maxFactorial = 32177

func factorial(c *Context, a []types.Datum) (types.Datum, error) {
	n := a[0].Int()
	switch {
	case n < 0:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	case n > maxFactorial:
		return types.Null, fail(errNumericOverflow)
	case n < 2:
		return oneDecimal(1), nil
	}
	if err := c.Step(int(n)); err != nil {
		return types.Null, err
	}
	return decimalOf(new(apd.BigInt).MulRange(2, n), 0)
}

func widthBucketNumeric(_ *Context, a []types.Datum) (types.Datum, error) {
	x, lo, hi, n := a[0], a[1], a[2], a[3].Int()
	switch {
	case n <= 0:
		return types.Null, fail(errBucketCount)
	case x.IsNaN() || lo.IsNaN() || hi.IsNaN():
		return types.Null, pgerr.New("2201G", "operand, lower bound, and upper bound cannot be NaN")
	case lo.InfSign() != 0 || hi.InfSign() != 0:
		return types.Null, pgerr.New("2201G", "lower and upper bounds must be finite")
	}
	order := types.Compare(lo, hi)
	if order == 0 {
		return types.Null, pgerr.New("2201G", "lower bound cannot equal upper bound")
	}
	switch {
	case types.Compare(x, lo)*order > 0:
		return types.NewInt(0), nil
	case types.Compare(x, hi)*order <= 0:
		return intResult(4, n+1, nil)
	}
	// floor(n × (x - lo) / (hi - lo)) + 1, exactly.
	num, err := SubDecimal(x, lo)
	if err != nil {
		return types.Null, err
	}
	if num, err = MulDecimal(num, oneDecimal(n)); err != nil {
		return types.Null, err
	}
	span, err := SubDecimal(hi, lo)
	if err != nil {
		return types.Null, err
	}
	q, err := TruncDivDecimal(num, span)
	if err != nil {
		return types.Null, err
	}
	b, _ := types.DecimalToInt(q)
	return intResult(4, b+1, nil)
}

func gcdNumeric(c *Context, args []types.Datum) (types.Datum, error) {
	if special(args[0]) || special(args[1]) {
		return types.DecimalNaN, nil
	}
	scale := max(args[0].DecimalScale(), args[1].DecimalScale())
	g, err := gcdBig(c, alignedCoeff(args[0], scale), alignedCoeff(args[1], scale))
	if err != nil {
		return types.Null, err
	}
	return decimalOf(g, scale)
}

func lcmNumeric(c *Context, args []types.Datum) (types.Datum, error) {
	if special(args[0]) || special(args[1]) {
		return types.DecimalNaN, nil
	}
	scale := max(args[0].DecimalScale(), args[1].DecimalScale())
	x, y := alignedCoeff(args[0], scale), alignedCoeff(args[1], scale)
	if x.Sign() == 0 || y.Sign() == 0 {
		return types.NewDecimalInt(0, scale), nil
	}
	g, err := gcdBig(c, x, y)
	if err != nil {
		return types.Null, err
	}
	x.Abs(x).Quo(x, g)
	return decimalOf(x.Mul(x, y.Abs(y)), scale)
}
