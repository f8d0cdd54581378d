package typetest_test

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func TestDatumSize(t *testing.T) {
	if n := unsafe.Sizeof(types.Datum{}); n != 32 {
		t.Errorf("a datum takes %d bytes, want 32", n)
	}
}

// TestRelativeDates covers the words that depend on the transaction's time.
func TestRelativeDates(t *testing.T) {
	loc, _ := time.LoadLocation("America/New_York")
	fc := types.NewFormatContext()
	fc.TimeZone = loc
	fc.Now = time.Date(2024, 3, 1, 2, 30, 15, 250_000_000, time.UTC) // still February 29 there
	for _, c := range []struct {
		t        *types.T
		in, want string
	}{
		{types.Date, "today", "2024-02-29"},
		{types.Date, "yesterday", "2024-02-28"},
		{types.Date, "tomorrow", "2024-03-01"},
		{types.Date, "now", "2024-02-29"},
		{types.Timestamp, "now", "2024-02-29 21:30:15.25"},
		{types.TimestampTZ, "now", "2024-02-29 21:30:15.25-05"},
		{types.TimestampTZ, "today", "2024-02-29 00:00:00-05"},
		{types.Timestamp, "tomorrow 04:05", "2024-03-01 04:05:00"},
		{types.Timestamp, "yesterday allballs", "2024-02-28 00:00:00"},
		{types.TimestampTZ, "tomorrow 12:00 Europe/Paris", "2024-03-01 06:00:00-05"},
		{types.Time, "now", "21:30:15.25"},
		{types.TimeTZ, "now", "21:30:15.25-05"},
		{types.TimeTZ, "10:00", "10:00:00-05"},
	} {
		d, err := typeio.ParseText(c.t, c.in, fc)
		if err != nil {
			t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			continue
		}
		if got := typeio.FormatDatum(c.t, d, fc); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.t.Name, c.in, got, c.want)
		}
	}
}

func TestInvalidText(t *testing.T) {
	for _, c := range []struct {
		t        *types.T
		in, want string
	}{
		{types.Text, "a\xff", `! 22021 invalid byte sequence for encoding "UTF8": 0xff`},
		{types.Text, "a\x00b", `! 22021 invalid byte sequence for encoding "UTF8": 0x00`},
		{types.Varchar, "\xe2\x82", `! 22021 invalid byte sequence for encoding "UTF8": 0xe2 0x82`},
		{types.JSONB, "\"\xc3(\"", `! 22021 invalid byte sequence for encoding "UTF8": 0xc3 0x28`},
		{types.Record, "(1,2)", "! 0A000 input of anonymous composite types is not implemented"},
		{types.Regclass, "nope", `! 42P01 relation "nope" does not exist`},
		{types.Regtype, "nope", `! 42704 type "nope" does not exist`},
		{types.JSON, strings.Repeat("[", 6401), "! 54001 stack depth limit exceeded | JSON nests deeper than 6400 levels."},
	} {
		_, err := typeio.ParseText(c.t, c.in, nil)
		if err == nil || goldenError(err) != c.want {
			t.Errorf("%s %q: %v, want %s", c.t.Name, c.in, err, c.want)
		}
	}
}

// fakeNames knows one table.
type fakeNames struct{}

func (fakeNames) NameOf(t *types.T, oid uint32) (string, bool) {
	return "tab", t.Oid == types.Regclass.Oid && oid == 42
}

func (fakeNames) OidOf(t *types.T, name string) (uint32, error) {
	if t.Oid == types.Regclass.Oid && name == "tab" {
		return 42, nil
	}
	return 0, pgerr.New(pgerr.UndefinedTable, "no %s", name)
}

func TestRegTypes(t *testing.T) {
	fc := types.NewFormatContext()
	fc.Names = fakeNames{}
	for _, c := range []struct {
		t        *types.T
		in, want string
	}{
		{types.Regclass, "tab", "tab"}, {types.Regclass, "42", "tab"}, {types.Regclass, "43", "43"}, {types.Regclass, "-", "-"},
		{types.Regclass, "0", "-"}, {types.Regtype, "int4", "integer"}, {types.Regtype, "varchar", "character varying"},
		{types.Regtype, "int[]", "integer[]"}, {types.Regtype, "varchar(10)[]", "character varying[]"},
		{types.Regtype, "timestamp (3) with time zone", "timestamp with time zone"}, {types.Regtype, "pg_catalog.int4", "integer"}, {types.Regtype, "23", "integer"}, {types.Regtype, "99999", "99999"},
	} {
		d, err := typeio.ParseText(c.t, c.in, fc)
		if err != nil {
			t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			continue
		}
		if got := typeio.FormatDatum(c.t, d, fc); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.t.Name, c.in, got, c.want)
		}
	}
}

func TestRecord(t *testing.T) {
	r := types.NewRecord([]*types.T{types.Int4, types.Text, types.Text, types.Text, types.Text, types.Text, types.Text, types.Int4Array}, []types.Datum{
		types.NewInt(1), types.NewString("a b"), types.Null, types.NewString(""), types.NewString(`x"y`), types.NewString(`a\b`), types.NewString("(x)"),
		types.NewArray([]types.Datum{types.NewInt(1), types.NewInt(2)}),
	})
	const want = `(1,"a b",,"","x""y","a\\b","(x)","{1,2}")` // as PostgreSQL prints this row
	if got := typeio.FormatDatum(types.Record, r, nil); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := types.NewRecord([]*types.T{types.Int4, types.Text}, []types.Datum{types.NewInt(1), types.NewString("a c")})
	if types.Compare(r, other) != -1 || types.Compare(other, r) != 1 || types.Compare(r, r) != 0 {
		t.Error("records do not order by their fields")
	}
	if got := typeio.FormatDatum(types.Record, types.NewRecord(nil, nil), nil); got != "()" {
		t.Errorf("empty record prints %s", got)
	}
	bin := typeio.AppendBinary(nil, types.Record, types.NewRecord([]*types.T{types.Int4, types.Text}, []types.Datum{types.NewInt(1), types.Null}), nil)
	if want := "\x00\x00\x00\x02\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x19\xff\xff\xff\xff"; string(bin) != want {
		t.Errorf("binary record %x, want %x", bin, want)
	}
}

func TestMalformedBinary(t *testing.T) {
	for _, c := range []struct {
		t        *types.T
		in, want string
	}{
		{types.Int4, "\x00\x00\x00", "! 08P01 insufficient data left in message"},
		{types.Int4, "\x00\x00\x00\x00\x00", "! 22P03 incorrect binary data format"},
		{types.Bool, "", "! 08P01 insufficient data left in message"},
		{types.UUID, "0123", "! 08P01 insufficient data left in message"},
		{types.Text, "\xff", `! 22021 invalid byte sequence for encoding "UTF8": 0xff`},
		{types.Name, strings.Repeat("x", 64), "! 42622 identifier too long | Identifier must be less than 64 characters."},
		{types.JSONB, "\x02{}", "! 22P03 unsupported jsonb version number 2"},
		{types.JSONB, "", "! 08P01 insufficient data left in message"},
		{types.JSONB, "\x01{", "! 22P02 invalid input syntax for type json | The input string ended unexpectedly."},
		{types.Numeric, "\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01", `! 22P03 invalid sign in external "numeric" value`},
		{types.Numeric, "\x00\x01\x00\x00\x00\x00\xff\xff\x00\x01", `! 22P03 invalid scale in external "numeric" value`},
		{types.Numeric, "\x00\x01\x00\x00\x00\x00\x00\x00\x27\x10", `! 22P03 invalid digit in external "numeric" value`},
		{types.Numeric, "\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01", "! 08P01 insufficient data left in message"},
		{types.Date, "\x7f\xff\xff\xf0", "! 22008 date out of range"},
		{types.Time, "\xff\xff\xff\xff\xff\xff\xff\xff", "! 22008 time out of range"},
		{types.TimeTZ, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00", "! 22009 time zone displacement out of range"},
		{types.Timestamp, "\x7f\xff\xff\xff\xff\xff\xff\xf0", "! 22008 timestamp out of range"},
		{types.Int4Array, "\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x17", "! 22P03 invalid number of dimensions: -1"},
		{types.Int4Array, "\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x17",
			"! 54000 number of array dimensions (7) exceeds the maximum allowed (6)"},
		{types.Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x17", "! 22P03 invalid array flags"},
		{types.Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14",
			"! 42804 binary data has array element type 20 (bigint) instead of expected 23 (integer)"},
		{types.Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x07\xff\xff\xff\x00\x00\x00\x01",
			"! 08P01 insufficient data left in message"},
		{types.Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x7f\xff\xff\xff\x00\x00\x00\x00",
			"! 54000 array size exceeds the maximum allowed (134217728)"},
		{types.Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00",
			"! 22P03 improper binary format in array element 1"},
		{types.Varchar.WithTypmod(6), "abc", "! 22001 value too long for type character varying(2)"},
		{types.Record, "\x00\x00\x00\x00", "! 0A000 input of anonymous composite types is not implemented"},
	} {
		_, err := typeio.ParseBinary(c.t, []byte(c.in), nil)
		if err == nil || goldenError(err) != c.want {
			t.Errorf("%s %x: %v, want %s", c.t.Name, c.in, err, c.want)
		}
	}
}

// TestTimestampDistance covers what PostgreSQL 15 lets overflow silently.
func TestTimestampDistance(t *testing.T) {
	if _, err := datetime.SubTimestamps(types.EndTimestamp-1, types.MinTimestamp); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("distance of the extremes: %v", err)
	}
	if _, err := datetime.Age(types.TimestampInf, 0); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("age of infinity: %v", err)
	}
	if _, err := datetime.MakeInterval(0, 0, 0, 0, 0, 0, 1e20); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("interval of 1e20 seconds: %v", err)
	}
}

func TestNullOrder(t *testing.T) {
	if types.Compare(types.Null, types.NewInt(1)) != 1 || types.Compare(types.NewInt(1), types.Null) != -1 || types.Compare(types.Null, types.Null) != 0 {
		t.Error("NULL does not sort last")
	}
}

func TestFindCastContexts(t *testing.T) {
	for _, c := range []struct {
		from, to *types.T
		want     string // context and method, or none
	}{
		{types.Int4, types.Int4, "ib"}, {types.Int4, types.Int8, "if"}, {types.Int8, types.Int4, "af"}, {types.Int4, types.Bool, "ef"},
		{types.Int4, types.Text, "ai"}, {types.Text, types.Int4, "ei"}, {types.Unknown, types.Int4, "ii"}, {types.Unknown, types.Text, "ii"},
		{types.Text, types.Varchar, "ib"}, {types.Int4Array, types.Int8Array, "if"}, {types.Int8Array, types.Int4Array, "af"},
		{types.Int4Array, types.TextArray, "ai"}, {types.Int4Array, types.Text, "ai"}, {types.Text, types.Int4Array, "ei"},
		{types.Int2Vector, types.Int2Array, "ib"}, {types.Int2Array, types.Int2Vector, ""}, {types.Date, types.Int4, ""}, {types.UUID, types.Int4, ""},
		{types.Record, types.Text, "ai"}, {types.Void, types.Int4, ""}, {types.Int4, types.Void, ""}, {types.Int4, types.AnyElement, ""},
		{types.JSONB, types.JSON, "ai"}, {types.Name, types.Int4, "ei"}, {types.Date, types.Name, "ai"},
	} {
		got := ""
		if cast, ok := casts.Find(c.from, c.to); ok {
			got = string([]byte{byte(cast.Context), cast.Method})
		}
		if got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from.Name, c.to.Name, got, c.want)
		}
	}
	if !types.CastImplicit.Allows(types.CastExplicit) || types.CastAssignment.Allows(types.CastImplicit) ||
		!types.CastAssignment.Allows(types.CastExplicit) || types.CastExplicit.Allows(types.CastAssignment) {
		t.Error("contexts do not include one another")
	}
}

func TestZones(t *testing.T) {
	cache := types.NewZoneCache()
	fc := &types.FormatContext{Zones: cache}
	for _, name := range datetime.ZoneNames() {
		if _, ok := datetime.LoadZone(strings.ToUpper(name), fc); !ok {
			t.Errorf("no zone %s", name)
		}
	}
	a, _ := datetime.LoadZone("europe/paris", fc)
	if b, _ := datetime.LoadZone("Europe/Paris", fc); a != b || a.String() != "Europe/Paris" {
		t.Error("the cache loads a zone twice, or under another name")
	}
	for value, want := range map[string]string{"5": "<+05>-05", "-5.5": "<-05:30>+05:30", "utc": "UTC", "utc+3": "UTC+3",
		"0": "<+00>-00", "est5edt": "EST5EDT"} {
		if loc, ok := datetime.LoadZone(value, fc); !ok || loc.String() != want {
			t.Errorf("zone %s is %v, want %s", value, loc, want)
		}
	}
	for _, value := range []string{"", "PST", "foo", "Z", "168", "../etc/passwd", "A5B,M13.2.0", "<a", "A5\n5"} {
		if loc, ok := datetime.LoadZone(value, fc); ok {
			t.Errorf("zone %q is %v", value, loc)
		}
	}
	if z, err := datetime.ZoneForExpr("pst", fc); err != nil || datetime.UTCFromLocal(0, z.AtLocal(0)) != 8*types.MicrosPerHour {
		t.Errorf("zone pst: %v, %v", z, err)
	}
	if _, err := datetime.ZoneForExpr("foo", fc); err == nil || goldenError(err) != `! 22023 time zone "foo" not recognized` {
		t.Errorf("zone foo: %v", err)
	}
}

func TestLongDecimalText(t *testing.T) {
	d, err := typeio.ParseText(types.Numeric, "-1e-16383", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "-0." + strings.Repeat("0", 16382) + "1"; typeio.FormatDatum(types.Numeric, d, nil) != want {
		t.Error("-1e-16383 prints wrongly")
	}
	if d, err = typeio.ParseText(types.Numeric, "1e131071", nil); err != nil {
		t.Fatal(err)
	}
	if want := "1" + strings.Repeat("0", 131071); typeio.FormatDatum(types.Numeric, d, nil) != want {
		t.Error("1e131071 prints wrongly")
	}
}

// TestNoAllocations holds the paths every row takes to no allocation at all.
func TestNoAllocations(t *testing.T) {
	fc := types.NewFormatContext()
	fc.TimeZone, _ = time.LoadLocation("America/New_York")
	buf := make([]byte, 0, 256)
	for _, c := range []struct {
		t  *types.T
		in string
	}{
		{types.Int4, "-123456"}, {types.Int8, "9007199254740993"}, {types.Text, "hello"}, {types.Float8, "3.14159"}, {types.Float4, "1e10"},
		{types.Bool, "true"}, {types.Numeric, "-12345.6789"}, {types.Date, "2024-02-29"}, {types.Time, "01:02:03.5"},
		{types.Timestamp, "2024-02-29 01:02:03.456"}, {types.TimestampTZ, "2024-02-29 01:02:03.456-08"},
	} {
		want, err := typeio.ParseText(c.t, c.in, fc)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(50, func() { _, _ = typeio.ParseText(c.t, c.in, fc) }); n != 0 {
			t.Errorf("reading %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = typeio.AppendText(buf[:0], c.t, want, fc) }); n != 0 {
			t.Errorf("printing %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = typeio.AppendBinary(buf[:0], c.t, want, nil) }); n != 0 {
			t.Errorf("writing binary %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = types.AppendHashKey(buf[:0], want, nil) }); n != 0 {
			t.Errorf("hashing %s %s allocates %v times", c.t.Name, c.in, n)
		}
	}
}
