package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// optionsOf are the parameters of a table or view: name=value.
func optionsOf(t *catalog.Table) []string {
	if t.Kind == catalog.KindView {
		return t.View.Options
	}
	return t.Options
}

// reloptions sets the parameters of a relation or index, NULL for none.
func (w *writer) reloptions(options []string) {
	if len(options) == 0 {
		return
	}
	list := make([]types.Datum, len(options))
	for i, o := range options {
		list[i] = types.NewString(o)
	}
	w.set("reloptions", types.NewArray(list))
}

// optionsText is the clause WITH (...) that gives these parameters, "" for none.
func optionsText(options []string) string {
	if len(options) == 0 {
		return ""
	}
	list := make([]string, len(options))
	for i, o := range options {
		name, value, _ := strings.Cut(o, "=")
		if ast.QuoteIdent(value) != value {
			value = ast.QuoteLiteral(value)
		}
		list[i] = ast.QuoteIdent(name) + "=" + value
	}
	return " WITH (" + strings.Join(list, ", ") + ")"
}
