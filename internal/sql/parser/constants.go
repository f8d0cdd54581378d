package parser

import "strings"

// constantMark stands for a constant in what WithoutConstants returns.
const constantMark = "_"

// WithoutConstants returns the text of statements without its constants and comments, blanks between tokens where there were
// some: what may be shown or logged whatever the values are. It ends in an ellipsis where the text has more than limit bytes or
// is no SQL.
func WithoutConstants(sql string, o Options, limit int) string {
	l := lexer{sql: sql, strings: o}
	var b strings.Builder
	for end := int32(0); ; {
		t := l.next()
		switch t.kind {
		case tokEOF:
			return b.String()
		case tokError:
			return b.String() + "…"
		}
		if t.start > end && b.Len() > 0 {
			b.WriteByte(' ')
		}
		end = t.end
		switch t.kind {
		case tokString, tokBit, tokHex, tokInt, tokNum:
			b.WriteString(constantMark)
		default:
			b.WriteString(sql[t.start:t.end])
		}
		if b.Len() > limit {
			return strings.ToValidUTF8(b.String()[:limit], "") + "…"
		}
	}
}
