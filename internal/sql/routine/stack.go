package routine

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// runs notes the statement that a frame runs, for the context of what happens within; the caller calls end behind it.
func (f *frame) runs(at *source) (end func()) {
	before := f.running
	f.running = at
	return func() { f.running = before }
}

// where says what a frame does, as a line of context.
func (f *frame) where() string {
	if f.prog == nil {
		if f.line == 0 {
			return "SQL function \"" + f.t.Name + "\" during startup"
		}
		return "SQL function \"" + f.t.Name + "\" statement " + itoa(f.line)
	}
	s := "PL/pgSQL function " + f.prog.name
	if f.line > 0 {
		s += " line " + itoa(f.line)
	}
	if f.doing != "" {
		s += " " + f.doing
	}
	return s
}

// stack says where a frame is, and its callers, from the inside.
func (f *frame) stack() string {
	var b strings.Builder
	b.WriteString(f.where())
	for g := f.outer; g != nil; g = g.outer {
		if g.running != nil {
			b.WriteString("\n" + g.running.kind + " \"" + g.running.shown + "\"")
		}
		b.WriteString("\n" + g.where())
	}
	return b.String()
}

// quotedValue prints a value as a literal.
func quotedValue(fc *types.FormatContext, d types.Datum, t *types.T) string {
	if d.IsNull() {
		return "NULL"
	}
	return "'" + strings.ReplaceAll(string(typeio.AppendText(nil, t, d, fc)), "'", "''") + "'"
}
