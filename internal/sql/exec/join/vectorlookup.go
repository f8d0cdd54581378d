package join

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// firstLookups is how many left rows are looked up at first. Then it is four times as many each time, up
// to a batch, as long as they have few right rows.
const firstLookups = 64

// lookups reads, for some rows of the left batch at a time, the right rows that may match them.
type lookups struct {
	copies []expr.OuterCopy
	outer  []int     // positions of the left columns that the right side depends on
	row    types.Row // a left row with these columns
	rows   *scan.VectorLookups
	most   int          // left rows to look up at a time
	actual *plan.Actual // of the right side in EXPLAIN ANALYZE, else nil
}

// batches reports whether compileLookup has an operator for n.
func batches(n *plan.Join) bool {
	_, _, ok := scan.LookupFilter(n.Right)
	return ok && n.Batches()
}

// compileLookup compiles the right side of a lookup join, and returns the whole condition: it is computed
// for each pair of a left and a right row.
func (j *vectorHash) compileLookup(c *operator.Compiler, n *plan.Join, left expr.Scope) (on plan.Expr, err error) {
	l := &lookups{row: make(types.Row, len(left)), actual: c.Actual(n.Right)}
	l.copies = c.BindOuter(n.Outer, left)
	for _, id := range n.Outer {
		if pos := left.Find(id); pos >= 0 {
			l.outer = append(l.outer, pos)
		}
	}
	j.lookups = l
	if l.rows, err = scan.CompileVectorLookups(c, n.Right); err != nil {
		return nil, err
	}
	_, filter, _ := scan.LookupFilter(n.Right)
	return plan.ConjoinAll(append(plan.Conjuncts(filter, nil), plan.Conjuncts(n.On, nil)...)), nil
}

// open prepares for the first left batch.
func (l *lookups) open() { l.most = firstLookups }

// read reads the right rows for the next left rows, which are fewer if they have too many, and chains
// those of each.
func (l *lookups) read(j *vectorHash) error {
	if l.actual != nil && l.actual.Timing {
		defer func(start time.Time) { l.actual.Total += time.Since(start) }(time.Now())
	}
	n := min(len(j.batch.Sel)-j.pos, l.most)
	for {
		if n = l.ask(j, n); n == 0 {
			return nil
		}
		store := &j.right.store
		store.Clear()
		all, err := l.rows.Read(store)
		if err != nil {
			return err
		}
		if all {
			l.link(j, n)
			if store.Len() < vector.BatchRows {
				l.most = min(4*l.most, vector.BatchRows)
			}
			return nil
		}
		n = (n + 1) / 2
		l.most = n
	}
}

// ask has the next n left rows ask for right ones, up to one that fails, and returns how many have.
func (l *lookups) ask(j *vectorHash, n int) int {
	l.rows.Reset()
	for k, i := range j.batch.Sel[j.pos : j.pos+n] {
		for _, c := range l.outer {
			l.row[c] = j.batch.Cols[c].Datum(i)
		}
		j.run.SetOuter(l.copies, l.row)
		if err := l.rows.Ask(); err != nil {
			j.batch.Sel, j.batch.Err = j.batch.Sel[:j.pos+k], err
			return k
		}
	}
	return n
}

// link chains the right rows of n left rows.
func (l *lookups) link(j *vectorHash, n int) {
	h := &j.right
	h.after = h.after[:0]
	for r := range h.store.Len() {
		h.after = append(h.after, int32(r)+1)
	}
	h.first = h.first[:0]
	for k, i := range j.batch.Sel[j.pos : j.pos+n] {
		from, to := l.rows.Rows(k)
		if from == to {
			j.found[i] = -1
			continue
		}
		j.found[i] = int32(len(h.first))
		h.first, h.after[to-1] = append(h.first, from), -1
	}
	j.ready = j.pos + n
	if l.actual != nil {
		l.actual.Loops += int64(n)
	}
}

// measured reports whether EXPLAIN ANALYZE asks for what lookups find.
func (l *lookups) measured() bool { return l != nil && l.actual != nil }

// selectMatching returns which of the pairs of sel match, and the frame in which one failed if one did. A semi or
// anti join does not look at the pairs of a left row behind one that matches: what fails there does not count.
func (j *vectorHash) selectMatching(b *vector.Batch, sel vector.Selection) (f vecexpr.Frame, ok vector.Selection) {
	ok = j.sel[:0]
	for {
		f = vecexpr.Frame{N: b.N, Cols: j.all, Sel: sel}
		before := len(ok)
		ok = j.on.Select(&f, f.Sel, ok)
		ok = ok[:before+len(f.Trim(ok[before:]))]
		if f.Err == nil || j.kind != plan.SemiJoin && j.kind != plan.AntiJoin {
			return f, ok
		}
		failed := j.pairs.left[f.At()]
		decided := j.carried && failed == j.pairs.left[0] || len(ok) > 0 && j.pairs.left[ok[len(ok)-1]] == failed
		if !decided {
			return f, ok
		}
		for len(sel) > 0 && (sel[0] <= f.At() || j.pairs.left[sel[0]] == failed) {
			sel = sel[1:]
		}
	}
}
