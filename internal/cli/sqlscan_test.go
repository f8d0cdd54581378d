package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestStatementScanner(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string // commands begin with a backslash
		rest       string
	}{
		{"two on a line", "select 1; select 2;", []string{"select 1;", "select 2;"}, ""},
		{"several lines", "select\n 1\n;", []string{"select\n 1\n;"}, ""},
		{"no end", "select 1", nil, "select 1"},
		{"empty statements", ";;  ;", nil, ""},
		{"in strings", "select 'a;b', \"c;d\", 'it''s;';", []string{"select 'a;b', \"c;d\", 'it''s;';"}, ""},
		{"string over lines", "select 'a;\nb;' ;", []string{"select 'a;\nb;' ;"}, ""},
		{"backslashes only in E strings", `select E'a\';b', 'c\'; select 2;`, []string{`select E'a\';b', 'c\';`, "select 2;"}, ""},
		{"a name that ends with e", `select date'x\'; select 2;`, []string{`select date'x\';`, "select 2;"}, ""},
		{"dollar quotes", "select $$a;'$$, $t$ $$; $t$;", []string{"select $$a;'$$, $t$ $$; $t$;"}, ""},
		{"not dollar quotes", "select $1; select a$b$c;", []string{"select $1;", "select a$b$c;"}, ""},
		{"comments", "select 1 -- ;\n+ /* ; /* ; */ ; */ 2;", []string{"select 1 -- ;\n+ /* ; /* ; */ ; */ 2;"}, ""},
		{"comment before", "-- hi; 'x\nselect 1;", []string{"select 1;"}, ""},
		{"parentheses", "create rule r do (select 1; select 2);", []string{"create rule r do (select 1; select 2);"}, ""},
		{"command", "\\d t\nselect 1;", []string{"\\d t", "select 1;"}, ""},
		{"command after text", "select 1 \\gx", []string{"\\gx"}, "select 1"},
		{"open quote", "select 'a", nil, "select 'a"},
	} {
		var s statementScanner
		var got []string
		for _, line := range strings.Split(tc.text, "\n") {
			for _, x := range s.line(line) {
				got = append(got, x.sql+x.command)
			}
		}
		rest := s.rest()
		if !slices.Equal(got, tc.want) || rest != tc.rest {
			t.Errorf("%s: got %q, rest %q\nwant %q, rest %q", tc.name, got, rest, tc.want, tc.rest)
		}
	}
}

func FuzzStatementScanner(f *testing.F) {
	f.Add("select $a$;'\\';")
	f.Add("E'\\")
	f.Fuzz(func(t *testing.T, text string) {
		var s statementScanner
		n := 0
		for _, line := range strings.Split(text, "\n") {
			for _, x := range s.line(line) {
				n += len(x.sql) + len(x.command)
			}
		}
		if n += len(s.rest()); n > len(text)+1 {
			t.Errorf("%d bytes of %d", n, len(text))
		}
	})
}
