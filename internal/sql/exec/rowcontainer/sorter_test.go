package rowcontainer

import (
	"context"
	"math"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"pgregory.net/rapid"
)

// TestSorterAgrees compares the sorter with plain comparisons, for values whose
// abbreviated keys tie or are extreme.
func TestSorterAgrees(t *testing.T) {
	values := map[*types.T][]types.Datum{
		types.Int8: {types.NewInt(math.MinInt64), types.NewInt(-1), types.NewInt(0), types.NewInt(1), types.NewInt(math.MaxInt64)},
		types.Float8: {types.NewFloat(math.NaN()), types.NewFloat(math.Inf(1)), types.NewFloat(math.Inf(-1)), types.NewFloat(0),
			types.NewFloat(math.Copysign(0, -1)), types.NewFloat(-1.5), types.NewFloat(1e-300)},
		types.Text: {types.NewString(""), types.NewString("a"), types.NewString("a\x01"), types.NewString("aaaaaaaa"),
			types.NewString("aaaaaaaab"), types.NewString("aaaaaaaa "), types.NewString("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), types.NewString("é")},
		types.Bpchar: {types.NewString("  "), types.NewString("a"), types.NewString("a       "), types.NewString("a         b"),
			types.NewString("a\x01       "), types.NewString("aaaaaaaa  "), types.NewString("aaaaaaaa")},
	}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]*types.T{types.Int8, types.Float8, types.Text, types.Bpchar}).Draw(t, "type")
		var st expr.State
		st.Bind(context.Background(), nil, nil, nil)
		k := OrderKey{Cmp: st.CompareOf(typ), abbrev: abbrevOf(typ), Desc: rapid.Bool().Draw(t, "desc"), NullsFirst: rapid.Bool().Draw(t, "nulls")}
		var rows []types.Row
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			rows = append(rows, types.Row{rapid.SampledFrom(append(values[typ], types.Null)).Draw(t, "v")})
		}
		var s Sorter
		if err := s.Sort(&st, rows, Ordering{k}); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(rows); i++ {
			if k.Compare(rows[i-1][0], rows[i][0]) > 0 {
				t.Fatalf("%s: %v before %v", typ.Name, rows[i-1], rows[i])
			}
		}
	})
}

// TestSortOfLongValuesEnds: one comparison of long arrays ends when the statement is cancelled, and so does the
// sort.
func TestSortOfLongValuesEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	calls := &call.Context{Ctx: ctx, Format: types.NewFormatContext()}
	calls.Format.Step = calls.Step
	elems := make([]types.Datum, 2*call.StepsPerCheck)
	for i := range elems {
		elems[i] = types.NewInt(int64(i))
	}
	typ := types.Int8Array
	var st expr.State
	for _, first := range []OrderKey{{Cmp: st.CompareOf(types.Int8), abbrev: abbrevOf(types.Int8)}, {Cmp: st.CompareOf(types.Numeric)}} {
		o := Ordering{first, {pos: 1, Cmp: st.CompareOf(typ)}}
		rows := []types.Row{{types.Null, types.NewArray(elems)}, {types.Null, types.NewArray(elems)}}
		st.Bind(ctx, calls, nil, nil)
		var s Sorter
		if err := s.Sort(&st, rows, o); pgerr.CodeOf(err) != pgerr.QueryCanceled {
			t.Errorf("error %v, want that of a cancelled statement", err)
		}
	}
}
