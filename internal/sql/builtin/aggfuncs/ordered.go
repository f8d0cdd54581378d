package aggfuncs

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// The ordered-set aggregates take their direct arguments with every row, and
// the rows in the order of WITHIN GROUP.

// OrderedSet reports whether an aggregate is called with WITHIN GROUP, and
// returns under which name the registry has it. Hypothetical-set aggregates take
// the direct arguments, the ordered ones, then per ordered one how it is ordered
// (HypotheticalDesc, HypotheticalNullsFirst).
func OrderedSet(name string) (as string, hypothetical, ok bool) {
	switch name {
	case "percentile_cont", "percentile_disc", "mode":
		return name, false, true
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return "lichen_" + name, true, true
	}
	return "", false, false
}

// How a column of a hypothetical-set aggregate is ordered.
const (
	HypotheticalDesc       = 1
	HypotheticalNullsFirst = 2
)

func orderedAggregates() []*call.Aggregate {
	cont := func(many bool) func([]*types.T) call.Accumulator {
		return func(ts []*types.T) call.Accumulator { return &percentileAcc{cont: true, many: many, t: ts[1]} }
	}
	disc := func(many bool) func([]*types.T) call.Accumulator {
		return func(ts []*types.T) call.Accumulator { return &percentileAcc{many: many, t: ts[1]} }
	}
	all := []*call.Aggregate{
		call.Agg("percentile_cont(float8,float8) float8", cont(false)).Ordered(),
		call.Agg("percentile_cont(float8,interval) interval", cont(false)).Ordered(),
		call.Agg("percentile_cont(_float8,float8) _float8", cont(true)).Ordered(),
		call.Agg("percentile_cont(_float8,interval) _interval", cont(true)).Ordered(),
		call.Agg("percentile_disc(float8,anyelement) anyelement", disc(false)).Ordered(),
		call.Agg("percentile_disc(_float8,anyelement) anyarray", disc(true)).Ordered(),
		call.Agg("mode(anyelement) anyelement", func(ts []*types.T) call.Accumulator { return &modeAcc{t: ts[0]} }).Ordered(),
	}
	for name, ret := range map[string]string{"rank": "int8", "dense_rank": "int8", "percent_rank": "float8", "cume_dist": "float8"} {
		all = append(all, call.Agg("lichen_"+name+"(any...) "+ret, func(ts []*types.T) call.Accumulator {
			return &hypotheticalAcc{kind: name, ts: ts, width: len(ts) / 3}
		}).Ordered())
	}
	return all
}

// percentileAcc is percentile_cont or percentile_disc: it keeps the values,
// which come in order.
type percentileAcc struct {
	cont, many bool
	t          *types.T
	fraction   types.Datum
	values     []types.Datum
	bytes      int64
}

// Add implements Accumulator.
func (a *percentileAcc) Add(_ *call.Context, args []types.Datum) error {
	a.fraction = args[0]
	if !args[1].IsNull() {
		a.values = append(a.values, args[1])
		a.bytes += int64(len(args[1].Str()))
	}
	return nil
}

// Result implements Accumulator.
func (a *percentileAcc) Result(c *call.Context) (types.Datum, error) {
	if a.fraction.IsNull() || len(a.values) == 0 {
		return types.Null, nil
	}
	if !a.many {
		return a.at(a.fraction)
	}
	fs := a.fraction.DecodeArray(c.Format)
	for i, f := range fs.Elems {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if f.IsNull() {
			continue
		}
		v, err := a.at(f)
		if err != nil {
			return types.Null, err
		}
		fs.Elems[i] = v
	}
	return types.EncodeArray(fs.Dims, fs.Elems, c.Format), nil
}

func (a *percentileAcc) at(fraction types.Datum) (types.Datum, error) {
	f := fraction.Float()
	if f < 0 || f > 1 || math.IsNaN(f) {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "percentile value %s is not between 0 and 1",
			typeio.FormatDatum(types.Float8, fraction, nil))
	}
	n := len(a.values)
	if !a.cont {
		return a.values[max(int(math.Ceil(f*float64(n))), 1)-1], nil
	}
	pos := f * float64(n-1)
	lo, hi := int(math.Floor(pos)), int(math.Ceil(pos))
	x, y := a.values[lo], a.values[hi]
	if lo == hi {
		return x, nil
	}
	p := pos - float64(lo)
	if a.t.Family != types.IntervalFamily {
		return types.NewFloat(x.Float() + p*(y.Float()-x.Float())), nil
	}
	diff, err := datetime.SubIntervals(y.Interval(), x.Interval())
	if err != nil {
		return types.Null, err
	}
	if diff, err = datetime.MulInterval(diff, p); err != nil {
		return types.Null, err
	}
	sum, err := datetime.AddIntervals(diff, x.Interval())
	return types.NewInterval(sum), err
}

// Reset implements Accumulator.
func (a *percentileAcc) Reset() {
	clear(a.values)
	a.fraction, a.values, a.bytes = types.Null, a.values[:0], 0
}

// Merge implements Accumulator.
func (a *percentileAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*percentileAcc](other)
	if len(b.values) > 0 {
		a.fraction = b.fraction
	}
	a.values = append(a.values, b.values...)
	a.bytes += b.bytes
	return nil
}

// SizeBytes implements Accumulator.
func (a *percentileAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + a.bytes + datumBytes*int64(cap(a.values))
}

// modeAcc is mode: the value of the longest run, the first of equal ones.
type modeAcc struct {
	t          *types.T
	best, run  types.Datum
	bestN, len int64
}

// Add implements Accumulator.
func (a *modeAcc) Add(c *call.Context, args []types.Datum) error {
	d := args[0]
	if d.IsNull() {
		return nil
	}
	if a.len == 0 || types.CompareTyped(a.t, a.run, d, c.Format) != 0 {
		a.run, a.len = d, 0
	}
	if a.len++; a.len > a.bestN {
		a.best, a.bestN = a.run, a.len
	}
	return nil
}

// Result implements Accumulator.
func (a *modeAcc) Result(*call.Context) (types.Datum, error) { return a.best, nil }

// Reset implements Accumulator.
func (a *modeAcc) Reset() { *a = modeAcc{t: a.t} }

// Merge implements Accumulator. Runs that meet at the boundary of two parts would
// be torn: parts of an ordered aggregate are not merged.
func (a *modeAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*modeAcc](other)
	if b.bestN > a.bestN {
		a.best, a.bestN = b.best, b.bestN
	}
	return nil
}

// SizeBytes implements Accumulator.
func (a *modeAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + int64(len(a.best.Str())+len(a.run.Str()))
}

// hypotheticalAcc is rank and its kin: where a row of the direct arguments would
// stand among the rows.
type hypotheticalAcc struct {
	kind   string
	ts     []*types.T
	width  int
	n      int64 // rows
	below  int64 // rows before the hypothetical one
	peers  int64 // rows equal to it
	groups int64 // distinct rows before it
	last   []types.Datum
}

// compare orders a row against the hypothetical one.
func (a *hypotheticalAcc) compare(c *call.Context, args []types.Datum) int {
	for i := range a.width {
		flags := args[2*a.width+i].Int()
		h, v := args[i], args[a.width+i]
		var order int
		switch {
		case h.IsNull() && v.IsNull():
			continue
		case h.IsNull() || v.IsNull():
			if order = 1; h.IsNull() {
				order = -1
			}
			if flags&HypotheticalNullsFirst != 0 {
				order = -order
			}
			return order
		}
		if order = types.CompareTyped(a.ts[i], v, h, c.Format); flags&HypotheticalDesc != 0 {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// Add implements Accumulator.
func (a *hypotheticalAcc) Add(c *call.Context, args []types.Datum) error {
	a.n++
	switch order := a.compare(c, args); {
	case order < 0:
		a.below++
		row := args[a.width : 2*a.width]
		same := a.last != nil
		for i := range row {
			same = same && arrayfuncs.NotDistinct(c, a.ts[i], row[i], a.last[i])
		}
		if !same {
			a.groups++
			a.last = append(a.last[:0], row...)
		}
	case order == 0:
		a.peers++
	}
	return nil
}

// Result implements Accumulator.
func (a *hypotheticalAcc) Result(*call.Context) (types.Datum, error) {
	switch a.kind {
	case "rank":
		return types.NewInt(a.below + 1), nil
	case "dense_rank":
		return types.NewInt(a.groups + 1), nil
	case "percent_rank":
		if a.n == 0 {
			return types.NewFloat(0), nil
		}
		return types.NewFloat(float64(a.below) / float64(a.n)), nil
	}
	return types.NewFloat(float64(a.below+a.peers+1) / float64(a.n+1)), nil
}

// Reset implements Accumulator.
func (a *hypotheticalAcc) Reset() { *a = hypotheticalAcc{kind: a.kind, ts: a.ts, width: a.width} }

// Merge implements Accumulator.
func (a *hypotheticalAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*hypotheticalAcc](other)
	a.n, a.below, a.peers, a.groups = a.n+b.n, a.below+b.below, a.peers+b.peers, a.groups+b.groups
	return nil
}

// SizeBytes implements Accumulator.
func (a *hypotheticalAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + datumBytes*int64(len(a.last))
}
