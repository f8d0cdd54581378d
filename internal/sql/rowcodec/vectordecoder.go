package rowcodec

import (
	"encoding/binary"
	"math"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// VectorDecoder reads chosen columns of an index's entries into vectors, as Decoder does into rows.
type VectorDecoder struct {
	rows *Decoder
	// inKey tells, for each of rows.want, that the key has given a value already, which stays
	// where the stored value has none.
	inKey []bool
	// missing are the values of rows.want in rows that lack them.
	missing  []types.Datum
	families []types.Family // of the columns
	row      []types.Datum  // for rows of several families
	queue    *valueQueue    // of DecodeLater
}

// NewVectorDecoder returns a decoder that puts the columns at the positions ords of Table.Columns
// into as many vectors.
func (x *Index) NewVectorDecoder(ords []int) *VectorDecoder {
	d := &VectorDecoder{rows: x.NewDecoder(ords)}
	for _, ord := range ords {
		d.families = append(d.families, x.Table.Columns[ord].Type.Family)
	}
	for _, w := range d.rows.want {
		given := false
		for _, slot := range d.rows.keySlot {
			given = given || slot == w.slot
		}
		d.inKey = append(d.inKey, given)
		value := types.Null
		for _, m := range d.rows.missing {
			if m.slot == w.slot {
				value = m.value
			}
		}
		d.missing = append(d.missing, value)
	}
	if d.rows.parts {
		d.row = make([]types.Datum, len(ords))
	}
	return d
}

// Reset prepares the vectors for n entries, whose values refer to memory of their own no longer than
// until the next Reset.
func (d *VectorDecoder) Reset(cols []*vector.Vector, n int) {
	d.rows.Reset()
	if d.queue != nil {
		d.queue.n = 0 // of a batch that failed
	}
	for i, v := range cols {
		v.Reset(d.families[i], n)
	}
}

// Decode reads an entry into position i of the vectors. Columns the entry does not have become
// NULL.
func (d *VectorDecoder) Decode(key, value []byte, cols []*vector.Vector, i uint16) error {
	if d.row != nil {
		return d.decodeParts(key, value, cols, i)
	}
	if len(d.rows.keySlot) > 0 && !d.decodeKey(key, cols, i) {
		return d.rows.corrupt("key")
	}
	if len(d.rows.want) > 0 && !d.decodeValue(value, cols, i) {
		return d.rows.corrupt("value")
	}
	return nil
}

// decodeParts reads an entry of a row with several families.
func (d *VectorDecoder) decodeParts(key, value []byte, cols []*vector.Vector, i uint16) error {
	if err := d.rows.Decode(key, value, d.row); err != nil {
		return err
	}
	for c, v := range cols {
		v.Set(i, d.row[c])
	}
	return nil
}

func (d *VectorDecoder) decodeKey(key []byte, cols []*vector.Vector, i uint16) bool {
	r, ok := d.rows.keyColumns(key)
	if !ok {
		return false
	}
	for n, slot := range d.rows.keySlot {
		k := &d.rows.x.Key[n]
		if r.null() {
			if slot >= 0 {
				cols[slot].Nulls.Add(i)
			}
			continue
		}
		r.mask = 0
		if k.Desc {
			r.mask = 0xFF
		}
		switch {
		case slot < 0:
			r.skip(k.Type)
		case cols[slot].Kind == vector.Ints:
			cols[slot].Ints[i] = r.int()
		default:
			cols[slot].Set(i, r.datum(k.Type, &d.rows.arena))
		}
		if r.bad {
			return false
		}
	}
	return true
}

// decodeValue merges the value's columns with the wanted ones, both by id.
func (d *VectorDecoder) decodeValue(b []byte, cols []*vector.Vector, i uint16) bool {
	flags, b, ok := cutHeader(b)
	if !ok {
		return false
	}
	if flags&flagOffsets != 0 {
		return d.decodeDirectory(b, flags, cols, i)
	}
	want := d.rows.want
	id, w := uint64(0), 0
	for len(b) > 0 && w < len(want) {
		delta, n := uint64(b[0]), 1
		if delta >= 0x80 {
			if delta, n = binary.Uvarint(b); n <= 0 {
				return false
			}
		}
		if delta == partMark || delta > maxColumnID-id {
			return false
		}
		id += delta
		b = b[n:]
		for w < len(want) && uint64(want[w].id) < id {
			d.absent(w, cols, i)
			w++
		}
		ok := true
		if w < len(want) && uint64(want[w].id) == id {
			rest, found := decodeAt(cols[want[w].slot], i, b, want[w].family)
			if !found {
				rest, found = storedNull(flags, b)
				cols[want[w].slot].Nulls.Add(i)
			}
			b, ok = rest, found
			w++
		} else if n := shortSize(b); n > 0 {
			b = b[n:]
		} else {
			b, ok = skipEncoded(b)
		}
		if !ok {
			return false
		}
	}
	for ; w < len(want); w++ {
		d.absent(w, cols, i)
	}
	return true
}

// decodeDirectory reads the wanted columns of a value that has a directory.
func (d *VectorDecoder) decodeDirectory(b []byte, flags byte, cols []*vector.Vector, i uint16) bool {
	if !d.rows.dir.open(b, flags, d.rows.want) {
		return false
	}
	one := [1]queuedValue{{b, i}}
	return d.decodeColumns(one[:], flags, cols)
}

// lead says how the size of an encoded datum shows in its first bytes.
type lead uint8

const (
	anyLead lead = iota
	varintLead
	lengthLead
)

// leads are those of families whose values are mostly short.
var leads = [256]lead{
	types.IntFamily: varintLead, types.DateFamily: varintLead,
	types.StringFamily: lengthLead, types.BytesFamily: lengthLead,
}

// shortSize returns how many bytes the datum at the start of b has if that shows at once, else 0.
func shortSize(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	switch leads[b[0]] {
	case varintLead:
		for n := 1; n < 4; n++ {
			if b[n] < 0x80 {
				return n + 1
			}
		}
	case lengthLead:
		if n := int(b[1]) + 2; b[1] < 0x80 && n <= len(b) {
			return n
		}
	}
	return 0
}

// absent notes that the value lacks a column that is wanted: it is NULL unless the key had it, or rows
// that lack it have another value.
func (d *VectorDecoder) absent(w int, cols []*vector.Vector, i uint16) {
	switch {
	case d.inKey[w]:
	case d.missing[w].IsNull():
		cols[d.rows.want[w].slot].Nulls.Add(i)
	default:
		cols[d.rows.want[w].slot].Set(i, d.missing[w])
	}
}

// decodeAt reads an encoded datum of the given family into position i: the forms of the common kinds
// inline, the others by types.DecodeEncoded.
func decodeAt(v *vector.Vector, i uint16, b []byte, want types.Family) ([]byte, bool) {
	if len(b) < 2 || types.Family(b[0]) != want {
		return nil, false
	}
	switch {
	case v.Kind == vector.Ints && want != types.BoolFamily:
		n, size := varint(b[1:])
		v.Ints[i] = n
		return b[1+max(size, 0):], size > 0
	case v.Kind == vector.Strings:
		u, n := binary.Uvarint(b[1:])
		if n <= 0 || u > uint64(len(b)-1-n) {
			return nil, false
		}
		v.Strings[i] = viewString(b[1+n : 1+n+int(u)])
		return b[1+n+int(u):], true
	case v.Kind == vector.Decimals && len(b) > 3 && b[1] == 0 && b[2] < 0x80:
		n, size := varint(b[3:])
		if size > 0 && v.SetDecimal(i, n, int32(b[2])) {
			return b[3+size:], true
		}
	case v.Kind == vector.Floats && len(b) >= 9:
		v.Floats[i] = math.Float64frombits(binary.BigEndian.Uint64(b[1:]))
		return b[9:], true
	}
	d, rest, err := types.DecodeEncoded(viewString(b))
	if err != nil {
		return nil, false
	}
	v.Set(i, d)
	return b[len(b)-len(rest):], true
}
