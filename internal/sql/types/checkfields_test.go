package types

import (
	"errors"
	"testing"
)

// TestCheckFields reads records with a field of a domain, from text and from the binary form:
// each value of the domain is checked, also NULL, and none is made where nobody checks.
func TestCheckFields(t *testing.T) {
	domain := NewUserType(100001, "small", "small", &Def{Kind: DefDomain, ArrayOid: 100002, Base: Int4})
	field := Int4.WithDomain(domain)
	rec := NewUserType(100003, "rec", "rec", &Def{Kind: DefComposite, ArrayOid: 100004, Fields: []FieldDef{{"a", field}}})
	errLarge := errors.New("large")
	fc := NewFormatContext()
	fc.CheckDomain = func(d *T, v Datum) error {
		if d != domain {
			t.Errorf("checks for type %s", d.Name)
		}
		if v.IsNull() || v.Int() >= 10 {
			return errLarge
		}
		return nil
	}
	for text, want := range map[string]error{"(9)": nil, "(10)": errLarge, "()": errLarge} {
		if _, err := ParseText(rec, text, fc); err != want {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
	if _, err := ParseText(rec, "(9)", nil); err == nil {
		t.Error("a record was made that nobody checked")
	}
	for n, want := range map[int64]error{9: nil, 10: errLarge} {
		sent := AppendBinary(nil, rec, NewRecord([]*T{field}, []Datum{NewInt(n)}))
		d, err := ParseBinary(rec, sent)
		if err != nil {
			t.Fatal(err)
		}
		array, _ := ArrayOf(rec)
		for _, v := range []struct {
			t *T
			d Datum
		}{{rec, d}, {array, NewArray([]Datum{Null, d})}} {
			if err := CheckFields(v.t, v.d, fc); err != want {
				t.Errorf("%d as %s: error %v, want %v", n, v.t.SQLName, err, want)
			}
		}
	}
}
