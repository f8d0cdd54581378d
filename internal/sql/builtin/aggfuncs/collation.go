package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// collationAggregates are min and max of values by their sort keys, and any value of a group.
func collationAggregates() []*call.Aggregate {
	extreme := func(sign int) func([]*types.T) call.Accumulator {
		return func(ts []*types.T) call.Accumulator {
			return &keyedAcc{sign: sign, first: ts[1].Is(types.Bpchar), cmp: comparefuncs.CompareAs(ts[0])}
		}
	}
	return []*call.Aggregate{
		call.Agg("collation_min(any,anyelement) anyelement", extreme(-1)).OrderedTies(),
		call.Agg("collation_max(any,anyelement) anyelement", extreme(1)).OrderedTies(),
		call.Agg("collation_any(anyelement) anyelement", func([]*types.T) call.Accumulator { return &keyedAcc{} }).IgnoresDistinct(),
	}
}

// keyedAcc keeps the value with the least or greatest key, or the first value. Of values with
// equal keys it keeps the last, or the first.
type keyedAcc struct {
	sign       int
	first      bool
	cmp        comparefuncs.CompareFunc // nil: the first value
	key, value types.Datum
}

// Add implements Accumulator.
func (a *keyedAcc) Add(c *call.Context, args []types.Datum) error {
	a.add(c, args[0], args[len(args)-1])
	return nil
}

func (a *keyedAcc) add(c *call.Context, key, value types.Datum) {
	switch {
	case key.IsNull():
	case a.key.IsNull(), a.cmp != nil && a.beats(c, key):
		a.key, a.value = key, value
	}
}

// beats reports whether a key's value takes the place of the one that was kept.
func (a *keyedAcc) beats(c *call.Context, key types.Datum) bool {
	n := a.cmp(c, key, a.key) * a.sign
	return n > 0 || n == 0 && !a.first
}

// Result implements Accumulator.
func (a *keyedAcc) Result(*call.Context) (types.Datum, error) { return a.value, nil }

// Reset implements Accumulator.
func (a *keyedAcc) Reset() { a.key, a.value = types.Null, types.Null }

// Merge implements Accumulator.
func (a *keyedAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*keyedAcc](other)
	a.add(&call.Context{}, b.key, b.value)
	return nil
}

// SizeBytes implements Accumulator.
func (a *keyedAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + int64(len(a.key.Str())+len(a.value.Str()))
}
