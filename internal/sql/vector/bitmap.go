package vector

// Bitmap is a set of positions of a batch.
type Bitmap struct {
	words []uint64
	some  bool // there may be members
}

// Reset empties b and makes room for n positions.
func (b *Bitmap) Reset(n int) {
	need := (n + 63) / 64
	if cap(b.words) < need {
		b.words, b.some = make([]uint64, need), false
		return
	}
	if b.some {
		clear(b.words[:cap(b.words)])
		b.some = false
	}
	b.words = b.words[:need]
}

// Has reports whether i is a member.
func (b *Bitmap) Has(i uint16) bool { return b.some && b.words[i>>6]>>(i&63)&1 != 0 }

// Any reports whether there may be members. Loops that need not ask for each position ask once.
func (b *Bitmap) Any() bool { return b.some }

// Add makes i a member.
func (b *Bitmap) Add(i uint16) {
	b.some = true
	b.words[i>>6] |= 1 << (i & 63)
}

// Union makes the members of o, which has as many positions, members of b.
func (b *Bitmap) Union(o *Bitmap) {
	if !o.some {
		return
	}
	b.some = true
	for i, w := range o.words[:len(b.words)] {
		b.words[i] |= w
	}
}
