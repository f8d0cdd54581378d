package parser

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// FuzzParse checks that no text makes the parser panic, that errors point into
// the text, and that every tree survives printing.
func FuzzParse(f *testing.F) {
	for _, line := range corpus(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		stmts, err := Parse(sql)
		if err != nil {
			e := pgerr.From(err)
			if e.Code == pgerr.InternalError {
				t.Fatalf("internal error for %q: %v", sql, err)
			}
			if e.Position < 0 || e.Position > len(sql)+1 {
				t.Fatalf("position %d outside %q", e.Position, sql)
			}
			return
		}
		for _, s := range stmts {
			if s.SQL != sql[s.Offset:s.Offset+len(s.SQL)] {
				t.Fatalf("offset %d of %q in %q", s.Offset, s.SQL, sql)
			}
			if !ast.HeightWithin(s.AST, MaxDepth) {
				t.Fatalf("tree too high for %q", sql)
			}
			_ = s.AST.Tag()
			checkRoundTrip(t, s)
		}
	})
}
