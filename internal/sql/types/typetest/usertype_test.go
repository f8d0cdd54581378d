package typetest_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// userTypes are an enum, a composite type that holds it, and arrays of both.
func userTypes() []*types.T {
	def := &types.Def{Kind: types.DefEnum, ArrayOid: 100001}
	ranks := types.FirstRanks(3)
	for i, n := range []string{"a", "b c", "d,\"e"} {
		def.Labels = append(def.Labels, types.EnumLabel{Name: n, Rank: ranks[i]})
	}
	enum := types.NewUserType(100000, "mood", "mood", def)
	enums, _ := types.ArrayOf(enum)
	pair := types.NewUserType(100002, "pair", "pair", &types.Def{Kind: types.DefComposite, ArrayOid: 100003, Fields: []types.FieldDef{
		{Name: "x", Type: types.Int4}, {Name: "t", Type: types.Text}, {Name: "m", Type: enum}, {Name: "ms", Type: enums}, {Name: "r", Type: types.Int4Range},
	}})
	pairs, _ := types.ArrayOf(pair)
	outer := types.NewUserType(100004, "outer", "outer", &types.Def{Kind: types.DefComposite, ArrayOid: 100005, Fields: []types.FieldDef{{Name: "p", Type: pair}, {Name: "ps", Type: pairs}}})
	return []*types.T{enum, enums, pair, pairs, outer}
}

func FuzzUserTypes(f *testing.F) {
	ts := userTypes()
	for _, s := range []string{
		"a", `{a,"b c"}`, `(1,"x ""y""",a,"{a,""b c""}","[1,2)")`, `{"(1,,,,)"}`, `("(1,x,a,{},empty)","{""(2,,,,)""}")`, "(,)", "(", ",", `("`,
	} {
		for i, t := range ts {
			f.Add(uint8(i), s, []byte(nil))
			if d, err := typeio.ParseText(t, s, nil); err == nil {
				f.Add(uint8(i), "", typeio.AppendBinary(nil, t, d, nil))
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, s string, b []byte) {
		typ := ts[int(i)%len(ts)]
		if d, err := typeio.ParseText(typ, s, nil); err == nil {
			text := string(typeio.AppendText(nil, typ, d, nil))
			back, err := typeio.ParseText(typ, text, nil)
			if err != nil || types.CompareTyped(typ, d, back, nil) != 0 {
				t.Fatalf("%s: %q printed as %q, read back as %v, %v", typ.Name, s, text, back, err)
			}
		}
		if d, err := typeio.ParseBinary(typ, b, nil); err == nil {
			back, err := typeio.ParseBinary(typ, typeio.AppendBinary(nil, typ, d, nil), nil)
			if err != nil || types.CompareTyped(typ, d, back, nil) != 0 {
				t.Fatalf("%s: %x read back as %v, %v", typ.Name, b, back, err)
			}
		}
	})
}

// TestRankBetween inserts labels in all places and checks that their ranks order.
func TestRankBetween(t *testing.T) {
	ranks := types.FirstRanks(2)
	for i := range 400 {
		pos := i * 7 % (len(ranks) + 1)
		if i > 200 {
			pos = 1 // always at the same place
		}
		lo, hi := "", ""
		if pos > 0 {
			lo = ranks[pos-1]
		}
		if pos < len(ranks) {
			hi = ranks[pos]
		}
		r := types.RankBetween(lo, hi)
		if r <= lo || hi != "" && r >= hi {
			t.Fatalf("between %x and %x: %x", lo, hi, r)
		}
		ranks = append(ranks[:pos], append([]string{r}, ranks[pos:]...)...)
	}
}

func TestRangeErrors(t *testing.T) {
	for s, want := range map[string]pgerr.Code{
		"[1": pgerr.InvalidTextRepresentation, "[5,1)": pgerr.DataException, "[1,2147483647]": pgerr.NumericValueOutOfRange,
		"[x,1)": pgerr.InvalidTextRepresentation,
	} {
		if _, err := typeio.ParseText(types.Int4Range, s, nil); pgerr.CodeOf(err) != want {
			t.Errorf("%s: %v", s, err)
		}
	}
}
