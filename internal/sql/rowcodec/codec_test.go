package rowcodec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// keyTypes are the types a generated key column may have.
var keyTypes = []*types.T{
	types.Bool, types.Int2, types.Int4, types.Int8, types.Float8, types.Numeric, types.Text, types.Bpchar,
	types.Varchar, types.Bytea, types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ,
	types.Interval, types.UUID, types.Int4Array, types.TextArray,
}

func drawDatum(t *rapid.T, typ *types.T) types.Datum {
	pick := func(vs ...int64) int64 {
		return rapid.OneOf(rapid.SampledFrom(vs), rapid.Int64()).Draw(t, "n")
	}
	switch typ.Family {
	case types.BoolFamily:
		return types.NewBool(rapid.Bool().Draw(t, "b"))
	case types.IntFamily:
		return types.NewInt(pick(0, 1, -1, 87, 88, 255, 256, -255, -256, -257, math.MinInt64, math.MaxInt64))
	case types.FloatFamily:
		return types.NewFloat(rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), types.NaN(), math.Inf(1), math.Inf(-1)})).Draw(t, "f"))
	case types.DecimalFamily:
		return rapid.OneOf(
			rapid.Map(rapid.Int64(), func(n int64) types.Datum { return types.NewDecimalInt(n, 3) }),
			rapid.Map(rapid.Int64Range(-300, 300), func(n int64) types.Datum { return types.NewDecimalInt(n, int32(n&3)) }),
			rapid.SampledFrom([]types.Datum{types.DecimalNaN, types.DecimalInf, types.DecimalNegInf,
				types.NewDecimalInt(10, 1), types.NewDecimalInt(1, 0), types.NewDecimalInt(100, 0)})).Draw(t, "d")
	case types.StringFamily:
		s := rapid.StringN(0, 6, -1).Draw(t, "s")
		if typ.Oid == types.Bpchar.Oid {
			s = strings.TrimRight(s, " ")
			s += strings.Repeat(" ", rapid.IntRange(0, 3).Draw(t, "pad"))
		}
		return types.NewString(strings.ReplaceAll(s, "\x00", ""))
	case types.BytesFamily:
		return types.NewBytes(string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 254, 255}), 0, 5).Draw(t, "x")))
	case types.DateFamily:
		return types.NewDate(int64(int32(pick(0, -1))))
	case types.TimeFamily:
		return types.NewTime(rapid.Int64Range(0, types.MicrosPerDay).Draw(t, "t"))
	case types.TimeTZFamily:
		return types.NewTimeTZ(rapid.Int64Range(0, types.MicrosPerDay).Draw(t, "t"), int32(rapid.IntRange(-50000, 50000).Draw(t, "z")))
	case types.TimestampFamily:
		return types.NewTimestamp(pick(0, math.MinInt64, math.MaxInt64))
	case types.TimestampTZFamily:
		return types.NewTimestampTZ(pick(0))
	case types.IntervalFamily:
		return types.NewInterval(types.IntervalValue{
			Months: int32(rapid.IntRange(-20, 20).Draw(t, "mo")), Days: int32(rapid.IntRange(-70, 70).Draw(t, "d")),
			Micros: rapid.Int64Range(-3*types.MicrosPerDay, 3*types.MicrosPerDay).Draw(t, "us")})
	case types.UUIDFamily:
		return types.NewUUID(string(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "u")))
	}
	n := rapid.IntRange(0, 3).Draw(t, "len")
	elems := make([]types.Datum, n)
	for i := range elems {
		if rapid.IntRange(0, 4).Draw(t, "null") > 0 {
			elems[i] = drawDatum(t, typ.Elem)
		}
	}
	return types.NewArray(elems)
}

func drawNullable(t *rapid.T, typ *types.T) types.Datum {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return types.Null
	}
	return drawDatum(t, typ)
}

// drawTable makes a table of 2 to 7 columns with a primary key, a unique and a
// non-unique index.
func drawTable(t *rapid.T) *catalog.Table {
	tab := &catalog.Table{ID: 104, Database: 100, Name: "t", Kind: catalog.KindTable}
	n := rapid.IntRange(2, 7).Draw(t, "columns")
	id := 0
	for i := range n {
		id += rapid.IntRange(1, 150).Draw(t, "gap")
		tab.Columns = append(tab.Columns, catalog.Column{
			ID: catalog.ColumnID(id), Name: fmt.Sprint("c", i), Type: rapid.SampledFrom(keyTypes).Draw(t, "type")})
	}
	columns := func(label string) []catalog.IndexColumn {
		perm := rapid.Permutation(indices(n)).Draw(t, label)
		var cols []catalog.IndexColumn
		for _, p := range perm[:rapid.IntRange(1, min(3, n)).Draw(t, label+"n")] {
			cols = append(cols, catalog.IndexColumn{Column: tab.Columns[p].ID,
				Desc: rapid.Bool().Draw(t, "desc"), NullsFirst: rapid.Bool().Draw(t, "nf")})
		}
		return cols
	}
	stored := tab.Columns[rapid.IntRange(0, n-1).Draw(t, "stored")].ID
	tab.Indexes = []catalog.Index{
		{ID: 1, Name: "p", Unique: true, Primary: true, Columns: columns("p")},
		{ID: 2, Name: "u", Unique: true, Columns: columns("u"), Stored: []catalog.ColumnID{stored}},
		{ID: 300, Name: "s", Columns: columns("s"), Stored: []catalog.ColumnID{stored}},
	}
	if drawFamilies(t, tab); !tab.HasFamilies() {
		drawMissing(t, tab)
	}
	return tab
}

// drawMissing gives some columns that are not in the primary key a value in rows that lack them.
func drawMissing(t *rapid.T, tab *catalog.Table) {
	for i := range tab.Columns {
		c := &tab.Columns[i]
		inKey := slices.ContainsFunc(tab.Indexes[0].Columns, func(k catalog.IndexColumn) bool { return k.Column == c.ID })
		if !inKey && rapid.IntRange(0, 2).Draw(t, "missing") == 0 {
			c.Missing = types.AppendEncoded(nil, drawDatum(t, c.Type))
		}
	}
}

// TestRowsThatLackColumns reads rows from before some columns were added.
func TestRowsThatLackColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		row := drawRow(t, tab)
		before := tab.Clone()
		before.Columns = slices.DeleteFunc(before.Columns, func(c catalog.Column) bool { return c.Missing != nil })
		before.Indexes = before.Indexes[:1]
		old := make([]types.Datum, len(before.Columns))
		for i := range before.Columns {
			old[i] = row[tab.ColumnByID(before.Columns[i].ID)]
		}
		for i := range tab.Columns {
			if c := &tab.Columns[i]; c.Missing != nil {
				row[i], _, _ = types.DecodeEncoded(string(c.Missing))
			}
		}
		key, value := encodePrimary(t, before, old)
		x, err := Compile(tab, tab.Primary())
		if err != nil {
			t.Fatal(err)
		}
		got := make([]types.Datum, len(row))
		if err := x.NewDecoder(indices(len(row))).Decode(key, value, got); err != nil {
			t.Fatal(err)
		}
		dec, cols := x.NewVectorDecoder(indices(len(row))), make([]*vector.Vector, len(row))
		for i := range cols {
			cols[i] = &vector.Vector{}
		}
		dec.Reset(cols, 1)
		if err := dec.Decode(key, value, cols, 0); err != nil {
			t.Fatal(err)
		}
		for i := range row {
			if !identical(got[i], row[i]) || !identical(cols[i].Datum(0), row[i]) {
				t.Fatalf("column %d: read %v and %v, want %v", i, got[i], cols[i].Datum(0), row[i])
			}
		}
	})
}

// drawFamilies distributes the columns of a table over families, some of them empty.
func drawFamilies(t *rapid.T, tab *catalog.Table) {
	n := rapid.IntRange(1, 4).Draw(t, "families")
	if n == 1 {
		return
	}
	for i := range n {
		tab.Families = append(tab.Families, catalog.Family{ID: catalog.FamilyID(i * i)})
	}
	for i := range tab.Columns {
		f := &tab.Families[rapid.IntRange(0, n-1).Draw(t, "family")]
		f.Columns = append(f.Columns, tab.Columns[i].ID)
	}
}

func indices(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func drawRow(t *rapid.T, tab *catalog.Table) []types.Datum {
	row := make([]types.Datum, len(tab.Columns))
	for i := range row {
		row[i] = drawNullable(t, tab.Columns[i].Type)
	}
	for _, c := range tab.Indexes[0].Columns {
		ord := tab.ColumnByID(c.Column)
		row[ord] = drawDatum(t, tab.Columns[ord].Type)
	}
	return row
}

// identical compares datums exactly, scale and sign of zero included.
func identical(a, b types.Datum) bool {
	return bytes.Equal(types.AppendEncoded(nil, a), types.AppendEncoded(nil, b))
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		row := drawRow(t, tab)
		for i := range tab.Indexes {
			x, err := Compile(tab, &tab.Indexes[i])
			if err != nil {
				t.Fatal(err)
			}
			key, err := x.AppendKey(nil, row)
			if err != nil {
				t.Fatal(err)
			}
			value, err := x.AppendValue(nil, row)
			if err != nil {
				t.Fatal(err)
			}
			var ords []int
			for _, ord := range rapid.Permutation(indices(len(row))).Draw(t, "ords") {
				if x.Has(tab.Columns[ord].ID) && rapid.Bool().Draw(t, "want") {
					ords = append(ords, ord)
				}
			}
			got := make([]types.Datum, len(ords))
			if err := x.NewDecoder(ords).Decode(key, value, got); err != nil {
				t.Fatalf("%s: %v", tab.Indexes[i].Name, err)
			}
			for slot, ord := range ords {
				if !identical(got[slot], row[ord]) {
					t.Fatalf("%s: column %d of type %s: %v became %v", tab.Indexes[i].Name, ord, tab.Columns[ord].Type.Name, row[ord], got[slot])
				}
			}
		}
	})
}

// compareColumn orders two values as an index column does, with an order of its
// own making for the types (independent of the key form).
func compareColumn(t *rapid.T, c catalog.IndexColumn, typ *types.T, a, b types.Datum) int {
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull() || b.IsNull():
		if a.IsNull() == c.NullsFirst {
			return -1
		}
		return 1
	}
	r := types.CompareTyped(typ, a, b, nil)
	if c.Desc {
		return -r
	}
	return r
}

func TestOrderMatchesCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		a, b := drawRow(t, tab), drawRow(t, tab)
		for i := range a {
			if rapid.Bool().Draw(t, "same") {
				b[i] = a[i]
			}
		}
		x, err := Compile(tab, &tab.Indexes[rapid.SampledFrom([]int{0, 2}).Draw(t, "index")])
		if err != nil {
			t.Fatal(err)
		}
		ka, _ := x.AppendKey(nil, a)
		kb, _ := x.AppendKey(nil, b)
		want := 0
		for _, k := range x.Key {
			c := catalog.IndexColumn{Desc: k.Desc, NullsFirst: k.NullsFirst}
			if want = compareColumn(t, c, k.Type, a[k.Ord], b[k.Ord]); want != 0 {
				break
			}
		}
		if got := bytes.Compare(ka, kb); sign(got) != sign(want) {
			t.Fatalf("keys compare %d, rows %d\n%v\n%v\n%x\n%x", got, want, a, b, ka, kb)
		}
	})
}

func sign(n int) int {
	return min(1, max(-1, n))
}

func TestUniqueKeysWithNulls(t *testing.T) {
	tab := &catalog.Table{ID: 7, Database: 1, Name: "t", Columns: []catalog.Column{
		{ID: 1, Name: "id", Type: types.Int4}, {ID: 2, Name: "u", Type: types.Int4}},
		Indexes: []catalog.Index{
			{ID: 1, Name: "p", Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}},
			{ID: 2, Name: "u", Unique: true, Columns: []catalog.IndexColumn{{Column: 2}}}}}
	x, err := Compile(tab, &tab.Indexes[1])
	if err != nil {
		t.Fatal(err)
	}
	key := func(id, u types.Datum) []byte {
		k, err := x.AppendKey(nil, []types.Datum{id, u})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, two := types.NewInt(1), types.NewInt(2)
	if !bytes.Equal(key(one, one), key(two, one)) {
		t.Error("equal values have different unique keys")
	}
	if bytes.Equal(key(one, types.Null), key(two, types.Null)) {
		t.Error("two NULLs collide")
	}
}

func TestAddedAndDroppedColumns(t *testing.T) {
	old := sysbenchTable()
	row := []types.Datum{types.NewInt(1), types.NewInt(2), types.NewString("c"), types.NewString("p")}
	key, value := encodePrimary(t, old, row)
	changed := *old
	changed.Columns = append(slices.Clone(old.Columns[:2]), old.Columns[3],
		catalog.Column{ID: 9, Name: "new", Type: types.Text})
	x, err := Compile(&changed, changed.Primary())
	if err != nil {
		t.Fatal(err)
	}
	got := make([]types.Datum, 4)
	if err := x.NewDecoder([]int{0, 1, 2, 3}).Decode(key, value, got); err != nil {
		t.Fatal(err)
	}
	if got[0].Int() != 1 || got[1].Int() != 2 || got[2].Str() != "p" || !got[3].IsNull() {
		t.Fatalf("%v", got)
	}
}

func TestKeyTooLarge(t *testing.T) {
	tab := sysbenchTable()
	tab.Columns[0].Type = types.Text
	x, _ := Compile(tab, tab.Primary())
	_, err := x.AppendKey(nil, []types.Datum{types.NewString(strings.Repeat("x", MaxKeySize)), types.Null, types.Null, types.Null})
	if pgerr.CodeOf(err) != pgerr.ProgramLimitExceeded {
		t.Fatalf("%v", err)
	}
}

// TestLongListKeys: the key of a value of many elements ends soon after the longest key that there may be, and
// orders against shorter ones as the values do.
func TestLongListKeys(t *testing.T) {
	list := func(n, last int) types.Datum {
		elems := make([]types.Datum, n+1)
		for i := range elems {
			elems[i] = types.NewInt(7)
		}
		elems[n] = types.NewInt(int64(last))
		return types.NewArray(elems)
	}
	long := list(100_000, 7)
	key := AppendOrdered(nil, types.Int8Array, long)
	if len(key) > MaxKeySize+16 {
		t.Errorf("a key of %d bytes", len(key))
	}
	for _, short := range []types.Datum{list(0, 7), list(0, 6), list(0, 8), list(1000, 7), list(1000, 6), list(1000, 8), types.NewArray(nil)} {
		got := bytes.Compare(key, AppendOrdered(nil, types.Int8Array, short))
		if want := types.Compare(long, short); got != want {
			t.Errorf("order %d, want %d", got, want)
		}
	}
}

// TestRowCheckSteps: the check of a row with a large value ends when the statement is cancelled.
func TestRowCheckSteps(t *testing.T) {
	tab := sysbenchTable()
	tab.Columns[1].Type = types.Int8Array
	row := sysbenchRow()
	row[1] = types.NewArray(make([]types.Datum, 1000))
	steps, canceled := 0, errors.New("canceled")
	fc := &types.FormatContext{Step: func(n int) error {
		if steps += n; steps > 10 {
			return canceled
		}
		return nil
	}}
	if err := NewRowCheck(tab).Check(row, fc); err != canceled || steps > 20 {
		t.Errorf("%v after %d steps", err, steps)
	}
	if err := NewRowCheck(tab).Check(row, nil); err != nil {
		t.Error(err)
	}
}

// TestComposedOrder covers invariant 1 for the types without a form of their own.
func TestComposedOrder(t *testing.T) {
	for _, c := range []struct {
		t     *types.T
		texts []string // ascending
	}{
		{types.Inet, []string{"0.0.0.0/0", "10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/9", "10.0.0.0/32", "10.128.0.0/9", "192.168.0.1", "::/0", "::1"}},
		{types.Varbit, []string{"", "0", "00000000", "000000000", "01", "1", "10", "10000000", "100000001", "11"}},
		{types.JSONB, []string{"[]", "null", `""`, `"a"`, `"b"`, "-1.5", "0", "1", "10", "false", "true", "[0]", "[1]", "[1, 1]", "{}", `{"a": 1}`, `{"b": 0}`}},
		{types.Int4Range, []string{"empty", "(,1)", "(,)", "[1,2)", "[1,3)", "[1,)", "[2,3)"}},
		{types.NumRange, []string{"empty", "(,1)", "[1,2)", "[1,2]", "(1,2)", "(1,)"}},
		{types.Int4Multirange, []string{"{}", "{[1,2)}", "{[1,2),[4,5)}", "{[1,3)}"}},
		{types.MACAddr, []string{"00:00:00:00:00:00", "00:00:00:00:00:01", "ff:00:00:00:00:00"}},
		{types.Citext, []string{"", "A", "a0", "AB", "ac", "É", "é!"}},
		{types.Hstore, []string{"", "\"\"=>\"\"", "a=>\"\"", "a=>NULL", "a=>1", "a=>1,b=>NULL", "b=>1"}},
		{types.Ltree, []string{"", "A", "a", "a.b", "a.b.c", "a0", "aa.a", "b"}},
	} {
		var prev []byte
		var prevD types.Datum
		for i, s := range c.texts {
			d, err := typeio.ParseText(c.t, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := appendOrdered(nil, c.t, d)
			if i > 0 && (bytes.Compare(prev, key) >= 0 || types.Compare(prevD, d) >= 0) {
				t.Errorf("%s: %s is not above %s: %x, %x, %d", c.t.Name, s, c.texts[i-1], key, prev, types.Compare(prevD, d))
			}
			r := keyReader{b: append(append([]byte(nil), key...), 0x77)}
			if r.skip(c.t); r.bad || len(r.b) != 1 {
				t.Errorf("%s: %s is not skipped whole", c.t.Name, s)
			}
			prev, prevD = key, d
		}
	}
}

func TestJSONKeyRefused(t *testing.T) {
	tab := sysbenchTable()
	tab.Columns[0].Type = types.JSON
	if _, err := Compile(tab, tab.Primary()); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Fatalf("%v", err)
	}
}

// sysbenchTable is sbtest1: id, k, c char(120), pad char(60).
func sysbenchTable() *catalog.Table {
	return &catalog.Table{ID: 104, Database: 100, Name: "sbtest1", Columns: []catalog.Column{
		{ID: 1, Name: "id", Type: types.Int4}, {ID: 2, Name: "k", Type: types.Int4},
		{ID: 3, Name: "c", Type: types.Bpchar.WithTypmod(124)}, {ID: 4, Name: "pad", Type: types.Bpchar.WithTypmod(64)}},
		Indexes: []catalog.Index{
			{ID: 1, Name: "sbtest1_pkey", Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}},
			{ID: 2, Name: "k_1", Columns: []catalog.IndexColumn{{Column: 2}}}}}
}

func encodePrimary(t rapid.TB, tab *catalog.Table, row []types.Datum) (key, value []byte) {
	x, err := Compile(tab, tab.Primary())
	if err != nil {
		t.Fatal(err)
	}
	if key, err = x.AppendKey(nil, row); err != nil {
		t.Fatal(err)
	}
	if value, err = x.AppendValue(nil, row); err != nil {
		t.Fatal(err)
	}
	return key, value
}

func sysbenchRow() []types.Datum {
	return []types.Datum{types.NewInt(77_123), types.NewInt(50_321),
		types.NewString(strings.Repeat("12345678901-", 10)), types.NewString(strings.Repeat("12345678901-", 5))}
}

func TestDecodeAllocs(t *testing.T) {
	tab := sysbenchTable()
	key, value := encodePrimary(t, tab, sysbenchRow())
	x, _ := Compile(tab, tab.Primary())
	d := x.NewDecoder([]int{0, 1, 2, 3})
	row := make([]types.Datum, 4)
	if n := testing.AllocsPerRun(100, func() {
		d.Reset()
		if err := d.Decode(key, value, row); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzDecode(f *testing.F) {
	tab := &catalog.Table{ID: 104, Database: 100, Name: "t", Indexes: []catalog.Index{{ID: 1, Primary: true, Unique: true}}}
	for i, t := range keyTypes {
		tab.Columns = append(tab.Columns, catalog.Column{ID: catalog.ColumnID(i + 1), Name: t.Name, Type: t})
		tab.Indexes[0].Columns = append(tab.Indexes[0].Columns, catalog.IndexColumn{Column: catalog.ColumnID(i + 1), Desc: i%2 == 1})
	}
	x, err := Compile(tab, tab.Primary())
	if err != nil {
		f.Fatal(err)
	}
	split := *tab
	for i := range tab.Columns {
		split.Families = append(split.Families, catalog.Family{ID: catalog.FamilyID(i), Columns: []catalog.ColumnID{catalog.ColumnID(i + 1)}})
	}
	several, err := Compile(&split, split.Primary())
	if err != nil {
		f.Fatal(err)
	}
	ords := indices(len(tab.Columns))
	f.Add([]byte{}, []byte{1, 0})
	f.Add([]byte{0x89, 0x40, 0x00, 0x01}, []byte{1, 0, 1, 2, 2})
	f.Add([]byte{}, []byte{1, 0, 5, 2, 2, 0, 1, 2, 2, 0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		key = append(slices.Clone(x.Prefix()), key...)
		row := make([]types.Datum, len(ords))
		for _, x := range []*Index{x, several} {
			if err := x.NewDecoder(ords).Decode(key, value, row); err != nil && pgerr.CodeOf(err) != pgerr.DataCorrupted {
				t.Fatal(err)
			}
			for i := range row {
				_ = types.AppendEncoded(nil, row[i])
			}
		}
		if _, err := several.AppendPart([]byte{1, 0}, value); err != nil && pgerr.CodeOf(err) != pgerr.DataCorrupted {
			t.Fatal(err)
		}
	})
}

func BenchmarkDecodeSysbench(b *testing.B) {
	tab := sysbenchTable()
	key, value := encodePrimary(b, tab, sysbenchRow())
	x, _ := Compile(tab, tab.Primary())
	for name, ords := range map[string][]int{"all": {0, 1, 2, 3}, "c": {2}, "id": {0}} {
		b.Run(name, func(b *testing.B) {
			d := x.NewDecoder(ords)
			row := make([]types.Datum, len(ords))
			b.ReportAllocs()
			for b.Loop() {
				d.Reset()
				if err := d.Decode(key, value, row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
