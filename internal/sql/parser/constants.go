package parser

import "strings"

// maxConstantless is how much of a text WithoutConstants reads, in bytes: a millisecond or two. Nothing cancels it.
const maxConstantless = 128 << 10

// WithoutConstants returns the text of statements without its constants and comments: "_" stands for a constant, "_, ..." for a
// list of them, a list of rows of constants is its first row and "...", and a blank is one wherever there were some. So texts that
// differ in values only are one, which may be shown whatever the values are. It ends in an ellipsis behind limit bytes, where
// the text is no SQL any more, or where maxConstantless of it were read.
func WithoutConstants(sql string, o Options, limit int) string {
	long := len(sql) > maxConstantless
	if long {
		sql = sql[:maxConstantless]
	}
	l := lexer{sql: sql, strings: o}
	w := constantless{out: make([]byte, 0, min(len(sql), limit)+8)}
	for {
		t := l.next()
		switch {
		case t.kind == tokEOF && !long:
			return w.text()
		case t.kind == tokEOF || t.kind == tokError || len(w.out) > limit:
			w.out = w.out[:min(len(w.out), limit)]
			return w.text() + "…"
		}
		w.blank = w.blank || t.start > w.end
		w.end = t.end
		switch t.kind {
		case tokString, tokBit, tokHex, tokInt, tokNum:
			w.constant()
		default:
			w.token(sql[t.start:t.end])
		}
	}
}

// constantless writes a text without constants.
type constantless struct {
	out []byte
	end int32 // of the last token
	// blank says that there was a blank before the next token.
	blank bool
}

func (w *constantless) text() string {
	return strings.ToValidUTF8(strings.TrimRight(string(w.out), " ;"), "")
}

func (w *constantless) token(text string) {
	if w.blank && len(w.out) > 0 {
		w.out = append(w.out, ' ')
	}
	w.out, w.blank = append(w.out, text...), false
	if text == ")" {
		w.foldRow()
	}
}

// constant writes that there is a constant, unless it is the third or a later one of a list.
func (w *constantless) constant() {
	switch {
	case w.endsWith("_, ...,"):
		w.out, w.blank = w.out[:len(w.out)-1], false
	case w.endsWith("_,"):
		w.blank = true
		w.token("...")
	default:
		w.token("_")
	}
}

// foldRow takes back a row of constants that follows one, as in VALUES.
func (w *constantless) foldRow() {
	for _, row := range [...]string{"(_)", "(_, ...)"} {
		for _, between := range [...]string{", ..., ", ", ...,", ", ", ","} {
			if both := row + between + row; w.endsWith(both) {
				w.out = append(w.out[:len(w.out)-len(both)+len(row)], ", ..."...)
				return
			}
		}
	}
}

func (w *constantless) endsWith(s string) bool {
	return len(w.out) >= len(s) && string(w.out[len(w.out)-len(s):]) == s
}
