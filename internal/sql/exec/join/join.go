package join

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// candidates yields, for a row of the left side, the rows of the right side that
// may match it.
type candidates interface {
	// open prepares the right side before the first left row.
	open() error
	// begin starts on a left row; out says that it is in no result of the join.
	begin(left types.Row) error
	// next returns the next right row, nil at the end, and its number if the
	// right side is stored.
	next() (types.Row, int, error)
	// stored returns the rows of the right side, for right and full joins.
	stored() storedRows
	// empty reports whether an open right side is known to have no rows.
	empty() bool
	close()
}

// storedRows are rows that have numbers.
type storedRows interface {
	Len() int
	At(i int) (types.Row, error)
}

// joinOp drives a join: the algorithm is in its candidates.
type joinOp struct {
	run      *operator.Run
	kind     plan.JoinKind
	left     *operator.Source
	right    candidates
	hash     *hashRight // right, if the join is by hash
	on       expr.Pred
	out      []int     // positions in combined
	combined types.Row // left row, then right row
	lw       int
	fleeting bool // right rows live in buffers that the next left row may reuse
	first    bool // whether there are left rows is found out before the right side is read
	text     rowcontainer.Scratch

	active  bool // a left row is at hand
	row     int  // its number, in a round
	matched bool // it has found a match
	seen    []bool
	tail    int // next stored row of the unmatched ones, once left is done; -1 before
}

// Compile compiles a join by the algorithm that its plan names.
func Compile(c *operator.Compiler, n *plan.Join) (operator.Operator, error) {
	j := &joinOp{run: c.Run, kind: n.Kind, lw: len(n.Left.Props().Cols), first: !keepsRight(n.Kind) && (n.Algo == plan.LoopJoin || startsAtOnce(n.Left))}
	var ls expr.Scope
	var err error
	if j.left, ls, err = c.Input(n.Left); err != nil {
		return nil, err
	}
	rs := expr.ScopeOf(n.Right.Props().Cols)
	all := append(ls[:len(ls):len(ls)], rs...)
	j.combined = make(types.Row, len(all))
	if j.right, err = newCandidates(c, n, j, ls, rs); err != nil {
		return nil, err
	}
	if j.on, err = c.Pred(n.On, all); err != nil {
		return nil, err
	}
	j.out, err = all.Positions(plan.IDs(n.Cols))
	return j, err
}

// candidates compiles the right side for the join's algorithm.
func newCandidates(c *operator.Compiler, n *plan.Join, j *joinOp, ls, rs expr.Scope) (candidates, error) {
	if n.Algo == plan.ApplyJoin || n.Algo == plan.LookupJoin {
		// The columns are outer ones for everything below the right side.
		a := &applyRight{run: c.Run, copies: c.BindOuter(n.Outer, ls), loose: n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin}
		var err error
		a.src, _, err = c.Input(n.Right)
		j.fleeting = true
		return a, err
	}
	right, _, err := c.Input(n.Right)
	if err != nil {
		return nil, err
	}
	if n.Algo == plan.LoopJoin {
		return &loopRight{run: c.Run, src: right}, nil
	}
	if n.Algo == plan.MergeJoin && n.Kind != plan.RightJoin && n.Kind != plan.FullJoin {
		j.fleeting = true
		return newMergeRight(c, n, right, ls, rs)
	}
	j.hash, err = newHashRight(c, n, right, ls, rs)
	return j.hash, err
}

// keepsRight reports whether a join has right rows without a match.
func keepsRight(k plan.JoinKind) bool { return k == plan.RightJoin || k == plan.FullJoin }

// keepsLeft reports whether a join has left rows without a match.
func keepsLeft(k plan.JoinKind) bool {
	return k == plan.LeftJoin || k == plan.FullJoin || k == plan.AntiJoin
}

// startsAtOnce reports whether the first rows of a node come without much being read before.
func startsAtOnce(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return !n.Virtual()
	case *plan.IndexJoin, *plan.Values:
		return true
	case *plan.Filter:
		return startsAtOnce(n.Input)
	case *plan.Project:
		return startsAtOnce(n.Input)
	case *plan.Gather:
		return startsAtOnce(n.Input)
	case *plan.Join:
		return !keepsRight(n.Kind) && startsAtOnce(n.Left)
	}
	return false
}

// Open reads no side where the other one is found to be empty and the join then is.
func (j *joinOp) Open() error {
	j.active, j.tail, j.seen = false, -1, nil
	if j.hash != nil {
		j.hash.rounds.close()
	}
	if j.first {
		if err := j.left.Start(); err != nil {
			return err
		}
		if ok, err := j.left.Fetch(rowcontainer.BatchRows); !ok {
			j.tail = 0
			return err
		}
	}
	if err := j.right.open(); err != nil {
		return err
	}
	switch {
	case !keepsLeft(j.kind) && j.right.empty():
		j.tail = 0
		return nil
	case keepsRight(j.kind):
		j.seen = make([]bool, j.right.stored().Len())
	}
	if !j.first {
		if err := j.left.Start(); err != nil {
			return err
		}
	}
	if !j.inRounds() {
		return nil
	}
	return j.divideLeft()
}

// inRounds reports whether both sides are in temporary files.
func (j *joinOp) inRounds() bool { return j.hash != nil && j.hash.rounds.spills }

// divideLeft reads the left side into partitions, and begins with the first round.
func (j *joinOp) divideLeft() error {
	for {
		row, err := j.left.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if err := j.hash.divideLeft(row); err != nil {
			return err
		}
	}
	j.left.Stop()
	j.tail = 0
	_, err := j.nextRound()
	return err
}

// HashMethod says how a join by hash went through temporary files, if it did.
func (j *joinOp) HashMethod() plan.HashMethod {
	if j.hash == nil {
		return plan.HashMethod{}
	}
	return j.hash.rounds.method()
}

// nextRound begins with the next round; false if there is none.
func (j *joinOp) nextRound() (bool, error) {
	j.seen = nil
	if !j.inRounds() {
		return false, nil
	}
	more, err := j.hash.rounds.next(j.hash)
	if !more || err != nil {
		return false, err
	}
	j.active, j.tail = false, -1
	if keepsRight(j.kind) {
		j.seen = make([]bool, j.right.stored().Len())
	}
	return true, nil
}

// nextLeft begins with the next left row; false if there is none.
func (j *joinOp) nextLeft() (ok bool, err error) {
	var row types.Row
	if j.inRounds() {
		j.row = j.hash.rounds.left.Pos()
		row, err = j.hash.rounds.left.Next()
	} else {
		row, err = j.left.Row(rowcontainer.BatchRows)
	}
	if row == nil || err != nil {
		return false, err
	}
	copy(j.combined, row)
	err = j.right.begin(row)
	j.matched = j.inRounds() && j.hash.rounds.noted(j.row)
	j.active = !(j.matched && decidedByMatch(j.kind))
	return true, err
}

// decidedByMatch reports whether the first match of a left row decides.
func decidedByMatch(k plan.JoinKind) bool {
	return k == plan.SemiJoin || k == plan.AntiJoin
}

func (j *joinOp) Close() {
	j.left.Stop()
	j.right.close()
	j.seen = nil
}

func (j *joinOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	j.text.Reset()
	for !b.Full() {
		if j.tail >= 0 {
			if ok, err := j.emitTail(b); ok || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if b.Len() > 0 {
				return nil // its rows live in the right side of the round
			}
			if more, err := j.nextRound(); err != nil || !more {
				return err
			}
		}
		if !j.active {
			if b.Len() > 0 && j.left.Pos >= j.left.Batch.Len() && !j.inRounds() {
				return nil // its rows live in the left batch
			}
			ok, err := j.nextLeft()
			if err != nil {
				return err
			}
			if !ok {
				j.tail = 0
				continue
			}
		}
		if j.active {
			if err := j.step(b); err != nil {
				return err
			}
		}
		if err := j.run.Tick(); err != nil {
			return err
		}
	}
	return nil
}

// step looks at one candidate for the left row at hand.
func (j *joinOp) step(b *rowcontainer.Batch) error {
	row, i, err := j.right.next()
	if err != nil {
		return err
	}
	if row == nil {
		j.active = false
		if !j.matched && keepsLeft(j.kind) && (j.hash == nil || j.hash.rounds.last) {
			clear(j.combined[j.lw:])
			j.emit(b, false)
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
	if j.inRounds() {
		j.hash.rounds.note(j.row)
	}
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
	j.emit(b, j.fleeting)
	return nil
}

// emit adds the combined row; the right part is copied if it is fleeting.
func (j *joinOp) emit(b *rowcontainer.Batch, fleeting bool) {
	out := b.Add()
	for i, p := range j.out {
		d := j.combined[p]
		if fleeting && p >= j.lw {
			d = j.text.Datum(d)
		}
		out[i] = d
	}
}

// emitTail adds the next row of the right side that found no match; false at
// the end.
func (j *joinOp) emitTail(b *rowcontainer.Batch) (bool, error) {
	for j.tail < len(j.seen) && j.seen[j.tail] {
		j.tail++
	}
	if j.tail >= len(j.seen) {
		return false, nil
	}
	row, err := j.right.stored().At(j.tail)
	if err != nil {
		return false, err
	}
	clear(j.combined[:j.lw])
	copy(j.combined[j.lw:], row)
	j.tail++
	out := b.Add()
	rowcontainer.CopySlots(out, j.combined, j.out)
	return true, nil
}

// loopRight compares with every stored row.
type loopRight struct {
	run  *operator.Run
	src  *operator.Source
	rows rowcontainer.List
	pos  int
}

// open reads the whole right side.
func (l *loopRight) open() error {
	l.rows.Open(&l.run.State, l.src.Width)
	if err := l.src.Start(); err != nil {
		return err
	}
	for {
		ok, err := l.src.Fetch(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if !ok {
			l.src.Stop()
			return nil
		}
		if err := l.rows.AddBatch(&l.src.Batch); err != nil {
			return err
		}
	}
}

func (l *loopRight) begin(types.Row) error { l.pos = 0; return nil }

func (l *loopRight) next() (types.Row, int, error) {
	if l.pos == l.rows.Len() {
		return nil, 0, nil
	}
	row, err := l.rows.At(l.pos)
	l.pos++
	return row, l.pos - 1, err
}

func (l *loopRight) stored() storedRows { return &l.rows }

func (l *loopRight) empty() bool { return l.rows.Len() == 0 }

func (l *loopRight) close() {
	l.src.Stop()
	l.rows.Close()
}

// applyRight evaluates the right side anew for each left row.
type applyRight struct {
	run    *operator.Run
	src    *operator.Source
	copies []expr.OuterCopy
	loose  bool // the first match decides: ask for one row at a time
	live   bool
}

func (a *applyRight) open() error { return nil }

func (a *applyRight) begin(left types.Row) error {
	a.run.SetOuter(a.copies, left)
	a.live = true
	return a.src.Start()
}

func (a *applyRight) next() (types.Row, int, error) {
	want := rowcontainer.BatchRows
	if a.loose {
		want = 1
	}
	row, err := a.src.Row(want)
	return row, 0, err
}

func (a *applyRight) stored() storedRows { return nil }

func (a *applyRight) empty() bool { return false }

func (a *applyRight) close() {
	if a.live {
		a.src.Stop()
		a.live = false
	}
}
