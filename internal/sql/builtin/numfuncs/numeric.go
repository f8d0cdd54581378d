package numfuncs

import (
	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func binaryNumeric(f func(a, b types.Datum) (types.Datum, error)) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) { return f(args[0], args[1]) }
}

func unaryNumeric(f func(d types.Datum) types.Datum) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) { return f(args[0]), nil }
}

func numericOperators() []*call.Overload {
	add, sub, mul, div := binaryNumeric(decimal.Add), binaryNumeric(decimal.Sub), binaryNumeric(decimal.Mul), binaryNumeric(decimal.Div)
	return []*call.Overload{
		call.Op("numeric + numeric numeric", add), call.Op("numeric - numeric numeric", sub),
		call.Op("numeric * numeric numeric", mul), call.Op("numeric / numeric numeric", div),
		call.Op("numeric % numeric numeric", binaryNumeric(decimal.Mod)),
		call.Op("numeric ^ numeric numeric", binaryNumeric(decimal.Pow)),
		call.Op("+ numeric numeric", call.Identity), call.Op("- numeric numeric", unaryNumeric(decimal.Neg)),
		call.Op("@ numeric numeric", unaryNumeric(decimal.Abs)),
	}
}

func numericFunctions() []*call.Overload {
	one := func(sig string, f func(d types.Datum) types.Datum) *call.Overload {
		return call.Fn(sig, unaryNumeric(f))
	}
	errs := func(sig string, f func(d types.Datum) (types.Datum, error)) *call.Overload {
		return call.Fn(sig, func(_ *call.Context, a []types.Datum) (types.Datum, error) { return f(a[0]) })
	}
	return []*call.Overload{
		one("abs(numeric) numeric", decimal.Abs),
		call.Fn("numeric_inc(numeric) numeric", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return decimal.Add(a[0], types.NewDecimalInt(1, 0))
		}),
		call.Fn("int8_sum(numeric,int8) numeric", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			switch {
			case a[1].IsNull():
				return a[0], nil
			case a[0].IsNull():
				return types.NewDecimalInt(a[1].Int(), 0), nil
			}
			return decimal.Add(a[0], types.NewDecimalInt(a[1].Int(), 0))
		}).NonStrict(),
		one("ceil(numeric) numeric", decimal.Ceil), one("ceiling(numeric) numeric", decimal.Ceil), one("floor(numeric) numeric", decimal.Floor),
		one("round(numeric) numeric", func(d types.Datum) types.Datum { return types.RoundDecimal(d, 0) }),
		one("trunc(numeric) numeric", func(d types.Datum) types.Datum { return types.TruncDecimal(d, 0) }),
		call.Fn("round(numeric,int4) numeric", toScale(types.RoundDecimal)), call.Fn("trunc(numeric,int4) numeric", toScale(types.TruncDecimal)),
		one("sign(numeric) numeric", decimal.Sign),
		call.Fn("mod(numeric,numeric) numeric", binaryNumeric(decimal.Mod)), call.Fn("div(numeric,numeric) numeric", binaryNumeric(decimal.DivTrunc)),
		call.Fn("power(numeric,numeric) numeric", binaryNumeric(decimal.Pow)), call.Fn("pow(numeric,numeric) numeric", binaryNumeric(decimal.Pow)),
		errs("sqrt(numeric) numeric", decimal.Sqrt), errs("exp(numeric) numeric", decimal.Exp), errs("ln(numeric) numeric", decimal.Ln),
		errs("log(numeric) numeric", decimal.Log10), errs("log10(numeric) numeric", decimal.Log10),
		call.Fn("log(numeric,numeric) numeric", binaryNumeric(decimal.Log)),
		call.Fn("gcd(numeric,numeric) numeric", gcdNumeric), call.Fn("lcm(numeric,numeric) numeric", lcmNumeric),
		call.Fn("factorial(int8) numeric", factorial),
		call.Fn("scale(numeric) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if decimal.IsSpecial(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(a[0].DecimalScale())), nil
		}),
		call.Fn("min_scale(numeric) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if decimal.IsSpecial(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(decimal.TrimScale(a[0]).DecimalScale())), nil
		}),
		one("trim_scale(numeric) numeric", decimal.TrimScale),
		call.Fn("width_bucket(numeric,numeric,numeric,int4) int4", widthBucketNumeric),
	}
}

// toScale declares round or trunc to a scale, which reaches from before the first
// digit that a numeric can have to its last.
func toScale(f func(d types.Datum, scale int32) types.Datum) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		d := f(a[0], int32(min(max(a[1].Int(), -types.MaxDecimalDigits-1), types.MaxDecimalScale)))
		if decimal.IsSpecial(d) || a[1].Int() >= 0 {
			return d, nil
		}
		var x apd.Decimal
		if decimal.TooLarge(d.Decimal(&x)) { // rounded up to one digit more
			return types.Null, call.Fail(decimal.ErrNumericOverflow)
		}
		return d, nil
	}
}

// maxFactorial is the largest argument whose factorial numeric can hold.
const maxFactorial = 32177

func factorial(c *call.Context, a []types.Datum) (types.Datum, error) {
	n := a[0].Int()
	switch {
	case n < 0:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	case n > maxFactorial:
		return types.Null, call.Fail(decimal.ErrNumericOverflow)
	case n < 2:
		return decimal.FromInt(1), nil
	}
	if err := c.Step(int(n)); err != nil {
		return types.Null, err
	}
	return decimal.Of(new(apd.BigInt).MulRange(2, n), 0)
}

func widthBucketNumeric(_ *call.Context, a []types.Datum) (types.Datum, error) {
	x, lo, hi, n := a[0], a[1], a[2], a[3].Int()
	switch {
	case n <= 0:
		return types.Null, call.Fail(errBucketCount)
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
	num, err := decimal.Sub(x, lo)
	if err != nil {
		return types.Null, err
	}
	if num, err = decimal.Mul(num, decimal.FromInt(n)); err != nil {
		return types.Null, err
	}
	span, err := decimal.Sub(hi, lo)
	if err != nil {
		return types.Null, err
	}
	q, err := decimal.DivTrunc(num, span)
	if err != nil {
		return types.Null, err
	}
	b, _ := types.DecimalToInt(q)
	return intResult(4, b+1, nil)
}

func gcdNumeric(c *call.Context, args []types.Datum) (types.Datum, error) {
	if decimal.IsSpecial(args[0]) || decimal.IsSpecial(args[1]) {
		return types.DecimalNaN, nil
	}
	scale := max(args[0].DecimalScale(), args[1].DecimalScale())
	g, err := decimal.GCD(c, decimal.AlignedCoeff(args[0], scale), decimal.AlignedCoeff(args[1], scale))
	if err != nil {
		return types.Null, err
	}
	return decimal.Of(g, scale)
}

func lcmNumeric(c *call.Context, args []types.Datum) (types.Datum, error) {
	if decimal.IsSpecial(args[0]) || decimal.IsSpecial(args[1]) {
		return types.DecimalNaN, nil
	}
	scale := max(args[0].DecimalScale(), args[1].DecimalScale())
	x, y := decimal.AlignedCoeff(args[0], scale), decimal.AlignedCoeff(args[1], scale)
	if x.Sign() == 0 || y.Sign() == 0 {
		return types.NewDecimalInt(0, scale), nil
	}
	g, err := decimal.GCD(c, x, y)
	if err != nil {
		return types.Null, err
	}
	x.Abs(x).Quo(x, g)
	return decimal.Of(x.Mul(x, y.Abs(y)), scale)
}
