package join

import (
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// divideAll reads the left side into partitions, and begins with the first round. Open may have read the
// first batch.
func (j *vectorHash) divideAll() error {
	for {
		if len(j.batch.Sel) == 0 && j.batch.Err == nil {
			if err := j.nextLeft(); err != nil {
				return err
			}
		}
		if j.done {
			break
		}
		if err := j.divideLeft(); err != nil {
			return err
		}
	}
	j.left.Close()
	_, err := j.nextRound()
	return err
}

// divideLeft puts the rows of the left batch into their partitions.
func (j *vectorHash) divideLeft() error {
	f := vecexpr.FrameOf(&j.batch)
	for i, k := range j.keys {
		j.vals[i] = k.Eval(&f)
	}
	for _, i := range f.Sel {
		if anyNull(j.vals, i) && !keepsLeft(j.kind) {
			continue
		}
		j.wide = rowcontainer.AppendRow(j.wide[:0], j.batch.Cols, i)
		if err := j.rounds.parts.AddTo(rowcontainer.ProbeSide, j.right.table.Hash(j.vals, i), j.wide); err != nil {
			return err
		}
	}
	j.batch.Sel = nil
	return f.Err
}

// nextRound begins with the next round; false if there is none.
func (j *vectorHash) nextRound() (bool, error) {
	j.seen = nil
	more, err := j.rounds.next(j)
	if !more || err != nil {
		return false, err
	}
	j.done, j.tail, j.carried = false, -1, false
	j.batch.N, j.batch.Sel, j.batch.Err, j.pos, j.ready, j.cand = 0, nil, nil, 0, 0, atStart
	j.rows = rowcontainer.NewVectorReader(j.rounds.left, j.families)
	if keepsRight(j.kind) {
		j.seen = make([]bool, j.right.store.Len())
	}
	return true, nil
}

// note notes that the left row at i has a match.
func (j *vectorHash) note(i uint16) {
	if j.rounds.matched != nil {
		j.rounds.note(j.batchRow + int(i))
	}
}

// noted reports whether the left row at i has a match in a round before.
func (j *vectorHash) noted(i uint16) bool {
	return j.rounds.matched != nil && j.rounds.noted(j.batchRow+int(i))
}

// load implements table.
func (j *vectorHash) load(r *rowcontainer.FileReader) (all bool, err error) { return j.right.load(r) }

// used implements table.
func (j *vectorHash) used() int64 { return j.right.used() }

// HashMethod says how the join went through temporary files, if it did.
func (j *vectorHash) HashMethod() plan.HashMethod { return j.rounds.method() }

// divide implements table.
func (j *vectorHash) divide(_, left *rowcontainer.FileReader) error {
	if err := j.right.divideRest(); err != nil {
		return err
	}
	rows := rowcontainer.NewVectorReader(left, j.families)
	for {
		if err := j.run.Canceled(); err != nil {
			return err
		}
		if err := rows.Next(&j.batch, j.run.BatchRows); err != nil || j.batch.N == 0 {
			return err
		}
		if err := j.divideLeft(); err != nil {
			return err
		}
	}
}

// load replaces the rows in memory with the next ones of r, and reports whether all found memory.
func (h *buildSide) load(r *rowcontainer.FileReader) (all bool, err error) {
	h.clear()
	if !h.ahead {
		h.reader = rowcontainer.NewVectorReader(r, h.families)
	}
	for {
		if err := h.run.Canceled(); err != nil {
			return false, err
		}
		if !h.ahead {
			if err := h.reader.Next(&h.batch, h.run.BatchRows); err != nil || h.batch.N == 0 {
				return true, err
			}
		}
		if h.ahead = !h.room(&h.batch); h.ahead {
			return false, nil
		}
		if err := h.add(&h.batch); err != nil {
			return false, err
		}
	}
}

// divideRest moves the rows in memory, the batch that found none, and those that are left of the partition to
// smaller partitions.
func (h *buildSide) divideRest() error {
	if err := h.divideStored(); err != nil {
		return err
	}
	h.ahead = false
	for h.batch.N > 0 {
		if err := h.run.Canceled(); err != nil {
			return err
		}
		if err := h.divide(&h.batch); err != nil {
			return err
		}
		if err := h.reader.Next(&h.batch, h.run.BatchRows); err != nil {
			return err
		}
	}
	return h.rounds.parts.End(rowcontainer.BuildSide)
}

// divideStored moves the rows in memory to partitions.
func (h *buildSide) divideStored() error {
	for c := range h.store.Chunks() {
		var b vector.Batch
		h.store.Chunk(c, &b)
		if err := h.divide(&b); err != nil {
			return err
		}
	}
	h.clear()
	return nil
}

// divide puts the rows of a batch into their partitions.
func (h *buildSide) divide(b *vector.Batch) error {
	f := vecexpr.FrameOf(b)
	for i, k := range h.keys {
		h.vals[i] = k.Eval(&f)
	}
	if f.Err != nil {
		return f.Err
	}
	for _, i := range b.Sel {
		if !keepsRight(h.rounds.kind) && anyNull(h.vals, i) {
			continue
		}
		h.wide = rowcontainer.AppendRow(h.wide[:0], b.Cols, i)
		if err := h.rounds.parts.AddTo(rowcontainer.BuildSide, h.table.Hash(h.vals, i), h.wide); err != nil {
			return err
		}
	}
	return nil
}
