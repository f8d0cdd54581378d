package aggfuncs

import (
	"math"
	"math/bits"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/datefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

func sumAggregates() []*call.Aggregate {
	ints := func(out intOutput) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &intSum{out: out} }
	}
	floats := func(single, avg bool) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &floatSum{single: single, avg: avg} }
	}
	nums := func(avg bool) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &numericSum{avg: avg} }
	}
	ivs := func(avg bool) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &intervalSum{avg: avg} }
	}
	return []*call.Aggregate{
		call.Agg("sum(int2) int8", ints(sumInt8)), call.Agg("sum(int4) int8", ints(sumInt8)), call.Agg("sum(int8) numeric", ints(sumNumeric)),
		call.Agg("sum(float4) float4", floats(true, false)).Ordered(), call.Agg("sum(float8) float8", floats(false, false)).Ordered(),
		call.Agg("sum(money) money", ints(sumMoney)), call.Agg("sum(numeric) numeric", nums(false)), call.Agg("sum(interval) interval", ivs(false)),
		call.Agg("avg(int2) numeric", ints(avgNumeric)), call.Agg("avg(int4) numeric", ints(avgNumeric)), call.Agg("avg(int8) numeric", ints(avgNumeric)),
		call.Agg("avg(float4) float8", floats(false, true)).Ordered(), call.Agg("avg(float8) float8", floats(false, true)).Ordered(),
		call.Agg("avg(numeric) numeric", nums(true)), call.Agg("avg(interval) interval", ivs(true)),
	}
}

type intOutput uint8

const (
	sumInt8 intOutput = iota
	sumMoney
	sumNumeric
	avgNumeric
)

// intSum sums integers in 128 bits.
type intSum struct {
	out intOutput
	n   int64
	hi  int64
	lo  uint64
}

// Add implements Accumulator.
func (a *intSum) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	a.n++
	a.add(args[0].Int())
	return nil
}

// AddPartial implements PartialSums.
func (a *intSum) AddPartial(n int64, sum types.Datum) error {
	a.n += n
	if sum.Family() == types.DecimalFamily {
		a.addBig(decimal.SignedCoeff(sum))
		return nil
	}
	a.add(sum.Int())
	return nil
}

// addBig adds a sum that may have more than 64 bits.
func (a *intSum) addBig(v *apd.BigInt) {
	var high, low apd.BigInt
	low.And(v, new(apd.BigInt).SetUint64(math.MaxUint64)) // of the two's complement
	high.Rsh(v, 64)
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, low.Uint64(), 0)
	a.hi += high.Int64() + int64(carry)
}

func (a *intSum) add(v int64) {
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, uint64(v), 0)
	a.hi += v>>63 + int64(carry)
}

// Result implements Accumulator.
func (a *intSum) Result(*call.Context) (types.Datum, error) {
	if a.n == 0 {
		return types.Null, nil
	}
	fits := a.hi == int64(a.lo)>>63
	switch {
	case a.out == sumMoney && !fits:
		return types.Null, call.Fail(numfuncs.ErrMoneyRange)
	case a.out == sumInt8 && !fits:
		return types.Null, call.Fail(numfuncs.ErrInt8Range)
	case a.out == sumInt8 || a.out == sumMoney:
		return types.NewInt(int64(a.lo)), nil
	}
	sum := decimal.FromInt(int64(a.lo))
	if !fits {
		var err error
		if sum, err = decimal.Of(a.big(), 0); err != nil {
			return types.Null, err
		}
	}
	if a.out == sumNumeric {
		return sum, nil
	}
	return decimal.Div(sum, decimal.FromInt(a.n))
}

func (a *intSum) big() *apd.BigInt {
	x := apd.NewBigInt(a.hi)
	x.Lsh(x, 64)
	return x.Add(x, new(apd.BigInt).SetUint64(a.lo))
}

// Reset implements Accumulator.
func (a *intSum) Reset() { *a = intSum{out: a.out} }

// Merge implements Accumulator.
func (a *intSum) Merge(other call.Accumulator) error {
	b := call.Mergeable[*intSum](other)
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, b.lo, 0)
	a.hi += b.hi + int64(carry)
	a.n += b.n
	return nil
}

// SizeBytes implements Accumulator.
func (a *intSum) SizeBytes() int64 { return call.AccumulatorBytes }

// floatSum is sum or avg of floats.
type floatSum struct {
	single, avg bool
	n           int64
	sum         float64
}

// Add implements Accumulator.
func (a *floatSum) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	return a.add(args[0].Float(), 1)
}

func (a *floatSum) add(x float64, n int64) error {
	if a.n == 0 && !a.avg {
		a.sum, a.n = x, n // which keeps the sign of -0
		return nil
	}
	s := a.sum + x
	if a.single {
		s = float64(float32(s))
	}
	s, err := numfuncs.Finite(s, a.sum, x)
	a.sum = s
	a.n += n
	return err
}

// Result implements Accumulator.
func (a *floatSum) Result(*call.Context) (types.Datum, error) {
	switch {
	case a.n == 0:
		return types.Null, nil
	case a.avg:
		return types.NewFloat(a.sum / float64(a.n)), nil
	case a.single:
		return numfuncs.Float4Result(a.sum)
	}
	return types.NewFloat(a.sum), nil
}

// Reset implements Accumulator.
func (a *floatSum) Reset() { a.n, a.sum = 0, 0 }

// Merge implements Accumulator.
func (a *floatSum) Merge(other call.Accumulator) error {
	b := call.Mergeable[*floatSum](other)
	return a.add(b.sum, b.n)
}

// SizeBytes implements Accumulator.
func (a *floatSum) SizeBytes() int64 { return call.AccumulatorBytes }

// numericTotal sums numerics: in 64 bits at the largest scale so far, and
// what overflows that in big.
type numericTotal struct {
	scale   int32
	small   int64
	big     apd.BigInt
	special types.Datum // sum of NaN and infinities, NULL if there were none
}

func (t *numericTotal) add(d types.Datum) {
	if coeff, scale, ok := d.SmallDecimal(); ok {
		if scale == t.scale {
			t.addSmall(coeff)
			return
		}
		if scale < t.scale && t.scale-scale < int32(len(decimal.Pow10Int)) {
			p := decimal.Pow10Int[t.scale-scale]
			if v := coeff * p; v/p == coeff {
				t.addSmall(v)
				return
			}
		}
	}
	if decimal.IsSpecial(d) {
		if t.special.IsNull() {
			t.special = d
		} else {
			t.special = decimal.AddSpecial(t.special, d)
		}
		return
	}
	t.rescale(max(t.scale, d.DecimalScale()))
	t.big.Add(&t.big, decimal.AlignedCoeff(d, t.scale))
}

// addSquare adds d², which may be larger than a numeric.
func (t *numericTotal) addSquare(d types.Datum) {
	if coeff, scale, ok := d.SmallDecimal(); ok && decimal.AbsUint(coeff) <= math.MaxInt32 {
		t.add(types.NewDecimalInt(coeff*coeff, 2*scale))
		return
	}
	if decimal.IsSpecial(d) {
		t.add(decimal.MulSpecial(d, d))
		return
	}
	x, scale := decimal.SignedCoeff(d), 2*d.DecimalScale()
	x.Mul(x, x)
	t.rescale(max(t.scale, scale))
	if up := t.scale - scale; up > 0 {
		x.Mul(x, decimal.Pow10Big(int64(up)))
	}
	t.big.Add(&t.big, x)
}

// coeff is the sum of finite values, times 10^scale.
func (t *numericTotal) coeff() *apd.BigInt {
	var sum apd.BigInt
	return sum.Add(&t.big, apd.NewBigInt(t.small))
}

func (t *numericTotal) addSmall(v int64) {
	s := t.small + v
	if (s > t.small) == (v > 0) || v == 0 {
		t.small = s
		return
	}
	t.flush()
	t.small = v
}

// flush moves the small part to the big one.
func (t *numericTotal) flush() {
	t.big.Add(&t.big, apd.NewBigInt(t.small))
	t.small = 0
}

func (t *numericTotal) rescale(scale int32) {
	up := scale - t.scale
	if up <= 0 {
		return
	}
	t.scale = scale
	t.flush()
	t.big.Mul(&t.big, decimal.Pow10Big(int64(up)))
}

func (t *numericTotal) value() (types.Datum, error) {
	if !t.special.IsNull() {
		return t.special, nil
	}
	if t.big.Sign() == 0 {
		return types.NewDecimalInt(t.small, t.scale), nil
	}
	return decimal.Of(t.coeff(), t.scale)
}

func (t *numericTotal) reset() {
	t.scale, t.small, t.special = 0, 0, types.Null
	t.big.SetInt64(0)
}

func (t *numericTotal) merge(o *numericTotal) {
	if !o.special.IsNull() {
		t.add(o.special)
		return
	}
	t.rescale(o.scale)
	x := o.coeff()
	if up := t.scale - o.scale; up > 0 {
		x.Mul(x, decimal.Pow10Big(int64(up)))
	}
	t.big.Add(&t.big, x)
}

func (t *numericTotal) size() int64 { return call.AccumulatorBytes + int64(t.big.Size()) }

// numericSum is sum or avg of numerics.
type numericSum struct {
	avg   bool
	n     int64
	total numericTotal
}

// Add implements Accumulator.
func (a *numericSum) Add(_ *call.Context, args []types.Datum) error {
	if !args[0].IsNull() {
		a.n++
		a.total.add(args[0])
	}
	return nil
}

// AddPartial implements PartialSums.
func (a *numericSum) AddPartial(n int64, sum types.Datum) error {
	a.n += n
	a.total.add(sum)
	return nil
}

// Result implements Accumulator.
func (a *numericSum) Result(*call.Context) (types.Datum, error) {
	if a.n == 0 {
		return types.Null, nil
	}
	sum, err := a.total.value()
	if err != nil || !a.avg {
		return sum, err
	}
	return decimal.Div(sum, decimal.FromInt(a.n))
}

// Reset implements Accumulator.
func (a *numericSum) Reset() {
	a.n = 0
	a.total.reset()
}

// Merge implements Accumulator.
func (a *numericSum) Merge(other call.Accumulator) error {
	b := call.Mergeable[*numericSum](other)
	a.n += b.n
	a.total.merge(&b.total)
	return nil
}

// SizeBytes implements Accumulator.
func (a *numericSum) SizeBytes() int64 { return a.total.size() }

// intervalSum is sum or avg of intervals.
type intervalSum struct {
	avg bool
	n   int64
	sum types.IntervalValue
}

// Add implements Accumulator.
func (a *intervalSum) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	return a.add(args[0].Interval(), 1)
}

func (a *intervalSum) add(v types.IntervalValue, n int64) error {
	sum, err := datetime.AddIntervals(a.sum, v)
	if err != nil {
		return err
	}
	a.sum = sum
	a.n += n
	return nil
}

// Result implements Accumulator.
func (a *intervalSum) Result(*call.Context) (types.Datum, error) {
	switch {
	case a.n == 0:
		return types.Null, nil
	case a.avg:
		return datefuncs.IntervalResult(datetime.DivInterval(a.sum, float64(a.n)))
	}
	return types.NewInterval(a.sum), nil
}

// Reset implements Accumulator.
func (a *intervalSum) Reset() { a.n, a.sum = 0, types.IntervalValue{} }

// Merge implements Accumulator.
func (a *intervalSum) Merge(other call.Accumulator) error {
	b := call.Mergeable[*intervalSum](other)
	return a.add(b.sum, b.n)
}

// SizeBytes implements Accumulator.
func (a *intervalSum) SizeBytes() int64 { return call.AccumulatorBytes }
