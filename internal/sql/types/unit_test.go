package types

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func TestDatumSize(t *testing.T) {
	if n := unsafe.Sizeof(Datum{}); n != 32 {
		t.Errorf("a datum takes %d bytes, want 32", n)
	}
}

// TestRelativeDates covers the words that depend on the transaction's time.
func TestRelativeDates(t *testing.T) {
	loc, _ := time.LoadLocation("America/New_York")
	fc := NewFormatContext()
	fc.TimeZone = loc
	fc.Now = time.Date(2024, 3, 1, 2, 30, 15, 250_000_000, time.UTC) // still February 29 there
	for _, c := range []struct {
		t        *T
		in, want string
	}{
		{Date, "today", "2024-02-29"},
		{Date, "yesterday", "2024-02-28"},
		{Date, "tomorrow", "2024-03-01"},
		{Date, "now", "2024-02-29"},
		{Timestamp, "now", "2024-02-29 21:30:15.25"},
		{TimestampTZ, "now", "2024-02-29 21:30:15.25-05"},
		{TimestampTZ, "today", "2024-02-29 00:00:00-05"},
		{Timestamp, "tomorrow 04:05", "2024-03-01 04:05:00"},
		{Timestamp, "yesterday allballs", "2024-02-28 00:00:00"},
		{TimestampTZ, "tomorrow 12:00 Europe/Paris", "2024-03-01 06:00:00-05"},
		{Time, "now", "21:30:15.25"},
		{TimeTZ, "now", "21:30:15.25-05"},
		{TimeTZ, "10:00", "10:00:00-05"},
	} {
		d, err := ParseText(c.t, c.in, fc)
		if err != nil {
			t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			continue
		}
		if got := FormatDatum(c.t, d, fc); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.t.Name, c.in, got, c.want)
		}
	}
}

func TestInvalidText(t *testing.T) {
	for _, c := range []struct {
		t        *T
		in, want string
	}{
		{Text, "a\xff", `! 22021 invalid byte sequence for encoding "UTF8": 0xff`},
		{Text, "a\x00b", `! 22021 invalid byte sequence for encoding "UTF8": 0x00`},
		{Varchar, "\xe2\x82", `! 22021 invalid byte sequence for encoding "UTF8": 0xe2 0x82`},
		{JSONB, "\"\xc3(\"", `! 22021 invalid byte sequence for encoding "UTF8": 0xc3 0x28`},
		{Record, "(1,2)", "! 0A000 input of anonymous composite types is not implemented"},
		{Regclass, "nope", `! 42P01 relation "nope" does not exist`},
		{Regtype, "nope", `! 42704 type "nope" does not exist`},
		{JSON, strings.Repeat("[", maxJSONDepth+1), "! 54001 stack depth limit exceeded | JSON nests deeper than 6400 levels."},
	} {
		_, err := ParseText(c.t, c.in, nil)
		if err == nil || goldenError(err) != c.want {
			t.Errorf("%s %q: %v, want %s", c.t.Name, c.in, err, c.want)
		}
	}
}

// fakeNames knows one table.
type fakeNames struct{}

func (fakeNames) NameOf(t *T, oid uint32) (string, bool) {
	return "tab", t.Oid == Regclass.Oid && oid == 42
}

func (fakeNames) OidOf(t *T, name string) (uint32, error) {
	if t.Oid == Regclass.Oid && name == "tab" {
		return 42, nil
	}
	return 0, pgerr.New(pgerr.UndefinedTable, "no %s", name)
}

func TestRegTypes(t *testing.T) {
	fc := NewFormatContext()
	fc.Names = fakeNames{}
	for _, c := range []struct {
		t        *T
		in, want string
	}{
		{Regclass, "tab", "tab"}, {Regclass, "42", "tab"}, {Regclass, "43", "43"}, {Regclass, "-", "-"},
		{Regclass, "0", "-"}, {Regtype, "int4", "integer"}, {Regtype, "varchar", "character varying"},
		{Regtype, "int[]", "integer[]"}, {Regtype, "varchar(10)[]", "character varying[]"},
		{Regtype, "timestamp (3) with time zone", "timestamp with time zone"}, {Regtype, "pg_catalog.int4", "integer"}, {Regtype, "23", "integer"}, {Regtype, "99999", "99999"},
	} {
		d, err := ParseText(c.t, c.in, fc)
		if err != nil {
			t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			continue
		}
		if got := FormatDatum(c.t, d, fc); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.t.Name, c.in, got, c.want)
		}
	}
}

func TestRecord(t *testing.T) {
	r := NewRecord([]*T{Int4, Text, Text, Text, Text, Text, Text, Int4Array}, []Datum{
		NewInt(1), NewString("a b"), Null, NewString(""), NewString(`x"y`), NewString(`a\b`), NewString("(x)"),
		NewArray([]Datum{NewInt(1), NewInt(2)}),
	})
	const want = `(1,"a b",,"","x""y","a\\b","(x)","{1,2}")` // as PostgreSQL prints this row
	if got := FormatDatum(Record, r, nil); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := NewRecord([]*T{Int4, Text}, []Datum{NewInt(1), NewString("a c")})
	if Compare(r, other) != -1 || Compare(other, r) != 1 || Compare(r, r) != 0 {
		t.Error("records do not order by their fields")
	}
	if got := FormatDatum(Record, NewRecord(nil, nil), nil); got != "()" {
		t.Errorf("empty record prints %s", got)
	}
	bin := AppendBinary(nil, Record, NewRecord([]*T{Int4, Text}, []Datum{NewInt(1), Null}))
	if want := "\x00\x00\x00\x02\x00\x00\x00\x17\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x19\xff\xff\xff\xff"; string(bin) != want {
		t.Errorf("binary record %x, want %x", bin, want)
	}
}

func TestMalformedBinary(t *testing.T) {
	for _, c := range []struct {
		t        *T
		in, want string
	}{
		{Int4, "\x00\x00\x00", "! 08P01 insufficient data left in message"},
		{Int4, "\x00\x00\x00\x00\x00", "! 22P03 incorrect binary data format"},
		{Bool, "", "! 08P01 insufficient data left in message"},
		{UUID, "0123", "! 08P01 insufficient data left in message"},
		{Text, "\xff", `! 22021 invalid byte sequence for encoding "UTF8": 0xff`},
		{Name, strings.Repeat("x", 64), "! 42622 identifier too long | Identifier must be less than 64 characters."},
		{JSONB, "\x02{}", "! 22P03 unsupported jsonb version number 2"},
		{JSONB, "", "! 08P01 insufficient data left in message"},
		{JSONB, "\x01{", "! 22P02 invalid input syntax for type json | The input string ended unexpectedly."},
		{Numeric, "\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01", `! 22P03 invalid sign in external "numeric" value`},
		{Numeric, "\x00\x01\x00\x00\x00\x00\xff\xff\x00\x01", `! 22P03 invalid scale in external "numeric" value`},
		{Numeric, "\x00\x01\x00\x00\x00\x00\x00\x00\x27\x10", `! 22P03 invalid digit in external "numeric" value`},
		{Numeric, "\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01", "! 08P01 insufficient data left in message"},
		{Date, "\x7f\xff\xff\xf0", "! 22008 date out of range"},
		{Time, "\xff\xff\xff\xff\xff\xff\xff\xff", "! 22008 time out of range"},
		{TimeTZ, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00", "! 22009 time zone displacement out of range"},
		{Timestamp, "\x7f\xff\xff\xff\xff\xff\xff\xf0", "! 22008 timestamp out of range"},
		{Int4Array, "\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x17", "! 22P03 invalid number of dimensions: -1"},
		{Int4Array, "\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x17",
			"! 54000 number of array dimensions (7) exceeds the maximum allowed (6)"},
		{Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x17", "! 22P03 invalid array flags"},
		{Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14",
			"! 42804 binary data has array element type 20 (bigint) instead of expected 23 (integer)"},
		{Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x07\xff\xff\xff\x00\x00\x00\x01",
			"! 08P01 insufficient data left in message"},
		{Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x7f\xff\xff\xff\x00\x00\x00\x00",
			"! 54000 array size exceeds the maximum allowed (134217728)"},
		{Int4Array, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00",
			"! 22P03 improper binary format in array element 1"},
		{Varchar.WithTypmod(6), "abc", "! 22001 value too long for type character varying(2)"},
		{Record, "\x00\x00\x00\x00", "! 0A000 input of anonymous composite types is not implemented"},
	} {
		_, err := ParseBinary(c.t, []byte(c.in))
		if err == nil || goldenError(err) != c.want {
			t.Errorf("%s %x: %v, want %s", c.t.Name, c.in, err, c.want)
		}
	}
}

// TestTimestampDistance covers what PostgreSQL 15 lets overflow silently.
func TestTimestampDistance(t *testing.T) {
	if _, err := SubTimestamps(endTimestamp-1, minTimestamp); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("distance of the extremes: %v", err)
	}
	if _, err := Age(TimestampInf, 0); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("age of infinity: %v", err)
	}
	if _, err := MakeInterval(0, 0, 0, 0, 0, 0, 1e20); pgerr.CodeOf(err) != pgerr.DatetimeFieldOverflow {
		t.Errorf("interval of 1e20 seconds: %v", err)
	}
}

func TestNullOrder(t *testing.T) {
	if Compare(Null, NewInt(1)) != 1 || Compare(NewInt(1), Null) != -1 || Compare(Null, Null) != 0 {
		t.Error("NULL does not sort last")
	}
}

func TestFindCastContexts(t *testing.T) {
	for _, c := range []struct {
		from, to *T
		want     string // context and method, or none
	}{
		{Int4, Int4, "ib"}, {Int4, Int8, "if"}, {Int8, Int4, "af"}, {Int4, Bool, "ef"},
		{Int4, Text, "ai"}, {Text, Int4, "ei"}, {Unknown, Int4, "ii"}, {Unknown, Text, "ii"},
		{Text, Varchar, "ib"}, {Int4Array, Int8Array, "if"}, {Int8Array, Int4Array, "af"},
		{Int4Array, TextArray, "ai"}, {Int4Array, Text, "ai"}, {Text, Int4Array, "ei"},
		{Int2Vector, Int2Array, "ib"}, {Int2Array, Int2Vector, ""}, {Date, Int4, ""}, {UUID, Int4, ""},
		{Record, Text, "ai"}, {Void, Int4, ""}, {Int4, Void, ""}, {Int4, AnyElement, ""},
		{JSONB, JSON, "ai"}, {Name, Int4, "ei"}, {Date, Name, "ai"},
	} {
		got := ""
		if cast, ok := FindCast(c.from, c.to); ok {
			got = string([]byte{byte(cast.Context), cast.Method})
		}
		if got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from.Name, c.to.Name, got, c.want)
		}
	}
	if !CastImplicit.Allows(CastExplicit) || CastAssignment.Allows(CastImplicit) ||
		!CastAssignment.Allows(CastExplicit) || CastExplicit.Allows(CastAssignment) {
		t.Error("contexts do not include one another")
	}
}

func TestZones(t *testing.T) {
	cache := NewZoneCache()
	fc := &FormatContext{Zones: cache}
	for _, name := range ZoneNames() {
		if _, ok := LoadZone(strings.ToUpper(name), fc); !ok {
			t.Errorf("no zone %s", name)
		}
	}
	a, _ := LoadZone("europe/paris", fc)
	if b, _ := LoadZone("Europe/Paris", fc); a != b || a.String() != "Europe/Paris" {
		t.Error("the cache loads a zone twice, or under another name")
	}
	for value, want := range map[string]string{"5": "<+05>-05", "-5.5": "<-05:30>+05:30", "utc": "UTC", "utc+3": "UTC+3",
		"0": "<+00>-00", "est5edt": "EST5EDT"} {
		if loc, ok := LoadZone(value, fc); !ok || loc.String() != want {
			t.Errorf("zone %s is %v, want %s", value, loc, want)
		}
	}
	for _, value := range []string{"", "PST", "foo", "Z", "168", "../etc/passwd", "A5B,M13.2.0", "<a", "A5\n5"} {
		if loc, ok := LoadZone(value, fc); ok {
			t.Errorf("zone %q is %v", value, loc)
		}
	}
	if z, err := ZoneForExpr("pst", fc); err != nil || UTCFromLocal(0, z.AtLocal(0)) != 8*MicrosPerHour {
		t.Errorf("zone pst: %v, %v", z, err)
	}
	if _, err := ZoneForExpr("foo", fc); err == nil || goldenError(err) != `! 22023 time zone "foo" not recognized` {
		t.Errorf("zone foo: %v", err)
	}
}

func TestLongDecimalText(t *testing.T) {
	d, err := ParseText(Numeric, "-1e-16383", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "-0." + strings.Repeat("0", 16382) + "1"; FormatDatum(Numeric, d, nil) != want {
		t.Error("-1e-16383 prints wrongly")
	}
	if d, err = ParseText(Numeric, "1e131071", nil); err != nil {
		t.Fatal(err)
	}
	if want := "1" + strings.Repeat("0", 131071); FormatDatum(Numeric, d, nil) != want {
		t.Error("1e131071 prints wrongly")
	}
}

// TestNoAllocations holds the paths every row takes to no allocation at all.
func TestNoAllocations(t *testing.T) {
	fc := NewFormatContext()
	fc.TimeZone, _ = time.LoadLocation("America/New_York")
	buf := make([]byte, 0, 256)
	for _, c := range []struct {
		t  *T
		in string
	}{
		{Int4, "-123456"}, {Int8, "9007199254740993"}, {Text, "hello"}, {Float8, "3.14159"}, {Float4, "1e10"},
		{Bool, "true"}, {Numeric, "-12345.6789"}, {Date, "2024-02-29"}, {Time, "01:02:03.5"},
		{Timestamp, "2024-02-29 01:02:03.456"}, {TimestampTZ, "2024-02-29 01:02:03.456-08"},
	} {
		want, err := ParseText(c.t, c.in, fc)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(50, func() { _, _ = ParseText(c.t, c.in, fc) }); n != 0 {
			t.Errorf("reading %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = AppendText(buf[:0], c.t, want, fc) }); n != 0 {
			t.Errorf("printing %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = AppendBinary(buf[:0], c.t, want) }); n != 0 {
			t.Errorf("writing binary %s %s allocates %v times", c.t.Name, c.in, n)
		}
		if n := testing.AllocsPerRun(50, func() { buf = AppendHashKey(buf[:0], want) }); n != 0 {
			t.Errorf("hashing %s %s allocates %v times", c.t.Name, c.in, n)
		}
	}
}
