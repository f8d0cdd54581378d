package vector

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/types"
)

// drawValue draws a value of a family, or NULL.
func drawValue(t *rapid.T, f types.Family) types.Datum {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return types.Null
	}
	n := rapid.Int64().Draw(t, "n")
	switch f {
	case types.FloatFamily:
		return types.NewFloat(rapid.Float64().Draw(t, "f"))
	case types.DecimalFamily:
		return types.NewDecimalInt(n>>1, int32(rapid.IntRange(0, 3).Draw(t, "scale")))
	case types.StringFamily, types.BytesFamily:
		return types.NewStringOf(f, rapid.String().Draw(t, "s"))
	case types.UUIDFamily:
		return types.NewUUID("0123456789abcdef")
	case types.BoolFamily:
		n &= 1
	}
	return types.NewOf(f, n)
}

// TestEncodedBatches encodes batches at random and reads them, cuts them anywhere, and expects the selected rows and an error.
func TestEncodedBatches(t *testing.T) {
	families := []types.Family{types.IntFamily, types.FloatFamily, types.DecimalFamily, types.StringFamily, types.UUIDFamily, types.BoolFamily, types.BytesFamily}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "rows")
		fams := rapid.SliceOfN(rapid.SampledFrom(families), 0, 5).Draw(t, "families")
		in := Batch{N: n}
		for i := range n {
			if rapid.Bool().Draw(t, "selected") {
				in.Sel = append(in.Sel, uint16(i))
			}
		}
		var cols []*Vector
		for _, f := range fams {
			v := &Vector{}
			v.Reset(f, n)
			for i := range n {
				v.Set(uint16(i), drawValue(t, f))
			}
			in.Cols, cols = append(in.Cols, v), append(cols, &Vector{})
		}
		text := string(AppendEncoded(nil, &in))
		var out Batch
		rest, err := DecodeEncoded(text+"more", fams, cols, &out)
		if err != nil || rest != "more" || len(out.Sel) != len(in.Sel) {
			t.Fatalf("%d rows, %q is left, %v", len(out.Sel), rest, err)
		}
		for c := range fams {
			for k, i := range in.Sel {
				if a, b := in.Cols[c].Datum(i), out.Cols[c].Datum(uint16(k)); string(types.AppendEncoded(nil, a)) != string(types.AppendEncoded(nil, b)) {
					t.Fatalf("column %d, row %d: %v became %v", c, i, a, b)
				}
			}
		}
		if cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut"); len(text) > 0 {
			if _, err := DecodeEncoded(text[:cut], fams, cols, &out); err == nil {
				t.Fatalf("%d of %d bytes are a batch", cut, len(text))
			}
		}
	})
}
