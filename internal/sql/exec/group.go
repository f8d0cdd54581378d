package exec

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// groupOp groups rows: by a hash table, or one group after the other where equal
// keys are adjacent.
type groupOp struct {
	run     *run
	src     *source
	keys    []int
	vals    types.Row
	aggs    []aggCall
	scalar  bool
	ordered bool
	order   rowOrdering // over the key values
	// Grouping sets: for each, whether it includes a key. The set's number
	// follows the keys in vals and in the table then.
	sets      [][]bool
	groupings [][]int   // positions of keys
	input     types.Row // sets: the keys of the row at hand

	table  keyTable
	groups rowStore // key values of each group
	states [][]aggState
	acc    quota.Account
	filled bool
	pos    int
	// ordered: the group at hand
	current []aggState
	key     rowStore
	inGroup bool
	drained bool
	text    scratch // strings of the groups of one batch
}

// aggCall is a compiled aggregate call.
type aggCall struct {
	fn       *call.Aggregate
	types    []*types.T
	args     []expr.Func
	filter   expr.Pred
	distinct bool
	order    rowOrdering // over a stored row: the input's row
	vals     types.Row
	sorter   rowSorter
	keeps    bool // may hold on to its arguments
	width    int
}

// aggState is an aggregate of one group.
type aggState struct {
	acc  call.Accumulator
	seen *keyTable
	rows *rowStore // ORDER BY: the input's rows until the end of the group
	size int64
}

func (c *compiler) groupBy(n *plan.GroupBy) (operator, error) {
	src, s, err := c.input(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	g := &groupOp{run: c.run, src: src, scalar: n.Scalar, ordered: n.Ordered || n.Scalar}
	if g.keys, err = s.Positions(n.Keys); err != nil {
		return nil, err
	}
	ts := colTypes(cols, g.keys)
	g.useSets(n)
	if g.sets != nil {
		ts = append(ts, types.Int4)
	}
	g.vals, g.table = make(types.Row, len(ts)), newKeyTable(ts)
	all := make([]int, len(ts))
	for i := range all {
		all[i] = i
	}
	g.order = ascending(all, ts)
	for i := range n.Aggs {
		a, err := c.aggCall(&n.Aggs[i], s, cols)
		if err != nil {
			return nil, err
		}
		g.aggs = append(g.aggs, a)
	}
	return g, nil
}

func (c *compiler) aggCall(n *plan.Agg, s expr.Scope, cols []plan.Column) (aggCall, error) {
	a := aggCall{fn: n.Fn, types: exprTypes(n.Args), distinct: n.Distinct && !n.Fn.DistinctNoop, width: len(cols)}
	var err error
	if a.args, err = c.Exprs(n.Args, s); err != nil {
		return a, err
	}
	if a.filter, err = c.Pred(n.Filter, s); err != nil {
		return a, err
	}
	if len(n.OrderBy) > 0 && !n.Fn.OrderIndependent {
		if a.order, err = c.ordering(n.OrderBy, cols); err != nil {
			return a, err
		}
	}
	a.vals = make(types.Row, len(n.Args))
	for _, t := range a.types {
		switch t.Family {
		case types.BoolFamily, types.IntFamily, types.FloatFamily, types.DateFamily, types.TimeFamily,
			types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily:
		default:
			a.keeps = n.Fn.Name != "count"
		}
	}
	a.keeps = a.keeps || !n.Fn.OrderIndependent
	return a, nil
}

func (a *aggCall) newState(r *run) (aggState, error) {
	st := aggState{acc: a.fn.New(a.types)}
	if a.distinct {
		for _, t := range a.types {
			if !types.HasEquality(t) {
				return st, pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", t.SQLName)
			}
		}
		t := newKeyTable(a.types)
		t.text.start = fewBytes
		st.seen = &t
		st.seen.open(r)
	}
	if a.order != nil {
		st.rows = &rowStore{few: true}
		st.rows.text.start = fewBytes
		st.rows.open(r, a.width)
	}
	return st, nil
}

func (st *aggState) close() {
	if st.seen != nil {
		st.seen.close()
	}
	if st.rows != nil {
		st.rows.close()
	}
}

// add takes an input row into a group.
func (a *aggCall) add(r *run, acc *quota.Account, st *aggState, row types.Row) error {
	if a.filter != nil {
		if ok, err := a.filter(row); !ok {
			return err
		}
	}
	if st.rows != nil {
		_, err := st.rows.add(row)
		return err
	}
	return a.feed(r, acc, st, row)
}

// feed evaluates the arguments and hands them to the accumulator.
func (a *aggCall) feed(r *run, acc *quota.Account, st *aggState, row types.Row) error {
	for i, f := range a.args {
		d, err := f(row)
		if err != nil {
			return err
		}
		a.vals[i] = d
	}
	if st.seen != nil {
		if _, added, err := st.seen.put(a.vals); err != nil || !added {
			return err
		}
	}
	if a.keeps && st.rows == nil {
		for i := range a.vals {
			a.vals[i] = copyValue(a.vals[i])
		}
	}
	if err := st.acc.Add(r.Builtin, a.vals); err != nil || !a.keeps {
		return err
	}
	size := st.acc.SizeBytes()
	if d := size - st.size; d > 0 {
		if err := acc.Grow(d); err != nil {
			return expr.MemoryError(err)
		}
		st.size = size
	}
	return nil
}

// result ends a group: rows kept for ORDER BY are fed now.
func (a *aggCall) result(r *run, acc *quota.Account, st *aggState) (types.Datum, error) {
	if st.rows != nil {
		if err := a.sorter.sort(r, st.rows.rows, a.order); err != nil {
			return types.Null, err
		}
		for _, row := range st.rows.rows {
			if err := a.feed(r, acc, st, row); err != nil {
				return types.Null, err
			}
		}
	}
	return r.aggregate(st.acc)
}

// aggregate returns the result of an aggregate, and accounts for it if it is large.
func (r *run) aggregate(acc call.Accumulator) (types.Datum, error) {
	d, err := acc.Result(r.Builtin)
	return r.Builtin.Made(d, err, nil)
}

func (g *groupOp) newStates() ([]aggState, error) {
	sts := make([]aggState, len(g.aggs))
	for i := range g.aggs {
		var err error
		if sts[i], err = g.aggs[i].newState(g.run); err != nil {
			return nil, err
		}
	}
	if err := g.acc.Grow(g.stateSize()); err != nil {
		return nil, expr.MemoryError(err)
	}
	return sts, nil
}

// Sizes of the states of aggregates that are charged beside what the states hold.
const (
	aggStateSize = 128
	// keyTableSize includes the map, which is empty at first.
	keyTableSize = int64(unsafe.Sizeof(keyTable{})) + 8*expr.MapEntrySize
	rowStoreSize = int64(unsafe.Sizeof(rowStore{}))
)

// stateSize is what the states of one group take when they are empty.
func (g *groupOp) stateSize() int64 {
	n := int64(len(g.aggs)) * aggStateSize
	for i := range g.aggs {
		if g.aggs[i].distinct {
			n += keyTableSize
		}
		if g.aggs[i].order != nil {
			n += rowStoreSize
		}
	}
	return n
}

func (g *groupOp) open() error {
	g.release()
	g.acc.Init(g.run.Mem)
	g.table.open(g.run)
	g.groups.open(g.run, len(g.vals))
	g.key.open(g.run, len(g.keys))
	g.filled, g.pos, g.inGroup, g.drained = false, 0, false, false
	return g.src.start()
}

func (g *groupOp) close() {
	g.src.stop()
	g.release()
}

func (g *groupOp) release() {
	for _, sts := range g.states {
		closeStates(sts)
	}
	closeStates(g.current)
	g.states, g.current = nil, nil
	g.table.close()
	g.groups.close()
	g.key.close()
	g.acc.Close()
}

func closeStates(sts []aggState) {
	for i := range sts {
		sts[i].close()
	}
}

func (g *groupOp) next(b *Batch) error {
	b.clear()
	g.text.reset()
	if g.ordered {
		return g.nextOrdered(b)
	}
	if !g.filled {
		if err := g.fill(); err != nil {
			return err
		}
		g.filled = true
	}
	for ; g.pos < len(g.states) && !b.full(); g.pos++ {
		row := b.add()
		copy(row, g.groups.rows[g.pos][:len(g.keys)])
		if err := g.results(row, g.states[g.pos]); err != nil {
			return err
		}
	}
	return nil
}

// results computes the aggregates of a group behind its key.
func (g *groupOp) results(row types.Row, sts []aggState) error {
	for i := range sts {
		d, err := g.aggs[i].result(g.run, &g.acc, &sts[i])
		if err != nil {
			return err
		}
		row[len(g.keys)+i] = d
	}
	for i, keys := range g.groupings {
		row[len(g.keys)+len(sts)+i] = g.groupingOf(keys)
	}
	return nil
}

// fill reads the whole input into the hash table.
func (g *groupOp) fill() error {
	if err := g.emptySets(); err != nil {
		return err
	}
	for {
		row, err := g.src.row(BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			g.src.stop()
			return nil
		}
		if g.sets != nil {
			err = g.addToSets(row)
		} else {
			copySlots(g.vals, row, g.keys)
			err = g.addToGroup(row)
		}
		if err != nil {
			return err
		}
	}
}

// addToGroup adds a row to the group of the key in vals.
func (g *groupOp) addToGroup(row types.Row) error {
	sts, err := g.group()
	if err != nil {
		return err
	}
	return g.addRow(sts, row)
}

// group returns the aggregates of the group of the key in vals.
func (g *groupOp) group() ([]aggState, error) {
	k, added, err := g.table.put(g.vals)
	if err != nil {
		return nil, err
	}
	if added {
		if _, err := g.groups.add(g.vals); err != nil {
			return nil, err
		}
		sts, err := g.newStates()
		if err != nil {
			return nil, err
		}
		g.states = append(g.states, sts)
	}
	return g.states[k], nil
}

func (g *groupOp) addRow(sts []aggState, row types.Row) error {
	for i := range sts {
		if err := g.aggs[i].add(g.run, &g.acc, &sts[i], row); err != nil {
			return err
		}
	}
	return nil
}

// nextOrdered returns groups as they end. A scalar aggregation is one group,
// there even without input.
func (g *groupOp) nextOrdered(b *Batch) error {
	if g.scalar && !g.inGroup && !g.drained && !plant.On(plant.EmptyAggregate) {
		if err := g.beginGroup(nil); err != nil {
			return err
		}
	}
	for !b.full() && !g.drained {
		row, err := g.src.row(BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			g.drained = true
			g.src.stop()
			if g.inGroup {
				return g.endGroup(b)
			}
			return nil
		}
		if !g.scalar {
			copySlots(g.vals, row, g.keys)
			if g.inGroup && g.order.compare(g.key.rows[0], g.vals) != 0 {
				if err := g.endGroup(b); err != nil {
					return err
				}
			}
			if !g.inGroup {
				if err := g.beginGroup(g.vals); err != nil {
					return err
				}
			}
		} else if plant.On(plant.EmptyAggregate) && !g.inGroup {
			if err := g.beginGroup(nil); err != nil {
				return err
			}
		}
		if err := g.addRow(g.current, row); err != nil {
			return err
		}
	}
	return nil
}

func (g *groupOp) beginGroup(vals types.Row) error {
	g.inGroup = true
	if vals != nil {
		g.key.open(g.run, len(g.keys))
		if _, err := g.key.add(vals); err != nil {
			return err
		}
	}
	if g.current == nil {
		var err error
		g.current, err = g.newStates()
		return err
	}
	// The accumulators serve group after group.
	for i := range g.current {
		st := &g.current[i]
		st.acc.Reset()
		if st.seen != nil {
			st.seen.open(g.run)
		}
		if st.rows != nil {
			st.rows.open(g.run, g.aggs[i].width)
		}
		g.acc.Shrink(st.size)
		st.size = 0
	}
	return nil
}

func (g *groupOp) endGroup(b *Batch) error {
	g.inGroup = false
	row := b.add()
	if !g.scalar {
		copy(row, g.key.rows[0])
	}
	if err := g.results(row, g.current); err != nil {
		return err
	}
	return stable(&g.text, row) // key and accumulators serve the next group
}
