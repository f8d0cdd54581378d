package typetest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/types"
)

// TestFits checks that every value fits its type, and its encoded form reads back, and that
// values of another family fit nowhere, however deep they are.
func TestFits(t *testing.T) {
	for _, typ := range inputTypes() {
		t.Run(typ.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := genDatum(t, typ)
				if !typ.Fits(d, nil) {
					t.Fatalf("%v does not fit", d)
				}
				if back, rest, err := types.DecodeEncoded(string(types.AppendEncoded(nil, d))); err != nil || rest != "" || !same(d, back) {
					t.Fatalf("%v fits and reads back as %v, %v", d, back, err)
				}
				other := rapid.SampledFrom(inputTypes()).Draw(t, "other")
				if !d.IsNull() && other.Family != typ.Family && other.Fits(d, nil) {
					t.Fatalf("%v fits %s", d, other.Name)
				}
			})
		})
	}
}

func TestFitsInside(t *testing.T) {
	pair := types.NewUserType(70001, "pair", "pair", &types.Def{Kind: types.DefComposite, ArrayOid: 70002,
		Fields: []types.FieldDef{{Name: "a", Type: types.Int4}, {Name: "b", Type: types.TextArray}}})
	rec := func(a, b types.Datum) types.Datum {
		return types.NewRecord([]*types.T{types.Int4, types.TextArray}, []types.Datum{a, b})
	}
	texts := types.NewArray([]types.Datum{types.NewString("x"), types.Null})
	pairs, _ := types.ArrayOf(pair)
	between := func(lo, hi types.Datum) types.Datum {
		return types.RangeDatum(types.Range{Lower: types.Bound{D: lo, Incl: true}, Upper: types.Bound{D: hi}})
	}
	for _, c := range []struct {
		typ  *types.T
		d    types.Datum
		want bool
	}{
		{types.Int2, types.NewInt(1 << 15), false},
		{types.Int4, types.NewInt(-1 << 31), true},
		{types.Int4, types.NewInt(1 << 31), false},
		{types.Int8, types.NewInt(1 << 62), true},
		{types.Oid, types.NewInt(-1), false},
		{types.Int4Array, types.NewArray([]types.Datum{types.NewInt(1), types.NewInt(1 << 31)}), false},
		{types.TextArray, types.NewArray([]types.Datum{types.NewInt(1)}), false},
		{pair, rec(types.NewInt(1), texts), true},
		{pair, rec(types.Null, types.Null), true},
		{pair, rec(types.NewInt(1<<31), texts), false},
		{pair, rec(types.NewInt(1), types.NewString("x")), false},
		{pair, rec(types.NewInt(1), types.NewArray([]types.Datum{types.NewInt(1)})), false},
		{pair, types.NewRecord([]*types.T{types.Int4}, []types.Datum{types.NewInt(1)}), false},
		{pair, rec(rec(types.NewInt(1), texts), types.Null), false},
		{pairs, types.NewArray([]types.Datum{rec(types.NewInt(1), texts), types.Null}), true},
		{pairs, types.NewArray([]types.Datum{rec(texts, texts)}), false},
		{types.Int4Range, between(types.NewInt(1), types.NewInt(3)), true},
		{types.Int4Range, between(types.NewInt(1), types.NewInt(1<<40)), false},
		{types.Int4Range, between(types.NewString("a"), types.NewString("b")), false},
		{types.UUID, types.NewUUID("short"), false},
	} {
		if got := c.typ.Fits(c.d, nil); got != c.want {
			t.Errorf("%s: %x fits: %v", c.typ.Name, types.AppendEncoded(nil, c.d), got)
		}
	}
}

// TestFitsDeep nests a value deeper than DecodeEncoded goes.
func TestFitsDeep(t *testing.T) {
	typ, d := types.Int4, types.NewInt(1)
	for depth := 1; depth <= types.MaxEncodedDepth+5; depth++ {
		typ = types.NewUserType(uint32(70000+depth), "t", "t", &types.Def{Kind: types.DefComposite, Fields: []types.FieldDef{{Name: "a", Type: typ}}})
		d = types.NewRecord([]*types.T{typ}, []types.Datum{d})
		_, _, err := types.DecodeEncoded(string(types.AppendEncoded(nil, d)))
		if got := typ.Fits(d, nil); got != (err == nil) {
			t.Fatalf("%d levels: fits: %v, reading: %v", depth, got, err)
		}
	}
}

func TestFitsAllocs(t *testing.T) {
	d := types.NewArray([]types.Datum{types.NewInt(1), types.Null, types.NewInt(3)})
	if n := testing.AllocsPerRun(100, func() {
		if !types.Int4Array.Fits(d, nil) || !types.Text.Fits(types.NewString("x"), nil) || !types.Int8.Fits(types.NewInt(1), nil) {
			t.Error("does not fit")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
