package vector

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/lichendb/lichen/internal/sql/types"
)

// errDamaged says that bytes are no batch.
var errDamaged = errors.New("vector: damaged batch")

// maxEncodedColumns bounds the columns of a batch that is read.
const maxEncodedColumns = 1 << 14

// AppendEncoded appends the selected rows of a batch, column after column: how many rows there are, then for each column
// its kind, which rows are NULL and the other values.
func AppendEncoded(dst []byte, b *Batch) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b.Sel)))
	dst = binary.AppendUvarint(dst, uint64(len(b.Cols)))
	for _, v := range b.Cols {
		dst = v.appendEncoded(dst, b.Sel)
	}
	return dst
}

func (v *Vector) appendEncoded(dst []byte, sel Selection) []byte {
	kind := v.Kind
	if kind != KindOf(v.Family) { // what reads it knows the family only
		kind = Datums
	}
	dst = append(dst, byte(kind))
	if kind == Decimals {
		dst = binary.AppendVarint(dst, int64(v.Scale))
	}
	dst = v.appendNulls(dst, sel)
	for _, i := range sel {
		if v.Nulls.Has(i) {
			continue
		}
		switch kind {
		case Ints, Decimals:
			dst = binary.AppendVarint(dst, v.Ints[i])
		case Floats:
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Floats[i]))
		case Strings:
			dst = append(binary.AppendUvarint(dst, uint64(len(v.Strings[i]))), v.Strings[i]...)
		default:
			dst = types.AppendEncoded(dst, v.Datum(i))
		}
	}
	return dst
}

// appendNulls appends 0 if no selected row is NULL, else 1 and a bit for each.
func (v *Vector) appendNulls(dst []byte, sel Selection) []byte {
	any := false
	for _, i := range sel {
		any = any || v.Nulls.Has(i)
	}
	if !any {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	for k, i := range sel {
		if k%8 == 0 {
			dst = append(dst, 0)
		}
		if v.Nulls.Has(i) {
			dst[len(dst)-1] |= 1 << (k % 8)
		}
	}
	return dst
}

// DecodeEncoded makes b what AppendEncoded has written, in vectors of the given families, and returns what follows it. The
// batch uses the memory of cols, and its strings share memory with s. Anything malformed is an error.
func DecodeEncoded(s string, families []types.Family, cols []*Vector, b *Batch) (rest string, err error) {
	r := textReader{s: s}
	n, width := r.uvarint(), r.uvarint()
	if r.bad || n > BatchRows || width > maxEncodedColumns || int(width) != len(families) || len(cols) != len(families) {
		return "", errDamaged
	}
	for c, v := range cols {
		if r.vector(v, families[c], int(n)); r.bad {
			return "", errDamaged
		}
	}
	b.N, b.Sel, b.Cols, b.Err = int(n), All(int(n)), cols, nil
	return r.s, nil
}

// textReader takes fields off an encoded batch; after the first that is not there, bad is set and all are zero.
type textReader struct {
	s   string
	bad bool
}

func (r *textReader) fail() { r.s, r.bad = "", true }

func (r *textReader) take(n uint64) string {
	if n > uint64(len(r.s)) {
		r.fail()
		return ""
	}
	p := r.s[:n]
	r.s = r.s[n:]
	return p
}

func (r *textReader) byte() byte {
	if p := r.take(1); p != "" {
		return p[0]
	}
	return 0
}

func (r *textReader) uvarint() uint64 {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		c := r.byte()
		if r.bad {
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail()
	return 0
}

func (r *textReader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// vector reads a column of n rows.
func (r *textReader) vector(v *Vector, f types.Family, n int) {
	k := Kind(r.byte())
	if k != Datums && k != KindOf(f) {
		r.fail()
		return
	}
	v.ResetTo(k, f, n)
	if k == Decimals {
		scale := r.varint()
		if scale < noScale || scale > types.MaxDecimalScale {
			r.fail()
			return
		}
		v.Scale = int32(scale)
	}
	r.nulls(v, n)
	for i := 0; i < n && !r.bad; i++ {
		if !v.Nulls.Has(uint16(i)) {
			r.value(v, i)
		}
	}
}

func (r *textReader) nulls(v *Vector, n int) {
	switch r.byte() {
	case 0:
	case 1:
		bits := r.take(uint64(n+7) / 8)
		for i := 0; i < n && !r.bad; i++ {
			if bits[i/8]>>(i%8)&1 != 0 {
				v.Nulls.Add(uint16(i))
			}
		}
	default:
		r.fail()
	}
}

func (r *textReader) value(v *Vector, i int) {
	switch v.Kind {
	case Ints:
		v.Ints[i] = r.varint()
	case Decimals:
		if v.Ints[i] = r.varint(); v.Scale == noScale || v.Ints[i] == math.MinInt64 {
			r.fail()
		}
	case Floats:
		if p := r.take(8); p != "" {
			v.Floats[i] = math.Float64frombits(binary.BigEndian.Uint64([]byte(p)))
		}
	case Strings:
		v.Strings[i] = r.take(r.uvarint())
	default:
		d, rest, err := types.DecodeEncoded(r.s)
		if err != nil || d.IsNull() || d.Family() != v.Family {
			r.fail()
			return
		}
		v.Datums[i], r.s = d, rest
	}
}
