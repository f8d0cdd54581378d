package copyfmt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// update rewrites the golden files with what the PostgreSQL 15 server at this
// URL does.
var update = flag.String("update", "", "URL of a PostgreSQL 15 server to make the golden files with")

// goldenCase is a COPY FROM and what PostgreSQL makes of it.
type goldenCase struct {
	Options string     `json:",omitempty"` // as in WITH (...)
	Cols    string     // names and types
	Input   string     // quoted as in Go: it may be no valid text
	Rows    [][]string `json:",omitempty"` // "-" is NULL, else "=" and the text
	Error   string     `json:",omitempty"` // code, message, hint, context
	Output  string     `json:",omitempty"` // what COPY TO with the same options makes of Rows
}

var handMade = []goldenCase{
	{Cols: "a text", Input: ""},
	{Cols: "a text", Input: "\n"},
	{Cols: "a text", Input: "x"},
	{Cols: "a text", Input: "x\ny\n"},
	{Cols: "a text", Input: "x\r\ny\r\n"},
	{Cols: "a text", Input: "x\ry\r"},
	{Cols: "a text", Input: "x\ny\r\n"},
	{Cols: "a text", Input: "x\ry\n"},
	{Cols: "a text", Input: "x\r\ny\n"},
	{Cols: "a text", Input: "x\r\ny\rz\r\n"},
	{Cols: "a text", Input: "x\r"},
	{Cols: "a text", Input: `x\`},
	{Cols: "a text", Input: `\N\`},
	{Cols: "a text", Input: "a\\\nb\n"},
	{Cols: "a text", Input: "a\\\rb\n"},
	{Cols: "a text", Input: "a\\\r\nb\n"},
	{Cols: "a text", Input: "x\n\\.\ny\n"},
	{Cols: "a text", Input: "x\n\\."},
	{Cols: "a text", Input: "x\n\\.y\n"},
	{Cols: "a text", Input: "x\ny\\.\nz\n"},
	{Cols: "a text", Input: "x\r\n\\.\r\ny\r\n"},
	{Cols: "a text", Input: "x\r\n\\.\ny\n"},
	{Cols: "a text", Input: "x\r\n\\.\rz\n"},
	{Cols: "a text", Input: "x\r\n\\.z\n"},
	{Cols: "a text", Input: "x\n\\.\r\n"},
	{Cols: "a text", Input: "x\r\\.\r"},
	{Cols: "a text", Input: "x\r\\.\n"},
	{Cols: "a text", Input: "\\.\r\n"},
	{Cols: "a text", Input: `\b\f\n\r\t\v\a\q\\` + "\n"},
	{Cols: "a text", Input: `\101\7\08\400\x41\x4g\xg\x` + "\n"},
	{Cols: "a text", Input: `\xc3\xa9` + "\n"},
	{Cols: "a text", Input: `\xc3` + "\n"},
	{Cols: "a text", Input: `a\000b` + "\n"},
	{Cols: "a text", Input: `a\x00b` + "\n"},
	{Cols: "a text", Input: "ok\nb\xffd\n"},
	{Cols: "a text", Input: "ok\nb\x00d\n"},
	{Cols: "a text, b text", Input: "x\n"},
	{Cols: "a text, b text", Input: "x\ty\tz\n"},
	{Cols: "a text, b text", Input: "x\t\\\tz\n"},
	{Cols: "a text, b text", Input: "\t\n\\N\t\\N\n"},
	{Cols: "a text, b text", Input: "\\\\N\tN\n"},
	{Cols: "a int, b text", Input: "1\ta\nx\tb\n"},
	{Cols: "a int, b text", Input: "1\ta\n" + strings.Repeat("é", 80) + "\tb\n"},
	{Cols: "a int, b text", Input: "99999999999\tb\n"},
	{Cols: "a int, b char(3)", Input: "1\ta\n2\tabcd\n"},
	{Cols: "a int, b varchar(3)", Input: "1\tabc   \n2\tabcd\n"},
	{Cols: "a numeric(5,2), b date", Input: "1.005\t2020-02-30\n"},
	{Cols: "a numeric(5,2), b date", Input: "1.005\t2020-02-28\n\\N\tinfinity\n"},
	{Cols: "a timestamptz, b bytea", Input: "2020-01-01 10:00+05:30\t\\\\x00ff\n"},
	{Cols: "a bool, b float8", Input: "t\t1e10\nyes\tNaN\n"},
	{Cols: "a int[], b text", Input: "{1,2,NULL}\t{}\n"},
	{Options: "delimiter '|', null 'nil'", Cols: "a text, b text", Input: "nil|x\n\\nil|n\\|y\n"},
	{Options: "null ''", Cols: "a text, b text", Input: "\tx\n"},
	{Options: "header", Cols: "a text, b text", Input: "b\ta\n1\t2\n"},
	{Options: "header match", Cols: "a text, b text", Input: "a\tb\n1\t2\n"},
	{Options: "header match", Cols: "a text, b text", Input: "a\tc\n1\t2\n"},
	{Options: "header match", Cols: "a text, b text", Input: "a\n1\t2\n"},
	{Options: "header match", Cols: "a text, b text", Input: "a\t\\N\n1\t2\n"},
	{Options: "header match", Cols: "a text, b text", Input: ""},
	{Options: "header match, format csv", Cols: "a text, b text", Input: "\"a\",b\n1,2\n"},
	{Options: "format csv", Cols: "a text", Input: "\n\"\"\nx\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,\"y,\"\"z\"\"\"\n,\"\"\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,\"two\nlines\"\n3,4,5\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,\"two\r\nlines\"\r\n3,4,5\r\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,\"open\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,a\"b,c\"d\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,y\rz,w\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,y\nz,w\r\n"},
	{Options: "format csv", Cols: "a text, b text", Input: "x,y\r\nz,w\n"},
	{Options: "format csv", Cols: "a text", Input: "x\n\\.\ny\n"},
	{Options: "format csv", Cols: "a text", Input: "x\n\\.\r\ny\n"},
	{Options: "format csv", Cols: "a text", Input: "x\n\\.y\nz\n"},
	{Options: "format csv", Cols: "a text", Input: "x\nz\\.\ny\n"},
	{Options: "format csv", Cols: "a text", Input: "x\n\\."},
	{Options: "format csv", Cols: "a text", Input: "\\\\.\n\\n\n"},
	{Options: "format csv, escape '\\'", Cols: "a text, b text", Input: "\"a\\\"b\",\"c\\\\\"\n\"d\\e\",f\\g\n"},
	{Options: "format csv, quote '''', delimiter ';'", Cols: "a text, b text", Input: "'a;''b';c\n"},
	{Options: "format csv, null 'NULL'", Cols: "a text, b text", Input: "NULL,\"NULL\"\n,\n"},
	{Options: "format csv, force_not_null (a)", Cols: "a text, b text", Input: ",\n"},
	{Options: "format csv, force_null (a)", Cols: "a text, b text", Input: "\"\",\"\"\n"},
	{Options: "format csv, header", Cols: "a int, b text", Input: "b,a\n1,x\ny,z\n"},
	{Options: "format csv", Cols: "a int, b text", Input: "1,x\n,\"\"\n2,y,\n"},
	{Options: "format csv", Cols: "a int, b text", Input: "x,\"a\nb\"\n"},
}

const handMadeCount = 400

// randomCase makes a small case out of the bytes that mean something.
func randomCase(r *rand.Rand) goldenCase {
	opts := []string{"", "", "", "null ''", "delimiter ','", "format csv", "format csv", "format csv",
		"format csv, escape '\\'", "format csv, null 'N'", "format csv, header", "format csv, force_null (a), null 'x'"}
	c := goldenCase{Options: opts[r.IntN(len(opts))], Cols: []string{"a text", "a text, b text"}[r.IntN(2)]}
	alphabet := []string{"\t", ",", "\\", "\\", "\"", "\"", ".", "N", "x", "4", "\\N", "\\.", "é", "a", "b"}
	ends := []string{"\n", "\r", "\r\n"}
	end := ends[r.IntN(3)]
	var b strings.Builder
	for range 1 + r.IntN(4) {
		for range r.IntN(6) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		if r.IntN(8) == 0 {
			b.WriteString(ends[r.IntN(3)])
		} else {
			b.WriteString(end)
		}
	}
	c.Input = b.String()
	return c
}

func allCases() []goldenCase {
	cases := append([]goldenCase(nil), handMade...)
	r := rand.New(rand.NewPCG(15, 15))
	for range handMadeCount {
		cases = append(cases, randomCase(r))
	}
	return cases
}

const goldenFile = "testdata/postgres15.json"

func TestGolden(t *testing.T) {
	if *update != "" {
		updateGolden(t)
	}
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var c goldenCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		input, err := strconv.Unquote(c.Input)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 2, 7, 1 << 20} {
			got := runCase(t, c, input, size)
			got.Input = c.Input
			if size == 1<<20 && got.Output != c.Output {
				t.Errorf("%s, %s: COPY TO made %q, PostgreSQL %q", c.Cols, c.Options, got.Output, c.Output)
			}
			got.Output = c.Output
			want, _ := json.Marshal(c)
			if have, _ := json.Marshal(got); string(have) != string(want) {
				t.Errorf("chunks of %d bytes, input %s:\ngot  %s\nwant %s", size, c.Input, have, want)
			}
		}
	}
	if n < len(handMade)+handMadeCount {
		t.Errorf("the golden file has %d cases only", n)
	}
}

// columns reads "a int, b varchar(3)".
func columns(t testing.TB, spec string) []plan.Column {
	var cols []plan.Column
	for _, part := range strings.Split(strings.ReplaceAll(spec, "(5,2)", "(5:2)"), ", ") {
		name, typ, _ := strings.Cut(part, " ")
		byName := map[string]*types.T{
			"text": types.Text, "int": types.Int4, "date": types.Date, "timestamptz": types.TimestampTZ, "bytea": types.Bytea,
			"bool": types.Bool, "float8": types.Float8, "int[]": types.Int4Array, "char(3)": types.Bpchar.WithTypmod(7),
			"varchar(3)": types.Varchar.WithTypmod(7), "numeric(5:2)": types.Numeric.WithTypmod(5<<16 | 2 + 4),
		}
		if byName[typ] == nil {
			t.Fatalf("unknown type %q", typ)
		}
		cols = append(cols, plan.Column{Name: name, Type: byName[typ]})
	}
	return cols
}

// parseOptions reads the options of a golden case.
func parseOptions(t testing.TB, text string, cols []plan.Column, from bool) *Options {
	o := &Options{}
	for _, part := range strings.Split(strings.ReplaceAll(text, "','", "'\x01'"), ", ") {
		name, value, _ := strings.Cut(part, " ")
		value = strings.ReplaceAll(value, "\x01", ",")
		if value == "''''" {
			value = "'"
		} else {
			value = strings.Trim(value, "'")
		}
		var err error
		switch {
		case name == "":
		case strings.HasPrefix(name, "force_"):
			if from {
				o.SetColumns(name, []bool{true, false}[:len(cols)])
			}
		case name == "header" && value == "":
			err = o.Set(name, "true")
		case name == "header" && !from:
			err = o.Set(name, "false")
		default:
			err = o.Set(name, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Validate(from); err != nil {
		t.Fatal(err)
	}
	return o
}

// runCase reads the input in chunks of the given size, and writes the rows again.
func runCase(t testing.TB, c goldenCase, input string, size int) goldenCase {
	cols := columns(t, c.Cols)
	r := NewReader(parseOptions(t, c.Options, cols, true), cols, types.NewFormatContext(), chunks(input, size))
	r.Table = "t"
	w := NewWriter(parseOptions(t, c.Options, cols, false), cols, types.NewFormatContext())
	got := goldenCase{Options: c.Options, Cols: c.Cols}
	output := written(t, w.Header)
	row := make([]types.Datum, len(cols))
	for {
		more, err := r.NextRow(row)
		if err != nil {
			got.Rows, got.Error = nil, describe(r.Locate(err))
			return got
		}
		if !more {
			break
		}
		var texts []string
		for i, d := range row {
			if d.IsNull() {
				texts = append(texts, "-")
			} else {
				texts = append(texts, "="+typeio.FormatDatum(cols[i].Type, d, types.NewFormatContext()))
			}
		}
		got.Rows = append(got.Rows, texts)
		output += line(t, w, row)
	}
	got.Output = strconv.Quote(output)
	return got
}

func describe(err error) string {
	e := pgerr.From(err)
	return fmt.Sprintf("%s %s | %s | %s", e.Code, e.Message, e.Hint, e.Context)
}

// updateGolden asks PostgreSQL.
func updateGolden(t *testing.T) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *update)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set timezone to utc"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, c := range allCases() {
		askPostgres(t, conn, &c)
		if err := enc.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func askPostgres(t *testing.T, conn *pgx.Conn, c *goldenCase) {
	ctx, pc := context.Background(), conn.PgConn()
	exec := func(sql string) {
		if _, err := pc.Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("drop table if exists t")
	exec("create table t (" + c.Cols + ")")
	with, withTo := "", ""
	if c.Options != "" {
		with = " with (" + c.Options + ")"
		opts := strings.ReplaceAll(c.Options, "header match", "header false")
		opts = strings.ReplaceAll(opts, "force_null (a)", "force_null_off")
		opts = strings.ReplaceAll(opts, "force_not_null (a)", "force_null_off")
		var keep []string
		for _, o := range strings.Split(opts, ", ") {
			if o != "force_null_off" {
				keep = append(keep, o)
			}
		}
		withTo = " with (" + strings.Join(keep, ", ") + ")"
	}
	_, err := pc.CopyFrom(ctx, strings.NewReader(c.Input), "copy t from stdin"+with)
	c.Input = strconv.Quote(c.Input)
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			t.Fatal(err)
		}
		c.Error = fmt.Sprintf("%s %s | %s | %s", pe.Code, pe.Message, pe.Hint, pe.Where)
		return
	}
	res, err := pc.Exec(ctx, "select * from t").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range res[0].Rows {
		var texts []string
		for _, v := range row {
			if v == nil {
				texts = append(texts, "-")
			} else {
				texts = append(texts, "="+string(v))
			}
		}
		c.Rows = append(c.Rows, texts)
	}
	var out bytes.Buffer
	if _, err := pc.CopyTo(ctx, &out, "copy t to stdout"+withTo); err != nil {
		t.Fatal(err)
	}
	c.Output = strconv.Quote(out.String())
}
