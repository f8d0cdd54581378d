package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestGolden runs the files of testdata/golden. The commands take one text per
// line:
//
//	parse   prints the tag and the canonical text of every statement
//	error   prints code, position and message; every line must fail
//	expr    prints an expression with every operator in parentheses
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				switch d.Cmd {
				case "parse":
					goldenParse(t, &b, line)
				case "error":
					_, err := Parse(line)
					if err == nil {
						d.Fatalf(t, "no error: %s", line)
					}
					e := pgerr.From(err)
					fmt.Fprintf(&b, "%s %d: %s\n", e.Code, e.Position, e.Message)
				case "expr":
					x, err := ParseExpr(line)
					if err != nil {
						d.Fatalf(t, "%v: %s", err, line)
					}
					fmt.Fprintln(&b, ast.Format(x))
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
			}
			return b.String()
		})
	})
}

func goldenParse(t *testing.T, b *strings.Builder, line string) {
	t.Helper()
	stmts, err := Parse(line)
	if err != nil {
		t.Errorf("%v: %s", err, line)
		return
	}
	for _, s := range stmts {
		fmt.Fprintf(b, "%s: %s\n", s.AST.Tag(), ast.Format(s.AST))
		checkRoundTrip(t, s)
	}
}
