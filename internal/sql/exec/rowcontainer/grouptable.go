package rowcontainer

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// GroupTable numbers distinct keys of vectors in order of their first appearance, as KeyTable does
// those of rows. It refers to no memory but its own slices, which hold no pointers.
type GroupTable struct {
	types  []*types.T
	single bool // one column whose value is an int64
	slots  []int32
	hashes []uint64 // of each key
	ints   []int64  // the keys, if single
	ends   []int    // where each key ends in keys, if not
	keys   []byte
	null   int32 // the number of the NULL key when single, -1 if there is none
	n      int32
	buf    []byte
	fresh  vector.Selection
	rows   [vector.BatchRows]uint16
	seed   maphash.Seed
	state  *expr.State
	acc    quota.Account
	paid   int64
}

// leastSlots is how many slots a table has at first; it is a power of two.
const leastSlots = 256

// NewGroupTable returns a table for keys of the given types.
func NewGroupTable(ts []*types.T) GroupTable {
	return GroupTable{
		types: ts, seed: maphash.MakeSeed(),
		single: len(ts) == 1 && vector.KindOf(ts[0].Family) == vector.Ints,
	}
}

// Open empties the table and binds it to an execution.
func (t *GroupTable) Open(st *expr.State) {
	t.Close()
	t.state = st
	t.acc.Init(st.Mem)
	t.acc.AsksForRoom()
	t.slots = make([]int32, leastSlots)
}

// Close gives the memory back.
func (t *GroupTable) Close() {
	t.acc.Close()
	t.paid = 0
	t.slots, t.hashes, t.ints, t.ends, t.keys = nil, nil, nil, nil, nil
	t.null, t.n = -1, 0
}

// Used returns what the keys take.
func (t *GroupTable) Used() int64 { return t.acc.Used() }

// Len returns how many keys there are.
func (t *GroupTable) Len() int { return int(t.n) }

// Number sets out[i], for each i of sel, to the number of the key that cols have there. It returns the
// positions whose keys are new.
func (t *GroupTable) Number(cols []*vector.Vector, sel vector.Selection, out []int32) (fresh vector.Selection, err error) {
	t.fresh = t.rows[:0]
	if t.single {
		if err := t.numberInts(cols[0], sel, out); err != nil {
			return nil, err
		}
	} else if err := t.numberKeys(cols, sel, out); err != nil {
		return nil, err
	}
	return t.fresh, t.pay()
}

// Find sets out[i], for each i of sel, to the number of the key that cols have there, -1 if it is not in
// the table.
func (t *GroupTable) Find(cols []*vector.Vector, sel vector.Selection, out []int32) error {
	for _, i := range sel {
		if t.single {
			out[i] = t.findInt(cols[0], i)
			continue
		}
		t.encode(cols, i)
		if err := t.state.Builtin.Step(0); err != nil {
			return err
		}
		_, out[i] = t.probeKey(maphash.Bytes(t.seed, t.buf))
	}
	return nil
}

func (t *GroupTable) findInt(v *vector.Vector, i uint16) int32 {
	if v.Nulls.Has(i) {
		return t.null
	}
	_, g := t.probeInt(v.Ints[i], mix(uint64(v.Ints[i])))
	return g
}

// probeInt returns the number of an integer with the hash h, -1 and the slot for it if it is new.
func (t *GroupTable) probeInt(k int64, h uint64) (at uint64, g int32) {
	at = h & uint64(len(t.slots)-1)
	for g = t.slots[at] - 1; g >= 0 && t.ints[g] != k; g = t.slots[at] - 1 {
		at = (at + 1) & uint64(len(t.slots)-1)
	}
	return at, g
}

// probeKey is probeInt for the key in buf.
func (t *GroupTable) probeKey(h uint64) (at uint64, g int32) {
	at = h & uint64(len(t.slots)-1)
	for g = t.slots[at] - 1; g >= 0 && (t.hashes[g] != h || !bytes.Equal(t.key(g), t.buf)); g = t.slots[at] - 1 {
		at = (at + 1) & uint64(len(t.slots)-1)
	}
	return at, g
}

// pay reserves memory for what the table has grown by, its keys aside, which are paid for one by one.
func (t *GroupTable) pay() error {
	size := int64(4*cap(t.slots) + 8*cap(t.hashes) + 8*cap(t.ints) + 8*cap(t.ends))
	if size <= t.paid {
		return nil
	}
	if err := t.acc.Grow(size - t.paid); err != nil {
		return expr.MemoryError(err)
	}
	t.paid = size
	return nil
}

func (t *GroupTable) numberInts(v *vector.Vector, sel vector.Selection, out []int32) error {
	for _, i := range sel {
		if v.Nulls.Has(i) {
			if t.null < 0 {
				t.null = t.add(i, 0)
				t.ints = append(t.ints, 0)
			}
			out[i] = t.null
			continue
		}
		k := v.Ints[i]
		h := mix(uint64(k))
		at, g := t.probeInt(k, h)
		if g < 0 {
			g = t.add(i, h)
			t.ints = append(t.ints, k)
			if err := t.put(at, g); err != nil {
				return err
			}
		}
		out[i] = g
	}
	return nil
}

// mix spreads the bits of an integer (the finalizer of splitmix64, Steele et al. 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (t *GroupTable) numberKeys(cols []*vector.Vector, sel vector.Selection, out []int32) error {
	for _, i := range sel {
		t.encode(cols, i)
		if err := t.state.Builtin.Step(0); err != nil {
			return err
		}
		h := maphash.Bytes(t.seed, t.buf)
		at, g := t.probeKey(h)
		if g < 0 {
			if err := t.acc.Grow(int64(len(t.buf))); err != nil {
				return expr.MemoryError(err)
			}
			g = t.add(i, h)
			t.keys = append(t.keys, t.buf...)
			t.ends = append(t.ends, len(t.keys))
			if err := t.put(at, g); err != nil {
				return err
			}
		}
		out[i] = g
	}
	return nil
}

func (t *GroupTable) key(g int32) []byte {
	start := 0
	if g > 0 {
		start = t.ends[g-1]
	}
	return t.keys[start:t.ends[g]]
}

// encode sets buf to the key at i.
func (t *GroupTable) encode(cols []*vector.Vector, i uint16) {
	t.buf = t.buf[:0]
	for c, v := range cols {
		switch {
		case v.Nulls.Has(i):
			t.buf = append(t.buf, 0)
		case v.Kind == vector.Ints:
			t.buf = binary.LittleEndian.AppendUint64(append(t.buf, 1), uint64(v.Ints[i]))
		default:
			t.buf = types.AppendHashKeyTyped(append(t.buf, 1), t.types[c], v.Datum(i), t.state.Builtin.Format)
		}
	}
}

// add gives the next number to the key at i.
func (t *GroupTable) add(i uint16, h uint64) int32 {
	t.fresh = append(t.fresh, i)
	t.hashes = append(t.hashes, h)
	t.n++
	return t.n - 1
}

// put takes the slot at for key g, and doubles the table when it is half full. After an error, which
// ends the statement, the table is of no use.
func (t *GroupTable) put(at uint64, g int32) error {
	t.slots[at] = g + 1
	if 2*int(t.n) < len(t.slots) {
		return nil
	}
	t.slots = make([]int32, 2*len(t.slots))
	for g, h := range t.hashes {
		if err := t.state.Tick(); err != nil {
			return err
		}
		if t.single && int32(g) == t.null {
			continue
		}
		at := h & uint64(len(t.slots)-1)
		for t.slots[at] != 0 {
			at = (at + 1) & uint64(len(t.slots)-1)
		}
		t.slots[at] = int32(g) + 1
	}
	return nil
}
