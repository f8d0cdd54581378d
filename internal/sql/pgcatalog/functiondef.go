package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
)

// functionDefinition prints a built-in function as PostgreSQL's pg_get_functiondef does: its
// code is a name of this system's.
func functionDefinition(o *builtin.Overload) string {
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + namePgCatalog + "." + ast.QuoteIdent(o.Name) + "(" + functionArguments(o, true) + ")\n")
	b.WriteString(" RETURNS " + functionResult(o) + "\n LANGUAGE internal\n ")
	b.WriteString([...]string{"IMMUTABLE", "STABLE", "VOLATILE"}[o.Volatility])
	b.WriteString(" PARALLEL SAFE")
	if o.Strict {
		b.WriteString(" STRICT")
	}
	b.WriteString("\nAS $function$" + o.Name + "$function$\n")
	return strings.Replace(b.String(), " VOLATILE ", " ", 1) // the default is not printed
}
