package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

var formatColumns = []pgconn.FieldDescription{
	{Name: "n", DataTypeOID: pgtype.Int4OID}, {Name: "text here", DataTypeOID: pgtype.TextOID}, {Name: "ok", DataTypeOID: pgtype.BoolOID},
}

// TestFormats: table and records as psql prints them.
func TestFormats(t *testing.T) {
	rows := [][][]byte{
		{[]byte("1"), []byte("a"), []byte("t")},
		{[]byte("200"), []byte("two\nlines"), nil},
		{nil, []byte(""), []byte("f")},
		{[]byte("-5"), []byte("日本,\"x\"\ta\a"), []byte("t")},
	}
	for format, want := range map[string]string{
		"table": `  n  |       text here       | ok 
-----+-----------------------+----
   1 | a                     | t
 200 | two                  +| 
     | lines                 | 
     |                       | f
  -5 | 日本,"x"        a\x07 | t
(4 rows)

`,
		"csv":  "n,text here,ok\n1,a,t\n200,\"two\nlines\",\n,\"\",f\n-5,\"日本,\"\"x\"\"\ta\a\",t\n",
		"tsv":  "n\ttext here\tok\n1\ta\tt\n200\ttwo\\nlines\t\\N\n\\N\t\tf\n-5\t日本,\"x\"\\ta\a\tt\n",
		"json": "[\n  {\"n\": 1, \"text here\": \"a\", \"ok\": true},\n  {\"n\": 200, \"text here\": \"two\\nlines\", \"ok\": null},\n  {\"n\": null, \"text here\": \"\", \"ok\": false},\n  {\"n\": -5, \"text here\": \"日本,\\\"x\\\"\\ta\\u0007\", \"ok\": true}\n]\n",
	} {
		var b strings.Builder
		p := newRowPrinter(format, &b, formatColumns)
		for _, r := range rows {
			p.row(r)
		}
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s: got\n%q\nwant\n%q", format, b.String(), want)
		}
	}
}

func TestEmptyResults(t *testing.T) {
	for format, want := range map[string]string{
		"table": " n | text here | ok \n---+-----------+----\n(0 rows)\n\n", "csv": "n,text here,ok\n",
		"tsv": "n\ttext here\tok\n", "json": "[]\n", "records": "(0 rows)\n\n",
	} {
		var b strings.Builder
		if err := newRowPrinter(format, &b, formatColumns).end(); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v, want %q", format, b.String(), err, want)
		}
	}
}

func TestRecords(t *testing.T) {
	var b strings.Builder
	p := newRowPrinter("records", &b, formatColumns)
	p.row([][]byte{[]byte("1"), []byte("two\nlines"), nil})
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	want := "-[ RECORD 1 ]----\nn         | 1\ntext here | two  +\n          | lines\nok        | \n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPrintError(t *testing.T) {
	var b strings.Builder
	err := error(&pgconn.PgError{Severity: "ERROR", Code: "42703", Message: `column "é" does not exist`, Position: 17, Hint: "Look again."})
	printError(&b, err, "select 1,\n  日本, é from t", false)
	want := "ERROR:  column \"é\" does not exist\nLINE 2:   日本, é from t\n                ^\nHINT:  Look again.\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	printError(&b, &pgconn.PgError{Severity: "ERROR", Message: "m", Position: 90}, strings.Repeat("x", 88)+" y "+strings.Repeat("z", 88), false)
	lines := strings.Split(b.String(), "\n")
	if at := strings.IndexByte(lines[2], '^'); !strings.HasPrefix(lines[1], "LINE 1: ...x") || lines[1][at] != 'y' || !strings.HasSuffix(lines[1], "z...") {
		t.Errorf("long line:\n%s", b.String())
	}
	b.Reset()
	printError(&b, errors.New("plain"), "", false)
	if b.String() != "ERROR:  plain\n" {
		t.Errorf("%q", b.String())
	}
}

func TestNamePatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"T?b*": "^(t.b.*)$", `"Ab"`: "^(Ab)$", "a$b": `^(a\$b)$`,
	} {
		if got := nameRegexp(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if got := literal(`a'\`); got != ` E'a''\\'` {
		t.Errorf("literal: %s", got)
	}
}
