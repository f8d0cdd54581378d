package encoding

import (
	"bytes"
	"testing"
)

// canonical decodes b with every decoder of an ordered form and checks that what it
// accepts is exactly what its encoder writes (invariants 2 and 3).
func canonical(t *testing.T, b []byte) {
	t.Helper()
	same := func(name string, rest []byte, err error, encode func() []byte) {
		if err != nil {
			return
		}
		used := b[:len(b)-len(rest)]
		if got := encode(); !bytes.Equal(got, used) {
			t.Fatalf("%s: %x was accepted, its value encodes to %x", name, used, got)
		}
	}
	u, rest, err := DecodeUvarintOrdered(b)
	same("uvarint", rest, err, func() []byte { return AppendUvarintOrdered(nil, u) })
	s, rest, err := DecodeBytes(b)
	same("bytes", rest, err, func() []byte { return AppendBytes(nil, s) })
}

// TestCanonical tries every input of up to two bytes and a tail.
func TestCanonical(t *testing.T) {
	tail := []byte{0, 1, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88, 0, 1}
	canonical(t, nil)
	for a := range 256 {
		canonical(t, []byte{byte(a)})
		for b := range 256 {
			canonical(t, []byte{byte(a), byte(b)})
			canonical(t, append([]byte{byte(a), byte(b)}, tail...))
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(AppendBytes(nil, []byte("a\x00b")))
	f.Add(AppendUvarintOrdered(nil, 1<<40))
	f.Fuzz(canonical)
}

// FuzzReader reads a message as its own bytes say, by every method: no read goes
// past the end, and nothing but zeros comes after the first that failed.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 1, 1, 1, 1, 1, 1, 1, 1, 6, 1, 7, 2, 'a', 'b', 8, 1, 'x', 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		for left := len(b); left > 0 && !r.Bad(); left = r.Len() {
			readOne(&r)
			if r.Len() >= left {
				t.Fatalf("%d bytes were left, now %d", left, r.Len())
			}
		}
		if r.Bad() && (r.Len() != 0 || r.Uvarint() != 0 || r.Varint() != 0 || r.Byte() != 0 || r.Uint32() != 0 ||
			r.Uint64() != 0 || len(r.LenBytes()) != 0 || r.Count(1) != 0 || len(r.Rest()) != 0 || r.Err() == nil) {
			t.Fatal("a failed reader goes on")
		}
	})
}

func readOne(r *Reader) {
	switch r.Byte() % 8 {
	case 0:
		r.Uvarint()
	case 1:
		r.Varint()
	case 2:
		r.Uint32()
	case 3:
		r.Uint64()
	case 4:
		r.LenBytes()
	case 5:
		r.Take(uint64(r.Count(3)) * 3)
	case 6:
		r.Byte()
	case 7:
		r.Rest()
	}
}
