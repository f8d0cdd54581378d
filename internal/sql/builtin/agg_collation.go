package builtin

import "github.com/lichendb/lichen/internal/sql/types"

// collationAggregates are min and max of values by their sort keys, and any value of a group.
func collationAggregates() []*Aggregate {
	extreme := func(sign int) func([]*types.T) Accumulator {
		return func(ts []*types.T) Accumulator { return &keyedAcc{sign: sign, cmp: compareAs(ts[0])} }
	}
	return []*Aggregate{
		agg("collation_min(any,anyelement) anyelement", extreme(-1)).distinctNoop(),
		agg("collation_max(any,anyelement) anyelement", extreme(1)).distinctNoop(),
		agg("collation_any(anyelement) anyelement", func([]*types.T) Accumulator { return &keyedAcc{} }).distinctNoop(),
	}
}

// keyedAcc keeps the value with the least or greatest key, or the first value.
type keyedAcc struct {
	sign       int
	cmp        compareFunc // nil: the first value
	key, value types.Datum
}

// Add implements Accumulator.
func (a *keyedAcc) Add(_ *Context, args []types.Datum) error {
	a.add(args[0], args[len(args)-1])
	return nil
}

func (a *keyedAcc) add(key, value types.Datum) {
	switch {
	case key.IsNull():
	case a.key.IsNull(), a.cmp != nil && a.cmp(nil, key, a.key)*a.sign > 0:
		a.key, a.value = key, value
	}
}

// Result implements Accumulator.
func (a *keyedAcc) Result(*Context) (types.Datum, error) { return a.value, nil }

// Reset implements Accumulator.
func (a *keyedAcc) Reset() { a.key, a.value = types.Null, types.Null }

// Merge implements Accumulator.
func (a *keyedAcc) Merge(other Accumulator) error {
	b := mergeable[*keyedAcc](other)
	a.add(b.key, b.value)
	return nil
}

// SizeBytes implements Accumulator.
func (a *keyedAcc) SizeBytes() int64 {
	return accumulatorBytes + int64(len(a.key.Str())+len(a.value.Str()))
}
