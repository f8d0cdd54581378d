package typetest_test

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// TestCheckFields reads records with a field of a domain, from text and from the binary form:
// each value of the domain is checked, also NULL, and none is made where nobody checks.
func TestCheckFields(t *testing.T) {
	domain := types.NewUserType(100001, "small", "small", &types.Def{Kind: types.DefDomain, ArrayOid: 100002, Base: types.Int4})
	field := types.Int4.WithDomain(domain)
	rec := types.NewUserType(100003, "rec", "rec", &types.Def{Kind: types.DefComposite, ArrayOid: 100004, Fields: []types.FieldDef{{Name: "a", Type: field}}})
	errLarge := errors.New("large")
	fc := types.NewFormatContext()
	fc.CheckDomain = func(d *types.T, v types.Datum) error {
		if d != domain {
			t.Errorf("checks for type %s", d.Name)
		}
		if v.IsNull() || v.Int() >= 10 {
			return errLarge
		}
		return nil
	}
	for text, want := range map[string]error{"(9)": nil, "(10)": errLarge, "()": errLarge} {
		if _, err := typeio.ParseText(rec, text, fc); err != want {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
	if _, err := typeio.ParseText(rec, "(9)", nil); err == nil {
		t.Error("a record was made that nobody checked")
	}
	for n, want := range map[int64]error{9: nil, 10: errLarge} {
		sent := typeio.AppendBinary(nil, rec, types.NewRecord([]*types.T{field}, []types.Datum{types.NewInt(n)}), nil)
		d, err := typeio.ParseBinary(rec, sent, nil)
		if err != nil {
			t.Fatal(err)
		}
		array, _ := types.ArrayOf(rec)
		for _, v := range []struct {
			t *types.T
			d types.Datum
		}{{rec, d}, {array, types.NewArray([]types.Datum{types.Null, d})}} {
			if err := types.CheckFields(v.t, v.d, fc); err != want {
				t.Errorf("%d as %s: error %v, want %v", n, v.t.SQLName, err, want)
			}
		}
	}
}
