package exec

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// withOp makes CTEs available to its body. They are evaluated when they are
// read, as far as they are read; those that modify data run first, to the end. A body
// that runs again, for another row of an enclosing query, finds their rows again, unless
// they depend on that row.
type withOp struct {
	run  *run
	ctes []*cteState
	body operator
}

// cteState is a CTE and the rows it has produced so far.
type cteState struct {
	run       *run
	src       *source
	cols      expr.Scope
	rows      rowStore
	started   bool
	done      bool
	modifies  bool
	varies    bool   // its rows depend on columns of enclosing rows
	epoch     uint64 // execution that the rows belong to
	recursive *source
	// pos and recPos are the columns that the rounds hand on, in the rows of the
	// two plans.
	pos, recPos []int
	width       int // of the rows kept
	// working holds the rows of the previous round, next those of this one.
	working, next rowStore
	inRecursion   bool
	seen          *keyTable // UNION: rows that came before
	buf           types.Row
}

func (c *compiler) with(n *plan.With) (operator, error) {
	w := &withOp{run: c.run}
	stops := c.demand != nil || mayStop(n.Body)
	for _, cte := range n.CTEs {
		st := &cteState{run: c.run, modifies: cte.Modifies, varies: len(cte.Outer) > 0 && !plant.On(plant.StaleWith)}
		c.ctes[cte.ID] = st
		read := c.entirely
		if stops && !cte.Modifies {
			read = c.partly
		}
		if err := read(func() error { return c.cte(st, cte) }); err != nil {
			return nil, err
		}
		c.OnClose(st.reset)
		w.ctes = append(w.ctes, st)
	}
	var err error
	w.body, err = c.node(n.Body)
	return w, err
}

func (c *compiler) cte(st *cteState, cte *plan.CTE) error {
	var err error
	if st.src, st.cols, err = c.input(cte.Plan); err != nil {
		return err
	}
	st.width = st.src.width
	if cte.Recursive == nil {
		return nil
	}
	// The rounds hand on some of the first plan's columns, in their own order.
	if st.pos, err = st.cols.Positions(cte.Cols); err != nil {
		return err
	}
	st.cols, st.width = cte.Cols, len(cte.Cols)
	st.buf = make(types.Row, st.width)
	if cte.Dedup {
		t := newKeyTable(colTypes(cte.Plan.Props().Cols, st.pos))
		st.seen = &t
	}
	var rs expr.Scope
	if st.recursive, rs, err = c.input(cte.Recursive); err != nil {
		return err
	}
	st.recPos, err = rs.Positions(cte.RecursiveCols)
	return err
}

func (w *withOp) open() error {
	for _, st := range w.ctes {
		if st.varies || st.epoch != w.run.Epoch {
			st.reset()
			st.epoch = w.run.Epoch
		}
	}
	for _, st := range w.ctes {
		for st.modifies && !st.done {
			if err := st.more(); err != nil {
				return err
			}
		}
	}
	return w.body.open()
}

func (w *withOp) next(b *Batch) error { return w.body.next(b) }

func (w *withOp) close() {
	w.body.close()
	for _, st := range w.ctes {
		if st.varies {
			st.reset()
		}
	}
}

// affected reports what the main statement wrote.
func (w *withOp) affected() int64 {
	if m := asModifier(w.body); m != nil {
		return m.affected()
	}
	return 0
}

// asModifier returns op if it writes, nil otherwise.
func asModifier(op operator) modifier {
	if m, ok := op.(*measuredOp); ok {
		op = m.operator
	}
	m, ok := op.(modifier)
	if !ok {
		return nil
	}
	if w, ok := op.(*withOp); ok && asModifier(w.body) == nil {
		for _, st := range w.ctes {
			if st.modifies {
				return m
			}
		}
		return nil
	}
	return m
}

func (st *cteState) reset() {
	if st.started {
		st.src.stop()
		if st.recursive != nil {
			st.recursive.stop()
		}
	}
	st.rows.close()
	st.working.close()
	st.next.close()
	if st.seen != nil {
		st.seen.close()
	}
	st.started, st.done, st.inRecursion = false, false, false
}

// more produces further rows, or sets done.
func (st *cteState) more() error {
	if !st.started {
		st.started = true
		st.rows.open(st.run, st.width)
		st.next.open(st.run, st.width)
		if st.seen != nil {
			st.seen.open(st.run)
		}
		if err := st.src.start(); err != nil {
			return err
		}
	}
	if st.inRecursion {
		return st.round()
	}
	ok, err := st.src.fetch(BatchRows)
	if err != nil {
		return err
	}
	if !ok {
		st.src.stop()
		if st.recursive == nil {
			st.done = true
			return nil
		}
		return st.nextRound()
	}
	for i := 0; i < st.src.batch.n; i++ {
		row := st.src.batch.Row(i)
		if st.recursive != nil {
			copySlots(st.buf, row, st.pos)
			row = st.buf
		}
		if err := st.add(row); err != nil {
			return err
		}
	}
	return nil
}

// add takes a row into the result, and into the next round's working table.
func (st *cteState) add(row types.Row) error {
	if st.seen != nil {
		if _, added, err := st.seen.put(row); err != nil || !added {
			return err
		}
	}
	if _, err := st.rows.add(row); err != nil {
		return err
	}
	if st.recursive == nil {
		return nil
	}
	_, err := st.next.add(row)
	return err
}

// nextRound makes the rows of the last round the working table.
func (st *cteState) nextRound() error {
	if st.inRecursion {
		st.recursive.stop()
	}
	if st.next.len() == 0 {
		st.done = true
		return nil
	}
	st.working, st.next = st.next, st.working
	st.next.open(st.run, st.width)
	st.inRecursion = true
	return st.recursive.start()
}

// round reads on in the recursive part.
func (st *cteState) round() error {
	if err := st.run.Canceled(); err != nil {
		return err
	}
	ok, err := st.recursive.fetch(BatchRows)
	if err != nil {
		return err
	}
	if !ok {
		return st.nextRound()
	}
	for i := 0; i < st.recursive.batch.n; i++ {
		copySlots(st.buf, st.recursive.batch.Row(i), st.recPos)
		if err := st.add(st.buf); err != nil {
			return err
		}
	}
	return nil
}

// cteScanOp reads a CTE.
type cteScanOp struct {
	run     *run
	st      *cteState
	cols    []int
	working bool
	pos     int
}

func (c *compiler) cteScan(n *plan.CTEScan) (operator, error) {
	st := c.ctes[n.ID]
	if st == nil {
		return nil, pgerr.Assertion("plan reads CTE %q, which no enclosing WITH defines", n.Name)
	}
	cols, err := st.cols.Positions(n.SourceCols)
	return &cteScanOp{run: c.run, st: st, working: n.Working, cols: cols}, err
}

func (s *cteScanOp) open() error { s.pos = 0; return nil }
func (s *cteScanOp) close()      {}

func (s *cteScanOp) next(b *Batch) error {
	b.clear()
	rows := &s.st.rows
	if s.working {
		rows = &s.st.working
	}
	for s.pos >= rows.len() {
		if s.working || s.st.done {
			return nil
		}
		if err := s.st.more(); err != nil {
			return err
		}
	}
	for ; s.pos < rows.len() && !b.full(); s.pos++ {
		copySlots(b.add(), rows.rows[s.pos], s.cols)
	}
	return nil
}
