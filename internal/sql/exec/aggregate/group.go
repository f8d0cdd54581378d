package aggregate

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// groupOp groups rows: by a hash table, or one group after the other where equal
// keys are adjacent.
type groupOp struct {
	run     *operator.Run
	src     *operator.Source
	keys    []int
	vals    types.Row
	aggs    []Call
	scalar  bool
	ordered bool
	order   rowcontainer.Ordering // over the key values
	// Grouping sets: for each, whether it includes a key. The set's number
	// follows the keys in vals and in the table then.
	sets      [][]bool
	groupings [][]int   // positions of keys
	input     types.Row // sets: the keys of the row at hand

	table  rowcontainer.KeyTable
	groups rowcontainer.Store // key values of each group
	// later has the rows of groups that find no memory, with the number of their grouping set, if there
	// are any.
	later  rowcontainer.Partitions
	memory int64     // that groups took at most
	wide   types.Row // a row with the number of its set
	states [][]State
	acc    quota.Account
	filled bool
	pos    int
	// ordered: the group at hand
	current []State
	key     rowcontainer.Store
	inGroup bool
	drained bool
	text    rowcontainer.Scratch // strings of the groups of one batch
}

// Call is a compiled aggregate call.
type Call struct {
	Fn       *call.Aggregate
	Types    []*types.T
	args     []expr.Func
	filter   expr.Pred
	distinct bool
	order    rowcontainer.Ordering // over a stored row: the input's row
	vals     types.Row
	keeps    bool // may hold on to its arguments
	partial  bool // the arguments are a partial state: see plan.Agg.Of
	width    int
}

// State is an aggregate of one group.
type State struct {
	Acc  call.Accumulator
	seen *rowcontainer.Distinct  // DISTINCT
	rows *rowcontainer.RowSorter // ORDER BY: the input's rows until the end of the group
	size int64
}

// Compile compiles a GROUP BY.
func Compile(c *operator.Compiler, n *plan.GroupBy) (operator.Operator, error) {
	src, s, err := c.Input(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	g := &groupOp{run: c.Run, src: src, scalar: n.Scalar, ordered: n.Ordered || n.Scalar}
	if g.keys, err = s.Positions(n.Keys); err != nil {
		return nil, err
	}
	ts := rowcontainer.ColTypes(cols, g.keys)
	g.useSets(n)
	if g.sets != nil {
		ts = append(ts, types.Int4)
	}
	g.vals, g.table = make(types.Row, len(ts)), rowcontainer.NewKeyTable(ts)
	all := make([]int, len(ts))
	for i := range all {
		all[i] = i
	}
	g.order = rowcontainer.Ascending(&c.Run.State, all, ts)
	for i := range n.Aggs {
		a, err := NewCall(c, &n.Aggs[i], s, cols)
		if err != nil {
			return nil, err
		}
		g.aggs = append(g.aggs, a)
	}
	return g, nil
}

// NewCall compiles an aggregate call over the columns of s, which are cols.
func NewCall(c *operator.Compiler, n *plan.Agg, s expr.Scope, cols []plan.Column) (Call, error) {
	a := bareCall(n)
	a.distinct, a.width = n.Distinct, len(cols)
	var err error
	if a.args, err = c.Exprs(n.Args, s); err != nil {
		return a, err
	}
	if a.filter, err = c.Pred(n.Filter, s); err != nil {
		return a, err
	}
	if len(n.OrderBy) > 0 && !n.Fn.OrderIndependent {
		a.order, err = rowcontainer.NewOrdering(&c.Run.State, n.OrderBy, cols)
	}
	return a, err
}

// bareCall returns a call whose arguments are computed elsewhere.
func bareCall(n *plan.Agg) Call {
	a := Call{Fn: n.Fn, Types: expr.Types(n.Args), vals: make(types.Row, len(n.Args))}
	if n.Of != nil {
		a.Types, a.partial = n.Of, true
	}
	for _, t := range a.Types {
		switch t.Family {
		case types.BoolFamily, types.IntFamily, types.FloatFamily, types.DateFamily, types.TimeFamily,
			types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily:
		default:
			a.keeps = n.Fn.Name != "count"
		}
	}
	a.keeps = a.keeps || !n.Fn.Associative
	return a
}

// NewState returns the state of one group, or of one window frame.
func (a *Call) NewState(r *operator.Run) (State, error) {
	st := State{Acc: a.Fn.New(a.Types)}
	if a.distinct {
		for _, t := range a.Types {
			if !types.HasEquality(t) {
				return st, pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", t.SQLName)
			}
		}
		d := rowcontainer.NewDistinct(a.Types, len(a.Types))
		d.ExpectFew()
		if a.order != nil {
			d.StayInMemory()
		}
		st.seen = &d
		st.seen.Open(&r.State)
	}
	if a.order != nil {
		st.rows = &rowcontainer.RowSorter{}
		st.rows.ExpectFew()
		st.rows.Open(&r.State, a.width, a.order)
	}
	return st, nil
}

// Close gives the memory of a state back.
func (st *State) Close() {
	if st.seen != nil {
		st.seen.Close()
	}
	if st.rows != nil {
		st.rows.Close()
	}
}

// Add takes an input row into a group.
func (a *Call) Add(r *operator.Run, acc *quota.Account, st *State, row types.Row) error {
	if a.filter != nil {
		if ok, err := a.filter(row); !ok {
			return err
		}
	}
	if st.rows != nil {
		return st.rows.Add(row)
	}
	return a.feed(r, acc, st, row)
}

// feed evaluates the arguments and hands them to the accumulator.
func (a *Call) feed(r *operator.Run, acc *quota.Account, st *State, row types.Row) error {
	for i, f := range a.args {
		d, err := f(row)
		if err != nil {
			return err
		}
		a.vals[i] = d
	}
	return a.take(r, acc, st)
}

// take hands the arguments to the accumulator.
func (a *Call) take(r *operator.Run, acc *quota.Account, st *State) error {
	if st.seen != nil {
		if first, err := st.seen.First(a.vals, a.vals); err != nil || !first {
			return err
		}
	}
	if a.keeps && st.rows == nil {
		for i := range a.vals {
			a.vals[i] = rowcontainer.CopyDatum(a.vals[i])
		}
	}
	if a.partial {
		if err := a.addPartial(st.Acc); err != nil {
			return err
		}
	} else if err := st.Acc.Add(r.Builtin, a.vals); err != nil {
		return err
	}
	if !a.keeps {
		return nil
	}
	size := st.Acc.SizeBytes()
	if d := size - st.size; d > 0 {
		if err := acc.Grow(d); err != nil {
			return expr.MemoryError(err)
		}
		st.size = size
	}
	return nil
}

// addPartial adds what another aggregate has computed of some of the rows: how many values, and their sum.
func (a *Call) addPartial(acc call.Accumulator) error {
	n, sum := a.vals[0], types.Null
	if len(a.vals) > 1 {
		sum = a.vals[1]
	}
	if n.IsNull() || n.Int() == 0 {
		return nil
	}
	return acc.(call.PartialSums).AddPartial(n.Int(), sum)
}

// result ends a group: rows kept for ORDER BY are fed now.
func (a *Call) result(r *operator.Run, acc *quota.Account, st *State) (types.Datum, error) {
	if st.rows != nil {
		if err := a.feedSorted(r, acc, st); err != nil {
			return types.Null, err
		}
	}
	if st.seen != nil {
		if err := a.feedLater(r, acc, st); err != nil {
			return types.Null, err
		}
	}
	return Result(r, st.Acc)
}

// feedSorted feeds the rows of ORDER BY.
func (a *Call) feedSorted(r *operator.Run, acc *quota.Account, st *State) error {
	if err := st.rows.Finish(); err != nil {
		return err
	}
	for {
		row, err := st.rows.Next()
		if row == nil || err != nil {
			return err
		}
		if err := r.Tick(); err != nil {
			return err
		}
		if err := a.feed(r, acc, st, row); err != nil {
			return err
		}
	}
}

// feedLater feeds the distinct arguments that found no memory.
func (a *Call) feedLater(r *operator.Run, acc *quota.Account, st *State) error {
	for {
		row, err := st.seen.Rest()
		if row == nil || err != nil {
			return err
		}
		if err := r.Tick(); err != nil {
			return err
		}
		copy(a.vals, row)
		if err := a.take(r, acc, st); err != nil {
			return err
		}
	}
}

// Result returns the result of an aggregate, and accounts for it if it is large.
func Result(r *operator.Run, acc call.Accumulator) (types.Datum, error) {
	d, err := acc.Result(r.Builtin)
	return r.Builtin.Made(d, err, nil)
}

func (g *groupOp) newStates() ([]State, error) {
	sts := make([]State, len(g.aggs))
	for i := range g.aggs {
		var err error
		if sts[i], err = g.aggs[i].NewState(g.run); err != nil {
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
	keyTableSize = int64(unsafe.Sizeof(rowcontainer.Distinct{})) + 8*expr.MapEntrySize
	rowStoreSize = int64(unsafe.Sizeof(rowcontainer.RowSorter{}))
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

func (g *groupOp) Open() error {
	g.release()
	g.acc.Init(g.run.Mem)
	g.table.Open(&g.run.State)
	g.groups.Open(&g.run.State, len(g.vals))
	g.key.Open(&g.run.State, len(g.keys))
	g.later.Open(&g.run.State, g.laterWidth())
	g.memory = 0
	g.filled, g.pos, g.inGroup, g.drained = false, 0, false, false
	return g.src.Start()
}

func (g *groupOp) Close() {
	g.src.Stop()
	g.release()
	g.later.Close()
}

// release gives up the groups.
func (g *groupOp) release() {
	for _, sts := range g.states {
		closeStates(sts)
	}
	closeStates(g.current)
	g.states, g.current = nil, nil
	g.table.Close()
	g.groups.Close()
	g.key.Close()
	g.acc.Close()
}

func closeStates(sts []State) {
	for i := range sts {
		sts[i].Close()
	}
}

func (g *groupOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	g.text.Reset()
	if g.ordered {
		return g.nextOrdered(b)
	}
	if !g.filled {
		if err := g.fill(); err != nil {
			return err
		}
		g.filled = true
	}
	for g.pos == len(g.states) {
		if more, err := g.fillLater(); err != nil || !more {
			return err
		}
	}
	for ; g.pos < len(g.states) && !b.Full(); g.pos++ {
		row := b.Add()
		copy(row, g.groups.Rows[g.pos][:len(g.keys)])
		if err := g.results(row, g.states[g.pos]); err != nil {
			return err
		}
	}
	return nil
}

// results computes the aggregates of a group behind its key.
func (g *groupOp) results(row types.Row, sts []State) error {
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
		row, err := g.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			g.src.Stop()
			return nil
		}
		if g.sets != nil {
			err = g.addToSets(row)
		} else {
			rowcontainer.CopySlots(g.vals, row, g.keys)
			err = g.addToGroup(row)
		}
		if err != nil {
			return err
		}
	}
}

// HashMethod says how the groups went through temporary files, if they did: those that found memory at
// once are a batch too.
func (g *groupOp) HashMethod() plan.HashMethod {
	written, disk := g.later.Written()
	if written == 0 {
		return plan.HashMethod{}
	}
	return plan.HashMethod{Batches: written + 1, Memory: g.memory, Disk: disk}
}

// fillLater takes the next rows that found no memory into groups; false if there are none.
func (g *groupOp) fillLater() (bool, error) {
	g.memory = max(g.memory, g.used())
	rows, err := g.later.Next()
	if rows == nil || err != nil {
		return false, err
	}
	g.release()
	g.acc.Init(g.run.Mem)
	g.table.Open(&g.run.State)
	g.groups.Open(&g.run.State, len(g.vals))
	g.pos = 0
	for {
		row, err := rows.Next()
		if row == nil || err != nil {
			return true, err
		}
		if err := g.run.Tick(); err != nil {
			return false, err
		}
		rowcontainer.CopySlots(g.vals, row, g.keys)
		if g.sets != nil {
			g.vals[len(g.keys)] = row[g.src.Width]
			row = row[:g.src.Width]
		}
		if err := g.addToGroup(row); err != nil {
			return false, err
		}
	}
}

// laterWidth is the width of the rows in later.
func (g *groupOp) laterWidth() int {
	if g.sets != nil {
		return g.src.Width + 1
	}
	return g.src.Width
}

// addToGroup adds a row to the group of the key in vals, or keeps it for later.
func (g *groupOp) addToGroup(row types.Row) error {
	sts, err := g.group()
	if err != nil {
		return err
	}
	if sts != nil {
		return g.addRow(sts, row)
	}
	if g.sets != nil {
		g.wide = append(append(g.wide[:0], row...), g.vals[len(g.keys)])
		row = g.wide
	}
	return g.later.Add(g.table.Hash(g.vals), row)
}

// group returns the aggregates of the group of the key in vals, nil if it finds no memory.
func (g *groupOp) group() ([]State, error) {
	k, err := g.table.Find(g.vals)
	switch {
	case err != nil:
		return nil, err
	case k >= 0:
		return g.states[k], nil
	case g.later.Active() || len(g.states) > 0 && g.run.Full(g.used()):
		return nil, nil
	}
	sts, err := g.newGroup()
	if len(g.states) > 0 && g.run.Refused(err, g.used()) {
		return nil, nil
	}
	return sts, err
}

// newGroup makes a group of the key in vals. After an error there is none.
func (g *groupOp) newGroup() ([]State, error) {
	n := len(g.states)
	if _, err := g.groups.Add(g.vals); err != nil {
		return nil, err
	}
	sts, err := g.newStates()
	if err == nil {
		if _, _, err = g.table.Put(g.vals); err != nil {
			g.acc.Shrink(g.stateSize())
		}
	}
	if err != nil {
		g.groups.Rows = g.groups.Rows[:n]
		return nil, err
	}
	g.states = append(g.states, sts)
	return sts, nil
}

// used is what the groups take, but for what single aggregates keep.
func (g *groupOp) used() int64 { return g.table.Acc.Used() + g.groups.Acc.Used() + g.acc.Used() }

func (g *groupOp) addRow(sts []State, row types.Row) error {
	for i := range sts {
		if err := g.aggs[i].Add(g.run, &g.acc, &sts[i], row); err != nil {
			return err
		}
	}
	return nil
}

// nextOrdered returns groups as they end. A scalar aggregation is one group,
// there even without input.
func (g *groupOp) nextOrdered(b *rowcontainer.Batch) error {
	if g.scalar && !g.inGroup && !g.drained && !plant.On(plant.EmptyAggregate) {
		if err := g.beginGroup(nil); err != nil {
			return err
		}
	}
	for !b.Full() && !g.drained {
		row, err := g.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			g.drained = true
			g.src.Stop()
			if g.inGroup {
				return g.endGroup(b)
			}
			return nil
		}
		if !g.scalar {
			rowcontainer.CopySlots(g.vals, row, g.keys)
			if g.inGroup && g.order.Compare(g.key.Rows[0], g.vals) != 0 {
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
		g.key.Open(&g.run.State, len(g.keys))
		if _, err := g.key.Add(vals); err != nil {
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
		st.Acc.Reset()
		if st.seen != nil {
			st.seen.Open(&g.run.State)
		}
		if st.rows != nil {
			st.rows.Open(&g.run.State, g.aggs[i].width, g.aggs[i].order)
		}
		g.acc.Shrink(st.size)
		st.size = 0
	}
	return nil
}

func (g *groupOp) endGroup(b *rowcontainer.Batch) error {
	g.inGroup = false
	row := b.Add()
	if !g.scalar {
		copy(row, g.key.Rows[0])
	}
	if err := g.results(row, g.current); err != nil {
		return err
	}
	g.text.Row(row) // key and accumulators serve the next group
	return nil
}
