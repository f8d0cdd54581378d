package typetest_test

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

func readLines(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	return lines
}

func tf(b bool) string {
	if b {
		return "t"
	}
	return "f"
}

// TestPgType compares the registry with rows of PostgreSQL's pg_type.
func TestPgType(t *testing.T) {
	want := map[string]bool{}
	for _, l := range readLines(t, "testdata/pg_type.txt") {
		want[l[:strings.LastIndex(l, "|")]] = true // typelem: name has one PostgreSQL never uses
	}
	all := types.All()
	if len(all) != len(want) {
		t.Errorf("%d types, want %d", len(all), len(want))
	}
	for _, typ := range all {
		i := types.InfoOf(typ)
		sqlName := typ.SQLName
		got := fmt.Sprintf("%d|%s|%s|%d|%s|%c|%c|%s|%c|%c|%d", typ.Oid, typ.Name, sqlName, i.Len,
			tf(i.ByVal), i.Kind, i.Category, tf(i.Preferred), i.Align, i.Storage, i.ArrayOid)
		if !want[got] {
			t.Errorf("no such row of pg_type: %s", got)
		}
		if u, ok := types.ByOid(typ.Oid); !ok || u != typ {
			t.Errorf("ByOid(%d) = %v", typ.Oid, u)
		}
		if u, ok := types.ByName(typ.SQLName); !ok || u != typ {
			t.Errorf("ByName(%s) = %v", typ.SQLName, u)
		}
		if typ != types.Char && typ != types.CharArray {
			if u, ok := types.ByName(typ.Name); !ok || u != typ {
				t.Errorf("ByName(%s) = %v", typ.Name, u)
			}
		}
	}
}

// TestPgCast compares the casts with rows of PostgreSQL's pg_cast.
func TestPgCast(t *testing.T) {
	want := readLines(t, "testdata/pg_cast.txt")
	var got []string
	casts.Each(func(from, to *types.T, c casts.Cast) {
		got = append(got, fmt.Sprintf("%s|%s|%c|%c", from.Name, to.Name, c.Context, c.Method))
		if f, ok := casts.Find(from, to); !ok || f.Context != c.Context {
			t.Errorf("FindCast(%s, %s) = %v", from.Name, to.Name, f)
		}
	})
	sort.Strings(got)
	sort.Strings(want)
	diff := map[string]int{}
	for _, l := range got {
		diff[l]++
	}
	for _, l := range want {
		diff[l]--
	}
	for l, n := range diff {
		if n != 0 {
			t.Errorf("%+d %s", n, l)
		}
	}
}

func TestByNameAliases(t *testing.T) {
	for name, want := range map[string]*types.T{
		"int": types.Int4, "INTEGER": types.Int4, "bigint": types.Int8, "INT64": types.Int8, "smallint": types.Int2, "string": types.Text,
		"STRING": types.Text, "bytes": types.Bytea, "blob": types.Bytea, "double precision": types.Float8, "real": types.Float4,
		"character varying": types.Varchar, "varchar": types.Varchar, "character": types.Bpchar, "char": types.Bpchar,
		`"char"`: types.Char, "decimal": types.Numeric, "timestamp with time zone": types.TimestampTZ, "boolean": types.Bool,
		"time without time zone": types.Time, "int[]": types.Int4Array, "_int4": types.Int4Array, "text[]": types.TextArray,
		"character varying[]": types.VarcharArray, "string[]": types.TextArray, `"char"[]`: types.CharArray,
	} {
		if got, ok := types.ByName(name); !ok || got != want {
			t.Errorf("ByName(%q) = %v, want %s", name, got, want.Name)
		}
	}
	for _, name := range []string{"", "serial", "intx", "int[][]"} {
		if got, ok := types.ByName(name); ok {
			t.Errorf("ByName(%q) = %s", name, got.Name)
		}
	}
}

func TestArrayOf(t *testing.T) {
	if a, ok := types.ArrayOf(types.Varchar.WithTypmod(14)); !ok || a.Oid != types.VarcharArray.Oid || a.Typmod != 14 {
		t.Errorf("ArrayOf(varchar(10)) = %v", a)
	}
	if a, ok := types.ArrayOf(types.Int4Array); !ok || a != types.Int4Array {
		t.Errorf("ArrayOf(int4[]) = %v", a)
	}
	if _, ok := types.ArrayOf(types.Void); ok {
		t.Error("void has an array type")
	}
}

func TestFormatType(t *testing.T) {
	numeric, err := types.TypmodFor(types.Numeric, []int64{5, -2})
	if err != nil {
		t.Fatal(err)
	}
	dayTime, _ := types.IntervalRangeByName("day to second")
	dayTimeMod, _ := types.IntervalTypmod(dayTime, 3)
	yearMod, _ := types.IntervalTypmod(types.RangeYear, -1)
	for _, c := range []struct {
		t    *types.T
		mod  int32
		want string
	}{
		{types.Int4, -1, "integer"},
		{types.Varchar, 14, "character varying(10)"},
		{types.Bpchar, -1, "bpchar"},
		{types.Bpchar, 5, "character(1)"},
		{types.BpcharArray, 14, "character(10)[]"},
		{types.Numeric, 655366, "numeric(10,2)"},
		{types.NumericArray, 655366, "numeric(10,2)[]"},
		{types.Numeric, numeric, "numeric(5,-2)"},
		{types.Timestamp, 3, "timestamp(3) without time zone"},
		{types.TimestampTZArray, 3, "timestamp(3) with time zone[]"},
		{types.TimeTZ, 0, "time(0) with time zone"},
		{types.Interval, dayTimeMod, "interval day to second(3)"},
		{types.Interval, yearMod, "interval year"},
		{types.Char, -1, `"char"`},
		{types.Int2Vector, -1, "int2vector"},
	} {
		if got := types.FormatType(c.t.WithTypmod(c.mod)); got != c.want {
			t.Errorf("FormatType(%s, %d) = %s, want %s", c.t.Name, c.mod, got, c.want)
		}
	}
}

func TestTypmodErrors(t *testing.T) {
	for _, c := range []struct {
		t    *types.T
		args []int64
		want string
	}{
		{types.Varchar, []int64{0}, "! 22023 length for type varchar must be at least 1"},
		{types.Bpchar, []int64{-1}, "! 22023 length for type char must be at least 1"},
		{types.Varchar, []int64{10485761}, "! 22023 length for type varchar cannot exceed 10485760"},
		{types.Varchar, []int64{1, 2}, "! 22023 invalid type modifier"},
		{types.Int4, []int64{3}, `! 42601 type modifier is not allowed for type "int4"`},
		{types.Numeric, []int64{1001}, "! 22023 NUMERIC precision 1001 must be between 1 and 1000"},
		{types.Numeric, []int64{0}, "! 22023 NUMERIC precision 0 must be between 1 and 1000"},
		{types.Numeric, []int64{10, 1001}, "! 22023 NUMERIC scale 1001 must be between -1000 and 1000"},
		{types.Numeric, []int64{1, 2, 3}, "! 22023 invalid NUMERIC type modifier"},
		{types.TimestampTZ, []int64{-1}, "! 22023 TIMESTAMP(-1) WITH TIME ZONE precision must not be negative"},
		{types.Time, []int64{-1}, "! 22023 TIME(-1) precision must not be negative"},
	} {
		_, err := types.TypmodFor(c.t, c.args)
		if err == nil || goldenError(err) != c.want {
			t.Errorf("TypmodFor(%s, %v): %v, want %s", c.t.Name, c.args, err, c.want)
		}
	}
	if mod, err := types.TypmodFor(types.Timestamp, []int64{9}); err != nil || mod != 6 {
		t.Errorf("timestamp(9): %d, %v; want 6", mod, err)
	}
}
