package rowcontainer

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Sorter sorts rows by way of abbreviated keys: eight bytes of the first key
// that order as it does, so that most comparisons look at nothing else.
type Sorter struct{ items []sortItem }

type sortItem struct {
	abbrev uint64
	row    types.Row
}

// SortItemSize is the memory that sorting takes for each row.
const SortItemSize = int64(unsafe.Sizeof(sortItem{}))

// Abbreviations of NULLs; those of values lie between or tie with them, and ties
// are decided by the whole comparison.
const (
	abbrevFirst = 0
	abbrevLast  = math.MaxUint64
)

// keepItems is how much room a sorter keeps between uses.
const keepItems = 1024

// Sort sorts rows; equal ones come in any order, as in PostgreSQL. It fails when the
// Statement is canceled.
func (s *Sorter) Sort(st *expr.State, rows []types.Row, o Ordering) error {
	if len(rows) < 2 {
		return nil
	}
	var canceled error
	goesOn := func() bool {
		if canceled == nil {
			canceled = st.Tick()
		}
		if canceled == nil {
			canceled = st.Builtin.Stopped()
		}
		return canceled == nil
	}
	compare := func(a, b types.Row) int {
		if !goesOn() {
			return 0 // so that the sort ends soon
		}
		return o.Compare(a, b)
	}
	if len(o) == 0 || o[0].abbrev == nil {
		slices.SortFunc(rows, compare)
		goesOn() // unless the last comparison was cut short
		return canceled
	}
	s.items = s.items[:0]
	k := &o[0]
	for _, row := range rows {
		if !goesOn() {
			break
		}
		s.items = append(s.items, sortItem{k.abbreviate(row[k.pos]), row})
	}
	slices.SortFunc(s.items, func(a, b sortItem) int {
		switch {
		case !goesOn():
			return 0
		case a.abbrev < b.abbrev:
			return -1
		case a.abbrev > b.abbrev:
			return 1
		}
		return o.Compare(a.row, b.row)
	})
	if goesOn() {
		for i := range s.items {
			rows[i] = s.items[i].row
		}
	}
	clear(s.items)
	if cap(s.items) > keepItems {
		s.items = nil
	}
	return canceled
}

// abbreviate returns the abbreviated key of a value.
func (k *OrderKey) abbreviate(d types.Datum) uint64 {
	if d.IsNull() {
		if k.NullsFirst {
			return abbrevFirst
		}
		return abbrevLast
	}
	if k.Desc {
		return ^k.abbrev(d)
	}
	return k.abbrev(d)
}

// abbrevOf returns how to abbreviate values of a type, nil for not at all.
func abbrevOf(t *types.T) func(types.Datum) uint64 {
	if !expr.Simple(t) {
		return nil
	}
	switch t.Family {
	case types.FloatFamily:
		return func(d types.Datum) uint64 {
			f := d.Float()
			u := math.Float64bits(f)
			switch {
			case f != f:
				return math.MaxUint64
			case f == 0:
				return 1 << 63
			case u>>63 != 0:
				return ^u
			}
			return u | 1<<63
		}
	case types.StringFamily, types.BytesFamily, types.UUIDFamily:
		if t.Oid == types.Bpchar.Oid {
			return abbrevPadded
		}
		return func(d types.Datum) uint64 { return abbrevString(d.Str()) }
	}
	return func(d types.Datum) uint64 { return uint64(d.Int()) ^ 1<<63 }
}

// abbrevString takes the first eight bytes.
func abbrevString(s string) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64(viewBytes(s))
	}
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// abbrevPadded takes the first eight bytes without trailing blanks.
func abbrevPadded(d types.Datum) uint64 {
	s := d.Str()
	if len(s) > 8 && s[7] != ' ' {
		return abbrevString(s)
	}
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return abbrevString(s[:n])
}
