package typetest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// oracle, when set to the connection string of a PostgreSQL 15, makes
// TestGolden ask it and rewrite the expected results in testdata/golden.
var oracle = flag.String("oracle", "", "PostgreSQL 15 to take the golden results from")

// A golden file is a list of commands, each followed by its result as
// PostgreSQL gives it:
//
//	text int4 "12"            input and output of a type; one with spaces is quoted
//	cast text int4 "12"       explicit cast
//	bin int4 "12"             binary output, in hexadecimal
//	cmp numeric "1" "1.0"     -1, 0 or 1
//	set datestyle "ISO, DMY"  session settings
//	fn age "..." ...          see goldenFuncs
//
// "= value" is a result, "! code message" an error with its detail and hint.
type goldenCmd struct {
	args []string
	line string
	want string
}

func readGolden(t *testing.T, path string) []goldenCmd {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cmds []goldenCmd
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
			cmds = append(cmds, goldenCmd{line: line})
		case line[0] == '=' || line[0] == '!':
			cmds[len(cmds)-1].want = line
		default:
			cmds = append(cmds, goldenCmd{args: splitArgs(t, line), line: line})
		}
	}
	return cmds
}

func splitArgs(t *testing.T, line string) []string {
	var args []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			w, rest, _ := strings.Cut(line, " ")
			args, line = append(args, w), rest
			continue
		}
		q, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s, _ := strconv.Unquote(q)
		args, line = append(args, s), line[len(q):]
	}
	return args
}

func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/golden/*.txt")
	if len(files) == 0 {
		t.Fatal("no golden files")
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			cmds := readGolden(t, path)
			if *oracle != "" {
				askOracle(t, path, cmds)
			}
			g := goldenSession{fc: types.NewFormatContext()}
			for _, c := range cmds {
				if c.args == nil {
					continue
				}
				got, err := g.run(c.args)
				if err != nil {
					t.Fatalf("%s: %v", c.line, err)
				}
				if got != c.want {
					t.Errorf("%s\n got %s\nwant %s", c.line, got, c.want)
				}
			}
		})
	}
}

type goldenSession struct{ fc *types.FormatContext }

func goldenError(err error) string {
	e := pgerr.From(err)
	s := fmt.Sprintf("! %s %s", e.Code, e.Message)
	if e.Detail != "" {
		s += " | " + e.Detail
	}
	if e.Hint != "" {
		s += " | " + e.Hint
	}
	return strings.ReplaceAll(s, "\n", "\\n")
}

func goldenValue(s string) string { return "= " + strings.ReplaceAll(s, "\n", "\\n") }

// typeOf reads a type with a modifier as the commands write it: numeric(5,2),
// varchar(3)[], interval(3), interval:day to second.
func typeOf(name string) (*types.T, error) {
	base, fields, _ := strings.Cut(name, ":")
	base, array := strings.CutSuffix(base, "[]")
	base, args, hasArgs := strings.Cut(strings.TrimSuffix(base, ")"), "(")
	typ, ok := types.ByName(base)
	if !ok {
		return nil, fmt.Errorf("no type %s", base)
	}
	mod := int32(-1)
	var err error
	if hasArgs {
		var ns []int64
		for _, a := range strings.Split(args, ",") {
			n, err := strconv.ParseInt(a, 10, 64)
			if err != nil {
				return nil, err
			}
			ns = append(ns, n)
		}
		if mod, err = types.TypmodFor(typ, ns); err != nil {
			return nil, err
		}
	}
	if fields != "" {
		r, ok := types.IntervalRangeByName(fields)
		if !ok {
			return nil, fmt.Errorf("no interval fields %s", fields)
		}
		if mod, err = types.IntervalTypmod(r, -1); err != nil {
			return nil, err
		}
	}
	if array {
		typ, _ = types.ArrayOf(typ)
	}
	return typ.WithTypmod(mod), nil
}

func (g *goldenSession) run(args []string) (string, error) {
	switch args[0] {
	case "set":
		return "", g.set(args[1], args[2])
	case "text":
		typ, err := typeOf(args[1])
		if err != nil {
			return goldenError(err), nil
		}
		d, perr := typeio.ParseText(typ, args[2], g.fc)
		if perr != nil {
			return goldenError(perr), nil
		}
		return goldenValue(typeio.FormatDatum(typ, d, g.fc)), nil
	case "bin":
		typ, err := typeOf(args[1])
		if err != nil {
			return "", err
		}
		d, err := typeio.ParseText(typ, args[2], g.fc)
		if err != nil {
			return "", err
		}
		return goldenValue(hex.EncodeToString(typeio.AppendBinary(nil, typ, d, nil))), nil
	case "cmp":
		return g.compare(args)
	case "cast":
		return g.cast(args)
	case "fn":
		return g.call(args[1], args[2:])
	}
	return "", fmt.Errorf("unknown command")
}

func (g *goldenSession) compare(args []string) (string, error) {
	typ, err := typeOf(args[1])
	if err != nil {
		return "", err
	}
	a, err := typeio.ParseText(typ, args[2], g.fc)
	if err != nil {
		return "", err
	}
	b, err := typeio.ParseText(typ, args[3], g.fc)
	if err != nil {
		return "", err
	}
	c := types.CompareTyped(typ, a, b, nil)
	if c != -types.CompareTyped(typ, b, a, nil) {
		return "", errors.New("not antisymmetric")
	}
	if same := bytes.Equal(types.AppendHashKeyTyped(nil, typ, a, nil), types.AppendHashKeyTyped(nil, typ, b, nil)); same != (c == 0) {
		return "", fmt.Errorf("hash keys equal: %v, but comparison %d", same, c)
	}
	return goldenValue(strconv.Itoa(c)), nil
}

func (g *goldenSession) cast(args []string) (string, error) {
	from, err := typeOf(args[1])
	if err != nil {
		return "", err
	}
	to, err := typeOf(args[2])
	if err != nil {
		return goldenError(err), nil
	}
	d, err := typeio.ParseText(from, args[3], g.fc)
	if err != nil {
		return "", err
	}
	c, ok := casts.Find(from, to)
	if !ok {
		return fmt.Sprintf("! 42846 cannot cast type %s to %s", from.SQLName, to.SQLName), nil
	}
	if c.Fn != nil {
		if d, err = c.Fn(g.fc, d, to); err != nil {
			return goldenError(err), nil
		}
	}
	if d, err = types.ApplyTypmod(d, to, true, nil); err != nil {
		return goldenError(err), nil
	}
	return goldenValue(typeio.FormatDatum(to, d, g.fc)), nil
}

func (g *goldenSession) set(name, value string) error {
	switch name {
	case "timezone":
		loc, ok := datetime.LoadZone(value, g.fc)
		if !ok {
			return fmt.Errorf("no zone %s", value)
		}
		g.fc.TimeZone = loc
	case "datestyle":
		f, o, _ := strings.Cut(value, ", ")
		g.fc.DateStyle = types.DateStyle{
			Format: map[string]types.DateFormat{"ISO": types.DateISO, "SQL": types.DateSQL, "Postgres": types.DatePostgres, "German": types.DateGerman}[f],
			Order:  map[string]types.DateOrder{"MDY": types.OrderMDY, "DMY": types.OrderDMY, "YMD": types.OrderYMD}[o],
		}
	case "intervalstyle":
		g.fc.IntervalStyle = map[string]types.IntervalStyle{
			"postgres": types.IntervalPostgres, "postgres_verbose": types.IntervalPostgresVerbose,
			"sql_standard": types.IntervalSQLStandard, "iso_8601": types.IntervalISO8601,
		}[value]
	case "bytea_output":
		g.fc.ByteaOutput = map[string]types.ByteaOutput{"hex": types.ByteaHex, "escape": types.ByteaEscape}[value]
	case "extra_float_digits":
		n, err := strconv.Atoi(value)
		g.fc.ExtraFloatDigits = n
		return err
	default:
		return fmt.Errorf("unknown setting %s", name)
	}
	return nil
}

// oracleSetup defines a function that runs a query for one text result and
// prints the result or error as golden files do.
const oracleSetup = `
create or replace function pg_temp.try(q text) returns text language plpgsql as $$
declare r text; m text; d text; h text;
begin
  execute q into r;
  return '= ' || coalesce(r, 'NULL');
exception when others then
  get stacked diagnostics m = message_text, d = pg_exception_detail, h = pg_exception_hint;
  return '! ' || sqlstate || ' ' || m ||
    case when d <> '' then ' | ' || d else '' end || case when h <> '' then ' | ' || h else '' end;
end $$`

func askOracle(t *testing.T, path string, cmds []goldenCmd) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, *oracle)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, oracleSetup+"; set timezone='UTC'; set client_min_messages=error"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range cmds {
		c := &cmds[i]
		out.WriteString(c.line + "\n")
		if c.args == nil {
			continue
		}
		q := oracleQuery(c.args)
		if c.args[0] == "set" {
			if _, err := conn.Exec(ctx, q); err != nil {
				t.Fatalf("%s: %v", c.line, err)
			}
			continue
		}
		var r string
		if err := conn.QueryRow(ctx, "select pg_temp.try($1)", q).Scan(&r); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		c.want = strings.ReplaceAll(r, "\n", "\\n")
		out.WriteString(c.want + "\n")
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func quoteSQL(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// sqlType turns a type of the commands into SQL.
func sqlType(name string) string {
	base, fields, _ := strings.Cut(name, ":")
	return strings.TrimSpace(base + " " + fields)
}

func sendFunc(name string) string {
	typ, err := typeOf(name)
	if err != nil {
		return name
	}
	switch typ.Family {
	case types.DecimalFamily, types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily,
		types.IntervalFamily, types.UUIDFamily, types.JSONFamily:
		return typ.Name + "_send"
	case types.ArrayFamily:
		return "array_send"
	}
	return typ.Name + "send"
}

func oracleQuery(args []string) string {
	switch args[0] {
	case "set":
		return "set " + args[1] + " = " + setValue(args[2])
	case "text":
		typ := sqlType(args[1])
		if strings.ContainsAny(typ, "( ") && typ != `"char"` {
			// The input function gets a modifier on this way only.
			return fmt.Sprintf("select format('%%s', c) from json_to_record(json_build_object('c', %s)) as t(c %s)",
				quoteSQL(args[2]), typ)
		}
		return fmt.Sprintf("select format('%%s', %s::%s)", quoteSQL(args[2]), typ)
	case "bin":
		return fmt.Sprintf("select encode(%s(%s::%s), 'hex')", sendFunc(args[1]), quoteSQL(args[2]), sqlType(args[1]))
	case "cmp":
		a, b := quoteSQL(args[2])+"::"+sqlType(args[1]), quoteSQL(args[3])+"::"+sqlType(args[1])
		return fmt.Sprintf("select case when %s < %s then -1 when %s = %s then 0 else 1 end", a, b, a, b)
	case "cast":
		return fmt.Sprintf("select format('%%s', (%s::%s)::%s)", quoteSQL(args[3]), sqlType(args[1]), sqlType(args[2]))
	}
	return "select format('%s', " + goldenFuncs[args[1]].sql(args[2:]) + ")"
}

func setValue(s string) string {
	if strings.Contains(s, ", ") {
		return s // DateStyle takes a list
	}
	return quoteSQL(s)
}
