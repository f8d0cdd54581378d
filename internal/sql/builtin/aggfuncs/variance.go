package aggfuncs

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// varianceKind says which of the family an aggregate is.
type varianceKind struct{ sample, root bool }

func varianceAggregates() []*call.Aggregate {
	var all []*call.Aggregate
	for _, k := range []struct {
		name string
		kind varianceKind
	}{
		{"var_pop", varianceKind{}}, {"var_samp", varianceKind{sample: true}}, {"variance", varianceKind{sample: true}},
		{"stddev_pop", varianceKind{root: true}}, {"stddev_samp", varianceKind{true, true}}, {"stddev", varianceKind{true, true}},
	} {
		for _, t := range []string{"int2", "int4", "int8", "numeric"} {
			all = append(all, call.Agg(k.name+"("+t+") numeric", func([]*types.T) call.Accumulator { return &numericVariance{kind: k.kind} }))
		}
		for _, t := range []string{"float4", "float8"} {
			all = append(all, call.Agg(k.name+"("+t+") float8", func([]*types.T) call.Accumulator { return &floatVariance{kind: k.kind} }).Ordered())
		}
	}
	return all
}

// numericVariance keeps exact sums of the values and of their squares.
type numericVariance struct {
	kind        varianceKind
	n           int64
	sum, square numericTotal
}

// Add implements Accumulator.
func (a *numericVariance) Add(_ *call.Context, args []types.Datum) error {
	d := args[0]
	switch d.Family() {
	case types.NullFamily:
		return nil
	case types.IntFamily:
		d = decimal.FromInt(d.Int())
	}
	a.n++
	a.sum.add(d)
	a.square.addSquare(d)
	return nil
}

// Result implements Accumulator.
func (a *numericVariance) Result(*call.Context) (types.Datum, error) {
	if a.n == 0 || a.kind.sample && a.n == 1 {
		return types.Null, nil
	}
	if !a.sum.special.IsNull() {
		return types.DecimalNaN, nil
	}
	num := a.numerator()
	if num.DecimalSign() <= 0 {
		return decimal.FromInt(0), nil
	}
	m := a.n
	if a.kind.sample {
		m--
	}
	den, err := decimal.Mul(decimal.FromInt(a.n), decimal.FromInt(m))
	if err != nil {
		return types.Null, err
	}
	scale := decimal.QuotientScale(num, den)
	v, err := decimal.DivToScale(num, den, scale, true)
	if err != nil || !a.kind.root {
		return v, err
	}
	return decimal.SqrtToScale(v, scale)
}

// numerator is n × Σx² - (Σx)². It and the sums may be larger than a numeric, and
// have more digits behind the point, while the variance is one.
func (a *numericVariance) numerator() types.Datum {
	sum, square := a.sum.coeff(), a.square.coeff()
	sum.Mul(sum, sum)
	square.Mul(square, apd.NewBigInt(a.n))
	scale := 2 * a.sum.scale
	if up := scale - a.square.scale; up > 0 {
		square.Mul(square, decimal.Pow10Big(int64(up)))
	} else {
		sum.Mul(sum, decimal.Pow10Big(int64(-up)))
		scale = a.square.scale
	}
	x := apd.Decimal{Exponent: -scale}
	square.Sub(square, sum)
	x.Negative = square.Sign() < 0
	x.Coeff.Abs(square)
	return types.NewDecimal(&x)
}

// Reset implements Accumulator.
func (a *numericVariance) Reset() {
	a.n = 0
	a.sum.reset()
	a.square.reset()
}

// Merge implements Accumulator.
func (a *numericVariance) Merge(other call.Accumulator) error {
	b := call.Mergeable[*numericVariance](other)
	a.n += b.n
	a.sum.merge(&b.sum)
	a.square.merge(&b.square)
	return nil
}

// SizeBytes implements Accumulator.
func (a *numericVariance) SizeBytes() int64 { return a.sum.size() + a.square.size() }

// floatVariance updates the sum of squared differences from the mean with
// every value (Youngs and Cramer), which does not cancel as sums of squares do.
type floatVariance struct {
	kind varianceKind
	n    float64
	sum  float64
	sxx  float64
}

// Add implements Accumulator.
func (a *floatVariance) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	x := args[0].Float()
	a.n++
	sum := a.sum + x
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		a.sxx = types.NaN()
	case a.n > 1:
		d := x*a.n - sum
		a.sxx += d * d / (a.n * (a.n - 1))
		if math.IsInf(sum, 0) && !math.IsInf(a.sum, 0) || math.IsInf(a.sxx, 0) {
			return call.Fail(numfuncs.ErrFloatOverflow)
		}
	}
	a.sum = sum
	return nil
}

// Result implements Accumulator.
func (a *floatVariance) Result(*call.Context) (types.Datum, error) {
	m := a.n
	if a.kind.sample {
		m--
	}
	if m <= 0 {
		return types.Null, nil
	}
	v := a.sxx / m
	if a.kind.root {
		v = math.Sqrt(v)
	}
	return types.NewFloat(v), nil
}

// Reset implements Accumulator.
func (a *floatVariance) Reset() { *a = floatVariance{kind: a.kind} }

// Merge implements Accumulator.
func (a *floatVariance) Merge(other call.Accumulator) error {
	b := call.Mergeable[*floatVariance](other)
	switch {
	case b.n == 0:
		return nil
	case a.n == 0:
		*a = *b
		return nil
	}
	d := a.sum/a.n - b.sum/b.n
	a.sxx += b.sxx + a.n*b.n*d*d/(a.n+b.n)
	a.n += b.n
	a.sum += b.sum
	if math.IsInf(a.sxx, 0) {
		return call.Fail(numfuncs.ErrFloatOverflow)
	}
	return nil
}

// SizeBytes implements Accumulator.
func (a *floatVariance) SizeBytes() int64 { return call.AccumulatorBytes }
