package ltree

import (
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/boolquery"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TextQuery is an ltxtquery: a condition on the labels of a path, wherever they are.
type TextQuery struct{ q *boolquery.Query[word] }

var textSyntax = boolquery.Syntax[word]{Scan: scanWord, Missing: pgerr.New(pgerr.SyntaxError, "operand syntax error"), Blanks: " \t\n\v\f\r"}

// ParseTextQuery reads an ltxtquery. step is called with the number of bytes of each word.
func ParseTextQuery(s string, step func(int) error) (*TextQuery, error) {
	q, err := textSyntax.Parse(s, step)
	if err != nil {
		return nil, err
	}
	return &TextQuery{q}, nil
}

// scanWord reads a word.
func scanWord(s string) (w word, rest string, err error) {
	start := s
	for r, n := utf8.DecodeRuneInString(s); n > 0 && isLabel(r); r, n = utf8.DecodeRuneInString(s) {
		s = s[n:]
	}
	if w.text = start[:len(start)-len(s)]; w.text == "" {
		return w, s, boolquery.ErrNone
	}
	for s != "" && w.flag(rune(s[0])) {
		s = s[1:]
	}
	if r, _ := utf8.DecodeRuneInString(s); s != "" && isLabel(r) {
		return w, s, pgerr.New(pgerr.SyntaxError, "modifiers syntax error")
	}
	return w, s, nil
}

// Matches reports whether the condition holds for a path.
func (t *TextQuery) Matches(path string) bool {
	labels := Labels(path)
	return t.q.Matches(func(w *word) bool {
		for _, l := range labels {
			if w.matches(l) {
				return true
			}
		}
		return false
	})
}

// AppendText appends the text of the query.
func (t *TextQuery) AppendText(dst []byte) []byte {
	return t.q.AppendText(dst, func(dst []byte, w *word) []byte { return w.appendText(dst) })
}
