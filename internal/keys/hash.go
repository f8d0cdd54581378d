package keys

import "hash/maphash"

// Hash hashes a key for a table in memory. Keys of neighbouring rows differ in the byte before the last, which
// is the column family: eight of them have hashes that differ in the lowest three bits alone. So a statement
// that goes through many rows in order comes back to the same lines of the processor's cache.
func Hash(seed maphash.Seed, key []byte) uint64 {
	n := len(key) - 2
	if n < 0 {
		return maphash.Bytes(seed, key)
	}
	row, family := key[n], key[n+1]
	group := uint64(family)<<5 | uint64(row>>neighborBits)
	return maphash.Bytes(seed, key[:n]) ^ group*groupSpread<<neighborBits ^ uint64(row&(1<<neighborBits-1))
}

const (
	// neighborBits of a hash tell neighbours apart.
	neighborBits = 3
	// groupSpread is odd and without a pattern: the groups of keys with the same beginning have different hashes,
	// which differ in the upper bits as well.
	groupSpread = 0x9e3779b97f4a7c15
)
