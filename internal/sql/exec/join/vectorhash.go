package join

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// vectorHash joins two inputs that come as columns. It stores the right one, or by lookups what of it some
// left rows ask for, finds for the rows of a left batch the right rows that may match, and makes pairs of
// them: left positions and right rows. A pair without a right row stands, behind the pairs of its left
// row, for that row if it has no match.
//
// The pairs come in the sequence in which joinOp looks at candidates, so both return the same rows in
// the same sequence.
type vectorHash struct {
	run    *operator.Run
	kind   plan.JoinKind
	left   operator.VectorOperator
	right  buildSide
	keys   []vecexpr.Expr // of the left side
	on     vecexpr.Pred
	lw     int
	all    []*vector.Vector // both sides' columns of the pairs
	needed []bool           // which of all the condition or the consumer reads
	out    []int            // positions in all
	cols   []*vector.Vector // what is handed up

	rounds   rounds
	rows     *rowcontainer.VectorReader // of the left rows of a round
	batchRow int                        // the number of the first row of batch, in a round
	families []types.Family             // of the left side
	wide     types.Row

	lookups        *lookups // nil: the right side is stored as a whole, by its keys
	ready          int      // the rows up to here of batch.Sel have been looked up
	first          bool     // whether there are left rows is found out before the right side is read
	fetched        bool     // the left batch was read by Open
	batch          vector.Batch
	vals           []*vector.Vector // of keys
	found          [vector.BatchRows]int32
	pos            int   // in batch.Sel
	cand           int32 // next candidate of the row at pos; see atStart
	matched        bool  // without a condition: the row at pos has a match
	carried        bool  // with one: the row at pos has a match among the pairs before
	done           bool  // the left side has no more rows
	seen           []bool
	tail           int
	pairs          pairs
	sel, tmp, kept [vector.BatchRows]uint16
}

// pairs are left positions and right rows, -1 for none.
type pairs struct {
	left, right []int32
	most        int
}

func (p *pairs) reset(most int) { p.left, p.right, p.most = p.left[:0], p.right[:0], most }

func (p *pairs) full() bool { return len(p.left) >= p.most }

func (p *pairs) add(l, r int32) { p.left, p.right = append(p.left, l), append(p.right, r) }

// atStart says that the candidates of a left row have not been looked up yet.
const atStart = -2

// buildSide is the stored right side of a hash join.
type buildSide struct {
	run   *operator.Run
	src   operator.VectorOperator
	keys  []vecexpr.Expr
	table rowcontainer.GroupTable
	store vector.Store
	acc   quota.Account
	paid  int64
	// first[k] and after[i] chain the stored rows of key k; -1 ends a chain.
	first, last, after []int32
	batch              vector.Batch
	vals               []*vector.Vector
	number             [vector.BatchRows]int32
	keyed              [vector.BatchRows]uint16
	families           []types.Family
	rounds             *rounds
	reader             *rowcontainer.VectorReader // of the right rows of a partition
	ahead              bool                       // batch found no memory at the last load
	some               bool                       // there are right rows
	wide               types.Row
}

// Vectorizable reports whether CompileVectors has an operator for n: a join by hash, or by lookups.
func Vectorizable(n *plan.Join) bool {
	return n.Algo == plan.HashJoin || batches(n)
}

// CompileVectors compiles a join for which Vectorizable holds.
func CompileVectors(c *operator.Compiler, n *plan.Join) (operator.VectorOperator, error) {
	lcols, rcols := n.Left.Props().Cols, n.Right.Props().Cols
	j := &vectorHash{run: c.Run, kind: n.Kind, lw: len(lcols), families: familiesOf(lcols), first: !keepsRight(n.Kind) && startsAtOnce(n.Left)}
	j.right.run = c.Run
	var err error
	if j.left, err = c.Vectors(n.Left); err != nil {
		return nil, err
	}
	lc := vecexpr.Compiler{Rows: &c.Compiler, Scope: expr.ScopeOf(lcols)}
	rc := vecexpr.Compiler{Rows: &c.Compiler, Scope: expr.ScopeOf(rcols)}
	on := n.On
	if n.Algo == plan.LookupJoin {
		on, err = j.compileLookup(c, n, lc.Scope)
	} else {
		err = j.compileHash(c, n, lc, rc)
	}
	if err != nil {
		return nil, err
	}
	both := vecexpr.Compiler{Rows: &c.Compiler, Scope: append(lc.Scope[:len(lc.Scope):len(lc.Scope)], rc.Scope...)}
	if j.on, err = both.Pred(on); err != nil {
		return nil, err
	}
	if j.out, err = both.Scope.Positions(plan.IDs(n.Cols)); err != nil {
		return nil, err
	}
	j.prepare(on, both, rcols)
	return j, nil
}

// compileHash compiles the right side of a join by hash, and the keys.
func (j *vectorHash) compileHash(c *operator.Compiler, n *plan.Join, left, right vecexpr.Compiler) (err error) {
	if j.right.src, err = c.Vectors(n.Right); err != nil {
		return err
	}
	if j.keys, err = left.Exprs(n.LeftKeys); err != nil {
		return err
	}
	j.right.table = rowcontainer.NewGroupTable(expr.Types(n.RightKeys))
	j.right.keys, err = right.Exprs(n.RightKeys)
	return err
}

// prepare makes the vectors of an operator that is compiled otherwise.
func (j *vectorHash) prepare(on plan.Expr, both vecexpr.Compiler, rcols []plan.Column) {
	j.right.families = familiesOf(rcols)
	j.right.store = vector.NewStore(j.right.families)
	j.vals, j.right.vals = make([]*vector.Vector, len(j.keys)), make([]*vector.Vector, len(j.keys))
	j.needed = make([]bool, len(both.Scope))
	for _, p := range both.ColumnsOf(on) {
		j.needed[p] = true
	}
	for range both.Scope {
		j.all = append(j.all, &vector.Vector{})
	}
	for _, p := range j.out {
		j.needed[p] = true
		j.cols = append(j.cols, j.all[p])
	}
}

func familiesOf(cols []plan.Column) []types.Family {
	families := make([]types.Family, len(cols))
	for i := range cols {
		families[i] = cols[i].Type.Family
	}
	return families
}

// Open implements VectorOperator. It reads no side where the other one is found to be empty and the join
// then is.
func (j *vectorHash) Open() error {
	j.rounds.close()
	j.rows = nil
	j.fetched, j.done, j.tail, j.seen = false, false, -1, nil
	j.batch.N, j.batch.Sel, j.batch.Err, j.pos, j.cand = 0, nil, nil, 0, atStart
	j.carried, j.ready = false, 0
	if j.lookups != nil {
		j.lookups.open()
		return j.left.Open()
	}
	if j.first {
		if err := j.left.Open(); err != nil {
			return err
		}
		if err := j.nextLeft(); err != nil || j.done {
			return err
		}
	}
	j.rounds.open(&j.run.State, j.kind, j.lw, len(j.right.families))
	if err := j.right.fill(&j.rounds); err != nil {
		return err
	}
	switch {
	case !keepsLeft(j.kind) && !j.right.some:
		j.done = true
		return nil
	case keepsRight(j.kind):
		j.seen = make([]bool, j.right.store.Len())
	}
	if !j.first {
		if err := j.left.Open(); err != nil {
			return err
		}
	}
	if !j.rounds.spills {
		return nil
	}
	return j.divideAll()
}

// Close implements VectorOperator.
func (j *vectorHash) Close() {
	j.left.Close()
	if j.lookups != nil {
		j.lookups.rows.Release()
		j.right.store.Reset()
		return
	}
	j.right.close()
	j.rounds.close()
	j.seen = nil
}

// nextLeft reads the next left batch with rows, or with an error.
func (j *vectorHash) nextLeft() error {
	for {
		if err := j.run.Canceled(); err != nil {
			return err
		}
		if err := j.readLeft(); err != nil {
			return err
		}
		j.pos, j.ready, j.cand = 0, 0, atStart
		if j.done = j.batch.N == 0; j.done || len(j.batch.Sel) > 0 || j.batch.Err != nil {
			return nil
		}
	}
}

// readLeft reads the next left batch.
func (j *vectorHash) readLeft() error {
	if j.rows == nil {
		return j.left.Next(&j.batch)
	}
	j.batchRow = j.rounds.left.Pos()
	return j.rows.Next(&j.batch, j.run.BatchRows)
}

// lookUp finds the right rows that may match rows of the left batch: by their keys, those for all.
func (j *vectorHash) lookUp() error {
	if j.lookups != nil {
		return j.lookups.read(j)
	}
	f := vecexpr.FrameOf(&j.batch)
	for i, k := range j.keys {
		j.vals[i] = k.Eval(&f)
	}
	j.batch.Sel, j.batch.Err = f.Sel, f.Err
	j.ready = len(f.Sel)
	return j.right.table.Find(j.vals, f.Sel, j.found[:])
}

// Next implements VectorOperator.
func (j *vectorHash) Next(b *vector.Batch) error {
	b.N, b.Sel, b.Cols, b.Err = 0, nil, j.cols, nil
	for {
		if err := j.run.Canceled(); err != nil {
			return err
		}
		j.pairs.reset(min(vector.BatchRows, j.run.BatchRows))
		if err := j.pair(); err != nil {
			return err
		}
		if len(j.pairs.left) == 0 {
			if j.tail < 0 || !j.pairTail() {
				if more, err := j.nextRound(); err != nil || !more {
					return err
				}
				continue
			}
		}
		j.gather(b)
		if len(b.Sel) > 0 || b.Err != nil {
			return nil
		}
	}
}

// pair fills the pairs from one left batch; no pairs mean that the left side is at its end.
func (j *vectorHash) pair() error {
	for !j.done && len(j.pairs.left) == 0 {
		var err error
		switch {
		case j.pos < j.ready:
			for j.pos < j.ready && !j.pairs.full() {
				j.pairRow(j.batch.Sel[j.pos])
			}
		case j.pos < len(j.batch.Sel):
			err = j.lookUp()
		case j.batch.Err != nil:
			err = j.batch.Err
		default:
			err = j.nextLeft()
		}
		if err != nil {
			return err
		}
	}
	if j.done && j.tail < 0 && j.seen != nil {
		j.tail = 0
	}
	return nil
}

// pairRow adds pairs of the left row at i while there is room.
func (j *vectorHash) pairRow(i uint16) {
	if j.cand == atStart {
		j.cand, j.matched = j.right.chain(j.found[i], j.vals, i), j.noted(i)
	}
	switch {
	case j.matched && decidedByMatch(j.kind):
		j.pos, j.cand = j.pos+1, atStart
		return
	case j.on == nil && decidedByMatch(j.kind):
		if j.decides(i) {
			j.pairs.add(int32(i), -1)
		}
		if j.cand >= 0 {
			j.note(i)
		}
		j.pos, j.cand = j.pos+1, atStart
		return
	}
	for ; j.cand >= 0; j.cand = j.right.after[j.cand] {
		if j.pairs.full() {
			return
		}
		j.pairs.add(int32(i), j.cand)
		if j.on == nil {
			j.matched = true
			j.note(i)
		}
	}
	if keepsLeft(j.kind) && !j.matched && j.rounds.last {
		if j.pairs.full() {
			return
		}
		j.pairs.add(int32(i), -1)
	}
	j.pos, j.cand = j.pos+1, atStart
}

// decides reports whether a semi or anti join without a condition returns the left row at i.
func (j *vectorHash) decides(i uint16) bool {
	if j.kind == plan.SemiJoin {
		return j.cand >= 0
	}
	return j.cand < 0 && j.rounds.last
}

func anyNull(vals []*vector.Vector, i uint16) bool {
	for _, v := range vals {
		if v.Nulls.Has(i) {
			return true
		}
	}
	return false
}

// pairTail fills the pairs from right rows without a match; false if there are none.
func (j *vectorHash) pairTail() bool {
	for ; j.tail < len(j.seen) && !j.pairs.full(); j.tail++ {
		if !j.seen[j.tail] {
			j.pairs.add(-1, int32(j.tail))
		}
	}
	return len(j.pairs.left) > 0
}

// gather makes the rows of the pairs and drops those that do not match.
func (j *vectorHash) gather(b *vector.Batch) {
	n := len(j.pairs.left)
	for p, v := range j.all {
		switch {
		case !j.needed[p]:
		case p >= j.lw:
			j.right.store.Take(v, p-j.lw, j.pairs.right)
		case j.pairs.left[0] < 0: // the left batch is gone
			v.Reset(j.leftFamily(p), n)
			for k := range n {
				v.Nulls.Add(uint16(k))
			}
		default:
			v.Take(j.batch.Cols[p], j.pairs.left)
		}
	}
	b.N, b.Sel = n, vector.All(n)
	if j.on != nil && j.pairs.left[0] >= 0 {
		j.match(b)
	} else if j.lookups.measured() {
		j.lookups.actual.Rows += int64(len(j.candidates()))
	}
	if j.seen != nil {
		for _, k := range b.Sel {
			if r := j.pairs.right[k]; r >= 0 && j.pairs.left[k] >= 0 {
				j.seen[r] = true
			}
		}
	}
}

// match drops the pairs for which the condition is not true, and those that stand for a left row with
// a match.
func (j *vectorHash) match(b *vector.Batch) {
	f, ok := j.selectMatching(b, j.candidates())
	if j.lookups.measured() {
		j.lookups.actual.Rows += int64(len(ok))
	}
	out, matched := j.kept[:0], j.carried
	for k := range b.N {
		if f.Err != nil && uint16(k) >= f.At() {
			b.Err = f.Err
			break
		}
		if k > 0 && j.pairs.left[k] != j.pairs.left[k-1] {
			matched = false
		}
		holds := len(ok) > 0 && ok[0] == uint16(k)
		if holds {
			ok = ok[1:]
		}
		if holds {
			j.note(uint16(j.pairs.left[k]))
		}
		if j.keeps(holds, j.pairs.right[k] < 0, matched) {
			out = append(out, uint16(k))
		}
		matched = matched || holds
	}
	b.Sel = out
	j.carried = matched && j.goesOn()
}

// goesOn reports whether the last left row has more pairs, which come with the next batch.
func (j *vectorHash) goesOn() bool {
	last := j.pairs.left[len(j.pairs.left)-1]
	return j.cand != atStart && j.pos < len(j.batch.Sel) && int32(j.batch.Sel[j.pos]) == last
}

// keeps reports whether a pair is a row of the join, given whether the condition holds for it, whether
// it stands for its left row, and whether that has a match already.
func (j *vectorHash) keeps(holds, stands, matched bool) bool {
	switch j.kind {
	case plan.SemiJoin:
		return holds && !matched
	case plan.AntiJoin:
		return stands && !matched
	}
	return holds || stands && !matched
}

// candidates selects the pairs that have a right row.
func (j *vectorHash) candidates() vector.Selection {
	sel := j.tmp[:0]
	for k, r := range j.pairs.right {
		if r >= 0 {
			sel = append(sel, uint16(k))
		}
	}
	return sel
}

func (j *vectorHash) leftFamily(p int) types.Family {
	if p < len(j.batch.Cols) {
		return j.batch.Cols[p].Family
	}
	return types.NullFamily
}

// fill reads the whole right side: into memory or, once that has ended, into partitions.
func (h *buildSide) fill(r *rounds) error {
	h.some, h.ahead, h.rounds = false, false, r
	h.clear()
	if err := h.src.Open(); err != nil {
		return err
	}
	for {
		if err := h.run.Canceled(); err != nil {
			return err
		}
		if err := h.src.Next(&h.batch); err != nil {
			return err
		}
		if h.batch.N == 0 {
			h.src.Close()
			return r.parts.End(rowcontainer.BuildSide)
		}
		if err := h.take(&h.batch); err != nil {
			return err
		}
	}
}

// clear forgets the rows in memory.
func (h *buildSide) clear() {
	h.acc.Close()
	h.acc.Init(h.run.Mem)
	h.acc.AsksForRoom()
	h.table.Open(&h.run.State)
	h.store.Reset()
	h.first, h.last, h.after, h.paid = nil, nil, nil, 0
}

// take takes the rows of a batch: into memory or, once that has ended, into their partitions.
func (h *buildSide) take(b *vector.Batch) error {
	h.some = h.some || len(b.Sel) > 0
	if !h.rounds.spills {
		if h.room(b) {
			return h.add(b)
		}
		h.rounds.spills, h.rounds.memory = true, h.used()
		if err := h.divideStored(); err != nil {
			return err
		}
	}
	return h.divide(b)
}

// room reports whether there is memory for the rows of a batch.
func (h *buildSide) room(b *vector.Batch) bool {
	used := h.used()
	switch {
	case h.store.Len() == 0:
		return true
	case h.run.Full(used):
		return false
	case used < growing:
		return true
	}
	// The table and the chains double when they are full.
	need := h.table.Used() + h.paid + 2*vector.SizeOf(b.Cols, b.Sel)
	return !h.run.Refused(h.run.Mem.Room(need), used)
}

// growing is what right rows take before it is found out for each batch whether there is room.
const growing = 64 << 10

// used is what the rows in memory take.
func (h *buildSide) used() int64 { return h.acc.Used() + h.table.Used() }

// add stores the rows of a batch under their keys.
func (h *buildSide) add(b *vector.Batch) error {
	f := vecexpr.FrameOf(b)
	for i, k := range h.keys {
		h.vals[i] = k.Eval(&f)
	}
	if f.Err != nil {
		return f.Err
	}
	start := int32(h.store.Len())
	if err := h.acc.Grow(vector.SizeOf(b.Cols, b.Sel)); err != nil {
		return expr.MemoryError(err)
	}
	h.store.Append(b.Cols, b.Sel)
	keyed := h.keyed[:0]
	for range b.Sel {
		h.after = append(h.after, -1)
	}
	for _, i := range b.Sel {
		if !anyNull(h.vals, i) { // NULL equals nothing
			keyed = append(keyed, i)
		}
	}
	if _, err := h.table.Number(h.vals, keyed, h.number[:]); err != nil {
		return err
	}
	h.link(b.Sel, keyed, start)
	return h.pay()
}

// link puts the stored rows from start on, which come from sel, behind those with the same keys.
func (h *buildSide) link(sel, keyed vector.Selection, start int32) {
	for n, i := range sel {
		if len(keyed) == 0 || keyed[0] != i {
			continue
		}
		keyed = keyed[1:]
		row, k := start+int32(n), h.number[i]
		if int(k) == len(h.first) {
			h.first, h.last = append(h.first, row), append(h.last, row)
			continue
		}
		h.after[h.last[k]] = row
		h.last[k] = row
	}
}

// pay reserves memory for what the chains have grown by.
func (h *buildSide) pay() error {
	size := 4 * int64(cap(h.first)+cap(h.last)+cap(h.after))
	if size <= h.paid {
		return nil
	}
	if err := h.acc.Grow(size - h.paid); err != nil {
		return expr.MemoryError(err)
	}
	h.paid = size
	return nil
}

// chain returns the first stored row of key k, which the left row at i has.
func (h *buildSide) chain(k int32, vals []*vector.Vector, i uint16) int32 {
	if k < 0 || anyNull(vals, i) {
		return -1
	}
	return h.first[k]
}

func (h *buildSide) close() {
	h.src.Close()
	h.store.Reset()
	h.table.Close()
	h.acc.Close()
	h.paid = 0
	h.first, h.last, h.after = nil, nil, nil
}
