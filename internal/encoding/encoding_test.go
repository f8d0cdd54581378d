package encoding

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// codec is an ordered encoding with what it promises.
type codec[T any] struct {
	gen     *rapid.Generator[T]
	compare func(a, b T) int
	enc     func(dst []byte, v T) []byte
	dec     func(b []byte) (T, []byte, error)
}

// check tests order, round trip and concatenation (invariant 1).
func (c codec[T]) check(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := c.gen.Draw(t, "a"), c.gen.Draw(t, "b")
		tail := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "tail")
		ea, eb := c.enc([]byte("p"), a), c.enc([]byte("p"), b)
		want := c.compare(a, b)
		if got := bytes.Compare(ea, eb); got != want {
			t.Fatalf("%v ? %v is %d, the bytes %x ? %x say %d", a, b, want, ea, eb, got)
		}
		if want != 0 && bytes.HasPrefix(ea, eb) {
			t.Fatalf("%x begins with %x", ea, eb)
		}
		v, rest, err := c.dec(append(bytes.Clone(ea[1:]), tail...))
		if err != nil || !bytes.Equal(rest, tail) || c.compare(v, a) != 0 {
			t.Fatalf("%v became %v, rest %x, %v", a, v, rest, err)
		}
		for cut := range len(ea) - 1 {
			if _, _, err := c.dec(ea[1 : 1+cut]); err == nil {
				t.Fatalf("%x cut to %d bytes was accepted", ea[1:], cut)
			}
		}
	})
}

var numbers = rapid.OneOf(
	rapid.SampledFrom([]uint64{0, 1, 127, 239, 240, 255, 256, 65535, 65536, math.MaxInt64, math.MaxUint64}),
	rapid.Uint64(), rapid.Uint64Range(0, 300))

func TestOrder(t *testing.T) {
	t.Run("uvarint", codec[uint64]{
		gen: numbers, compare: cmp.Compare[uint64], enc: AppendUvarintOrdered, dec: DecodeUvarintOrdered,
	}.check)
	t.Run("bytes", codec[[]byte]{
		gen:     rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 0xfe, 0xff}), 0, 6),
		compare: bytes.Compare, enc: AppendBytes, dec: DecodeBytes,
	}.check)
}

func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s := numbers.Draw(t, "v"), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "s")
		b := binary.AppendUvarint(binary.AppendVarint(nil, int64(v)), v)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, uint32(v)), v)
		b = append(AppendLenBytes(AppendLenBytes(append(b, 7), s), s), "rest"...)
		r := NewReader(b)
		if r.Varint() != int64(v) || r.Uvarint() != v || r.Uint32() != uint32(v) || r.Uint64() != v || r.Byte() != 7 ||
			!bytes.Equal(r.LenBytes(), s) || r.Count(1) != len(s) || !bytes.Equal(r.Take(uint64(len(s))), s) ||
			string(r.Rest()) != "rest" || r.Err() != nil {
			t.Fatalf("%d %x was read otherwise", v, s)
		}
	})
	if _, _, err := DecodeLenBytes([]byte{200, 200, 200, 200, 1, 'x'}); err != ErrTruncated {
		t.Errorf("a length past the end: %v", err)
	}
}

// TestSizes holds the sizes that keys rely on.
func TestSizes(t *testing.T) {
	for v, want := range map[uint64]int{0: 1, 239: 1, 240: 2, 255: 2, 256: 3, math.MaxUint64: 9} {
		if got := len(AppendUvarintOrdered(nil, v)); got != want {
			t.Errorf("uvarint %d takes %d bytes, want %d", v, got, want)
		}
	}
}
