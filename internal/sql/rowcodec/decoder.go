package rowcodec

import (
	"encoding/binary"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Decoder reads chosen columns of an index's entries.
type Decoder struct {
	x *Index
	// keySlot[i] is where key column i goes, -1 to skip it; the slice ends with
	// the last column wanted.
	keySlot []int
	// want are the columns to look for in the value, by ascending id.
	want []wanted
	// missing are the columns among want that are not NULL in rows that lack them.
	missing []missing
	dir     directory
	parts   bool // a value may consist of several: see AppendPart
	width   int
	arena   []byte
}

// wanted is a column to find in the value.
type wanted struct {
	id     catalog.ColumnID
	slot   int
	family types.Family
}

// missing is the value of a column in rows that lack it.
type missing struct {
	slot  int
	value types.Datum
}

// NewDecoder returns a decoder that puts the columns at the positions ords of
// Table.Columns into a row, in that order. A column that the index does not
// hold reads NULL.
func (x *Index) NewDecoder(ords []int) *Decoder {
	d := &Decoder{x: x, parts: x.families != nil, width: len(ords)}
	keySlot := slices.Repeat([]int{-1}, len(x.Key))
	lastKey := -1
	for slot, ord := range ords {
		id := x.Table.Columns[ord].ID
		if !x.Has(id) && x.Table.Columns[ord].Virtual {
			continue // nobody reads it; who writes the row computes it
		}
		mustColumn(x.Has(id), id, x)
		if k := x.keyPosition(id); k >= 0 && x.Key[k].exact != never && !(x.unique && k >= x.Declared) {
			keySlot[k] = slot
			lastKey = max(lastKey, k)
		}
		i := slices.IndexFunc(x.stored, func(s storedColumn) bool { return s.id == id })
		if i >= 0 {
			d.want = append(d.want, wanted{id: id, slot: slot, family: x.Table.Columns[ord].Type.Family})
			if m := x.stored[i].missing; !m.IsNull() {
				d.missing = append(d.missing, missing{slot, m})
			}
		}
	}
	d.keySlot = keySlot[:lastKey+1]
	slices.SortFunc(d.want, func(a, b wanted) int { return int(a.id) - int(b.id) })
	return d
}

// Reset makes the arena free for reuse: rows decoded so far lose the strings
// that are in it.
func (d *Decoder) Reset() { d.arena = d.arena[:0] }

// Decode reads an entry into row, which must be as long as the ords given to
// NewDecoder. Columns the entry does not have become NULL, or what rows that lack them have.
func (d *Decoder) Decode(key, value []byte, row []types.Datum) error {
	row = row[:d.width]
	clear(row)
	for i := range d.missing {
		row[d.missing[i].slot] = d.missing[i].value
	}
	if len(d.keySlot) > 0 && !d.decodeKey(key, row) {
		return d.corrupt("key")
	}
	if len(d.want) > 0 && !d.decodeValue(value, row) {
		return d.corrupt("value")
	}
	return nil
}

func (d *Decoder) corrupt(what string) error {
	return pgerr.New(pgerr.DataCorrupted, "damaged %s in index \"%s\" of table \"%s\"", what, d.x.Desc.Name, d.x.Table.Name)
}

// keyColumns returns a reader that stands at the first column of a key.
func (d *Decoder) keyColumns(key []byte) (r keyReader, ok bool) {
	skip := len(d.x.prefix)
	if d.x.Desc.HashColumns > 0 {
		skip += bucketSize
	}
	if len(key) < skip {
		return r, false
	}
	return keyReader{b: key[skip:]}, true
}

func (d *Decoder) decodeKey(key []byte, row []types.Datum) bool {
	r, ok := d.keyColumns(key)
	if !ok {
		return false
	}
	for i, slot := range d.keySlot {
		k := &d.x.Key[i]
		if r.null() {
			continue
		}
		r.mask = 0
		if k.Desc {
			r.mask = 0xFF
		}
		if slot < 0 {
			r.skip(k.Type)
		} else {
			row[slot] = r.datum(k.Type, &d.arena)
		}
		if r.bad {
			return false
		}
	}
	return true
}

// decodeValue merges the value's columns with the wanted ones, both by id, in each of the
// parts of a row with several families.
func (d *Decoder) decodeValue(b []byte, row []types.Datum) bool {
	flags, b, ok := cutHeader(b)
	if !ok {
		return false
	}
	if flags&flagOffsets != 0 {
		return d.decodeDirectory(b, flags, row)
	}
	id, w := uint64(0), 0
	for len(b) > 0 {
		delta, n := uint64(b[0]), 1
		if delta >= 0x80 {
			if delta, n = binary.Uvarint(b); n <= 0 {
				return false
			}
		}
		if delta == partMark {
			if !d.parts {
				return false
			}
			b, id, w = b[n:], 0, 0
			continue
		}
		if delta > maxColumnID-id {
			return false
		}
		id += delta
		b = b[n:]
		for w < len(d.want) && uint64(d.want[w].id) < id {
			w++
		}
		if w == len(d.want) && !d.parts {
			return true
		}
		ok := false
		if w < len(d.want) && uint64(d.want[w].id) == id {
			rest, found := decodeInto(&row[d.want[w].slot], b, d.want[w].family)
			if !found {
				rest, found = storedNull(flags, b)
				row[d.want[w].slot] = types.Null
			}
			b, ok = rest, found
		} else {
			b, ok = skipEncoded(b)
		}
		if !ok {
			return false
		}
	}
	return true
}

// cutHeader returns the flags of a value and what follows its header. ok is false if this version does not know the value.
func cutHeader(value []byte) (flags byte, rest []byte, ok bool) {
	if len(value) < headerSize || value[0] != valueVersion || value[1]&^knownFlags != 0 {
		return 0, nil, false
	}
	return value[1], value[headerSize:], true
}

// maxColumnID bounds the ids in a value.
const maxColumnID = 1<<32 - 1

// decodeInto reads a datum of the given family: the forms of the common
// families inline, the others by types.DecodeEncoded.
func decodeInto(dst *types.Datum, b []byte, want types.Family) ([]byte, bool) {
	if len(b) == 0 || types.Family(b[0]) != want {
		return nil, false
	}
	switch want {
	case types.IntFamily:
		u, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return nil, false
		}
		*dst = types.NewInt(int64(u>>1) ^ -int64(u&1))
		return b[1+n:], true
	case types.StringFamily, types.BytesFamily:
		u, n := binary.Uvarint(b[1:])
		if n <= 0 || u > uint64(len(b)-1-n) {
			return nil, false
		}
		s := viewString(b[1+n : 1+n+int(u)])
		if want == types.StringFamily {
			*dst = types.NewString(s)
		} else {
			*dst = types.NewBytes(s)
		}
		return b[1+n+int(u):], true
	}
	d, rest, err := types.DecodeEncoded(viewString(b))
	if err != nil {
		return nil, false
	}
	*dst = d
	return b[len(b)-len(rest):], true
}

// storedNull passes over a NULL, in a value that may have some.
func storedNull(flags byte, b []byte) ([]byte, bool) {
	if flags&flagNulls == 0 || len(b) == 0 || types.Family(b[0]) != types.NullFamily {
		return nil, false
	}
	return b[1:], true
}

// skipEncoded passes over one encoded datum.
func skipEncoded(b []byte) ([]byte, bool) {
	if len(b) == 0 {
		return nil, false
	}
	switch types.Family(b[0]) {
	case types.IntFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		for i := 1; i < len(b); i++ {
			if b[i] < 0x80 {
				return b[i+1:], true
			}
		}
		return nil, false
	case types.StringFamily, types.BytesFamily, types.UUIDFamily, types.JSONFamily, types.ArrayFamily, types.RecordFamily:
		u, n := binary.Uvarint(b[1:])
		if n <= 0 || u > uint64(len(b)-1-n) {
			return nil, false
		}
		return b[1+n+int(u):], true
	case types.FloatFamily:
		return skip(b, 9)
	case types.BoolFamily:
		return skip(b, 2)
	case types.DecimalFamily:
		if n := smallDecimalSize(b[1:]); n > 0 {
			return b[1+n:], true
		}
	}
	_, rest, err := types.DecodeEncoded(viewString(b))
	if err != nil {
		return nil, false
	}
	return b[len(b)-len(rest):], true
}

func skip(b []byte, n int) ([]byte, bool) {
	if len(b) < n {
		return nil, false
	}
	return b[n:], true
}

// smallDecimalSize returns how many bytes the usual form of a numeric has: a scale below 128 and a
// coefficient of 64 bits. It returns 0 for any other.
func smallDecimalSize(b []byte) int {
	if len(b) < 3 || b[0] != 0 || b[1] >= 0x80 {
		return 0
	}
	for i := 2; i < len(b) && i < 2+binary.MaxVarintLen64; i++ {
		if b[i] < 0x80 {
			return i + 1
		}
	}
	return 0
}
