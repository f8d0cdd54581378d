package typetest

import (
	"slices"
	"strconv"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
)

// TestJSONElems compares lists of elements with slices, around the sizes of pieces.
func TestJSONElems(t *testing.T) {
	values := func(n int) []types.JSONValue {
		out := make([]types.JSONValue, n)
		for i := range out {
			out[i] = types.JSONValue{Kind: types.KindString, Str: strconv.Itoa(i)}
		}
		return out
	}
	check := func(got types.JSONElems, want []types.JSONValue) {
		t.Helper()
		if got.Len() != len(want) {
			t.Fatalf("%d elements instead of %d", got.Len(), len(want))
		}
		for i, e := range got.All() {
			if e.Str != want[i].Str || got.At(i).Str != want[i].Str {
				t.Fatalf("element %d of %d is %q", i, len(want), e.Str)
			}
		}
	}
	x := types.JSONValue{Kind: types.KindString, Str: "x"}
	for _, n := range []int{0, 1, 2, 3, 255, 256, 257, 512, 1000} {
		s := values(n)
		a := types.NewJSONElems(s...)
		check(a, s)
		for _, i := range []int{0, n / 2, n} {
			check(a.Splice(i, i, nil, x, x), slices.Insert(slices.Clone(s), i, x, x))
			check(a.Splice(i, n, nil), s[:i])
		}
		check(a, s)
	}
}
