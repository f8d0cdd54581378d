package hstore

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// nullLength is the length of a value that is NULL in the binary form.
const nullLength = 0xffffffff

// AppendBinary appends the binary form.
func AppendBinary(dst []byte, s string) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(Len(s)))
	for p := range All(s) {
		dst = append(be.AppendUint32(dst, uint32(len(p.Key))), p.Key...)
		if p.Null {
			dst = be.AppendUint32(dst, nullLength)
			continue
		}
		dst = append(be.AppendUint32(dst, uint32(len(p.Value))), p.Value...)
	}
	return dst
}

// Decode reads the binary form.
func Decode(b string) (string, error) {
	r := binaryReader{b: b}
	n := r.uint32()
	if n > MaxPairs {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "number of pairs (%d) exceeds the maximum allowed (%d)", int32(n), MaxPairs)
	}
	var pairs []Pair
	for range n {
		size := r.uint32()
		if !r.short && size == nullLength {
			return "", pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for hstore key")
		}
		p := Pair{Key: r.take(size)}
		if size = r.uint32(); size == nullLength {
			p.Null = true
		} else {
			p.Value = r.take(size)
		}
		if r.short {
			return "", pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message")
		}
		pairs = append(pairs, p)
	}
	if r.short || r.b != "" {
		return "", pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
	}
	return Build(pairs)
}

type binaryReader struct {
	b     string
	short bool
}

func (r *binaryReader) take(n uint32) string {
	if uint64(n) > uint64(len(r.b)) {
		r.short, r.b = true, ""
		return ""
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *binaryReader) uint32() uint32 {
	b := r.take(4)
	if r.short {
		return 0
	}
	return binary.BigEndian.Uint32([]byte(b))
}
