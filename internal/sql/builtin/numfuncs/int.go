package numfuncs

import (
	"math"
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The errors of arithmetic.
var (
	errInt2Range = pgerr.New(pgerr.NumericValueOutOfRange, "smallint out of range")
	ErrInt4Range = pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
	ErrInt8Range = pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
)

// AddInt8 adds with overflow check.
func AddInt8(a, b int64) (int64, error) {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		return 0, call.Fail(ErrInt8Range)
	}
	return s, nil
}

// SubInt8 subtracts with overflow check.
func SubInt8(a, b int64) (int64, error) {
	s := a - b
	if (s < a) != (b > 0) && b != 0 {
		return 0, call.Fail(ErrInt8Range)
	}
	return s, nil
}

// MulInt8 multiplies with overflow check.
func MulInt8(a, b int64) (int64, error) {
	if a == int64(int32(a)) && b == int64(int32(b)) {
		return a * b, nil
	}
	hi, lo := bits.Mul64(decimal.AbsUint(a), decimal.AbsUint(b))
	if hi != 0 || lo > 1<<63 {
		return 0, call.Fail(ErrInt8Range)
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), nil // right for 1<<63, too
	}
	if lo == 1<<63 {
		return 0, call.Fail(ErrInt8Range)
	}
	return int64(lo), nil
}

// DivInt8 divides, truncating.
func DivInt8(a, b int64) (int64, error) {
	switch b {
	case 0:
		return 0, call.Fail(call.ErrDivisionByZero)
	case -1:
		if a == math.MinInt64 {
			return 0, call.Fail(ErrInt8Range)
		}
		return -a, nil
	}
	return a / b, nil
}

// ModInt8 is the remainder with the sign of a.
func ModInt8(a, b int64) (int64, error) {
	switch b {
	case 0:
		return 0, call.Fail(call.ErrDivisionByZero)
	case -1:
		return 0, nil
	}
	return a % b, nil
}

// CheckInt2 and CheckInt4 bring a result into the range of its type.
func CheckInt2(n int64) (int64, error) {
	if n != int64(int16(n)) {
		return 0, call.Fail(errInt2Range)
	}
	return n, nil
}

// CheckInt4 is CheckInt2 for int4.
func CheckInt4(n int64) (int64, error) {
	if n != int64(int32(n)) {
		return 0, call.Fail(ErrInt4Range)
	}
	return n, nil
}

// intResult finishes an operation on 64 bits whose result has a smaller type.
func intResult(width int, n int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	switch width {
	case 2:
		n, err = CheckInt2(n)
	case 4:
		n, err = CheckInt4(n)
	}
	return types.NewInt(n), err
}

// arith makes the function of an integer operator whose result has the given
// width. The operation itself is on 64 bits, where two int4 cannot overflow.
func arith(width int, f func(a, b int64) (int64, error)) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		n, err := f(args[0].Int(), args[1].Int())
		return intResult(width, n, err)
	}
}

func integerOperators() []*call.Overload {
	add2, add4, add8 := arith(2, AddInt8), arith(4, AddInt8), arith(8, AddInt8)
	sub2, sub4, sub8 := arith(2, SubInt8), arith(4, SubInt8), arith(8, SubInt8)
	mul2, mul4, mul8 := arith(2, MulInt8), arith(4, MulInt8), arith(8, MulInt8)
	div2, div4, div8 := arith(2, DivInt8), arith(4, DivInt8), arith(8, DivInt8)
	mod := arith(8, ModInt8)
	return []*call.Overload{
		call.Op("int2 + int2 int2", add2), call.Op("int2 + int4 int4", add4), call.Op("int2 + int8 int8", add8),
		call.Op("int4 + int2 int4", add4), call.Op("int4 + int4 int4", add4), call.Op("int4 + int8 int8", add8),
		call.Op("int8 + int2 int8", add8), call.Op("int8 + int4 int8", add8), call.Op("int8 + int8 int8", add8),
		call.Op("int2 - int2 int2", sub2), call.Op("int2 - int4 int4", sub4), call.Op("int2 - int8 int8", sub8),
		call.Op("int4 - int2 int4", sub4), call.Op("int4 - int4 int4", sub4), call.Op("int4 - int8 int8", sub8),
		call.Op("int8 - int2 int8", sub8), call.Op("int8 - int4 int8", sub8), call.Op("int8 - int8 int8", sub8),
		call.Op("int2 * int2 int2", mul2), call.Op("int2 * int4 int4", mul4), call.Op("int2 * int8 int8", mul8),
		call.Op("int4 * int2 int4", mul4), call.Op("int4 * int4 int4", mul4), call.Op("int4 * int8 int8", mul8),
		call.Op("int8 * int2 int8", mul8), call.Op("int8 * int4 int8", mul8), call.Op("int8 * int8 int8", mul8),
		call.Op("int2 / int2 int2", div2), call.Op("int2 / int4 int4", div4), call.Op("int2 / int8 int8", div8),
		call.Op("int4 / int2 int4", div4), call.Op("int4 / int4 int4", div4), call.Op("int4 / int8 int8", div8),
		call.Op("int8 / int2 int8", div8), call.Op("int8 / int4 int8", div8), call.Op("int8 / int8 int8", div8),
		call.Op("int2 % int2 int2", mod), call.Op("int4 % int4 int4", mod), call.Op("int8 % int8 int8", mod),

		call.Op("+ int2 int2", call.Identity), call.Op("+ int4 int4", call.Identity), call.Op("+ int8 int8", call.Identity),
		call.Op("- int2 int2", negInt(2)), call.Op("- int4 int4", negInt(4)), call.Op("- int8 int8", negInt(8)),
		call.Op("@ int2 int2", absInt(2)), call.Op("@ int4 int4", absInt(4)), call.Op("@ int8 int8", absInt(8)),

		call.Fn("mod(int2,int2) int2", mod), call.Fn("mod(int4,int4) int4", mod), call.Fn("mod(int8,int8) int8", mod),
		call.Fn("abs(int2) int2", absInt(2)), call.Fn("abs(int4) int4", absInt(4)), call.Fn("abs(int8) int8", absInt(8)),
		call.Fn("int4inc(int4) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			n, err := CheckInt4(a[0].Int() + 1)
			return types.NewInt(n), err
		}),
		call.Fn("gcd(int4,int4) int4", gcdInt(4)), call.Fn("gcd(int8,int8) int8", gcdInt(8)),
		call.Fn("lcm(int4,int4) int4", lcmInt(4)), call.Fn("lcm(int8,int8) int8", lcmInt(8)),
	}
}

func negInt(width int) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		n, err := SubInt8(0, args[0].Int())
		return intResult(width, n, err)
	}
}

func absInt(width int) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		n := args[0].Int()
		if n >= 0 {
			return args[0], nil
		}
		n, err := SubInt8(0, n)
		return intResult(width, n, err)
	}
}

func gcdUint(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func gcdInt(width int) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		g := gcdUint(decimal.AbsUint(args[0].Int()), decimal.AbsUint(args[1].Int()))
		if g > math.MaxInt64 {
			return types.Null, call.Fail(ErrInt8Range)
		}
		return intResult(width, int64(g), nil)
	}
}

func lcmInt(width int) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		a, b := decimal.AbsUint(args[0].Int()), decimal.AbsUint(args[1].Int())
		if a == 0 || b == 0 {
			return types.NewInt(0), nil
		}
		hi, lo := bits.Mul64(a/gcdUint(a, b), b)
		if hi != 0 || lo > math.MaxInt64 {
			return intResult(width, 0, OutOfRange(width))
		}
		return intResult(width, int64(lo), nil)
	}
}

// OutOfRange is 22003 for the integer type of a width in bytes.
func OutOfRange(width int) *pgerr.Error {
	switch width {
	case 2:
		return call.Fail(errInt2Range)
	case 4:
		return call.Fail(ErrInt4Range)
	}
	return call.Fail(ErrInt8Range)
}

func bitOperators() []*call.Overload {
	and := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(a[0].Int() & a[1].Int()), nil
	}
	or := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(a[0].Int() | a[1].Int()), nil
	}
	xor := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(a[0].Int() ^ a[1].Int()), nil
	}
	not := func(_ *call.Context, a []types.Datum) (types.Datum, error) { return types.NewInt(^a[0].Int()), nil }
	return []*call.Overload{
		call.Op("int2 & int2 int2", and), call.Op("int4 & int4 int4", and), call.Op("int8 & int8 int8", and),
		call.Op("int2 | int2 int2", or), call.Op("int4 | int4 int4", or), call.Op("int8 | int8 int8", or),
		call.Op("int2 # int2 int2", xor), call.Op("int4 # int4 int4", xor), call.Op("int8 # int8 int8", xor),
		call.Op("~ int2 int2", not), call.Op("~ int4 int4", not), call.Op("~ int8 int8", not),
		call.Op("int2 << int4 int2", shift(2, true)), call.Op("int4 << int4 int4", shift(4, true)), call.Op("int8 << int4 int8", shift(8, true)),
		call.Op("int2 >> int4 int2", shift(2, false)), call.Op("int4 >> int4 int4", shift(4, false)), call.Op("int8 >> int4 int8", shift(8, false)),
	}
}

// shift uses the count modulo the width, as the hardware that PostgreSQL runs
// on does; int2 is shifted as an int4 and cut.
func shift(width int, left bool) call.EvalFunc {
	return func(_ *call.Context, args []types.Datum) (types.Datum, error) {
		n, by := args[0].Int(), uint64(args[1].Int())
		mask := uint64(31)
		if width == 8 {
			mask = 63
		}
		by &= mask
		if !left {
			return types.NewInt(n >> by), nil
		}
		switch width {
		case 2:
			return types.NewInt(int64(int16(int32(n) << by))), nil
		case 4:
			return types.NewInt(int64(int32(n) << by)), nil
		}
		return types.NewInt(n << by), nil
	}
}
