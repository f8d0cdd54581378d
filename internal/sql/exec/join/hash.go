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
	nullAware          bool
	hasNull            bool
	cur                int32
}

func newHashRight(c *operator.Compiler, n *plan.Join, right *operator.Source, ls, rs expr.Scope) (candidates, error) {
	h := &hashRight{run: c.Run, src: right, nullAware: n.NullAware, vals: make(types.Row, len(n.LeftKeys))}
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
	h.table.Open(&h.run.State)
	h.first, h.last, h.after, h.hasNull = h.first[:0], h.last[:0], h.after[:0], false
	if err := fillStore(h.run, h.src, &h.store); err != nil {
		return err
	}
	if err := h.table.Acc.Grow(int64(h.store.Len()) * 12); err != nil {
		return expr.MemoryError(err)
	}
	for i, row := range h.store.Rows {
		if err := h.run.Tick(); err != nil {
			return err
		}
		h.after = append(h.after, -1)
		ok, err := h.keyOf(h.rightKeys, row)
		if err != nil {
			return err
		}
		if !ok {
			h.hasNull = true
			continue
		}
		k, added, err := h.table.Put(h.vals)
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

func (h *hashRight) begin(left types.Row) error {
	h.cur = -1
	ok, err := h.keyOf(h.leftKeys, left)
	if err != nil {
		return err
	}
	if h.nullAware && h.store.Len() > 0 && (!ok || h.hasNull) {
		// NOT IN with a NULL on either side is not true: as if there were a match.
		h.cur = 0
		return nil
	}
	if !ok {
		return nil
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
	return nonNil(h.store.Rows[i]), int(i), nil
}

func (h *hashRight) stored() []types.Row { return h.store.Rows }

func (h *hashRight) empty() bool { return h.store.Len() == 0 }

func (h *hashRight) close() {
	h.src.Stop()
	h.store.Close()
	h.table.Close()
	h.first, h.last, h.after = nil, nil, nil
}
