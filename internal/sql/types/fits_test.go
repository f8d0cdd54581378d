package types

import (
	"testing"

	"pgregory.net/rapid"
)

// TestFits checks that every value fits its type, and its encoded form reads back, and that
// values of another family fit nowhere, however deep they are.
func TestFits(t *testing.T) {
	for _, typ := range inputTypes() {
		t.Run(typ.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := genDatum(t, typ)
				if !typ.Fits(d) {
					t.Fatalf("%v does not fit", d)
				}
				if back, rest, err := DecodeEncoded(string(AppendEncoded(nil, d))); err != nil || rest != "" || !same(d, back) {
					t.Fatalf("%v fits and reads back as %v, %v", d, back, err)
				}
				other := rapid.SampledFrom(inputTypes()).Draw(t, "other")
				if !d.IsNull() && other.Family != typ.Family && other.Fits(d) {
					t.Fatalf("%v fits %s", d, other.Name)
				}
			})
		})
	}
}

func TestFitsInside(t *testing.T) {
	pair := NewUserType(70001, "pair", "pair", &Def{Kind: DefComposite, ArrayOid: 70002,
		Fields: []FieldDef{{Name: "a", Type: Int4}, {Name: "b", Type: TextArray}}})
	rec := func(a, b Datum) Datum { return NewRecord([]*T{Int4, TextArray}, []Datum{a, b}) }
	texts := NewArray([]Datum{NewString("x"), Null})
	pairs, _ := ArrayOf(pair)
	between := func(lo, hi Datum) Datum {
		return Datum{fam: RangeFamily, s: string(appendEncodedRange(nil, Range{Lower: Bound{D: lo, Incl: true}, Upper: Bound{D: hi}}))}
	}
	for _, c := range []struct {
		typ  *T
		d    Datum
		want bool
	}{
		{Int2, NewInt(1 << 15), false},
		{Int4, NewInt(-1 << 31), true},
		{Int4, NewInt(1 << 31), false},
		{Int8, NewInt(1 << 62), true},
		{Oid, NewInt(-1), false},
		{Int4Array, NewArray([]Datum{NewInt(1), NewInt(1 << 31)}), false},
		{TextArray, NewArray([]Datum{NewInt(1)}), false},
		{pair, rec(NewInt(1), texts), true},
		{pair, rec(Null, Null), true},
		{pair, rec(NewInt(1<<31), texts), false},
		{pair, rec(NewInt(1), NewString("x")), false},
		{pair, rec(NewInt(1), NewArray([]Datum{NewInt(1)})), false},
		{pair, NewRecord([]*T{Int4}, []Datum{NewInt(1)}), false},
		{pair, rec(rec(NewInt(1), texts), Null), false},
		{pairs, NewArray([]Datum{rec(NewInt(1), texts), Null}), true},
		{pairs, NewArray([]Datum{rec(texts, texts)}), false},
		{Int4Range, between(NewInt(1), NewInt(3)), true},
		{Int4Range, between(NewInt(1), NewInt(1<<40)), false},
		{Int4Range, between(NewString("a"), NewString("b")), false},
		{UUID, NewUUID("short"), false},
	} {
		if got := c.typ.Fits(c.d); got != c.want {
			t.Errorf("%s: %x fits: %v", c.typ.Name, AppendEncoded(nil, c.d), got)
		}
	}
}

// TestFitsDeep nests a value deeper than DecodeEncoded goes.
func TestFitsDeep(t *testing.T) {
	typ, d := Int4, NewInt(1)
	for depth := 1; depth <= maxEncodedDepth+5; depth++ {
		typ = NewUserType(uint32(70000+depth), "t", "t", &Def{Kind: DefComposite, Fields: []FieldDef{{Name: "a", Type: typ}}})
		d = NewRecord([]*T{typ}, []Datum{d})
		_, _, err := DecodeEncoded(string(AppendEncoded(nil, d)))
		if got := typ.Fits(d); got != (err == nil) {
			t.Fatalf("%d levels: fits: %v, reading: %v", depth, got, err)
		}
	}
}

func TestFitsAllocs(t *testing.T) {
	d := NewArray([]Datum{NewInt(1), Null, NewInt(3)})
	if n := testing.AllocsPerRun(100, func() {
		if !Int4Array.Fits(d) || !Text.Fits(NewString("x")) || !Int8.Fits(NewInt(1)) {
			t.Error("does not fit")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
