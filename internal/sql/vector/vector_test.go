package vector

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/proptest"
	"github.com/lichendb/lichen/internal/sql/types"
)

func TestMain(m *testing.M) { proptest.Main(m) }

var families = []types.Family{types.BoolFamily, types.IntFamily, types.FloatFamily, types.DecimalFamily, types.StringFamily, types.DateFamily, types.UUIDFamily}

func drawDatum(t *rapid.T, f types.Family) types.Datum {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return types.Null
	}
	n := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64()).Draw(t, "n")
	switch f {
	case types.BoolFamily:
		return types.NewBool(n&1 == 1)
	case types.FloatFamily:
		return types.NewFloat(rapid.Float64().Draw(t, "f"))
	case types.DecimalFamily:
		if n == 3 {
			return types.DecimalNaN
		}
		return types.NewDecimalInt(n, int32(rapid.SampledFrom([]int{2, 2, 2, 0, 5}).Draw(t, "scale")))
	case types.StringFamily:
		return types.NewString(rapid.StringN(0, 4, -1).Draw(t, "s"))
	case types.UUIDFamily:
		return types.NewUUID("0123456789abcdef")
	}
	return types.NewOf(f, n)
}

func same(a, b types.Datum) bool {
	return bytes.Equal(types.AppendEncoded(nil, a), types.AppendEncoded(nil, b))
}

// TestRoundTrip sets values, keeps them in a store and takes them out again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(families).Draw(t, "family")
		store := NewStore([]types.Family{f})
		var v, out Vector
		var all []types.Datum
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			n := rapid.IntRange(1, 6).Draw(t, "n")
			v.Reset(f, n)
			var sel Selection
			for i := range n {
				d := drawDatum(t, f)
				v.Set(uint16(i), d)
				if !same(v.Datum(uint16(i)), d) {
					t.Fatalf("%v became %v", d, v.Datum(uint16(i)))
				}
				if rapid.Bool().Draw(t, "selected") {
					sel, all = append(sel, uint16(i)), append(all, d)
				}
			}
			if !(&Batch{N: n, Sel: sel}).Valid() {
				t.Fatalf("selection %v of %d", sel, n)
			}
			store.Append([]*Vector{&v}, sel)
		}
		if store.Len() != len(all) || SizeOf([]*Vector{&v}, All(v.Len())) < 8*int64(v.Len()) {
			t.Fatalf("%d rows of %d, %d bytes", store.Len(), len(all), SizeOf([]*Vector{&v}, All(v.Len())))
		}
		rows := []int32{-1}
		for i := range all {
			rows = append(rows, int32(len(all)-1-i))
		}
		store.Take(&out, 0, rows)
		again := out.taken(rows)
		for k, r := range rows {
			want := types.Null
			if r >= 0 {
				want = all[r]
			}
			if got := out.Datum(uint16(k)); !same(got, want) {
				t.Fatalf("row %d: %v became %v", r, want, got)
			}
			if got := again.Datum(uint16(k)); !same(got, want) {
				t.Fatalf("row %d, taken again: %v became %v", r, want, got)
			}
		}
	})
}

// taken returns what Take makes of all positions of v.
func (v *Vector) taken(rows []int32) *Vector {
	at := make([]int32, len(rows))
	for i := range at {
		at[i] = int32(i)
	}
	var w Vector
	w.Take(v, at)
	return &w
}

// TestDecimals checks which numerics make a vector one of datums.
func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		then types.Datum
		kind Kind
	}{
		{types.NewDecimalInt(-7, 2), Decimals},
		{types.Null, Decimals},
		{types.NewDecimalInt(7, 3), Datums},
		{types.NewDecimalInt(math.MinInt64, 2), Datums},
		{types.DecimalNaN, Datums},
	} {
		var v Vector
		v.Reset(types.DecimalFamily, 3)
		v.Set(0, types.NewDecimalInt(100, 2))
		v.Set(1, c.then)
		if v.Kind != c.kind || !same(v.Datum(0), types.NewDecimalInt(100, 2)) || !same(v.Datum(1), c.then) {
			t.Errorf("after %v: kind %d, %v, %v", c.then, v.Kind, v.Datum(0), v.Datum(1))
		}
	}
}

func TestBitmap(t *testing.T) {
	var a, b Bitmap
	a.Reset(100)
	b.Reset(100)
	if a.Any() || a.Has(99) {
		t.Error("members of an empty set")
	}
	b.Add(99)
	a.Union(&b)
	if !a.Any() || !a.Has(99) || a.Has(98) {
		t.Error("after the union")
	}
	a.Reset(70)
	a.Reset(100)
	if a.Has(99) {
		t.Error("a member stayed")
	}
}
