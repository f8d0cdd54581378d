package builtin

import "github.com/lichendb/lichen/internal/sql/types"

func countAggregates() []*Aggregate {
	return []*Aggregate{
		agg("count() int8", func([]*types.T) Accumulator { return &countAcc{star: true} }),
		agg("count(any) int8", func([]*types.T) Accumulator { return &countAcc{} }),
	}
}

// countAcc is count(*) or count(x).
type countAcc struct {
	n    int64
	star bool
}

// Add implements Accumulator.
func (a *countAcc) Add(_ *Context, args []types.Datum) error {
	if a.star || !args[0].IsNull() {
		a.n++
	}
	return nil
}

// Result implements Accumulator.
func (a *countAcc) Result(*Context) (types.Datum, error) { return types.NewInt(a.n), nil }

// Reset implements Accumulator.
func (a *countAcc) Reset() { a.n = 0 }

// Merge implements Accumulator.
func (a *countAcc) Merge(other Accumulator) error {
	a.n += mergeable[*countAcc](other).n
	return nil
}

// SizeBytes implements Accumulator.
func (a *countAcc) SizeBytes() int64 { return accumulatorBytes }
