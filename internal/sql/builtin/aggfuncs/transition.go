package aggfuncs

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Functions declares the functions of which PostgreSQL's own aggregates are made, as far as their states are values: users make
// aggregates of them. Those of the system do not call them.
func Functions() []*call.Overload {
	return []*call.Overload{
		call.Fn("int8inc(int8) int8", counted(1)), call.Fn("int8inc_any(int8,any) int8", counted(1)), call.Fn("int8inc_float8_float8(int8,float8,float8) int8", counted(1)),
		call.Fn("int8dec(int8) int8", counted(-1)), call.Fn("int8dec_any(int8,any) int8", counted(-1)),
		call.Fn("int2_sum(int8,int2) int8", integerSum).NonStrict(), call.Fn("int4_sum(int8,int4) int8", integerSum).NonStrict(),
		call.Fn("int2_avg_accum(_int8,int2) _int8", averaged(1)), call.Fn("int4_avg_accum(_int8,int4) _int8", averaged(1)),
		call.Fn("int2_avg_accum_inv(_int8,int2) _int8", averaged(-1)), call.Fn("int4_avg_accum_inv(_int8,int4) _int8", averaged(-1)),
		call.Fn("int4_avg_combine(_int8,_int8) _int8", averagesTogether), call.Fn("int8_avg(_int8) numeric", averageOf),
		call.Fn("int2int4_sum(_int8) int8", sumOf),
		call.Fn("float4_accum(_float8,float4) _float8", floatAccum("float4_accum")), call.Fn("float8_accum(_float8,float8) _float8", floatAccum("float8_accum")),
		call.Fn("float8_avg(_float8) float8", floatState("float8_avg", 1, func(s moments) float64 { return s.sum / s.n })),
		call.Fn("float8_var_pop(_float8) float8", floatState("float8_var_pop", 1, func(s moments) float64 { return s.squares / s.n })),
		call.Fn("float8_var_samp(_float8) float8", floatState("float8_var_samp", 2, func(s moments) float64 { return s.squares / (s.n - 1) })),
		call.Fn("float8_stddev_pop(_float8) float8", floatState("float8_stddev_pop", 1, func(s moments) float64 { return math.Sqrt(s.squares / s.n) })),
		call.Fn("float8_stddev_samp(_float8) float8", floatState("float8_stddev_samp", 2, func(s moments) float64 { return math.Sqrt(s.squares / (s.n - 1)) })),
		call.Fn("booland_statefunc(bool,bool) bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Bool() && a[1].Bool()), nil
		}),
		call.Fn("boolor_statefunc(bool,bool) bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Bool() || a[1].Bool()), nil
		}),
	}
}

func bigintRange() error { return pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range") }

func counted(by int64) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		n := a[0].Int() + by
		if (n > a[0].Int()) != (by > 0) {
			return types.Null, bigintRange()
		}
		return types.NewInt(n), nil
	}
}

// integerSum adds an integer to a sum, NULL before the first; it may overflow, as PostgreSQL's does.
func integerSum(_ *call.Context, a []types.Datum) (types.Datum, error) {
	switch {
	case a[1].IsNull():
		return a[0], nil
	case a[0].IsNull():
		return types.NewInt(a[1].Int()), nil
	}
	return types.NewInt(a[0].Int() + a[1].Int()), nil
}

// pair reads a state of two integers: how many there are, and their sum.
func pair(d types.Datum) (n, sum int64, err error) {
	elems := d.Array().Elems
	if len(elems) != 2 || len(d.ArrayDims()) != 1 || elems[0].IsNull() || elems[1].IsNull() {
		return 0, 0, pgerr.New(pgerr.InvalidParameterValue, "expected 2-element int8 array")
	}
	return elems[0].Int(), elems[1].Int(), nil
}

func newPair(n, sum int64) types.Datum {
	return types.NewArray([]types.Datum{types.NewInt(n), types.NewInt(sum)})
}

func averaged(by int64) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		n, sum, err := pair(a[0])
		if err != nil {
			return types.Null, err
		}
		return newPair(n+by, sum+by*a[1].Int()), nil
	}
}

func averagesTogether(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n, sum, err := pair(a[0])
	if err != nil {
		return types.Null, err
	}
	m, more, err := pair(a[1])
	if err != nil {
		return types.Null, err
	}
	return newPair(n+m, sum+more), nil
}

func averageOf(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n, sum, err := pair(a[0])
	if err != nil || n == 0 {
		return types.Null, err
	}
	return decimal.Div(decimal.FromInt(sum), decimal.FromInt(n))
}

func sumOf(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n, sum, err := pair(a[0])
	if err != nil || n == 0 {
		return types.Null, err
	}
	return types.NewInt(sum), nil
}

// moments is a state of three floats: how many values there are, their sum, and that of the squares of what they differ from the average.
type moments struct{ n, sum, squares float64 }

func momentsOf(d types.Datum, function string) (s moments, err error) {
	elems := d.Array().Elems
	if len(elems) != 3 || len(d.ArrayDims()) != 1 || elems[0].IsNull() || elems[1].IsNull() || elems[2].IsNull() {
		return s, pgerr.New(pgerr.InvalidParameterValue, "%s: expected 3-element float8 array", function)
	}
	return moments{elems[0].Float(), elems[1].Float(), elems[2].Float()}, nil
}

// floatAccum adds a value to moments, by the method of Youngs and Cramer.
func floatAccum(function string) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		s, err := momentsOf(a[0], function)
		if err != nil {
			return types.Null, err
		}
		v := a[1].Float()
		was := s
		s.n++
		s.sum += v
		switch {
		case was.n > 0:
			t := v*s.n - s.sum
			s.squares += t * t / (s.n * was.n)
			if math.IsInf(s.sum, 0) || math.IsInf(s.squares, 0) {
				if !math.IsInf(was.sum, 0) && !math.IsInf(v, 0) {
					return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
				}
				s.squares = math.NaN()
			}
		case math.IsNaN(v) || math.IsInf(v, 0):
			s.squares = math.NaN()
		}
		return types.NewArray([]types.Datum{types.NewFloat(s.n), types.NewFloat(s.sum), types.NewFloat(s.squares)}), nil
	}
}

// floatState computes something of moments of at least so many values.
func floatState(function string, least float64, f func(moments) float64) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		s, err := momentsOf(a[0], function)
		if err != nil || s.n < least {
			return types.Null, err
		}
		return types.NewFloat(f(s)), nil
	}
}
