package numfuncs

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func mathFunctions() []*call.Overload {
	f := func(sig string, g func(float64) float64) *call.Overload { return call.Fn(sig, float8Func(g)) }
	ranged := func(sig string, lo, hi float64, g func(float64) float64) *call.Overload {
		return call.Fn(sig, domainFunc(lo, hi, g))
	}
	inf := math.Inf(1)
	return []*call.Overload{
		f("abs(float4) float4", math.Abs), f("abs(float8) float8", math.Abs),
		f("ceil(float8) float8", math.Ceil), f("ceiling(float8) float8", math.Ceil), f("floor(float8) float8", math.Floor),
		f("round(float8) float8", math.RoundToEven), f("trunc(float8) float8", math.Trunc),
		f("sign(float8) float8", signFloat), call.Fn("sqrt(float8) float8", sqrtFloat), f("cbrt(float8) float8", math.Cbrt),
		call.Fn("exp(float8) float8", expFloat),
		call.Fn("ln(float8) float8", logFloat(naturalLog)), call.Fn("log(float8) float8", logFloat(decimalLog)), call.Fn("log10(float8) float8", logFloat(decimalLog)),
		call.Fn("pi() float8", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewFloat(math.Pi), nil }),
		call.Fn("degrees(float8) float8", checked(func(x float64) float64 { return x / (math.Pi / 180) })),
		call.Fn("radians(float8) float8", checked(func(x float64) float64 { return x * (math.Pi / 180) })),
		trig("sin(float8) float8", math.Sin), trig("cos(float8) float8", math.Cos), trig("tan(float8) float8", math.Tan),
		trig("cot(float8) float8", func(x float64) float64 { return 1 / math.Tan(x) }),
		ranged("asin(float8) float8", -1, 1, math.Asin), ranged("acos(float8) float8", -1, 1, math.Acos), f("atan(float8) float8", math.Atan),
		call.Fn("atan2(float8,float8) float8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat(math.Atan2(a[0].Float(), a[1].Float())), nil
		}),
		call.Fn("atan2d(float8,float8) float8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat(atan2Degrees(a[0].Float(), a[1].Float())), nil
		}),
		trig("sind(float8) float8", sinDegrees), trig("cosd(float8) float8", cosDegrees), trig("tand(float8) float8", tanDegrees),
		trig("cotd(float8) float8", cotDegrees),
		ranged("asind(float8) float8", -1, 1, asinDegrees),
		ranged("acosd(float8) float8", -1, 1, acosDegrees),
		f("atand(float8) float8", atanDegrees),
		f("sinh(float8) float8", math.Sinh), f("cosh(float8) float8", math.Cosh), f("tanh(float8) float8", math.Tanh),
		f("asinh(float8) float8", math.Asinh), ranged("acosh(float8) float8", 1, inf, math.Acosh), ranged("atanh(float8) float8", -1, 1, math.Atanh),
		call.Fn("random() float8", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewFloat(c.Random().Float64()), nil
		}).Volatile(),
		call.Fn("setseed(float8) void", setSeed).Volatile(),
		call.Fn("width_bucket(float8,float8,float8,int4) int4", widthBucketFloat),
	}
}

// domainFunc makes a function that is defined on [lo, hi] only.
func domainFunc(lo, hi float64, g func(float64) float64) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		x := args[0].Float()
		if x < lo || x > hi {
			return types.Null, call.Fail(errInputRange)
		}
		return types.NewFloat(g(x)), nil
	}
}

// trig makes a function that is undefined at infinity.
func trig(sig string, g func(float64) float64) *call.Overload {
	return call.Fn(sig, func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		x := args[0].Float()
		if math.IsInf(x, 0) {
			return types.Null, call.Fail(errInputRange)
		}
		return types.NewFloat(g(x)), nil
	})
}

// checked makes a function that must not overflow.
func checked(g func(float64) float64) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		x := args[0].Float()
		r, err := Finite(g(x), x, 0)
		if err != nil {
			return types.Null, err
		}
		return types.NewFloat(r), nil
	}
}

func signFloat(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0 // also for NaN
}

func expFloat(_ *call.Context, args []types.Datum) (types.Datum, error) {
	x := args[0].Float()
	r := math.Exp(x)
	if math.IsInf(r, 0) && !math.IsInf(x, 0) {
		return types.Null, call.Fail(ErrFloatOverflow)
	}
	if r == 0 && !math.IsInf(x, 0) {
		return types.Null, call.Fail(errFloatUnderflow)
	}
	return types.NewFloat(r), nil
}

func logFloat(g func(float64) float64) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		x := args[0].Float()
		if err := decimal.LogArgument(x == 0, x < 0); err != nil {
			return types.Null, err
		}
		return types.NewFloat(g(x)), nil
	}
}

// naturalLog is math.Log made right for denormal numbers.
func naturalLog(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// decimalLog is exact for powers of ten.
func decimalLog(x float64) float64 {
	r := naturalLog(x) / math.Ln10
	if n := math.Round(r); math.Abs(r-n) < 1e-12 && math.Pow10(int(n)) == x {
		return n
	}
	return r
}

func setSeed(c *call.Context, args []types.Datum) (types.Datum, error) {
	s := args[0].Float()
	if s < -1 || s > 1 || math.IsNaN(s) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "setseed parameter %v is out of allowed range [-1,1]", s)
	}
	c.SeedRandom(s)
	return types.VoidDatum, nil
}

// The inverse functions in degrees are scaled by a value they must hit: then
// it, and with it the round angles, come out exact.

func atanDegrees(x float64) float64 { return math.Atan(x) / math.Atan(1) * 45 }

func atan2Degrees(y, x float64) float64 { return math.Atan2(y, x) / math.Atan(1) * 45 }

func asinDegrees(x float64) float64 {
	switch {
	case x < 0:
		return -asinDegrees(-x)
	case x <= 0.5:
		return math.Asin(x) / math.Asin(0.5) * 30
	}
	return 90 - math.Acos(x)/math.Acos(0.5)*60
}

func acosDegrees(x float64) float64 { return 90 - asinDegrees(x) }

// sinDegrees and its relatives reduce to the first quadrant, where the values
// that are exact get exact.
func sinDegrees(x float64) float64 {
	x = math.Mod(x, 360)
	sign := 1.0
	if x < 0 {
		x, sign = -x, -1
	}
	if x > 180 {
		x, sign = x-180, -sign
	}
	if x > 90 {
		x = 180 - x
	}
	switch x {
	case 0:
		return 0
	case 30:
		return sign * 0.5
	case 90:
		return sign
	}
	return sign * math.Sin(x*(math.Pi/180))
}

func cosDegrees(x float64) float64 {
	x = math.Abs(math.Mod(x, 360))
	sign := 1.0
	if x > 180 {
		x = 360 - x
	}
	if x > 90 {
		x, sign = 180-x, -1
	}
	switch x {
	case 0:
		return sign
	case 60:
		return sign * 0.5
	case 90:
		return 0
	}
	return sign * math.Cos(x*(math.Pi/180))
}

func cotDegrees(x float64) float64 {
	sign := 1.0
	if x = math.Mod(x, 360); x < 0 {
		x, sign = -x, -sign
	}
	if x > 180 {
		x, sign = 360-x, -sign
	}
	if x > 90 {
		x, sign = 180-x, -sign
	}
	switch x {
	case 0:
		return sign / x // an infinity, by the sign of zero
	case 45:
		return sign
	case 90:
		return 0 // never minus zero
	}
	return sign * cosDegrees(x) / sinDegrees(x)
}

func tanDegrees(x float64) float64 {
	switch math.Mod(x, 180) {
	case 45, -135:
		return 1
	case -45, 135:
		return -1
	}
	r := sinDegrees(x) / cosDegrees(x)
	if r == 0 {
		return 0 // never minus zero
	}
	return r
}

var errBucketCount = pgerr.New("2201G", "count must be greater than zero")

func widthBucketFloat(_ *call.Context, args []types.Datum) (types.Datum, error) {
	x, lo, hi, n := args[0].Float(), args[1].Float(), args[2].Float(), args[3].Int()
	switch {
	case n <= 0:
		return types.Null, call.Fail(errBucketCount)
	case math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi):
		return types.Null, pgerr.New("2201G", "operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return types.Null, pgerr.New("2201G", "lower and upper bounds must be finite")
	case lo == hi:
		return types.Null, pgerr.New("2201G", "lower bound cannot equal upper bound")
	}
	below, above := x < lo, x >= hi
	if lo > hi {
		below, above = x > lo, x <= hi
	}
	var b int64
	switch {
	case below:
		b = 0
	case above:
		b = n + 1
	default:
		// Halved, so that the difference of huge bounds stays finite.
		b = int64(float64(n)*((x/2-lo/2)/(hi/2-lo/2))) + 1
		b = min(max(b, 1), n)
	}
	return intResult(4, b, nil)
}
