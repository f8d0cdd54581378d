package keys

import "encoding/binary"

// CommonPrefix returns with how many equal bytes a and b begin.
func CommonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Order returns the first eight bytes of key as a number, which decides the order of most keys without a look at them: one that is
// smaller belongs to a smaller key; keys with equal ones may differ.
func Order(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}
