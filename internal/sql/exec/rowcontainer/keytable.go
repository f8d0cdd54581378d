package rowcontainer

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// KeyTable numbers distinct keys in order of their first appearance. NULLs are
// equal to each other, as in GROUP BY.
type KeyTable struct {
	types  []*types.T
	single bool // one column whose value is an int64
	ints   map[int64]int32
	strs   map[string]int32
	null   int32 // number of the NULL key when single, -1 if there is none
	n      int32
	buf    []byte
	text   Arena
	state  *expr.State
	Acc    quota.Account
}

// NewKeyTable returns a table for keys of the given types.
func NewKeyTable(ts []*types.T) KeyTable {
	t := KeyTable{types: ts}
	if len(ts) == 1 {
		switch ts[0].Family {
		case types.IntFamily, types.DateFamily, types.TimestampFamily, types.TimestampTZFamily, types.BoolFamily:
			t.single = true
		}
	}
	return t
}

// ExpectFew says that there are many such tables, each with few keys.
func (t *KeyTable) ExpectFew() { t.text.start = fewBytes }

// keepKeys is how large a map may be that is kept for the next use.
const keepKeys = 1024

// Open empties the table and binds it to an execution.
func (t *KeyTable) Open(st *expr.State) {
	t.Close()
	t.state = st
	t.Acc.Init(st.Mem)
	switch {
	case t.single && t.ints == nil:
		t.ints = map[int64]int32{}
	case !t.single && t.strs == nil:
		t.strs = map[string]int32{}
	}
}

// Close gives the memory back.
func (t *KeyTable) Close() {
	t.Acc.Close()
	if t.n > keepKeys {
		t.ints, t.strs = nil, nil
	}
	clear(t.ints)
	clear(t.strs)
	t.null, t.n = -1, 0
	t.text.reset()
}

// encode sets buf to the key of the given values; it fails when the statement is cancelled.
func (t *KeyTable) encode(vals types.Row) error {
	t.buf = t.buf[:0]
	for i := range vals {
		if vals[i].IsNull() {
			t.buf = append(t.buf, 0)
			continue
		}
		t.buf = types.AppendHashKeyTyped(append(t.buf, 1), t.types[i], vals[i], t.state.Builtin.Format)
	}
	return t.state.Builtin.Step(0)
}

// Find returns the number of a key, -1 if it is not there.
func (t *KeyTable) Find(vals types.Row) (int32, error) {
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

// Put returns the number of a key, and whether it is new. After an error the table is as before.
func (t *KeyTable) Put(vals types.Row) (i int32, added bool, err error) {
	if i, err = t.Find(vals); i >= 0 || err != nil {
		return i, false, err
	}
	if err := t.Acc.Grow(expr.MapEntrySize); err != nil {
		return 0, false, expr.MemoryError(err)
	}
	i = t.n
	switch {
	case !t.single:
		key, err := t.text.copyString(viewString(t.buf), &t.Acc)
		if err != nil {
			t.Acc.Shrink(expr.MapEntrySize)
			return 0, false, expr.MemoryError(err)
		}
		t.strs[key] = i
	case vals[0].IsNull():
		t.null = i
	default:
		t.ints[vals[0].Int()] = i
	}
	t.n++
	return i, true, nil
}
