package optimizer

import "math/bits"

// relSet is a set of relations of a cluster, all sets of which are as long.
type relSet []uint64

func newRelSet(n int, members ...int) relSet {
	s := make(relSet, (n+63)/64)
	for _, i := range members {
		s.add(i)
	}
	return s
}

func (s relSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s relSet) add(i int)      { s[i/64] |= 1 << (i % 64) }

func (s relSet) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// next returns the first member that is not below i; there must be one.
func (s relSet) next(i int) int {
	for !s.has(i) {
		i++
	}
	return i
}

// within reports whether all members of s are in t.
func (s relSet) within(t relSet) bool {
	for k, w := range s {
		if w&^t[k] != 0 {
			return false
		}
	}
	return true
}

// withinAnd reports whether all members of s are in t, or are i.
func (s relSet) withinAnd(t relSet, i int) bool {
	for k, w := range s {
		if k == i/64 {
			w &^= 1 << (i % 64)
		}
		if w&^t[k] != 0 {
			return false
		}
	}
	return true
}
