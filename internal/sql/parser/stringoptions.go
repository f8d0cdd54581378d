package parser

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Options say how a text is parsed, mostly how its string constants are read. The zero value is the standard:
// what the server writes itself is read so.
type Options struct {
	// Escapes makes backslashes escapes in '...' as they are in E'...', and refuses
	// U&'...': standard_conforming_strings is off.
	Escapes bool
	// Warn warns of the escapes in '...': escape_string_warning.
	Warn bool
	// RefuseQuotes refuses \': backslash_quote.
	RefuseQuotes bool
	// Step, if not nil, is called every so often with the bytes of memory that the statement
	// takes more than at the last call, its plan included; its error ends the parse.
	Step func(bytes int) error
}

// ParseStrings is Parse with string constants read by o. It returns warnings even with an
// error: those of the text before it. The one with NameTooLong is a notice.
func ParseStrings(sql string, o Options) (stmts []Statement, warnings []*pgerr.Error, err error) {
	p := parser{strings: o}
	stmts, err = p.parse(sql)
	if o.Escapes && o.Warn && strings.IndexByte(sql, '\\') >= 0 || p.lex.long != "" {
		var stopped error
		if warnings, stopped = p.warnings(sql); err == nil && stopped != nil {
			return nil, warnings, stopped
		}
	}
	return stmts, warnings, err
}

// warnings reads the text once more, up to the token of the error if there was one:
// the parser looks ahead and back, and one string or name gives one warning. Its error is that of
// the text, or of a statement that was cancelled.
func (p *parser) warnings(sql string) (warnings []*pgerr.Error, err error) {
	l := lexer{sql: sql, strings: p.strings}
	for {
		l.escapeAt, l.long = -1, ""
		t := l.next()
		if t.kind == tokEOF || p.err != nil && t.start > p.errAt {
			return warnings, nil
		}
		if l.long != "" {
			warnings = append(warnings, pgerr.New(pgerr.NameTooLong, "identifier \"%s\" will be truncated to \"%s\"", l.long, t.str))
		}
		if p.strings.Escapes && p.strings.Warn && l.escapeAt >= 0 && sql[t.start] == '\'' {
			if w := escapeWarning(sql[l.escapeAt:]); w != nil {
				w.Position = p.charPos(int(t.start))
				warnings = append(warnings, w)
			}
		}
		if t.kind == tokError {
			return warnings, l.err
		}
	}
}

// escapeWarning is the warning for the escape at the start of s; nil if it is an error.
func escapeWarning(s string) *pgerr.Error {
	var use, hint string
	switch {
	case len(s) < 2:
		return nil
	case s[1] == '\'':
		use, hint = `\'`, "Use '' to write quotes in strings, or use the escape string syntax (E'...')."
	case s[1] == '\\':
		use, hint = `\\`, `Use the escape string syntax for backslashes, e.g., E'\\'.`
	default:
		if l := (lexer{sql: s}); (s[1] == 'u' || s[1] == 'U') && !l.hasEscapeDigits() {
			return nil
		}
		use, hint = "escape", `Use the escape string syntax for escapes, e.g., E'\r\n'.`
	}
	return pgerr.New(pgerr.NonstandardUseOfEscapeCharacter, "nonstandard use of %s in a string literal", use).
		WithHint("%s", hint)
}

// hasEscapeDigits reports whether the text begins with a whole Unicode escape.
func (l *lexer) hasEscapeDigits() bool {
	_, end := l.escapeDigits(0)
	return end > 0
}

func errUnsafeQuote() *pgerr.Error {
	return pgerr.New(pgerr.NonstandardUseOfEscapeCharacter, `unsafe use of \' in a string literal`).
		WithHint(`Use '' to write quotes in strings. \' is insecure in client-only encodings.`)
}
