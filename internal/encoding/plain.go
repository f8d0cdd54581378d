package encoding

import "encoding/binary"

// AppendLenBytes appends the length of v, in base 128, and v.
func AppendLenBytes(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// DecodeLenBytes reads what AppendLenBytes wrote. The value aliases b.
func DecodeLenBytes(b []byte) (v, rest []byte, err error) {
	n, w := binary.Uvarint(b)
	switch {
	case w < 0:
		return nil, nil, ErrMalformed
	case w == 0 || n > uint64(len(b)-w):
		return nil, nil, ErrTruncated
	}
	b = b[w:]
	return b[:n:n], b[n:], nil
}

// Reader takes a message or a record apart. From the first field that is missing or
// malformed on every field is zero, so that a decoder asks Bad or Err once, at its
// end. The zero Reader is at the end of its input.
type Reader struct {
	b   []byte
	bad bool
}

// NewReader returns a reader of b, which its byte strings alias.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Bad reports whether a field was missing or malformed.
func (r *Reader) Bad() bool { return r.bad }

// Err is ErrMalformed if a field was missing or malformed.
func (r *Reader) Err() error {
	if r.bad {
		return ErrMalformed
	}
	return nil
}

// Fail makes the reader bad: a field has a value that it can't have.
func (r *Reader) Fail() { r.b, r.bad = nil, true }

// Len is the number of bytes that are left.
func (r *Reader) Len() int { return len(r.b) }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.b) == 0 {
		r.Fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// Uvarint reads what binary.AppendUvarint wrote.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Varint reads what binary.AppendVarint wrote.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Uint32 reads four bytes, big-endian.
func (r *Reader) Uint32() uint32 {
	if p := r.Take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// Uint64 reads eight bytes, big-endian.
func (r *Reader) Uint64() uint64 {
	if p := r.Take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// Take returns the next n bytes, which alias the input.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.Fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// LenBytes reads what AppendLenBytes wrote; the value aliases the input.
func (r *Reader) LenBytes() []byte { return r.Take(r.Uvarint()) }

// Count reads the number of elements of a list whose elements take at least size
// bytes each, so that a damaged number can't make the caller allocate more than
// the input could fill.
func (r *Reader) Count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.b)/size) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Rest returns all that is left.
func (r *Reader) Rest() []byte { return r.Take(uint64(len(r.b))) }
