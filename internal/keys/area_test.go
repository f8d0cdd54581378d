package keys

import (
	"bytes"
	"testing"
)

// TestArea: keys of one table, of whatever index, are in one area, and no other keys are between them.
func TestArea(t *testing.T) {
	all := [][]byte{
		MetaSpan().Start, SystemKey("a"), SystemKey("b"), TablePrefix(1, 2), IndexPrefix(1, 2, 1), append(IndexPrefix(1, 2, 7), 5),
		IndexPrefix(1, 3, 1), append(IndexPrefix(1, 300, 1), 9), IndexPrefix(2, 2, 1), {},
	}
	for _, a := range all {
		for _, b := range all {
			same := AreaOf(a) == AreaOf(b)
			adb, at, aok := DecodeTableIDs(a)
			bdb, bt, bok := DecodeTableIDs(b)
			want := aok && bok && adb == bdb && at == bt || !aok && !bok && len(a) > 0 && len(b) > 0 && a[0] == b[0] || bytes.Equal(a, b)
			if same != want {
				t.Errorf("%q and %q are in one area: %t", a, b, same)
			}
			if same && AreaOf(a).Number() != AreaOf(b).Number() {
				t.Errorf("%q and %q have different numbers", a, b)
			}
		}
	}
}
