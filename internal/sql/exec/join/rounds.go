package join

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// rounds joins two sides in temporary files: a hash join whose right rows find no memory divides both sides
// by the hash of the key, and joins partition by partition. A round joins right rows in memory with the
// left rows of their partition. There is one for each partition, or several where the right rows of one key
// find no memory: each takes as many of them as do, and all left rows.
type rounds struct {
	kind   plan.JoinKind
	parts  rowcontainer.Partitions
	spills bool                     // both sides go to partitions
	right  *rowcontainer.FileReader // the right rows that no round of the partition has taken
	left   *rowcontainer.FileReader // the left rows of the round
	last   bool                     // the round is the last one of its partition
	// matched has the left rows for which a round of the partition found a match; nil if there is one round.
	matched []uint64
	acc     quota.Account
	memory  int64 // that right rows took at most
}

// table is the right side of a round.
type table interface {
	// load replaces the rows in memory with the next ones of r, and reports whether all found memory.
	load(r *rowcontainer.FileReader) (all bool, err error)
	// divide adds the rows in memory, those that r has left, and the left rows to the partitions.
	divide(r, left *rowcontainer.FileReader) error
	// used returns what the rows in memory take.
	used() int64
}

// open prepares for sides with rows of the given widths.
func (r *rounds) open(st *expr.State, kind plan.JoinKind, leftWidth, rightWidth int) {
	r.close()
	r.kind, r.memory = kind, 0
	r.acc.Init(st.Mem)
	r.parts.Open(st, rightWidth, leftWidth)
}

func (r *rounds) close() {
	r.parts.Close()
	r.acc.Close()
	r.right, r.left, r.matched, r.spills, r.last = nil, nil, nil, false, true
}

// next begins with the next round; false if there is none.
func (r *rounds) next(t table) (bool, error) {
	for r.spills {
		if r.last || r.right == nil {
			if more, err := r.nextPartition(); err != nil || !more {
				return false, err
			}
		}
		all, err := t.load(r.right)
		if err != nil {
			return false, err
		}
		r.memory = max(r.memory, t.used())
		r.left = r.parts.Read(rowcontainer.ProbeSide)
		if all || !r.parts.Divisible() {
			r.last = all
			return true, nil
		}
		if err := t.divide(r.right, r.left); err != nil {
			return false, err
		}
		r.right = nil
	}
	return false, nil
}

// nextPartition goes to the next partition that may yield rows; false if there is none.
func (r *rounds) nextPartition() (bool, error) {
	for {
		var err error
		if r.right, err = r.parts.Next(); err != nil || r.right == nil {
			return false, err
		}
		r.acc.Close()
		r.matched = nil
		rights, lefts := r.parts.Rows(rowcontainer.BuildSide), r.parts.Rows(rowcontainer.ProbeSide)
		if (lefts > 0 || keepsRight(r.kind)) && (rights > 0 || keepsLeft(r.kind)) {
			return true, r.remember()
		}
	}
}

// remember has matches of left rows remembered from one round of the partition to the next, if there may
// be several.
func (r *rounds) remember() error {
	if r.parts.Divisible() {
		return nil
	}
	n := (r.parts.Rows(rowcontainer.ProbeSide) + 63) / 64
	if err := r.acc.Grow(8 * int64(n)); err != nil {
		return expr.MemoryError(err)
	}
	r.matched = make([]uint64, n)
	return nil
}

// method says how the join went through temporary files, if it did.
func (r *rounds) method() plan.HashMethod {
	batches, disk := r.parts.Written()
	return plan.HashMethod{Batches: batches, Memory: r.memory, Disk: disk}
}

// note notes that left row i of the round has a match.
func (r *rounds) note(i int) {
	if r.matched != nil {
		r.matched[i/64] |= 1 << (i % 64)
	}
}

// noted reports whether left row i of the round has a match in a round before.
func (r *rounds) noted(i int) bool {
	return r.matched != nil && r.matched[i/64]&(1<<(i%64)) != 0 && !plant.On(plant.MatchForgotten)
}
