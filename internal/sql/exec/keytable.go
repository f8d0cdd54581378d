package exec

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// keyTable numbers distinct keys in order of their first appearance. NULLs are
// equal to each other, as in GROUP BY.
type keyTable struct {
	types  []*types.T
	single bool // one column whose value is an int64
	ints   map[int64]int32
	strs   map[string]int32
	null   int32 // number of the NULL key when single, -1 if there is none
	n      int32
	buf    []byte
	text   arena
	run    *run
	acc    quota.Account
}

func newKeyTable(ts []*types.T) keyTable {
	t := keyTable{types: ts}
	if len(ts) == 1 {
		switch ts[0].Family {
		case types.IntFamily, types.DateFamily, types.TimestampFamily, types.TimestampTZFamily, types.BoolFamily:
			t.single = true
		}
	}
	return t
}

// keepKeys is how large a map may be that is kept for the next use.
const keepKeys = 1024

func (t *keyTable) open(r *run) {
	t.close()
	t.run = r
	t.acc.Init(r.Mem)
	switch {
	case t.single && t.ints == nil:
		t.ints = map[int64]int32{}
	case !t.single && t.strs == nil:
		t.strs = map[string]int32{}
	}
}

func (t *keyTable) close() {
	t.acc.Close()
	if t.n > keepKeys {
		t.ints, t.strs = nil, nil
	}
	clear(t.ints)
	clear(t.strs)
	t.null, t.n = -1, 0
	t.text.reset()
}

// encode sets buf to the key of the given values; it fails when the statement is cancelled.
func (t *keyTable) encode(vals types.Row) error {
	t.buf = t.buf[:0]
	for i := range vals {
		if vals[i].IsNull() {
			t.buf = append(t.buf, 0)
			continue
		}
		t.buf = types.AppendHashKeyTyped(append(t.buf, 1), t.types[i], vals[i], t.run.Builtin.Format)
	}
	return t.run.Builtin.Step(0)
}

// find returns the number of a key, -1 if it is not there.
func (t *keyTable) find(vals types.Row) (int32, error) {
	if t.single {
		if vals[0].IsNull() {
			return t.null, nil
		}
		if i, ok := t.ints[vals[0].Int()]; ok {
			return i, nil
		}
		return -1, nil
	}
	if err := t.encode(vals); err != nil {
		return -1, err
	}
	if i, ok := t.strs[string(t.buf)]; ok {
		return i, nil
	}
	return -1, nil
}

// put returns the number of a key, and whether it is new.
func (t *keyTable) put(vals types.Row) (i int32, added bool, err error) {
	if i, err = t.find(vals); i >= 0 || err != nil {
		return i, false, err
	}
	if err := t.acc.Grow(expr.MapEntrySize); err != nil {
		return 0, false, expr.MemoryError(err)
	}
	i = t.n
	t.n++
	switch {
	case !t.single:
		key, err := t.text.copyString(viewString(t.buf), &t.acc)
		if err != nil {
			return 0, false, expr.MemoryError(err)
		}
		t.strs[key] = i
	case vals[0].IsNull():
		t.null = i
	default:
		t.ints[vals[0].Int()] = i
	}
	return i, true, nil
}
