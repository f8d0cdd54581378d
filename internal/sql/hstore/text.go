package hstore

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var errEnd = "Unexpected end of string"

// parser reads the text form.
type parser struct {
	s   string
	pos int
}

// Parse reads the text form. It calls step with the number of bytes of each pair and ends with its error.
func Parse(s string, step func(int) error) (string, error) {
	p := parser{s: s}
	var pairs []Pair
	for {
		start := p.pos
		key, _, ok, err := p.word(false)
		if err != nil || !ok {
			return build(pairs, err)
		}
		if err := p.arrow(); err != nil {
			return "", err
		}
		value, quoted, ok, err := p.word(true)
		if err == nil && !ok {
			err = pgerr.New(pgerr.SyntaxError, "%s", errEnd)
		}
		if err != nil {
			return "", err
		}
		pair := Pair{Key: key, Value: value}
		if !quoted && strings.EqualFold(value, "null") {
			pair.Null, pair.Value = true, ""
		}
		pairs = append(pairs, pair)
		if err := step(p.pos - start); err != nil {
			return "", err
		}
		p.blanks()
		if p.pos == len(p.s) {
			return Build(pairs)
		}
		if p.s[p.pos] != ',' {
			return "", p.unexpected()
		}
		p.pos++
	}
}

func build(pairs []Pair, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return Build(pairs)
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func (p *parser) blanks() {
	for p.pos < len(p.s) && isSpace(p.s[p.pos]) {
		p.pos++
	}
}

// unexpected is the error for the character that comes next.
func (p *parser) unexpected() error {
	if p.pos >= len(p.s) {
		return pgerr.New(pgerr.SyntaxError, "%s", errEnd)
	}
	_, n := utf8.DecodeRuneInString(p.s[p.pos:])
	return pgerr.New(pgerr.SyntaxError, "Syntax error near \"%s\" at position %d", p.s[p.pos:p.pos+n], p.pos)
}

// arrow reads what is between a key and its value.
func (p *parser) arrow() error {
	p.blanks()
	for _, c := range []byte("=>") {
		if p.pos >= len(p.s) || p.s[p.pos] != c {
			return p.unexpected()
		}
		p.pos++
	}
	return nil
}

// word reads a key, which ends before =, or a value, which ends before a comma; false at the end of the text.
func (p *parser) word(value bool) (text string, quoted, ok bool, err error) {
	p.blanks()
	switch {
	case p.pos == len(p.s):
		return "", false, false, nil
	case p.s[p.pos] == '"':
		p.pos++
		text, err = p.quoted()
		return text, true, true, err
	case p.s[p.pos] == '=' && !value:
		return "", false, false, p.unexpected()
	}
	var b strings.Builder
	for ; p.pos < len(p.s); p.pos++ {
		switch c := p.s[p.pos]; {
		case c == '\\':
			if p.pos++; p.pos == len(p.s) {
				return "", false, false, p.unexpected()
			}
			b.WriteByte(p.s[p.pos])
		case isSpace(c), c == '=' && !value && b.Len() > 0, c == ',' && value && b.Len() > 0:
			return b.String(), false, true, nil
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false, true, nil
}

// quoted reads what follows an opening quote.
func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for ; p.pos < len(p.s); p.pos++ {
		switch c := p.s[p.pos]; c {
		case '"':
			p.pos++
			return b.String(), nil
		case '\\':
			if p.pos++; p.pos == len(p.s) {
				return "", p.unexpected()
			}
			b.WriteByte(p.s[p.pos])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.unexpected()
}

// AppendText appends the text form.
func AppendText(dst []byte, s string) []byte {
	sep := ""
	for p := range All(s) {
		dst = appendQuoted(append(dst, sep...), p.Key)
		dst = append(dst, "=>"...)
		if p.Null {
			dst = append(dst, "NULL"...)
		} else {
			dst = appendQuoted(dst, p.Value)
		}
		sep = ", "
	}
	return dst
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}
