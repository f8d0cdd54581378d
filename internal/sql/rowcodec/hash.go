package rowcodec

// bucketSize is the length of what stands in front of the columns of a key whose
// first columns are hashed.
const bucketSize = 2

// hashSpace is how many values a bucket has where the index does not say how many
// buckets it wants.
const hashSpace = 1 << (8 * bucketSize)

// HashColumns is how many leading key columns are hashed: keys of the index begin
// with the bucket that their values fall into.
func (x *Index) HashColumns() int { return x.Desc.HashColumns }

// Buckets is how many buckets the index has.
func (x *Index) Buckets() int {
	if x.Desc.Buckets > 0 {
		return int(x.Desc.Buckets)
	}
	return hashSpace
}

// AppendBucket appends the beginning of the keys of a bucket.
func (x *Index) AppendBucket(dst []byte, bucket int) []byte {
	dst = append(dst, x.prefix...)
	return append(dst, byte(bucket>>8), byte(bucket))
}

// bucket returns the bucket of the hashed columns, which were encoded with
// AppendKeyDatum one after the other.
func (x *Index) bucket(columns []byte) int {
	// FNV-1a, its bits mixed so that the upper ones depend on all.
	h := uint64(14695981039346656037)
	for _, c := range columns {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	h ^= h >> 29
	if n := uint64(x.Desc.Buckets); n > 0 {
		return int((h >> 32) % n)
	}
	return int(h >> 48)
}

// InsertBucket completes a key that so far has the prefix of the index and all its
// hashed columns: the bucket goes in between.
func (x *Index) InsertBucket(key []byte) []byte {
	n := len(x.prefix)
	b := x.bucket(key[n:])
	key = append(key, 0, 0)
	copy(key[n+bucketSize:], key[n:])
	key[n], key[n+1] = byte(b>>8), byte(b)
	return key
}
