package keys

import (
	"bytes"
	"fmt"
)

// Span is the keys from Start up to but not including End. A nil End means
// just the key Start.
type Span struct {
	Start, End []byte
}

// IsPoint reports whether the span is a single key.
func (s Span) IsPoint() bool { return s.End == nil }

// Contains reports whether key lies in the span.
func (s Span) Contains(key []byte) bool {
	if s.End == nil {
		return bytes.Equal(s.Start, key)
	}
	return bytes.Compare(s.Start, key) <= 0 && bytes.Compare(key, s.End) < 0
}

// Overlaps reports whether the two spans share a key.
func (s Span) Overlaps(o Span) bool {
	switch {
	case s.End == nil:
		return o.Contains(s.Start)
	case o.End == nil:
		return s.Contains(o.Start)
	default:
		return bytes.Compare(s.Start, o.End) < 0 && bytes.Compare(o.Start, s.End) < 0
	}
}

// Valid reports whether the span has a start and does not end before it.
func (s Span) Valid() bool {
	return len(s.Start) > 0 && (s.End == nil || bytes.Compare(s.Start, s.End) < 0)
}

// String prints the span with its keys made readable.
func (s Span) String() string {
	if s.End == nil {
		return Pretty(s.Start)
	}
	return fmt.Sprintf("[%s, %s)", Pretty(s.Start), Pretty(s.End))
}

// PrefixEnd returns the first key after every key that begins with prefix, or
// nil if there is none (the prefix is empty or all 0xff).
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// AppendPrefixEnd appends PrefixEnd of a prefix that does not consist of 0xff alone.
func AppendPrefixEnd(dst, prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff {
		n--
	}
	dst = append(dst, prefix[:n]...)
	if n > 0 {
		dst[len(dst)-1]++
	}
	return dst
}

// Next returns the first key after key.
func Next(key []byte) []byte {
	out := make([]byte, len(key)+1)
	copy(out, key)
	return out
}
