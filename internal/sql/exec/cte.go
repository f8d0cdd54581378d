package exec

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// withOp makes CTEs available to its body. They are evaluated when they are
// read, as far as they are read; those that modify data run first, to the end. A body
// that runs again, for another row of an enclosing query, finds their rows again, unless
// they depend on that row.
type withOp struct {
	run  *operator.Run
	ctes []*cteState
	body operator.Operator
}

// cteState is a CTE and the rows it has produced so far.
type cteState struct {
	run       *operator.Run
	src       *operator.Source
	cols      expr.Scope
	rows      rowcontainer.List
	started   bool
	done      bool
	modifies  bool
	varies    bool   // its rows depend on columns of enclosing rows
	epoch     uint64 // execution that the rows belong to
	recursive *operator.Source
	// pos and recPos are the columns that the rounds hand on, in the rows of the
	// two plans.
	pos, recPos []int
	width       int // of the rows kept
	// working holds the rows of the previous round, next those of this one.
	working, next rowcontainer.List
	inRecursion   bool
	seen          *rowcontainer.KeyTable // UNION: rows that came before
	buf           types.Row
}

func (c *compiler) with(n *plan.With) (operator.Operator, error) {
	w := &withOp{run: c.Run}
	stops := c.ReadPartly() || mayStop(n.Body)
	for _, cte := range n.CTEs {
		st := &cteState{run: c.Run, modifies: cte.Modifies, varies: len(cte.Outer) > 0 && !plant.On(plant.StaleWith)}
		c.ctes[cte.ID] = st
		read := c.Entirely
		if stops && !cte.Modifies {
			read = c.Partly
		}
		if err := read(func() error { return c.cte(st, cte) }); err != nil {
			return nil, err
		}
		c.OnClose(st.reset)
		w.ctes = append(w.ctes, st)
	}
	var err error
	w.body, err = c.Node(n.Body)
	return w, err
}

func (c *compiler) cte(st *cteState, cte *plan.CTE) error {
	var err error
	if st.src, st.cols, err = c.Input(cte.Plan); err != nil {
		return err
	}
	st.width = st.src.Width
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
		t := rowcontainer.NewKeyTable(rowcontainer.ColTypes(cte.Plan.Props().Cols, st.pos))
		st.seen = &t
	}
	var rs expr.Scope
	if st.recursive, rs, err = c.Input(cte.Recursive); err != nil {
		return err
	}
	st.recPos, err = rs.Positions(cte.RecursiveCols)
	return err
}

func (w *withOp) Open() error {
	for _, st := range w.ctes {
		if st.varies || st.epoch != w.run.Epoch {
			st.reset()
			st.epoch = w.run.Epoch
		}
	}
	return w.body.Open()
}

// Next runs the queries that modify data to their end once the body has no more rows, the last one first:
// so does PostgreSQL, and which of two changes of a row stays depends on it.
func (w *withOp) Next(b *rowcontainer.Batch) error {
	if err := w.body.Next(b); err != nil || b.Len() > 0 {
		return err
	}
	for _, st := range slices.Backward(w.ctes) {
		for st.modifies && !st.done {
			if err := st.more(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *withOp) Close() {
	w.body.Close()
	for _, st := range w.ctes {
		if st.varies {
			st.reset()
		}
	}
}

// affected reports what the main statement wrote.
func (w *withOp) Affected() int64 {
	if m := asModifier(w.body); m != nil {
		return m.Affected()
	}
	return 0
}

// asModifier returns op if it writes, nil otherwise.
func asModifier(op operator.Operator) operator.Modifier {
	if m, ok := op.(*measuredOp); ok {
		op = m.op
	}
	m, ok := op.(operator.Modifier)
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
		st.src.Stop()
		if st.recursive != nil {
			st.recursive.Stop()
		}
	}
	st.rows.Close()
	st.working.Close()
	st.next.Close()
	if st.seen != nil {
		st.seen.Close()
	}
	st.started, st.done, st.inRecursion = false, false, false
}

// more produces further rows, or sets done.
func (st *cteState) more() error {
	if !st.started {
		st.started = true
		st.rows.Open(&st.run.State, st.width)
		st.next.Open(&st.run.State, st.width)
		if st.seen != nil {
			st.seen.Open(&st.run.State)
		}
		if err := st.src.Start(); err != nil {
			return err
		}
	}
	if st.inRecursion {
		return st.round()
	}
	ok, err := st.src.Fetch(rowcontainer.BatchRows)
	if err != nil {
		return err
	}
	if !ok {
		st.src.Stop()
		if st.recursive == nil {
			st.done = true
			return nil
		}
		return st.nextRound()
	}
	for i := 0; i < st.src.Batch.Len(); i++ {
		row := st.src.Batch.Row(i)
		if st.recursive != nil {
			rowcontainer.CopySlots(st.buf, row, st.pos)
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
		if _, added, err := st.seen.Put(row); err != nil || !added {
			return err
		}
	}
	if err := st.rows.Add(row); err != nil || st.recursive == nil {
		return err
	}
	return st.next.Add(row)
}

// nextRound makes the rows of the last round the working table.
func (st *cteState) nextRound() error {
	if st.inRecursion {
		st.recursive.Stop()
	}
	if st.next.Len() == 0 {
		st.done = true
		return nil
	}
	st.working, st.next = st.next, st.working
	st.next.Open(&st.run.State, st.width)
	st.inRecursion = true
	return st.recursive.Start()
}

// round reads on in the recursive part.
func (st *cteState) round() error {
	if err := st.run.Canceled(); err != nil {
		return err
	}
	ok, err := st.recursive.Fetch(rowcontainer.BatchRows)
	if err != nil {
		return err
	}
	if !ok {
		return st.nextRound()
	}
	for i := 0; i < st.recursive.Batch.Len(); i++ {
		rowcontainer.CopySlots(st.buf, st.recursive.Batch.Row(i), st.recPos)
		if err := st.add(st.buf); err != nil {
			return err
		}
	}
	return nil
}

// cteScanOp reads a CTE.
type cteScanOp struct {
	run     *operator.Run
	st      *cteState
	cols    []int
	working bool
	pos     int
}

func (c *compiler) cteScan(n *plan.CTEScan) (operator.Operator, error) {
	st := c.ctes[n.ID]
	if st == nil {
		return nil, pgerr.Assertion("plan reads CTE %q, which no enclosing WITH defines", n.Name)
	}
	cols, err := st.cols.Positions(n.SourceCols)
	return &cteScanOp{run: c.Run, st: st, working: n.Working, cols: cols}, err
}

func (s *cteScanOp) Open() error { s.pos = 0; return nil }
func (s *cteScanOp) Close()      {}

func (s *cteScanOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	rows := &s.st.rows
	if s.working {
		rows = &s.st.working
	}
	for s.pos >= rows.Len() {
		if s.working || s.st.done {
			return nil
		}
		if err := s.st.more(); err != nil {
			return err
		}
	}
	for ; s.pos < rows.Len() && !b.Full(); s.pos++ {
		row, err := rows.At(s.pos)
		if err != nil {
			return err
		}
		rowcontainer.CopySlots(b.Add(), row, s.cols)
	}
	return nil
}
