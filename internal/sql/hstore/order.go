package hstore

import (
	"cmp"
	"encoding/binary"
	"strings"
)

// joined returns the keys and values of a value one after the other, and where each ends: that of a NULL where it begins.
func joined(s string) (text string, ends []uint32, nulls []bool) {
	var b strings.Builder
	for p := range All(s) {
		b.WriteString(p.Key)
		ends, nulls = append(ends, uint32(b.Len())), append(nulls, false)
		b.WriteString(p.Value)
		ends, nulls = append(ends, uint32(b.Len())), append(nulls, p.Null)
	}
	return b.String(), ends, nulls
}

// Compare orders values as PostgreSQL does: by the texts of all keys and values in a row, then by how many pairs there are,
// then by the lengths of the texts, NULL after an empty one.
func Compare(a, b string) int {
	if a == b {
		return 0
	}
	x, xEnds, xNulls := joined(a)
	y, yEnds, yNulls := joined(b)
	if c := cmp.Or(strings.Compare(x, y), cmp.Compare(len(xEnds), len(yEnds))); c != 0 {
		return c
	}
	for i := range xEnds {
		switch {
		case xEnds[i] != yEnds[i]:
			return cmp.Compare(xEnds[i], yEnds[i])
		case xNulls[i] != yNulls[i] && xNulls[i]:
			return 1
		case xNulls[i] != yNulls[i]:
			return -1
		}
	}
	return 0
}

// AppendSortKey appends bytes that order as Compare does: the joined texts as text appends them, which must be
// self-delimiting, then the rest.
func AppendSortKey(dst []byte, s string, text func(dst []byte, s string) []byte) []byte {
	joint, ends, nulls := joined(s)
	dst = binary.BigEndian.AppendUint32(text(dst, joint), uint32(len(ends)))
	for i, end := range ends {
		dst = binary.BigEndian.AppendUint32(dst, end)
		if nulls[i] {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	return dst
}
