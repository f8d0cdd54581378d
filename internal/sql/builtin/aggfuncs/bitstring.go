package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func bitStringAggregates() []*call.Aggregate {
	mk := func(name string, f func(x, y byte) byte) *call.Aggregate {
		return call.Agg(name+"(bit) bit", func([]*types.T) call.Accumulator { return &bitStringAcc{f: f} })
	}
	return []*call.Aggregate{
		mk("bit_and", func(x, y byte) byte { return x & y }), mk("bit_or", func(x, y byte) byte { return x | y }),
		mk("bit_xor", func(x, y byte) byte { return x ^ y }),
	}
}

// bitStringAcc is bit_and and its kin over bit strings.
type bitStringAcc struct {
	f   func(x, y byte) byte
	cur types.Datum
}

// Add implements Accumulator.
func (a *bitStringAcc) Add(_ *call.Context, args []types.Datum) error {
	d := args[0]
	switch {
	case d.IsNull():
		return nil
	case a.cur.IsNull():
		a.cur = d
		return nil
	}
	x, n := a.cur.Bits()
	y, m := d.Bits()
	if n != m {
		return pgerr.New("22026", "cannot AND bit strings of different sizes")
	}
	b := []byte(x)
	for i := range b {
		b[i] = a.f(b[i], y[i])
	}
	a.cur = types.NewBits(string(b), n)
	return nil
}

// Result implements Accumulator.
func (a *bitStringAcc) Result(*call.Context) (types.Datum, error) { return a.cur, nil }

// Reset implements Accumulator.
func (a *bitStringAcc) Reset() { a.cur = types.Null }

// Merge implements Accumulator.
func (a *bitStringAcc) Merge(other call.Accumulator) error {
	return a.Add(nil, []types.Datum{call.Mergeable[*bitStringAcc](other).cur})
}

// SizeBytes implements Accumulator.
func (a *bitStringAcc) SizeBytes() int64 { return call.AccumulatorBytes + int64(len(a.cur.Str())) }
