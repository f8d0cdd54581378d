package keys

import (
	"hash/maphash"
	"testing"
)

// TestHash checks that rows in order come to the same places of a table, and that their hashes differ all the
// same and spread.
func TestHash(t *testing.T) {
	seed := maphash.MakeSeed()
	const rows, families = 1 << 16, 2
	seen, upper := map[uint64]bool{}, map[uint64]int{}
	for i := range rows {
		for family := range families {
			key := []byte{0x10, 1, 0x90, 1, 0xe2, byte(i >> 8), byte(i), byte(family)}
			h := Hash(seed, key)
			if seen[h] {
				t.Fatalf("two keys have the hash %x", h)
			}
			seen[h] = true
			upper[h>>58]++
			key[6] ^= 1
			if other := Hash(seed, key); other>>neighborBits != h>>neighborBits {
				t.Fatalf("neighbors have the hashes %x and %x", h, other)
			}
		}
	}
	for part, n := range upper {
		if mean := rows * families / 64; n > 2*mean {
			t.Errorf("%d of %d hashes begin with %x", n, rows*families, part)
		}
	}
	if len(upper) != 64 {
		t.Errorf("hashes have %d beginnings, want 64", len(upper))
	}
	for _, short := range []string{"", "a", "b", "ab"} {
		if h := Hash(seed, []byte(short)); seen[h] {
			t.Errorf("%q has the hash %x of another key", short, h)
		} else {
			seen[h] = true
		}
	}
}
