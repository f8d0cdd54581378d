package rowcodec

import (
	"encoding/binary"
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// queueRows is how many values wait at most until they are read column by column: their directories stay in the
// processor's first cache.
const queueRows = 128

// valueQueue holds values whose directories are alike, until all their values of a column are read in one go.
type valueQueue struct {
	flags byte
	n     int
	rows  [queueRows]queuedValue
}

// queuedValue is the value of a row, without its header.
type queuedValue struct {
	value []byte
	at    uint16 // the row's position in the vectors
}

// DecodeLater is Decode for one of many entries: what it reads need not be there before Flush. The value must stay as
// it is until then.
func (d *VectorDecoder) DecodeLater(key, value []byte, cols []*vector.Vector, i uint16) error {
	if d.row != nil || len(value) < headerSize || value[1]&flagOffsets == 0 {
		return d.Decode(key, value, cols, i)
	}
	if len(d.rows.keySlot) > 0 && !d.decodeKey(key, cols, i) {
		return d.rows.corrupt("key")
	}
	if len(d.rows.want) > 0 && !d.queueValue(value, cols, i) {
		return d.rows.corrupt("value")
	}
	return nil
}

// queueValue adds a value to the queue, which it reads before if it is full or of other values.
func (d *VectorDecoder) queueValue(value []byte, cols []*vector.Vector, i uint16) bool {
	flags, b, ok := cutHeader(value)
	if !ok {
		return false
	}
	if d.queue == nil {
		d.queue = &valueQueue{}
	}
	q := d.queue
	if q.n == queueRows || q.n > 0 && (q.flags != flags || !d.rows.dir.same(b)) {
		if !d.flush(cols) {
			return false
		}
	}
	if q.n == 0 && !d.rows.dir.open(b, flags, d.rows.want) || d.rows.dir.size(flags) > len(b) {
		return false
	}
	q.rows[q.n] = queuedValue{b, i}
	q.flags = flags
	q.n++
	return true
}

// Flush reads what DecodeLater has put off.
func (d *VectorDecoder) Flush(cols []*vector.Vector) error {
	if d.queue != nil && !d.flush(cols) {
		return d.rows.corrupt("value")
	}
	return nil
}

func (d *VectorDecoder) flush(cols []*vector.Vector) bool {
	rows := d.queue.rows[:d.queue.n]
	d.queue.n = 0
	return d.decodeColumns(rows, d.queue.flags, cols)
}

// decodeColumns reads the wanted columns of rows that have the columns of the directory at hand.
func (d *VectorDecoder) decodeColumns(rows []queuedValue, flags byte, cols []*vector.Vector) bool {
	for w, i := range d.rows.dir.at {
		if i < 0 {
			for k := range rows {
				d.absent(w, cols, rows[k].at)
			}
			continue
		}
		want := &d.rows.want[w]
		if !decodeColumn(rows, d.rows.dir.place(flags, i), flags, cols[want.slot], want.family) {
			return false
		}
	}
	return true
}

// decodeColumn reads the column at p of rows into v: by a kernel as far as the values have its common form.
func decodeColumn(rows []queuedValue, p place, flags byte, v *vector.Vector, want types.Family) bool {
	for {
		n := decodeKernel(rows, p, v, want)
		if n == len(rows) {
			return true
		}
		c := p.column(rows[n].value)
		if _, ok := decodeAt(v, rows[n].at, c, want); !ok {
			if _, ok = storedNull(flags, c); !ok {
				return false
			}
			v.Nulls.Add(rows[n].at)
		}
		rows = rows[n+1:]
	}
}

// decodeKernel reads the first rows whose values have the common form of v's kind, and returns how many these are.
func decodeKernel(rows []queuedValue, p place, v *vector.Vector, want types.Family) int {
	switch {
	case v.Kind == vector.Ints && want != types.BoolFamily:
		return decodeInts(rows, p, v.Ints, want)
	case v.Kind == vector.Decimals:
		return decodeDecimals(rows, p, v.Ints, v.Scale)
	case v.Kind == vector.Strings:
		return decodeStrings(rows, p, v.Strings, want)
	}
	return 0
}

// decodeInts reads integers of up to eight bytes.
func decodeInts(rows []queuedValue, p place, out []int64, want types.Family) int {
	for k := range rows {
		r := &rows[k]
		c := p.column(r.value)
		if len(c) < 9 || types.Family(c[0]) != want {
			return k
		}
		u := binary.LittleEndian.Uint64(c[1:])
		if endsOf(u) == 0 {
			return k
		}
		out[r.at] = shortVarint(u)
	}
	return len(rows)
}

// decodeDecimals reads numerics of one scale, and of up to eight bytes.
func decodeDecimals(rows []queuedValue, p place, out []int64, scale int32) int {
	for k := range rows {
		r := &rows[k]
		c := p.column(r.value)
		if len(c) < 11 || types.Family(c[0]) != types.DecimalFamily || c[1] != 0 || c[2] >= 0x80 || int32(c[2]) != scale {
			return k
		}
		u := binary.LittleEndian.Uint64(c[3:])
		if endsOf(u) == 0 {
			return k
		}
		out[r.at] = shortVarint(u)
	}
	return len(rows)
}

// decodeStrings reads texts of fewer than 128 bytes.
func decodeStrings(rows []queuedValue, p place, out []string, want types.Family) int {
	for k := range rows {
		r := &rows[k]
		c := p.column(r.value)
		if len(c) < 2 || types.Family(c[0]) != want || c[1] >= 0x80 || int(c[1])+2 > len(c) {
			return k
		}
		out[r.at] = viewString(c[2 : 2+int(c[1])])
	}
	return len(rows)
}

// varint reads a zigzag varint, and returns how many bytes it has; none if it is malformed.
func varint(b []byte) (v int64, size int) {
	if b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	if len(b) >= 8 {
		u := binary.LittleEndian.Uint64(b)
		if ends := endsOf(u); ends != 0 {
			return shortVarint(u), bits.TrailingZeros64(ends)/8 + 1
		}
	}
	u, n := binary.Uvarint(b)
	return int64(u>>1) ^ -int64(u&1), n
}

// endsOf returns the highest bit of each byte that ends a varint, in eight bytes that begin with one.
func endsOf(u uint64) uint64 { return ^u & 0x8080808080808080 }

// shortVarint returns the zigzag varint with which eight bytes begin, and which ends in them.
func shortVarint(u uint64) int64 {
	ends := endsOf(u)
	u &= ends ^ (ends - 1) // the bytes up to the first end
	u = u&0x007f007f007f007f | u&0x7f007f007f007f00>>1
	u = u&0x00003fff00003fff | u&0x3fff00003fff0000>>2
	u = u&0x000000000fffffff | u&0x0fffffff00000000>>4
	return int64(u>>1) ^ -int64(u&1)
}
