package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

func countAggregates() []*call.Aggregate {
	return []*call.Aggregate{
		call.Agg("count() int8", func([]*types.T) call.Accumulator { return &countAcc{star: true} }),
		call.Agg("count(any) int8", func([]*types.T) call.Accumulator { return &countAcc{} }),
	}
}

// countAcc is count(*) or count(x).
type countAcc struct {
	n    int64
	star bool
}

// Add implements Accumulator.
func (a *countAcc) Add(_ *call.Context, args []types.Datum) error {
	if a.star || !args[0].IsNull() {
		a.n++
	}
	return nil
}

// AddPartial implements PartialSums: n rows were counted elsewhere.
func (a *countAcc) AddPartial(n int64, _ types.Datum) error {
	a.n += n
	return nil
}

// Result implements Accumulator.
func (a *countAcc) Result(*call.Context) (types.Datum, error) { return types.NewInt(a.n), nil }

// Reset implements Accumulator.
func (a *countAcc) Reset() { a.n = 0 }

// Merge implements Accumulator.
func (a *countAcc) Merge(other call.Accumulator) error {
	a.n += call.Mergeable[*countAcc](other).n
	return nil
}

// SizeBytes implements Accumulator.
func (a *countAcc) SizeBytes() int64 { return call.AccumulatorBytes }
