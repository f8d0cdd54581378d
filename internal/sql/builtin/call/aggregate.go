package call

import (
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Aggregate is one signature of an aggregate function. Signature and the other
// methods of Overload apply; Eval is nil.
type Aggregate struct {
	Overload
	// New makes an accumulator for a group. argTypes are the concrete types
	// that Signature named.
	New func(argTypes []*types.T) Accumulator
	// OrderIndependent says that the result does not depend on the order of
	// the rows, so that ORDER BY within the call can be dropped.
	OrderIndependent bool
	// Associative says that the result does not depend on how the rows, in their order, are
	// split into parts that Merge puts together.
	Associative bool
	// DistinctNoop says that DISTINCT within the call changes nothing.
	DistinctNoop bool
}

// Accumulator is the state of an aggregate for one group. It skips NULLs by
// itself where the aggregate does.
type Accumulator interface {
	// Add takes the arguments of one row; it may keep the datums, not the slice.
	Add(c *Context, args []types.Datum) error
	// Result returns the aggregate of what was added since New or Reset; it
	// may be called more than once.
	Result(c *Context) (types.Datum, error)
	// Reset empties the state for the next group.
	Reset()
	// Merge adds the state of other, an accumulator of the same aggregate and
	// argument types whose rows come after this one's.
	Merge(other Accumulator) error
	// SizeBytes estimates the memory held.
	SizeBytes() int64
}

// PartialSums is an Accumulator of sums that takes sums computed elsewhere.
type PartialSums interface {
	Accumulator
	// AddPartial adds the sum of n values, none of them NULL. The sum of integers may come as a numeric.
	AddPartial(n int64, sum types.Datum) error
}

// Agg declares an aggregate by a signature as fn takes it.
func Agg(sig string, newAcc func(argTypes []*types.T) Accumulator) *Aggregate {
	o := Fn(sig, nil)
	o.Strict = false
	a := &Aggregate{Overload: *o, New: newAcc, OrderIndependent: true, Associative: true}
	a.Overload.Agg = a
	return a
}

// Ordered declares that the result depends on the order of the rows and on how they are split.
func (a *Aggregate) Ordered() *Aggregate { a.OrderIndependent, a.Associative = false, false; return a }

// OrderedTies declares that the order of the rows decides between values that are equal and look
// different. So does DISTINCT, which keeps one of them.
func (a *Aggregate) OrderedTies() *Aggregate {
	a.OrderIndependent, a.DistinctNoop = false, false
	return a
}

// IgnoresDistinct declares that DISTINCT within the call changes nothing.
func (a *Aggregate) IgnoresDistinct() *Aggregate { a.DistinctNoop = true; return a }

// Mergeable returns other as the same kind of accumulator as the caller.
func Mergeable[T Accumulator](other Accumulator) T {
	t, ok := other.(T)
	must.True(ok, "builtin: merge of accumulators of different aggregates")
	return t
}

// AccumulatorBytes is what a small accumulator is counted as.
const AccumulatorBytes = 64
