package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// rowsBehind reads the table's rows for entries of a secondary index into vectors.
type rowsBehind struct {
	rowKeys
	rows RowAccess
	dec  *rowcodec.VectorDecoder
}

func newRowsBehind(c *operator.Compiler, n *plan.IndexJoin) (b *rowsBehind, err error) {
	b = &rowsBehind{}
	if b.rowKeys, err = newRowKeys(n); err != nil {
		return nil, err
	}
	b.rows, b.dec = NewRowAccess(c.Run, b.primary, n.Ords), b.primary.NewVectorDecoder(n.Ords)
	return b, nil
}

// ask adds the row of an entry to those to look up.
func (b *rowsBehind) ask(many *Lookups, entry types.Row) error {
	buf, err := b.append(many.Room(), entry)
	if err != nil {
		return err
	}
	many.Added(buf)
	return nil
}

// vectorIndexJoin reads entries of a secondary index as columns, and the rows behind a batch of them with
// one request.
type vectorIndexJoin struct {
	entries operator.VectorOperator
	behind  *rowsBehind
	many    *Lookups
	sorted  *sortedRows // in place of many, if the rows may come in any order
	in      vector.Batch
	ended   bool // there are no more entries
	pos     int  // in in.Sel
	entry   types.Row
	cols    []*vector.Vector
	filter  vecexpr.Pred
	sel     [vector.BatchRows]uint16
}

// VectorizableIndexJoin reports whether CompileVectorIndexJoin has an operator for n, as Vectorizable does for
// scans.
func VectorizableIndexJoin(n *plan.IndexJoin) bool {
	once, _ := SplitOneTime(n.Filter, n.Cols)
	return once == nil && n.Locking == nil && n.Bound.Count == nil && Vectorizable(n.Input)
}

// CompileVectorIndexJoin compiles an index join for which VectorizableIndexJoin holds.
func CompileVectorIndexJoin(c *operator.Compiler, n *plan.IndexJoin) (operator.VectorOperator, error) {
	j := &vectorIndexJoin{entry: make(types.Row, len(n.Input.Cols))}
	var err error
	if j.entries, err = CompileVectors(c, n.Input); err != nil {
		return nil, err
	}
	if j.behind, err = newRowsBehind(c, n); err != nil {
		return nil, err
	}
	if n.Unordered {
		j.sorted, err = newSortedRows(c, n, j.behind)
		return j, err
	}
	j.many = NewLookups(&j.behind.rows)
	for range n.Cols {
		j.cols = append(j.cols, &vector.Vector{})
	}
	j.filter, err = vecexpr.Compiler{Rows: &c.Compiler, Scope: expr.ScopeOf(n.Cols)}.Pred(n.Filter)
	return j, err
}

// Open implements VectorOperator.
func (j *vectorIndexJoin) Open() error {
	j.in.N, j.in.Sel, j.in.Err, j.pos, j.ended = 0, nil, nil, 0, false
	if j.sorted != nil {
		j.sorted.open()
	}
	return j.entries.Open()
}

// Close implements VectorOperator.
func (j *vectorIndexJoin) Close() {
	j.entries.Close()
	if j.sorted != nil {
		j.sorted.close()
	} else {
		j.many.Release()
	}
}

// Next implements VectorOperator.
func (j *vectorIndexJoin) Next(b *vector.Batch) error {
	if j.sorted != nil {
		return j.nextSorted(b)
	}
	b.N, b.Sel, b.Cols, b.Err = 0, nil, j.cols, nil
	for b.N == 0 {
		if more, err := j.nextRead(b); err != nil || !more {
			return err
		}
	}
	vecexpr.Select(b, j.filter, j.sel[:0])
	return nil
}

// nextRead reads rows in the order of the entries. It reports whether there may be more.
func (j *vectorIndexJoin) nextRead(b *vector.Batch) (more bool, err error) {
	if j.pos == len(j.in.Sel) {
		return j.nextEntries()
	}
	return true, j.read(b)
}

// nextSorted reads rows in the order of their keys, of many entries at a time.
func (j *vectorIndexJoin) nextSorted(b *vector.Batch) error {
	for {
		if err := j.sorted.read(b); err != nil || b.N > 0 {
			return err
		}
		j.sorted.forget()
		if err := j.gather(); err != nil || j.sorted.keys.Len() == 0 {
			return err
		}
		if err := j.sorted.sort(); err != nil {
			return err
		}
	}
}

// gather gathers entries until there are many, or no more.
func (j *vectorIndexJoin) gather() error {
	for !j.sorted.full() {
		if j.pos < len(j.in.Sel) {
			j.setEntry(j.in.Sel[j.pos])
			j.pos++
			if err := j.sorted.gather(j.entry); err != nil {
				return err
			}
		} else if more, err := j.nextEntries(); err != nil || !more {
			return err
		}
	}
	return nil
}

// nextEntries takes the next batch of entries. It reports whether there is one.
func (j *vectorIndexJoin) nextEntries() (bool, error) {
	if j.in.Err != nil || j.ended {
		return false, j.in.Err
	}
	j.pos = 0
	err := j.entries.Next(&j.in)
	j.ended = err == nil && j.in.N == 0
	return err == nil && j.in.N > 0, err
}

// setEntry sets the key columns of the entry at position i of the input.
func (j *vectorIndexJoin) setEntry(i uint16) {
	for _, p := range j.behind.key {
		j.entry[p] = j.in.Cols[p].Datum(i)
	}
}

// read reads the rows behind the next entries at hand, which are fewer if these rows are large.
func (j *vectorIndexJoin) read(b *vector.Batch) error {
	j.many.Reset()
	next := j.in.Sel[j.pos:]
	for _, i := range next {
		j.setEntry(i)
		if err := j.behind.ask(j.many, j.entry); err != nil {
			return err
		}
	}
	if err := j.many.Fetch(); err != nil {
		return err
	}
	j.behind.dec.Reset(j.cols, len(next))
	held := 0
	for k := 0; k < len(next) && held < maxLookedUpBytes; k++ {
		j.pos++
		value, found, err := j.many.Get(j.many.Key(k))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := j.behind.dec.Decode(j.many.Key(k), value, j.cols, uint16(b.N)); err != nil {
			return err
		}
		held += len(value)
		b.N++
	}
	b.Sel = vector.All(b.N)
	return nil
}
