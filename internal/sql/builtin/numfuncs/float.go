package numfuncs

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

var (
	ErrFloatOverflow  = pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
	errFloatUnderflow = pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
	errInputRange     = pgerr.New(pgerr.NumericValueOutOfRange, "input is out of range")
)

// AddFloat, SubFloat, MulFloat and DivFloat are float8 arithmetic with
// PostgreSQL's range checks.
func AddFloat(a, b float64) (float64, error) { return Finite(a+b, a, b) }

// SubFloat subtracts; see AddFloat.
func SubFloat(a, b float64) (float64, error) { return Finite(a-b, a, b) }

// MulFloat multiplies; see AddFloat.
func MulFloat(a, b float64) (float64, error) {
	r := a * b
	if r == 0 && a != 0 && b != 0 {
		return 0, call.Fail(errFloatUnderflow)
	}
	return Finite(r, a, b)
}

// DivFloat divides; see AddFloat.
func DivFloat(a, b float64) (float64, error) {
	if b == 0 && !math.IsNaN(a) {
		return 0, call.Fail(call.ErrDivisionByZero)
	}
	r := a / b
	if r == 0 && a != 0 && !math.IsInf(b, 0) {
		return 0, call.Fail(errFloatUnderflow)
	}
	return Finite(r, a, b)
}

// Finite fails when finite operands gave an infinite result.
func Finite(r, a, b float64) (float64, error) {
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return 0, call.Fail(ErrFloatOverflow)
	}
	return r, nil
}

func arithFloat8(f func(a, b float64) (float64, error)) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		r, err := f(args[0].Float(), args[1].Float())
		if err != nil {
			return types.Null, err
		}
		return types.NewFloat(r), nil
	}
}

// arithFloat4 rounds the result of the float8 operation, which is the float4
// result: a float64 holds enough digits for + - * / of two float32.
func arithFloat4(f func(a, b float64) (float64, error)) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		a, b := args[0].Float(), args[1].Float()
		r, err := f(a, b)
		if err != nil {
			return types.Null, err
		}
		return Float4Result(r)
	}
}

// Float4Result rounds to float4 and checks its range.
func Float4Result(r float64) (types.Datum, error) {
	r4 := float64(float32(r))
	if math.IsInf(r4, 0) && !math.IsInf(r, 0) {
		return types.Null, call.Fail(ErrFloatOverflow)
	}
	if r4 == 0 && r != 0 {
		return types.Null, call.Fail(errFloatUnderflow)
	}
	return types.NewFloat(r4), nil
}

func floatOperators() []*call.Overload {
	add4, sub4, mul4, div4 := arithFloat4(AddFloat), arithFloat4(SubFloat), arithFloat4(MulFloat), arithFloat4(DivFloat)
	add, sub, mul, div := arithFloat8(AddFloat), arithFloat8(SubFloat), arithFloat8(MulFloat), arithFloat8(DivFloat)
	pow := arithFloat8(powFloat)
	return []*call.Overload{
		call.Op("float4 + float4 float4", add4), call.Op("float4 + float8 float8", add), call.Op("float8 + float4 float8", add), call.Op("float8 + float8 float8", add),
		call.Op("float4 - float4 float4", sub4), call.Op("float4 - float8 float8", sub), call.Op("float8 - float4 float8", sub), call.Op("float8 - float8 float8", sub),
		call.Op("float4 * float4 float4", mul4), call.Op("float4 * float8 float8", mul), call.Op("float8 * float4 float8", mul), call.Op("float8 * float8 float8", mul),
		call.Op("float4 / float4 float4", div4), call.Op("float4 / float8 float8", div), call.Op("float8 / float4 float8", div), call.Op("float8 / float8 float8", div),
		call.Op("+ float4 float4", call.Identity), call.Op("+ float8 float8", call.Identity),
		call.Op("- float4 float4", negFloat), call.Op("- float8 float8", negFloat),
		call.Op("@ float4 float4", float8Func(math.Abs)), call.Op("@ float8 float8", float8Func(math.Abs)),
		call.Op("float8 ^ float8 float8", pow),
		call.Op("|/ float8 float8", sqrtFloat), call.Op("||/ float8 float8", float8Func(math.Cbrt)),
		call.Fn("power(float8,float8) float8", pow), call.Fn("pow(float8,float8) float8", pow),
	}
}

func negFloat(_ *call.Context, args []types.Datum) (types.Datum, error) {
	return types.NewFloat(-args[0].Float()), nil
}

// float8Func makes a function of a total float function.
func float8Func(f func(float64) float64) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		return types.NewFloat(f(args[0].Float())), nil
	}
}

func sqrtFloat(_ *call.Context, args []types.Datum) (types.Datum, error) {
	f := args[0].Float()
	if f < 0 {
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
	}
	return types.NewFloat(math.Sqrt(f)), nil
}

// powFloat is a^b with SQL's errors and C's special cases, which Go's math.Pow
// shares.
func powFloat(a, b float64) (float64, error) {
	switch {
	case a == 0 && b < 0:
		return 0, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "zero raised to a negative power is undefined")
	case a < 0 && math.Floor(b) != b && !math.IsNaN(b):
		return 0, pgerr.New(pgerr.InvalidArgumentForPowerFunction,
			"a negative number raised to a non-integer power yields a complex result")
	}
	r := math.Pow(a, b)
	if a > 0 && a < 0x1p-1022 { // math.Pow is wrong about denormal numbers
		r = math.Pow(a*0x1p54, b) * math.Exp2(-54*b)
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return r, nil
	}
	if r == 0 && a != 0 {
		return 0, call.Fail(errFloatUnderflow)
	}
	return Finite(r, a, b)
}
