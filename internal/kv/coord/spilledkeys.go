package coord

import (
	"hash/maphash"
	"iter"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
)

// Limits of what a gateway remembers of the keys that it has spilled. After more spills, or without
// memory, it asks the ranges about every key.
const (
	maxFilters   = 64
	filterBits   = 10 // for each key: it asks about one in a hundred other keys
	filterProbes = 4
)

var filterSeed = maphash.MakeSeed()

// spilledKeys are the keys that a transaction has spilled: a Bloom filter for each spill. So most keys
// that it has not written cost no request.
type spilledKeys struct {
	filters []bloomFilter
	acc     quota.Account
	unknown bool // some spill has no filter
}

// add adds the keys of a spill.
func (s *spilledKeys) add(requests []kvpb.SpillRequest) {
	writes := 0
	for i := range requests {
		writes += len(requests[i].Writes)
	}
	f := newBloomFilter(writes)
	if s.unknown = s.unknown || len(s.filters) == maxFilters || s.acc.Grow(f.bytes()) != nil; s.unknown {
		return
	}
	for i := range requests {
		for j := range requests[i].Writes {
			f.add(maphash.Bytes(filterSeed, requests[i].Writes[j].Key))
		}
	}
	s.filters = append(s.filters, f)
}

// mayHold reports whether a key may have been spilled.
func (s *spilledKeys) mayHold(key []byte) bool {
	if s.unknown {
		return true
	}
	hash := maphash.Bytes(filterSeed, key)
	for _, f := range s.filters {
		if f.mayHold(hash) {
			return true
		}
	}
	return false
}

// bloomFilter is a set of hashes.
type bloomFilter []uint64

func newBloomFilter(keys int) bloomFilter { return make(bloomFilter, keys*filterBits/64+1) }

func (f bloomFilter) bytes() int64 { return int64(len(f)) * 8 }

func (f bloomFilter) add(hash uint64) {
	for bit := range f.probes(hash) {
		f[bit/64] |= 1 << (bit % 64)
	}
}

func (f bloomFilter) mayHold(hash uint64) bool {
	for bit := range f.probes(hash) {
		if f[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

// probes yields the bits of a hash: its halves are two hashes, of which each bit is a combination.
func (f bloomFilter) probes(hash uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		bits, step := uint64(len(f))*64, hash>>32|1
		for range filterProbes {
			if !yield(hash & (1<<32 - 1) * bits >> 32) {
				return
			}
			hash += step
		}
	}
}
