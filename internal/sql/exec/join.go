package exec

import (
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// candidates yields, for a row of the left side, the rows of the right side that
// may match it.
type candidates interface {
	// open prepares the right side before the first left row.
	open() error
	// begin starts on a left row.
	begin(left Row) error
	// next returns the next right row, nil at the end, and its number if the
	// right side is stored.
	next() (Row, int, error)
	// stored returns all rows of the right side, for right and full joins.
	stored() []Row
	close()
}

// joinOp drives a join: the algorithm is in its candidates.
type joinOp struct {
	run      *run
	kind     plan.JoinKind
	left     *source
	right    candidates
	on       predFn
	out      []int // positions in combined
	combined Row   // left row, then right row
	lw       int
	fleeting bool // right rows live in buffers that the next left row may reuse
	text     scratch

	active  bool // a left row is at hand
	matched bool // it has found a match
	seen    []bool
	tail    int // next stored row of the unmatched ones, once left is done; -1 before
}

func (c *compiler) join(n *plan.Join) (operator, error) {
	j := &joinOp{run: c.run, kind: n.Kind, lw: len(n.Left.Props().Cols)}
	var ls scope
	var err error
	if j.left, ls, err = c.input(n.Left); err != nil {
		return nil, err
	}
	rs := scopeOf(n.Right.Props().Cols)
	all := append(ls[:len(ls):len(ls)], rs...)
	j.combined = make(Row, len(all))
	if j.right, err = c.candidates(n, j, ls, rs); err != nil {
		return nil, err
	}
	if j.on, err = c.pred(n.On, all); err != nil {
		return nil, err
	}
	j.out, err = all.positions(plan.IDs(n.Cols))
	return j, err
}

// candidates compiles the right side for the join's algorithm.
func (c *compiler) candidates(n *plan.Join, j *joinOp, ls, rs scope) (candidates, error) {
	if n.Algo == plan.ApplyJoin || n.Algo == plan.LookupJoin {
		// The columns are outer ones for everything below the right side.
		a := &applyRight{run: c.run, copies: c.bindOuter(n.Outer, ls), loose: n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin}
		var err error
		a.src, _, err = c.input(n.Right)
		j.fleeting = true
		return a, err
	}
	right, _, err := c.input(n.Right)
	if err != nil {
		return nil, err
	}
	if n.Algo == plan.LoopJoin {
		return &loopRight{run: c.run, src: right}, nil
	}
	if n.Algo == plan.MergeJoin && n.Kind != plan.RightJoin && n.Kind != plan.FullJoin {
		j.fleeting = true
		return c.mergeRight(n, right, ls, rs)
	}
	return c.hashRight(n, right, ls, rs)
}

func (j *joinOp) open() error {
	j.active, j.tail = false, -1
	if err := j.right.open(); err != nil {
		return err
	}
	if j.kind == plan.RightJoin || j.kind == plan.FullJoin {
		j.seen = make([]bool, len(j.right.stored()))
	}
	return j.left.start()
}

func (j *joinOp) close() {
	j.left.stop()
	j.right.close()
	j.seen = nil
}

func (j *joinOp) next(b *Batch) error {
	b.clear()
	j.text.reset()
	for !b.full() {
		if j.tail >= 0 {
			if !j.emitTail(b) {
				return nil
			}
			continue
		}
		if !j.active {
			if b.n > 0 && j.left.pos >= j.left.batch.n {
				return nil // its rows live in the left batch
			}
			row, err := j.left.row(BatchRows)
			if err != nil {
				return err
			}
			if row == nil {
				j.tail = 0
				continue
			}
			copy(j.combined, row)
			if err := j.right.begin(row); err != nil {
				return err
			}
			j.active, j.matched = true, false
		}
		if err := j.step(b); err != nil {
			return err
		}
		if err := j.run.tick(); err != nil {
			return err
		}
	}
	return nil
}

// step looks at one candidate for the left row at hand.
func (j *joinOp) step(b *Batch) error {
	row, i, err := j.right.next()
	if err != nil {
		return err
	}
	if row == nil {
		j.active = false
		if !j.matched && (j.kind == plan.LeftJoin || j.kind == plan.FullJoin || j.kind == plan.AntiJoin) {
			clear(j.combined[j.lw:])
			return j.emit(b, false)
		}
		return nil
	}
	copy(j.combined[j.lw:], row)
	if j.on != nil {
		if ok, err := j.on(j.combined); !ok {
			return err
		}
	}
	j.matched = true
	if j.seen != nil {
		j.seen[i] = true
	}
	switch j.kind {
	case plan.SemiJoin:
		j.active = false
	case plan.AntiJoin:
		j.active = false
		return nil
	}
	return j.emit(b, j.fleeting)
}

// emit adds the combined row; the right part is copied if it is fleeting.
func (j *joinOp) emit(b *Batch, fleeting bool) error {
	out := b.add()
	for i, p := range j.out {
		d := j.combined[p]
		if fleeting && p >= j.lw {
			var err error
			if d, err = j.text.datum(d); err != nil {
				return err
			}
		}
		out[i] = d
	}
	return nil
}

// emitTail adds the next row of the right side that found no match; false at
// the end.
func (j *joinOp) emitTail(b *Batch) bool {
	if j.seen == nil {
		return false
	}
	rows := j.right.stored()
	for j.tail < len(rows) && j.seen[j.tail] {
		j.tail++
	}
	if j.tail == len(rows) {
		return false
	}
	clear(j.combined[:j.lw])
	copy(j.combined[j.lw:], rows[j.tail])
	j.tail++
	out := b.add()
	copySlots(out, j.combined, j.out)
	return true
}

// loopRight compares with every stored row.
type loopRight struct {
	run   *run
	src   *source
	store rowStore
	pos   int
}

func (l *loopRight) open() error { return fillStore(l.run, l.src, &l.store) }

// fillStore reads all of src into store.
func fillStore(r *run, src *source, store *rowStore) error {
	store.open(r, src.width)
	if err := src.start(); err != nil {
		return err
	}
	for {
		ok, err := src.fetch(BatchRows)
		if err != nil {
			return err
		}
		if !ok {
			src.stop()
			return nil
		}
		if err := store.addBatch(&src.batch); err != nil {
			return err
		}
	}
}

func (l *loopRight) begin(Row) error { l.pos = 0; return nil }

func (l *loopRight) next() (Row, int, error) {
	if l.pos == l.store.len() {
		return nil, 0, nil
	}
	l.pos++
	return nonNil(l.store.rows[l.pos-1]), l.pos - 1, nil
}

// nonNil makes the row of a relation without columns differ from no row.
func nonNil(r Row) Row {
	if r == nil {
		return noColumns
	}
	return r
}

func (l *loopRight) stored() []Row { return l.store.rows }

func (l *loopRight) close() {
	l.src.stop()
	l.store.close()
}

// applyRight evaluates the right side anew for each left row.
type applyRight struct {
	run    *run
	src    *source
	copies []outerCopy
	loose  bool // the first match decides: ask for one row at a time
	live   bool
}

func (a *applyRight) open() error { return nil }

func (a *applyRight) begin(left Row) error {
	a.run.setOuter(a.copies, left)
	a.live = true
	return a.src.start()
}

func (a *applyRight) next() (Row, int, error) {
	want := BatchRows
	if a.loose {
		want = 1
	}
	row, err := a.src.row(want)
	return row, 0, err
}

func (a *applyRight) stored() []Row { return nil }

func (a *applyRight) close() {
	if a.live {
		a.src.stop()
		a.live = false
	}
}

// hashRight finds rows by equal keys in a hash table.
type hashRight struct {
	run                 *run
	src                 *source
	leftKeys, rightKeys []evalFn
	vals                Row
	table               keyTable
	store               rowStore
	// first[k] and after[i] chain the stored rows of key k; -1 ends a chain.
	first, last, after []int32
	nullAware          bool
	hasNull            bool
	cur                int32
}

func (c *compiler) hashRight(n *plan.Join, right *source, ls, rs scope) (candidates, error) {
	h := &hashRight{run: c.run, src: right, nullAware: n.NullAware, vals: make(Row, len(n.LeftKeys))}
	var err error
	if h.leftKeys, err = c.exprs(n.LeftKeys, ls); err != nil {
		return nil, err
	}
	if h.rightKeys, err = c.exprs(n.RightKeys, rs); err != nil {
		return nil, err
	}
	h.table = newKeyTable(exprTypes(n.RightKeys))
	return h, nil
}

func exprTypes(list []plan.Expr) []*types.T {
	ts := make([]*types.T, len(list))
	for i, e := range list {
		ts[i] = e.Type()
	}
	return ts
}

// keyOf evaluates key expressions; false if one is NULL: it equals nothing.
func (h *hashRight) keyOf(fns []evalFn, row Row) (bool, error) {
	ok := true
	for i, f := range fns {
		d, err := f(row)
		if err != nil {
			return false, err
		}
		ok = ok && !d.IsNull()
		h.vals[i] = d
	}
	return ok, nil
}

func (h *hashRight) open() error {
	h.table.open(h.run)
	h.first, h.last, h.after, h.hasNull = h.first[:0], h.last[:0], h.after[:0], false
	if err := fillStore(h.run, h.src, &h.store); err != nil {
		return err
	}
	if err := h.table.acc.Grow(int64(h.store.len()) * 12); err != nil {
		return memoryError(err)
	}
	for i, row := range h.store.rows {
		h.after = append(h.after, -1)
		ok, err := h.keyOf(h.rightKeys, row)
		if err != nil {
			return err
		}
		if !ok {
			h.hasNull = true
			continue
		}
		k, added, err := h.table.put(h.vals)
		if err != nil {
			return err
		}
		if added {
			h.first, h.last = append(h.first, int32(i)), append(h.last, int32(i))
			continue
		}
		h.after[h.last[k]] = int32(i)
		h.last[k] = int32(i)
	}
	return nil
}

func (h *hashRight) begin(left Row) error {
	h.cur = -1
	ok, err := h.keyOf(h.leftKeys, left)
	if err != nil {
		return err
	}
	if h.nullAware && h.store.len() > 0 && (!ok || h.hasNull) {
		// NOT IN with a NULL on either side is not true: as if there were a match.
		h.cur = 0
		return nil
	}
	if !ok {
		return nil
	}
	if k := h.table.find(h.vals); k >= 0 {
		h.cur = h.first[k]
	}
	return nil
}

func (h *hashRight) next() (Row, int, error) {
	if h.cur < 0 {
		return nil, 0, nil
	}
	i := h.cur
	h.cur = h.after[i]
	return nonNil(h.store.rows[i]), int(i), nil
}

func (h *hashRight) stored() []Row { return h.store.rows }

func (h *hashRight) close() {
	h.src.stop()
	h.store.close()
	h.table.close()
	h.first, h.last, h.after = nil, nil, nil
}

// mergeRight walks along a right side sorted like the left one, keeping the rows
// of one key.
type mergeRight struct {
	run                 *run
	src                 *source
	leftKeys, rightKeys []evalFn
	cmp                 []compareFn
	lvals, rvals        Row
	group               rowStore
	groupKey            rowStore // one row: the key of group
	ahead               Row      // next row of src, nil at the end
	pos                 int
	equal               bool // group matches the left row at hand
}

func (c *compiler) mergeRight(n *plan.Join, right *source, ls, rs scope) (candidates, error) {
	m := &mergeRight{run: c.run, src: right, lvals: make(Row, len(n.LeftKeys)), rvals: make(Row, len(n.LeftKeys))}
	var err error
	if m.leftKeys, err = c.exprs(n.LeftKeys, ls); err != nil {
		return nil, err
	}
	if m.rightKeys, err = c.exprs(n.RightKeys, rs); err != nil {
		return nil, err
	}
	for _, e := range n.LeftKeys {
		m.cmp = append(m.cmp, compareOf(e.Type()))
	}
	return m, nil
}

func (m *mergeRight) open() error {
	m.group.open(m.run, m.src.width)
	m.groupKey.open(m.run, len(m.rvals))
	if err := m.src.start(); err != nil {
		return err
	}
	return m.advance()
}

// advance reads the next right row and its key.
func (m *mergeRight) advance() error {
	row, err := m.src.row(BatchRows)
	if err != nil {
		return err
	}
	m.ahead = row
	if row == nil {
		return nil
	}
	return evalInto(m.rvals, m.rightKeys, row)
}

func evalInto(dst Row, fns []evalFn, row Row) error {
	for i, f := range fns {
		d, err := f(row)
		if err != nil {
			return err
		}
		dst[i] = d
	}
	return nil
}

// compareKeys orders keys with NULLs last.
func (m *mergeRight) compareKeys(a, b Row) int {
	for i, cmp := range m.cmp {
		k := orderKey{cmp: cmp}
		if r := k.compare(a[i], b[i]); r != 0 {
			return r
		}
	}
	return 0
}

func (m *mergeRight) begin(left Row) error {
	m.pos, m.equal = 0, false
	if err := evalInto(m.lvals, m.leftKeys, left); err != nil {
		return err
	}
	for i := range m.lvals {
		if m.lvals[i].IsNull() {
			return nil
		}
	}
	if m.groupKey.len() > 0 {
		if r := m.compareKeys(m.groupKey.rows[0], m.lvals); r >= 0 {
			m.equal = r == 0
			return nil
		}
	}
	for m.ahead != nil && m.compareKeys(m.rvals, m.lvals) < 0 {
		if err := m.advance(); err != nil {
			return err
		}
	}
	if m.ahead == nil || m.compareKeys(m.rvals, m.lvals) > 0 {
		return nil
	}
	m.equal = true
	return m.collect()
}

// collect stores the right rows that have the key of the row ahead.
func (m *mergeRight) collect() error {
	m.group.open(m.run, m.src.width)
	m.groupKey.open(m.run, len(m.rvals))
	key, err := m.groupKey.add(m.rvals)
	if err != nil {
		return err
	}
	for m.ahead != nil && m.compareKeys(m.rvals, key) == 0 {
		if _, err := m.group.add(m.ahead); err != nil {
			return err
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (m *mergeRight) next() (Row, int, error) {
	if !m.equal || m.pos == m.group.len() {
		return nil, 0, nil
	}
	m.pos++
	return nonNil(m.group.rows[m.pos-1]), 0, nil
}

func (m *mergeRight) stored() []Row { return nil }

func (m *mergeRight) close() {
	m.src.stop()
	m.group.close()
	m.groupKey.close()
}
