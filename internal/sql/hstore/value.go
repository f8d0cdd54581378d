package hstore

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MaxPairs is how many pairs a value has at most.
const MaxPairs = 1 << 24

// Pair is a key with its value, which may be NULL.
type Pair struct {
	Key, Value string
	Null       bool
}

// Empty is the value without pairs.
const Empty = "\x00"

// Build returns the value of some pairs, of which the first of a key counts. It sorts the slice.
func Build(pairs []Pair) (string, error) {
	if len(pairs) > MaxPairs {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "number of pairs (%d) exceeds the maximum allowed (%d)", len(pairs), MaxPairs)
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return compareKeys(a.Key, b.Key) })
	pairs = slices.CompactFunc(pairs, func(a, b Pair) bool { return a.Key == b.Key })
	size := binary.MaxVarintLen32
	for _, p := range pairs {
		size += len(p.Key) + len(p.Value) + 2
	}
	dst := binary.AppendUvarint(make([]byte, 0, size), uint64(len(pairs)))
	for _, p := range pairs {
		dst = append(binary.AppendUvarint(dst, uint64(len(p.Key))), p.Key...)
		if p.Null {
			dst = append(dst, 0)
			continue
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(p.Value))+1), p.Value...)
	}
	return string(dst), nil
}

// compareKeys is the order of keys within a value.
func compareKeys(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// Len returns how many pairs a value has.
func Len(s string) int {
	n, _ := number(s)
	return int(n)
}

// All yields the pairs of a value in their order. They share memory with it.
func All(s string) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		n, rest := number(s)
		for range n {
			var p Pair
			p, rest = first(rest)
			if !yield(p) {
				return
			}
		}
	}
}

// Pairs returns the pairs of a value.
func Pairs(s string) []Pair { return slices.AppendSeq(make([]Pair, 0, Len(s)), All(s)) }

// first takes the first pair off s.
func first(s string) (p Pair, rest string) {
	n, s := number(s)
	p.Key, s = s[:n], s[n:]
	if n, s = number(s); n == 0 {
		p.Null = true
		return p, s
	}
	p.Value = s[:n-1]
	return p, s[n-1:]
}

// number reads a number from the beginning of s, 0 if there is none.
func number(s string) (n uint64, rest string) {
	for i, shift := 0, uint(0); i < len(s) && shift < 35; i, shift = i+1, shift+7 {
		n |= uint64(s[i]&0x7f) << shift
		if s[i] < 0x80 {
			return n, s[i+1:]
		}
	}
	return 0, ""
}

// Valid reports whether s is a value as Build returns it.
func Valid(s string) bool {
	n, rest, ok := checked(s)
	if !ok || n > MaxPairs {
		return false
	}
	last := ""
	for i := range n {
		var key string
		if key, rest, ok = prefixed(rest, 0); !ok || i > 0 && compareKeys(last, key) >= 0 {
			return false
		}
		last = key
		if _, rest, ok = prefixed(rest, 1); !ok {
			return false
		}
	}
	return rest == ""
}

// checked is number that says whether there was one, in its shortest form.
func checked(s string) (n uint64, rest string, ok bool) {
	n, rest = number(s)
	used := len(s) - len(rest)
	return n, rest, used > 0 && used == len(binary.AppendUvarint(nil, n))
}

// prefixed takes a text with its length, which is bias more, off s; a length of 0 is none.
func prefixed(s string, bias uint64) (text, rest string, ok bool) {
	n, rest, ok := checked(s)
	if !ok || n < bias {
		return "", rest, ok
	}
	if n -= bias; n > uint64(len(rest)) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}

// Get returns what a key has, false if the value has not the key.
func Get(s, key string) (Pair, bool) {
	for p := range All(s) {
		if c := compareKeys(p.Key, key); c == 0 {
			return p, true
		} else if c > 0 {
			break
		}
	}
	return Pair{}, false
}

// Concat returns the pairs of both values, those of b where both have a key.
func Concat(a, b string) (string, error) { return Build(append(Pairs(b), Pairs(a)...)) }

// Without returns a value without the pairs for which drop holds.
func Without(s string, drop func(Pair) bool) (string, error) {
	return Build(slices.DeleteFunc(Pairs(s), drop))
}

// Contains reports whether all pairs of b are in a.
func Contains(a, b string) bool {
	for p := range All(b) {
		if q, ok := Get(a, p.Key); !ok || p != q {
			return false
		}
	}
	return true
}
