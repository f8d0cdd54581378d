package keys

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestOrder compares keys by their orders, and what they have in common byte by byte.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 12)
		a, b := few.Draw(t, "a"), few.Draw(t, "b")
		if bytes.Compare(a, b) < 0 && Order(a) > Order(b) {
			t.Fatalf("%x comes before %x, but its order is larger", a, b)
		}
		n := CommonPrefix(a, b)
		if !bytes.Equal(a[:n], b[:n]) || n < min(len(a), len(b)) && a[n] == b[n] {
			t.Fatalf("%x and %x do not have the first %d bytes in common", a, b, n)
		}
	})
}
