package rowcodec

import (
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// prettyTable is a table whose primary key is columns of the types given.
func prettyTable(desc bool, ts ...*types.T) *catalog.Table {
	tab := &catalog.Table{ID: 104, Database: 100, Name: "t", Indexes: []catalog.Index{{ID: 1, Primary: true, Unique: true}}}
	for i, t := range ts {
		id := catalog.ColumnID(i + 1)
		tab.Columns = append(tab.Columns, catalog.Column{ID: id, Name: t.Name, Type: t})
		tab.Indexes[0].Columns = append(tab.Indexes[0].Columns, catalog.IndexColumn{Column: id, Desc: desc})
	}
	return tab
}

func TestPrettyKey(t *testing.T) {
	for _, c := range []struct {
		t          *types.T
		text, want string
	}{
		{types.Int4, "-7", "/-7"}, {types.Int8, "9223372036854775807", "/9223372036854775807"}, {types.Bool, "t", "/true"},
		{types.Text, `a"b/é`, `/"a\"b/\u00e9"`}, {types.Varchar, "", `/""`}, {types.Bytea, `\x00ff`, `/"\\x00ff"`},
		{types.Date, "2026-01-02", `/"2026-01-02"`}, {types.Timestamp, "2026-01-02 03:04:05", `/"2026-01-02 03:04:05"`},
		{types.UUID, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", `/"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`},
		{types.Float8, "-1.5", "/-1.5"}, {types.Interval, "1 mon 2 days 03:00:00", `/"32 days 03:00:00"`},
		{types.Numeric, "0", "/0"}, {types.Numeric, "-12.345", "/-12.345"}, {types.Numeric, "1200", "/1200"},
		{types.Numeric, "0.0012", "/0.0012"}, {types.Numeric, "NaN", "/NaN"}, {types.Numeric, "7e90", "/0.7E91"},
		{types.Numeric, "-Infinity", "/-Infinity"}, {types.TimeTZ, "01:02:03+05", `/"01:02:03+05"`},
		{types.Int8Array, "{1,NULL,-3}", "/{1,NULL,-3}"}, {types.TextArray, "{}", "/{}"},
	} {
		for _, desc := range []bool{false, true} {
			tab := prettyTable(desc, c.t, types.Int4)
			x, err := Compile(tab, tab.Primary())
			if err != nil {
				t.Fatal(err)
			}
			d, err := typeio.ParseText(c.t, c.text, &types.FormatContext{})
			if err != nil {
				t.Fatal(err)
			}
			prefix := x.AppendKeyDatum(slices.Clone(x.Prefix()), 0, d)
			if got := x.PrettyKey(prefix); got != c.want {
				t.Errorf("%s %s: %s", c.t.Name, c.text, got)
			}
			key, err := x.AppendKey(nil, []types.Datum{d, types.NewInt(5)})
			if err != nil {
				t.Fatal(err)
			}
			if got := x.PrettyKey(key); got != c.want+"/5/0" {
				t.Errorf("%s %s: %s", c.t.Name, c.text, got)
			}
		}
	}
}

func TestPrettyKeyOfUniqueIndex(t *testing.T) {
	tab := prettyTable(false, types.Int4, types.Text)
	tab.Indexes = append(tab.Indexes, catalog.Index{ID: 2, Unique: true, Columns: []catalog.IndexColumn{{Column: 2}}})
	tab.Indexes[0].Columns = tab.Indexes[0].Columns[:1]
	x, err := Compile(tab, &tab.Indexes[1])
	if err != nil {
		t.Fatal(err)
	}
	for want, row := range map[string][]types.Datum{
		`/"a"/0`: {types.NewInt(1), types.NewString("a")}, "/NULL/1/0": {types.NewInt(1), types.Null},
	} {
		key, err := x.AppendKey(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.PrettyKey(key); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if got := x.PrettyKey(x.Prefix()); got != "" {
		t.Errorf("the beginning of the index is %s", got)
	}
	if got := x.PrettyKey(append(slices.Clone(x.Prefix()), "\x40ab"...)); got != `/"@ab"` {
		t.Errorf("a cut key is %s", got)
	}
	if got := x.PrettyKey([]byte("other")); got == "" {
		t.Error("a foreign key has no text")
	}
}

func FuzzPrettyKey(f *testing.F) {
	tab := prettyTable(false, keyTypes...)
	for i := range tab.Indexes[0].Columns {
		tab.Indexes[0].Columns[i].Desc = i%2 == 1
	}
	x, err := Compile(tab, tab.Primary())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0x89, 0x40, 0x00, 0x01})
	f.Fuzz(func(t *testing.T, key []byte) {
		in := append(slices.Clone(x.Prefix()), key...)
		if x.PrettyKey(in); string(in[len(x.Prefix()):]) != string(key) {
			t.Fatal("the key was changed")
		}
	})
}
