package parser

import (
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"slices"
	"strings"
	"testing"

	sqlast "github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestStatements checks what Parse reports about each statement of a text.
func TestStatements(t *testing.T) {
	sql := " ;; select $2, $1 ; ; /* c */ begin;\n prepare p as select $3 -- end"
	stmts, err := Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		sql    string
		params int
	}{{"select $2, $1", 2}, {"begin", 0}, {"prepare p as select $3", 0}}
	if len(stmts) != len(want) {
		t.Fatalf("%d statements", len(stmts))
	}
	for i, w := range want {
		s := stmts[i]
		if s.SQL != w.sql || s.NumParams != w.params || s.Offset != strings.Index(sql, w.sql) {
			t.Errorf("statement %d: %+v", i, s)
		}
	}
	if p := stmts[2].AST.(*sqlast.Prepare); p.NumParams != 3 {
		t.Errorf("PREPARE has %d parameters", p.NumParams)
	}
}

// TestParseOne checks the limits of the extended protocol.
func TestParseOne(t *testing.T) {
	if s, err := ParseOne(" -- nothing\n;"); err != nil || s.AST != nil {
		t.Errorf("empty text: %v %v", s.AST, err)
	}
	if s, err := ParseOne("commit;"); err != nil || s.AST.Tag() != "COMMIT" {
		t.Errorf("one statement: %v %v", s, err)
	}
	_, err := ParseOne("begin; commit")
	if pgerr.CodeOf(err) != pgerr.SyntaxError || err.Error() != "cannot insert multiple commands into a prepared statement" {
		t.Errorf("two statements: %v", err)
	}
}

// TestErrorPositions checks that positions count characters over the whole text
// and that the first error wins.
func TestErrorPositions(t *testing.T) {
	for _, c := range []struct {
		sql, msg string
		pos      int
		code     pgerr.Code
	}{
		{"select 1; selec 2", `syntax error at or near "selec"`, 11, pgerr.SyntaxError},
		{"select 'é', é é é", `syntax error at or near "é"`, 17, pgerr.SyntaxError},
		{"select '日本' from", "syntax error at end of input", 17, pgerr.SyntaxError},
		{"select $0", "there is no parameter $0", 8, pgerr.UndefinedParameter},
		{"select $131073", "there is no parameter $131073", 8, pgerr.UndefinedParameter},
		{"select '\xff'", `invalid byte sequence for encoding "UTF8": 0xff`, 0, pgerr.CharacterNotInRepertoire},
		{"select '\xe3\x81'", `invalid byte sequence for encoding "UTF8": 0xe3 0x81 0x27`, 0, pgerr.CharacterNotInRepertoire},
		{"select '\x00'", `invalid byte sequence for encoding "UTF8": 0x00`, 0, pgerr.CharacterNotInRepertoire},
		{"select xmlelement(name a)", "XML function xmlelement is not supported", 8, pgerr.FeatureNotSupported},
		{"", "syntax error at end of input", 1, pgerr.SyntaxError},
	} {
		var err error
		if c.sql == "" {
			_, err = ParseExpr(c.sql)
		} else {
			_, err = Parse(c.sql)
		}
		e := pgerr.From(err)
		if e.Message != c.msg || e.Position != c.pos || e.Code != c.code {
			t.Errorf("%q: %s %d %s", c.sql, e.Code, e.Position, e.Message)
		}
	}
}

// TestNodePositions checks the positions that later errors will carry.
func TestNodePositions(t *testing.T) {
	x, err := ParseExpr("é + f(b) = 'c'::t")
	if err != nil {
		t.Fatal(err)
	}
	eq := x.(*sqlast.BinaryOp)
	plus := eq.L.(*sqlast.BinaryOp)
	cast := eq.R.(*sqlast.Cast)
	got := []int{eq.Pos, plus.Pos, plus.L.Position(), plus.R.Position(), cast.Pos, cast.X.Position(), cast.Type.Pos}
	for i, want := range []int{10, 3, 1, 5, 15, 12, 17} {
		if got[i] != want {
			t.Errorf("position %d is %d, not %d", i, got[i], want)
		}
	}
}

// TestNames checks folding, truncation and quoting of identifiers.
func TestNames(t *testing.T) {
	long := strings.Repeat("a", 62)
	for _, c := range []struct{ in, want string }{
		{"FooBar", "foobar"},
		{"ÄÖ", "ÄÖ"}, // only ASCII folds
		{`"Foo""Bar"`, `Foo"Bar`},
		{`U&"d\0061t\+000061"`, "data"},
		{long + "bcd", long + "b"},
		{long + "é", long}, // a character is not cut in two
		{`"` + long + `é"`, long},
		{"a$1_é", "a$1_é"},
	} {
		x, err := ParseExpr(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := x.(*sqlast.ColumnRef).Column; got != c.want {
			t.Errorf("%s: %s", c.in, got)
		}
	}
}

// TestStrings checks the values of string constants.
func TestStrings(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`'a\n'`, `a\n`},
		{`'it''s'`, "it's"},
		{"'a'\n'b' -- c\n  'd''e'", "ab" + "d'e"},
		{"''\n''", ""},
		{`e'\b\f\n\r\t\\\'\"\q\101\x41\x4\u0041\U0001F600'`, "\b\f\n\r\t\\'\"qAA\x04A😀"},
		{`e'\ud83d\ude00'`, "😀"},
		{`e'\xc3\xa9'`, "é"},
		{"e'a' \n 'b\\n'", "ab\n"},
		{`U&'\0441\+01F600\\'`, "с😀\\"},
		{`U&'\d83d\de00'`, "😀"},
		{`u&'!0041' uescape '!'`, "A"},
		{`U&'\0041' -- c` + "\nUESCAPE '*'", `\0041`},
		{"$$a'$b$$", "a'$b"},
		{"$é$ $$ $é$", " $$ "},
	} {
		x, err := ParseExpr(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := x.(*sqlast.StrLit).Val; got != c.want {
			t.Errorf("%s: %q", c.in, got)
		}
	}
}

// TestDepth checks that deep and long statements end in 54001, not in a panic,
// and that wide ones do not.
func TestDepth(t *testing.T) {
	const n = 100000
	rep := func(before, mid, after string) string {
		return "select " + strings.Repeat(before, n) + mid + strings.Repeat(after, n)
	}
	for name, sql := range map[string]string{
		"parens":      rep("(", "1", ")"),
		"open parens": rep("(", "", ""),
		"not":         rep("not ", "true", ""),
		"minus":       rep("- ", "a", ""),
		"plus chain":  rep("", "1", "+1"),
		"casts":       rep("", "1", "::int"),
		"calls":       rep("f(", "1", ")"),
		"case":        rep("case when ", "1", " then 1 end"),
		"arrays":      rep("array[", "1", "]"),
		"inner":       "select array" + strings.Repeat("[", n) + strings.Repeat("]", n),
		"subqueries":  rep("(select ", "1", ")"),
		"from":        "select * from " + strings.Repeat("(", n) + "select 1" + strings.Repeat(")", n),
		"joins":       "select * from a" + strings.Repeat(" join b", n) + strings.Repeat(" on true", n),
		"join chain":  "select * from a" + strings.Repeat(" cross join b", n),
		"unions":      "select 1" + strings.Repeat(" union select 1", n),
		"ctes":        strings.Repeat("with a as (", n) + "select 1" + strings.Repeat(") select 1", n),
		"grouping":    "select a group by " + strings.Repeat("grouping sets (", n) + "a" + strings.Repeat(")", n),
		"brackets":    strings.Repeat("select * from [", n) + "select 1" + strings.Repeat("]", n),
	} {
		_, err := Parse(sql)
		if pgerr.CodeOf(err) != pgerr.StatementTooComplex {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, sql := range map[string]string{
		"or":            rep("", "a", " or b"),
		"values":        "insert into t values (1, -2, 'x'::text)" + strings.Repeat(", (1, -2, 'x'::text)", n/10),
		"in":            "select a in (1" + strings.Repeat(", 1", n) + ")",
		"unicode":       "select 1" + strings.Repeat(" as a, U&'\\0041'", n),
		"comments":      "select " + strings.Repeat("/*", n) + strings.Repeat("*/", n) + "1",
		"statements":    strings.Repeat("select (1);", n/10),
		"nested enough": "select " + strings.Repeat("(", MaxDepth/4) + "1" + strings.Repeat(")", MaxDepth/4),
	} {
		if _, err := Parse(sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("select " + strings.Repeat("U&'a' uescape ", n)); pgerr.CodeOf(err) != pgerr.SyntaxError {
		t.Errorf("uescape: %v", err)
	}
	if _, err := Parse(strings.Repeat("create schema s ", n)); pgerr.CodeOf(err) != pgerr.SyntaxError {
		t.Errorf("create schema: %v", err)
	}
}

// TestKeywordTokens checks that the token constants follow ast.Keywords.
func TestKeywordTokens(t *testing.T) {
	f, err := goparser.ParseFile(gotoken.NewFileSet(), "token.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "kw") {
			names = append(names, strings.ToLower(v.Names[0].Name[2:]))
		}
		return true
	})
	if len(names) != len(sqlast.Keywords) {
		t.Fatalf("%d tokens, %d keywords", len(names), len(sqlast.Keywords))
	}
	for i, k := range sqlast.Keywords {
		word := strings.ReplaceAll(k.Word, "_", "")
		if names[i] != word {
			t.Errorf("token %d is %s, keyword %s", i, names[i], k.Word)
		}
		var h uint32
		for _, c := range []byte(k.Word) {
			h = h*hashFactor + uint32(c)
		}
		if got := lookupKeyword(strings.ToUpper(k.Word), h); got != firstKeyword+kind(i) {
			t.Errorf("%s is looked up as %d", k.Word, got)
		}
	}
}

// TestReturnsRows checks what the session relies on to describe a statement.
func TestReturnsRows(t *testing.T) {
	for sql, want := range map[string]bool{
		"select 1": true, "values (1)": true, "select 1 into t": false, "insert into t values (1)": false,
		"insert into t values (1) returning a": true, "update t set a = 1": false, "show all": true,
		"show tables": true, "explain select 1": true, "fetch c": true, "move c": false, "begin": false,
		"delete from t returning 1": true,
	} {
		s, err := ParseOne(sql)
		if err != nil {
			t.Fatal(err)
		}
		if got := sqlast.ReturnsRows(s.AST); got != want {
			t.Errorf("%s: %t", sql, got)
		}
	}
}

// TestLongNames checks that each name that is cut is told once, also before an error.
func TestLongNames(t *testing.T) {
	long, cut := strings.Repeat("a", 70), strings.Repeat("a", 63)
	for sql, want := range map[string]int{
		"select 1 as " + long:                        1,
		"select 1 as " + cut:                         0,
		`select "` + long + `", U&"` + long + `"`:    2,
		"select " + long + " , from where " + long:   1,
		"create table if not exists " + long + "(a)": 1,
	} {
		_, notices, _ := ParseStrings(sql, Options{})
		if len(notices) != want {
			t.Errorf("%s: %d notices", sql, len(notices))
		}
		for _, n := range notices {
			if n.Code != pgerr.NameTooLong || n.Message != "identifier \""+long+"\" will be truncated to \""+cut+"\"" {
				t.Errorf("%s: %v", sql, n)
			}
		}
	}
}

// TestStringOptions checks how strings are read with the options, and the warnings.
func TestStringOptions(t *testing.T) {
	off := Options{Escapes: true, Warn: true}
	for _, c := range []struct {
		sql      string
		o        Options
		want     string // the value of the last constant, or the error
		warnings []int
	}{
		{`select 'a\nb'`, Options{}, `a\nb`, nil},
		{`select 'a\nb'`, off, "a\nb", []int{8}},
		{`select 'a\nb'`, Options{Escapes: true}, "a\nb", nil},
		{`select E'\n', n'\'', 'c\\'`, off, `c\`, []int{16, 22}},
		{`select 'é', 'a\u0041\n'`, off, "aA\n", []int{13}},
		{"select $$a\\n$$", off, `a\n`, nil},
		{`select '\n', a b 'c\\' d '\t'`, off, `syntax error at or near "'c\\'"`, []int{8, 18}},
		{`select '\u00'`, off, "invalid Unicode escape", nil},
		{`select '\xff'`, off, `invalid byte sequence for encoding "UTF8": 0xff`, []int{8}},
		{`select U&'a'`, off, "unsafe use of string constant with Unicode escapes", nil},
		{`select E'\''`, Options{RefuseQuotes: true}, `unsafe use of \' in a string literal`, nil},
		{`select '\'`, Options{RefuseQuotes: true}, `\`, nil},
	} {
		stmts, warnings, err := ParseStrings(c.sql, c.o)
		var at []int
		for _, w := range warnings {
			at = append(at, w.Position)
		}
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			items := stmts[0].AST.(*sqlast.Select).Items
			x := items[len(items)-1].X
			lit, ok := x.(*sqlast.StrLit)
			if !ok {
				t.Fatalf("%s: %T", c.sql, x)
			}
			got = lit.Val
		}
		if got != c.want || !slices.Equal(at, c.warnings) {
			t.Errorf("%s: %q, warnings at %v", c.sql, got, at)
		}
	}
}
