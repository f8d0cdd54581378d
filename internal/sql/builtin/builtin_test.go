package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func TestRegistryOids(t *testing.T) {
	seen := map[string]map[uint32]string{"function": {}, "operator": {}}
	check := func(o *call.Overload) {
		kind := kindWord(o.Operator)
		if other := seen[kind][o.Oid]; other != "" || o.Oid == 0 {
			t.Errorf("oid %d of %s is also that of %s", o.Oid, o, other)
		}
		seen[kind][o.Oid] = o.String()
	}
	signatures := map[string]bool{}
	for _, o := range All() {
		check(o)
		if k := kindWord(o.Operator) + o.Key(); signatures[k] {
			t.Errorf("%s is declared twice", o)
		} else {
			signatures[k] = true
		}
		if o.Eval == nil && o.Bind == nil && !o.IsSRF() {
			t.Errorf("%s cannot be evaluated", o)
		}
	}
	for _, a := range AllAggregates() {
		check(&a.Overload)
	}
	for key, oid := range map[string]uint32{"abs(int4)": 1397, "now()": 1299, "nextval(regclass)": 1574} {
		name, _, _ := strings.Cut(key, "(")
		found := false
		for _, o := range Functions(name) {
			found = found || o.Key() == key && o.Oid == oid
		}
		if !found {
			t.Errorf("%s does not have oid %d", key, oid)
		}
	}
	known := strings.Count(pgOids, "\n")
	if all := len(All()) + len(AllAggregates()); all-known > 40 {
		t.Errorf("%d of %d overloads lack PostgreSQL's oid", all-known, all)
	}
}

// TestOwnOids checks that the oids of what PostgreSQL lacks are distinct, in their range, in order,
// and none that PostgreSQL's functions need; what has moved since a release is not found.
func TestOwnOids(t *testing.T) {
	next := uint32(FirstOwnOid)
	for line := range strings.Lines(ownOidLines) {
		_, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch oid := ownOids()[key]; {
		case oid < next || oid > LastOwnOid:
			t.Errorf("%s has oid %d; the next free one is %d", key, oid, next)
		default:
			next = oid + 1
		}
		if postgresOids()[key] != 0 {
			t.Errorf("%s is PostgreSQL's, too", key)
		}
	}
	for key, oid := range map[string]uint32{"%(text,text)": 16000, "word_similarity_op(text,text)": 16091} {
		if ownOids()[key] != oid {
			t.Errorf("%s had oid %d", key, oid)
		}
	}
}

func TestNoMatchErrors(t *testing.T) {
	for _, tc := range []struct {
		kind, name string
		ts         []*types.T
		code       pgerr.Code
		message    string
		hint       string
	}{
		{"o", "+", []*types.T{types.Int4, types.Text}, pgerr.UndefinedFunction, "operator does not exist: integer + text",
			"No operator matches the given name and argument types. You might need to add explicit type casts."},
		{"o", "-", []*types.T{types.Text}, pgerr.UndefinedFunction, "operator does not exist: - text",
			"No operator matches the given name and argument type. You might need to add an explicit type cast."},
		{"f", "foo", []*types.T{types.Int4, types.Text}, pgerr.UndefinedFunction, "function foo(integer, text) does not exist",
			"No function matches the given name and argument types. You might need to add explicit type casts."},
		{"o", "+", []*types.T{types.Unknown, types.Unknown}, pgerr.AmbiguousFunction, "operator is not unique: unknown + unknown",
			"Could not choose a best candidate operator. You might need to add explicit type casts."},
		{"f", "round", []*types.T{types.Float8, types.Int4}, pgerr.UndefinedFunction, "function round(double precision, integer) does not exist",
			"No function matches the given name and argument types. You might need to add explicit type casts."},
	} {
		resolve := ResolveFunction
		if tc.kind == "o" {
			resolve = ResolveOperator
		}
		_, err := resolve(tc.name, tc.ts)
		if err == nil {
			t.Errorf("%s: no error", tc.message)
			continue
		}
		if e := pgerr.From(err); e.Code != tc.code || e.Message != tc.message || e.Hint != tc.hint {
			t.Errorf("got %s %s (%s), want %s %s (%s)", e.Code, e.Message, e.Hint, tc.code, tc.message, tc.hint)
		}
	}
}

// CallText evaluates a function on text arguments of the declared types.
func callFunction(t *testing.T, c *call.Context, name string, ts []*types.T, args ...string) (string, error) {
	t.Helper()
	ptrs := make([]*string, len(args))
	for i := range args {
		ptrs[i] = &args[i]
	}
	d, ret, err := evalCall(t, c, "f", name, ts, ptrs)
	if err != nil || d.IsNull() {
		return "NULL", err
	}
	return resultText(c, ret, d), nil
}

func TestSessionFunctions(t *testing.T) {
	c := testContext(t)
	c.Session = newFakeSession()
	c.Format.Names = nil
	text, oid := types.Text, types.Oid
	for _, tc := range []struct {
		name string
		ts   []*types.T
		args []string
		want string
	}{
		{"current_user", nil, nil, "root"}, {"current_database", nil, nil, "defaultdb"}, {"current_schema", nil, nil, "public"},
		{"current_schemas", []*types.T{types.Bool}, []string{"t"}, "{pg_catalog,public}"},
		{"version", nil, nil, "PostgreSQL 15.0"}, {"pg_backend_pid", nil, nil, "7"},
		{"current_setting", []*types.T{text}, []string{"application_name"}, "test"},
		{"current_setting", []*types.T{text, types.Bool}, []string{"nope", "t"}, "NULL"},
		{"set_config", []*types.T{text, text, types.Bool}, []string{"a.b", "x", "f"}, "x"},
		{"current_setting", []*types.T{text}, []string{"a.b"}, "x"},
		{"obj_description", []*types.T{oid, types.Name}, []string{"100", "pg_class"}, "a comment"},
		{"obj_description", []*types.T{oid, types.Name}, []string{"101", "pg_class"}, "NULL"},
		{"pg_get_userbyid", []*types.T{oid}, []string{"10"}, "root"},
		{"pg_get_userbyid", []*types.T{oid}, []string{"11"}, "unknown (OID=11)"},
		{"pg_get_indexdef", []*types.T{oid, types.Int4, types.Bool}, []string{"100", "1", "t"}, "a"},
		{"pg_get_constraintdef", []*types.T{oid}, []string{"100"}, "PRIMARY KEY (a)"},
		{"pg_table_is_visible", []*types.T{oid}, []string{"100"}, "true"},
		{"pg_table_is_visible", []*types.T{oid}, []string{"1"}, "NULL"},
		{"has_table_privilege", []*types.T{types.Name, text, text}, []string{"root", "t", "SELECT"}, "true"},
		{"has_table_privilege", []*types.T{oid, text}, []string{"1", "SELECT"}, "NULL"},
		{"pg_get_serial_sequence", []*types.T{text, text}, []string{"t", "a"}, "public.t_a_seq"},
		{"pg_database_size", []*types.T{types.Name}, []string{"defaultdb"}, "5"},
		{"pg_cancel_backend", []*types.T{types.Int4}, []string{"8"}, "false"},
		{"pg_try_advisory_lock", []*types.T{types.Int4, types.Int4}, []string{"1", "-1"}, "true"},
		{"to_regclass", []*types.T{text}, []string{"nope"}, "NULL"},
		{"pg_size_pretty", []*types.T{types.Int8}, []string{"123456789"}, "118 MB"},
	} {
		got, err := callFunction(t, c, tc.name, tc.ts, tc.args...)
		if err != nil || got != tc.want {
			t.Errorf("%s(%v): got %s, %v, want %s", tc.name, tc.args, got, err, tc.want)
		}
	}
	if locks := c.Session.(*fakeSession).locks; len(locks) == 0 || locks[0].Key != 1<<32|0xffffffff || !locks[0].Try || !locks[0].Pair {
		t.Errorf("advisory lock %+v", locks)
	}
	if _, err := callFunction(t, c, "current_setting", []*types.T{text}, "nope"); pgerr.CodeOf(err) != pgerr.UndefinedObject {
		t.Errorf("current_setting: %v", err)
	}
	if _, err := callFunction(t, &call.Context{}, "current_user", nil); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Errorf("without a session: %v", err)
	}
}

func TestSequenceFunctions(t *testing.T) {
	c := testContext(t)
	c.Session = newFakeSession()
	reg := []*types.T{types.Regclass}
	for i, want := range []string{"1", "2"} {
		if got, err := callFunction(t, c, "nextval", reg, "100"); err != nil || got != want {
			t.Errorf("%d: nextval: %s, %v", i, got, err)
		}
	}
	set := []*types.T{types.Regclass, types.Int8, types.Bool}
	if got, err := callFunction(t, c, "setval", set, "100", "9", "f"); err != nil || got != "9" {
		t.Errorf("setval: %s, %v", got, err)
	}
	if got, err := callFunction(t, c, "nextval", reg, "100"); err != nil || got != "9" {
		t.Errorf("nextval after setval: %s, %v", got, err)
	}
}

func TestSleepIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := &call.Context{Ctx: ctx}
	if _, err := callFunction(t, c, "pg_sleep", []*types.T{types.Float8}, "1e9"); pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Errorf("got %v", err)
	}
}

func TestSleepReportsWhyItEnded(t *testing.T) {
	cause := pgerr.New(pgerr.AdminShutdown, "going down")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	c := &call.Context{Ctx: ctx}
	for _, seconds := range []string{"0", "1e9"} {
		_, err := callFunction(t, c, "pg_sleep", []*types.T{types.Float8}, seconds)
		if !errors.Is(err, cause) {
			t.Errorf("pg_sleep(%s): got %v, want %v", seconds, err, cause)
		}
	}
}

func TestRandomIsSeeded(t *testing.T) {
	var c call.Context
	draw := func() (s string) {
		if _, err := callFunction(t, &c, "setseed", []*types.T{types.Float8}, "0.5"); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 3; i++ {
			o := Functions("random")[0]
			d, err := o.Eval(&c, nil)
			if err != nil || d.Float() < 0 || d.Float() >= 1 {
				t.Fatalf("random: %v, %v", d, err)
			}
			s += typeio.FormatDatum(types.Float8, d, nil) + " "
		}
		return s
	}
	if a, b := draw(), draw(); a != b {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestClockFunctions(t *testing.T) {
	c := testContext(t)
	for name, want := range map[string]string{
		"now": "2024-05-17 08:34:56.789-04", "statement_timestamp": "2024-05-17 08:34:56.789-04",
		"clock_timestamp": "2024-05-17 08:34:56.789-04", "current_date": "2024-05-17", "localtime": "08:34:56.789",
		"localtimestamp": "2024-05-17 08:34:56.789", "current_time": "08:34:56.789-04",
		"timeofday": "Fri May 17 08:34:56.789000 2024 EDT",
	} {
		if got, err := callFunction(t, c, name, nil); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	if got, err := callFunction(t, c, "age", []*types.T{types.Timestamp}, "2024-05-01 00:00"); err != nil || got != "16 days" {
		t.Errorf("age: %s, %v", got, err)
	}
}

// TestRegexpBacktracking covers what package regexp cannot match.
func TestRegexpBacktracking(t *testing.T) {
	var c call.Context
	for _, tc := range []struct{ text, pattern, want string }{
		{"aa", `(a)\1`, "true"}, {"ab", `(a)\1`, "false"}, {"ab", `a(?=b)`, "true"}, {"ab", `a(?!b)`, "false"},
		{"ab", `(?<=a)b`, "true"}, {"ab", `(?<!a)b`, "false"}, {"äb", `\yb`, "false"}, {"ä b", `\mb`, "true"}, {"aa", `\m.`, "true"},
	} {
		got, err := callFunction(t, &c, "regexp_like", []*types.T{types.Text, types.Text}, tc.text, tc.pattern)
		if err != nil || got != tc.want {
			t.Errorf("%s ~ %s: %s, %v, want %s", tc.text, tc.pattern, got, err, tc.want)
		}
	}
	// Long texts neither exhaust the stack nor take for ever.
	long := strings.Repeat("ab", 200_000)
	for _, p := range []string{`(a).*\1`, `((?:ab)+)\1`, `(?=x)(a|b)*`, `(a|b)*?(?=x)`} {
		_, err := callFunction(t, &c, "regexp_like", []*types.T{types.Text, types.Text}, long, p)
		if err != nil && pgerr.CodeOf(err) != pgerr.ProgramLimitExceeded {
			t.Errorf("%s: %v", p, err)
		}
	}
	many := strings.Repeat("a", 40)
	if _, err := callFunction(t, &c, "regexp_like", []*types.T{types.Text, types.Text}, many, `^((a+)+)\1b$`); pgerr.CodeOf(err) != pgerr.ProgramLimitExceeded {
		t.Errorf("endless backtracking: %v", err)
	}
}

func TestConversionFunctions(t *testing.T) {
	c := testContext(t)
	for _, tc := range []struct {
		name string
		from *types.T
		arg  string
		want string
	}{
		{"date", types.Unknown, "2024-05-17", "2024-05-17"}, {"date", types.TimestampTZ, "2024-05-17 03:00+00", "2024-05-16"},
		{"int4", types.Numeric, "2.5", "3"}, {"float8", types.Int4, "7", "7"}, {"text", types.Int4, "12", "12"},
		{"text", types.Varchar, "x", "x"}, {"numeric", types.Text, "1.50", "1.50"},
	} {
		got, err := callFunction(t, c, tc.name, []*types.T{tc.from}, tc.arg)
		if err != nil || got != tc.want {
			t.Errorf("%s(%s): got %s, %v, want %s", tc.name, tc.from.SQLName, got, err, tc.want)
		}
	}
	if _, err := callFunction(t, c, "date", []*types.T{types.Int4}, "1"); pgerr.CodeOf(err) != pgerr.UndefinedFunction {
		t.Errorf("date(integer): %v", err)
	}
}

func TestKeywords(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "select": `"select"`, "A": `"A"`, `a"b`: `"a""b"`, "": `""`, "abort": "abort", "1a": `"1a"`} {
		if got := stringfuncs.QuoteIdent(in); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
	o, err := ResolveFunction("pg_get_keywords", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := o.SRF(&call.Context{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		row, ok, err := rows.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		n++
		if row[0].Str() == "select" && (row[1].Str() != "R" || !row[2].Bool()) {
			t.Errorf("select: %v", row)
		}
	}
	if n < 400 {
		t.Errorf("%d key words", n)
	}
}
