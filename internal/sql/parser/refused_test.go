package parser

import (
	"os"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestRefused reads the statements that have no tree, each of which must be read
// to its end, and their beginnings, which are whole statements or syntax errors at
// the end.
func TestRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.sql")
	if err != nil {
		t.Fatal(err)
	}
	unseen := map[string]bool{"CREATE ASSERTION": true}
	for verb, list := range grammar().byVerb {
		for _, r := range list {
			if verb != "EXPRESSION" && verb != "FROM" {
				unseen[r.feature] = true
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		s, err := ParseOne(line)
		u, ok := s.AST.(*ast.Unsupported)
		if !ok && !strings.Contains(line, "OPTIONS (SET a 'b'), OPTIONS") {
			t.Errorf("%T, %v: %s", s.AST, err, line)
			continue
		}
		if ok {
			delete(unseen, u.Feature)
		} else {
			delete(unseen, "ALTER FOREIGN TABLE")
		}
		checkBeginnings(t, line)
	}
	delete(unseen, "CREATE ASSERTION")
	for f := range unseen {
		t.Errorf("no example of %s", f)
	}
}

// checkBeginnings cuts a valid statement off behind each token: what is left is a
// statement or lacks something at its end.
func checkBeginnings(t *testing.T, line string) {
	t.Helper()
	l := lexer{sql: line}
	for tok := l.next(); tok.kind != tokEOF; tok = l.next() {
		part := line[:tok.end]
		_, err := ParseOne(part)
		if err == nil {
			continue
		}
		if e := pgerr.From(err); e.Code != pgerr.FeatureNotSupported &&
			(e.Code != pgerr.SyntaxError || !strings.HasSuffix(e.Message, "at end of input")) {
			t.Errorf("%v at %d: %s", err, e.Position, part)
		}
	}
}

// TestXML reads the forms of SQL/XML and refuses them behind the rest of the text.
func TestXML(t *testing.T) {
	for _, c := range []struct {
		sql  string
		code pgerr.Code
		pos  int
	}{
		{"SELECT xmlelement(name a, xmlattributes(1 AS b), 'c')", pgerr.FeatureNotSupported, 8},
		{"SELECT xmlelement(name a, xmlattributes(1 AS b), 'c') FROM", pgerr.SyntaxError, 59},
		{"SELECT xmlroot(x, version no value, standalone yes)", pgerr.FeatureNotSupported, 8},
		{"SELECT xmlroot(x, version)", pgerr.SyntaxError, 26},
		{"SELECT * FROM xmltable('/a' PASSING x COLUMNS b int PATH 'c', d FOR ORDINALITY) t", pgerr.FeatureNotSupported, 15},
		{"SELECT * FROM xmltable('/a' COLUMNS b int)", pgerr.SyntaxError, 29},
		{"SELECT x IS DOCUMENT", pgerr.FeatureNotSupported, 10},
		{"SET XML OPTION content", pgerr.FeatureNotSupported, 1},
		{"SET XML OPTION x", pgerr.SyntaxError, 16},
	} {
		_, err := Parse(c.sql)
		if e, ok := err.(*pgerr.Error); !ok || e.Code != c.code || e.Position != c.pos {
			t.Errorf("%s: %v, not %s at %d", c.sql, err, c.code, c.pos)
		}
	}
}
