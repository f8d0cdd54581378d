package join

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// hashRight finds rows by equal keys in a hash table.
type hashRight struct {
	run                 *operator.Run
	src                 *operator.Source
	leftKeys, rightKeys []expr.Func
	vals                types.Row
	table               rowcontainer.KeyTable
	store               rowcontainer.Store
	// first[k] and after[i] chain the stored rows of key k; -1 ends a chain.
	first, last, after []int32
	kind               plan.JoinKind
	leftWidth          int
	rounds             rounds
	ahead              types.Row // the row that the last load found no memory for
	some               bool      // there are right rows
	cur                int32
}

func newHashRight(c *operator.Compiler, n *plan.Join, right *operator.Source, ls, rs expr.Scope) (*hashRight, error) {
	h := &hashRight{
		run: c.Run, src: right, kind: n.Kind, leftWidth: len(ls), vals: make(types.Row, len(n.LeftKeys)),
	}
	var err error
	if h.leftKeys, err = c.Exprs(n.LeftKeys, ls); err != nil {
		return nil, err
	}
	if h.rightKeys, err = c.Exprs(n.RightKeys, rs); err != nil {
		return nil, err
	}
	h.table = rowcontainer.NewKeyTable(expr.Types(n.RightKeys))
	return h, nil
}

// keyOf evaluates key expressions; false if one is NULL: it equals nothing.
func (h *hashRight) keyOf(fns []expr.Func, row types.Row) (bool, error) {
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
	h.rounds.open(&h.run.State, h.kind, h.leftWidth, h.src.Width)
	h.some = false
	h.clear()
	if err := h.src.Start(); err != nil {
		return err
	}
	for {
		row, err := h.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			h.src.Stop()
			return h.rounds.parts.End(rowcontainer.BuildSide)
		}
		if err := h.take(row); err != nil {
			return err
		}
	}
}

// clear forgets the rows in memory.
func (h *hashRight) clear() {
	h.store.Open(&h.run.State, h.src.Width)
	h.table.Open(&h.run.State)
	h.first, h.last, h.after, h.ahead = h.first[:0], h.last[:0], h.after[:0], nil
}

// take takes a right row: into memory or, once that has ended, into its partition.
func (h *hashRight) take(row types.Row) error {
	h.some = true
	if !h.rounds.spills {
		kept, err := h.keep(row)
		if kept || err != nil {
			return err
		}
		h.rounds.spills, h.rounds.memory = true, h.used()
		if err := h.divideStored(); err != nil {
			return err
		}
	}
	return h.divideRight(row)
}

// keep takes a row into memory, and reports whether there was enough.
func (h *hashRight) keep(row types.Row) (bool, error) {
	used := h.used()
	if h.store.Len() > 0 && h.run.Full(used) {
		return false, nil
	}
	n := h.store.Len()
	err := h.add(row)
	if n > 0 && h.run.Refused(err, used) {
		h.store.Rows = h.store.Rows[:n]
		return false, nil
	}
	return err == nil, err
}

// used is what the rows in memory take.
func (h *hashRight) used() int64 { return h.store.Acc.Used() + h.table.Acc.Used() }

// chainSize is what a row takes in the chains.
const chainSize = 12

// add takes a row into memory.
func (h *hashRight) add(row types.Row) error {
	ok, err := h.keyOf(h.rightKeys, row)
	if err != nil {
		return err
	}
	if err := h.table.Acc.Grow(chainSize); err != nil {
		return expr.MemoryError(err)
	}
	i := int32(h.store.Len())
	if _, err := h.store.Add(row); err != nil {
		return err
	}
	if !ok {
		h.after = append(h.after, -1)
		return nil
	}
	k, added, err := h.table.Put(h.vals)
	if err != nil {
		return err
	}
	h.after = append(h.after, -1)
	if added {
		h.first, h.last = append(h.first, i), append(h.last, i)
		return nil
	}
	h.after[h.last[k]] = i
	h.last[k] = i
	return nil
}

// hash returns the hash of the key of a row; ok is false if the key is NULL in a part.
func (h *hashRight) hash(keys []expr.Func, row types.Row) (v uint64, ok bool, err error) {
	if ok, err = h.keyOf(keys, row); !ok || err != nil {
		return 0, false, err
	}
	v, err = h.table.HashOf(h.vals)
	return v, true, err
}

// divideRight puts a right row into its partition.
func (h *hashRight) divideRight(row types.Row) error {
	v, ok, err := h.hash(h.rightKeys, row)
	if err != nil || !ok && !keepsRight(h.kind) {
		return err
	}
	return h.rounds.parts.AddTo(rowcontainer.BuildSide, v, row)
}

// divideLeft puts a left row into its partition.
func (h *hashRight) divideLeft(row types.Row) error {
	v, ok, err := h.hash(h.leftKeys, row)
	if err != nil || !ok && !keepsLeft(h.kind) {
		return err
	}
	return h.rounds.parts.AddTo(rowcontainer.ProbeSide, v, row)
}

// divideStored moves the rows in memory to partitions.
func (h *hashRight) divideStored() error {
	for _, row := range h.store.Rows {
		if err := h.run.Tick(); err != nil {
			return err
		}
		if err := h.divideRight(row); err != nil {
			return err
		}
	}
	h.clear()
	return nil
}

// load implements table.
func (h *hashRight) load(r *rowcontainer.FileReader) (all bool, err error) {
	row := h.ahead
	h.clear()
	for {
		if row == nil {
			if row, err = r.Next(); row == nil || err != nil {
				return true, err
			}
		}
		if err := h.run.Tick(); err != nil {
			return false, err
		}
		kept, err := h.keep(row)
		if err != nil {
			return false, err
		}
		if !kept {
			h.ahead = row
			return false, nil
		}
		row = nil
	}
}

// divide implements table.
func (h *hashRight) divide(r, left *rowcontainer.FileReader) error {
	ahead := h.ahead
	if err := h.divideStored(); err != nil {
		return err
	}
	if err := h.divideRight(ahead); err != nil {
		return err
	}
	if err := h.forEach(r, h.divideRight); err != nil {
		return err
	}
	if err := h.rounds.parts.End(rowcontainer.BuildSide); err != nil {
		return err
	}
	return h.forEach(left, h.divideLeft)
}

// forEach calls fn for the rows that r has left.
func (h *hashRight) forEach(r *rowcontainer.FileReader, fn func(types.Row) error) error {
	for {
		row, err := r.Next()
		if row == nil || err != nil {
			return err
		}
		if err := h.run.Tick(); err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

func (h *hashRight) begin(left types.Row) error {
	h.cur = -1
	ok, err := h.keyOf(h.leftKeys, left)
	if !ok || err != nil {
		return err
	}
	k, err := h.table.Find(h.vals)
	if k >= 0 {
		h.cur = h.first[k]
	}
	return err
}

func (h *hashRight) next() (types.Row, int, error) {
	if h.cur < 0 {
		return nil, 0, nil
	}
	i := h.cur
	h.cur = h.after[i]
	row, err := h.store.At(int(i))
	return row, int(i), err
}

func (h *hashRight) stored() storedRows { return &h.store }

func (h *hashRight) empty() bool { return !h.some }

func (h *hashRight) close() {
	h.src.Stop()
	h.store.Close()
	h.table.Close()
	h.rounds.close()
	h.first, h.last, h.after, h.ahead = nil, nil, nil, nil
}
