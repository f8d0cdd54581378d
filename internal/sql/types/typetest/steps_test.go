package typetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
)

// TestSteps: work on large values counts a step for each element, and ends when Step fails.
func TestSteps(t *testing.T) {
	const n = 20_000
	list := types.NewJSON("[" + strings.Repeat("1, ", n) + "1]")
	elems := slices.Repeat([]types.Datum{types.NewInt(1)}, n)
	array := types.NewArray(elems)
	for name, f := range map[string]func(fc *types.FormatContext){
		"key of json":  func(fc *types.FormatContext) { types.AppendHashKeyTyped(nil, types.JSONB, list, fc) },
		"key of array": func(fc *types.FormatContext) { types.AppendHashKeyTyped(nil, types.Int4Array, array, fc) },
		"encode array": func(fc *types.FormatContext) { types.EncodeArray([]types.ArrayDim{{Len: n, Lower: 1}}, elems, fc) },
		"decode array": func(fc *types.FormatContext) { array.DecodeArray(fc) },
		"compare json": func(fc *types.FormatContext) { types.CompareSteps(list, types.NewJSON("[1]"), fc) },
		"splice json":  func(fc *types.FormatContext) { list.JSONB(nil).Elems.Splice(0, 1, fc) },
	} {
		steps, fails := 0, error(nil)
		fc := &types.FormatContext{Step: func(k int) error {
			steps += k
			return fails
		}}
		if f(fc); steps < n-n/10 {
			t.Errorf("%s: %d steps", name, steps)
		}
		steps, fails = 0, errors.New("cancelled")
		if f(fc); steps > n/5 {
			t.Errorf("%s: %d steps after it was cancelled", name, steps)
		}
	}
}
