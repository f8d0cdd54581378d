package comparefuncs

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The hash functions of PostgreSQL's hash indexes, which applications use for advisory
// locks and to spread rows: Bob Jenkins' lookup3, with PostgreSQL's start value.

// hashState is the state of lookup3.
type hashState struct{ a, b, c uint32 }

func newHash(n int, seed uint64) hashState {
	v := 0x9e3779b9 + uint32(n) + 3923095
	h := hashState{v, v, v}
	if seed != 0 {
		h.a += uint32(seed >> 32)
		h.b += uint32(seed)
		h.mix()
	}
	return h
}

func (h *hashState) mix() {
	step := func(x, y, z *uint32, r int) {
		*x = (*x - *z) ^ bits.RotateLeft32(*z, r)
		*z += *y
	}
	step(&h.a, &h.b, &h.c, 4)
	step(&h.b, &h.c, &h.a, 6)
	step(&h.c, &h.a, &h.b, 8)
	step(&h.a, &h.b, &h.c, 16)
	step(&h.b, &h.c, &h.a, 19)
	step(&h.c, &h.a, &h.b, 4)
}

// sum finishes the hash; the lower half is the hash of 32 bits.
func (h *hashState) sum() uint64 {
	step := func(x, y *uint32, r int) { *x = (*x ^ *y) - bits.RotateLeft32(*y, r) }
	step(&h.c, &h.b, 14)
	step(&h.a, &h.c, 11)
	step(&h.b, &h.a, 25)
	step(&h.c, &h.b, 16)
	step(&h.a, &h.c, 4)
	step(&h.b, &h.a, 14)
	step(&h.c, &h.b, 24)
	return uint64(h.b)<<32 | uint64(h.c)
}

func hashBytes(k string, seed uint64) uint64 {
	h := newHash(len(k), seed)
	var block [12]byte
	for len(k) >= len(block) {
		copy(block[:], k)
		h.a += binary.LittleEndian.Uint32(block[0:])
		h.b += binary.LittleEndian.Uint32(block[4:])
		h.c += binary.LittleEndian.Uint32(block[8:])
		h.mix()
		k = k[len(block):]
	}
	clear(block[:])
	copy(block[:], k)
	h.a += binary.LittleEndian.Uint32(block[0:])
	h.b += binary.LittleEndian.Uint32(block[4:])
	h.c += binary.LittleEndian.Uint32(block[8:]) << 8 // its lowest byte is the length's
	return h.sum()
}

func hashUint32(v uint32, seed uint64) uint64 {
	h := newHash(4, seed)
	h.a += v
	return h.sum()
}

// hashInt64 hashes small numbers like those of fewer bits.
func hashInt64(v int64, seed uint64) uint64 {
	high := uint32(v >> 32)
	if v < 0 {
		high = ^high
	}
	return hashUint32(uint32(v)^high, seed)
}

func hashFloat(f float64, seed uint64) uint64 {
	if f == 0 {
		return seed // minus zero is zero
	}
	v := math.Float64bits(f)
	if math.IsNaN(f) {
		v = 0x7ff8000000000000
	}
	return hashBytes(string(binary.LittleEndian.AppendUint64(nil, v)), seed)
}

// hashFunctions declares each function with its form of 64 bits and a seed.
func hashFunctions() []*call.Overload {
	text := func(d types.Datum, seed uint64) uint64 { return hashBytes(d.Str(), seed) }
	word := func(d types.Datum, seed uint64) uint64 { return hashUint32(uint32(d.Int()), seed) }
	long := func(d types.Datum, seed uint64) uint64 { return hashInt64(d.Int(), seed) }
	float := func(d types.Datum, seed uint64) uint64 { return hashFloat(d.Float(), seed) }
	var all []*call.Overload
	for _, f := range []struct {
		name, extended, typ string
		hash                func(types.Datum, uint64) uint64
	}{
		{"hashtext", "hashtextextended", "text", text},
		{"hashname", "hashnameextended", "name", text},
		{"hashbpchar", "hashbpcharextended", "bpchar", func(d types.Datum, seed uint64) uint64 {
			return hashBytes(strings.TrimRight(d.Str(), " "), seed)
		}},
		{"hashchar", "hashcharextended", "char", func(d types.Datum, seed uint64) uint64 {
			b := append([]byte(d.Str()), 0)[0]
			return hashUint32(uint32(int8(b)), seed)
		}},
		{"hashint2", "hashint2extended", "int2", word},
		{"hashint4", "hashint4extended", "int4", word},
		{"hashint8", "hashint8extended", "int8", long},
		{"hashoid", "hashoidextended", "oid", word},
		{"hashfloat4", "hashfloat4extended", "float4", float},
		{"hashfloat8", "hashfloat8extended", "float8", float},
		{"timestamp_hash", "timestamp_hash_extended", "timestamp", long},
		{"time_hash", "time_hash_extended", "time", long},
		{"uuid_hash", "uuid_hash_extended", "uuid", text},
	} {
		all = append(all,
			call.Fn(f.name+"("+f.typ+") int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewInt(int64(int32(f.hash(a[0], 0)))), nil
			}),
			call.Fn(f.extended+"("+f.typ+",int8) int8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewInt(int64(f.hash(a[0], uint64(a[1].Int())))), nil
			}))
	}
	return all
}
