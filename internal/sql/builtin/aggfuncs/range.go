package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/rangefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

func rangeAggregates() []*call.Aggregate {
	return []*call.Aggregate{
		call.Agg("range_agg(anyrange) anymultirange", func([]*types.T) call.Accumulator { return &rangeAcc{} }),
		call.Agg("range_agg(anymultirange) anymultirange", func([]*types.T) call.Accumulator { return &rangeAcc{} }),
		call.Agg("range_intersect_agg(anyrange) anyrange", func([]*types.T) call.Accumulator { return &rangeAcc{common: true, single: true} }),
		call.Agg("range_intersect_agg(anymultirange) anymultirange", func([]*types.T) call.Accumulator { return &rangeAcc{common: true} }),
	}
}

// rangeAcc is range_agg, or with common range_intersect_agg.
type rangeAcc struct {
	common, single bool
	any            bool
	rs             []types.Range
	merged         int // Ranges that were left when they were last merged
}

// Add implements Accumulator.
func (a *rangeAcc) Add(c *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	return c.Step(a.put(c, rangefuncs.Ranges(c, args[0])))
}

// put adds ranges and returns how many steps that took.
func (a *rangeAcc) put(c *call.Context, rs []types.Range) (steps int) {
	steps = len(rs)
	switch {
	case !a.any:
		a.rs = rs
	case a.common:
		steps += len(a.rs)
		a.rs = rangefuncs.Intersect(c, a.rs, rs)
	default:
		a.rs = append(a.rs, rs...)
		if len(a.rs) > max(leastMerged, 2*a.merged) {
			steps += len(a.rs)
			a.rs = types.MergeRanges(a.rs, c.Format)
			a.merged = len(a.rs)
		}
	}
	a.any = true
	return steps
}

// Result implements Accumulator.
func (a *rangeAcc) Result(c *call.Context) (types.Datum, error) {
	switch {
	case !a.any:
		return types.Null, nil
	case a.single:
		return rangefuncs.MergeAll(c, a.rs), nil
	}
	return types.NewMultirange(a.rs, c.Format), nil
}

// Reset implements Accumulator.
func (a *rangeAcc) Reset() { a.any, a.rs, a.merged = false, nil, 0 }

// Merge implements Accumulator.
func (a *rangeAcc) Merge(other call.Accumulator) error {
	if b := call.Mergeable[*rangeAcc](other); b.any {
		a.put(&call.Context{}, b.rs)
	}
	return nil
}

// SizeBytes implements Accumulator.
func (a *rangeAcc) SizeBytes() int64 { return call.AccumulatorBytes + 128*int64(cap(a.rs)) }

// leastMerged is how many ranges come together before they are merged for the first time.
const leastMerged = 1024
