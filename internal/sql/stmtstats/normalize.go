package stmtstats

import "strings"

// MaxText bounds the text of a fingerprint.
const MaxText = 2000

// placeholder stands for a constant.
const placeholder = '_'

// Normalize returns the fingerprint of a statement: constants become "_", lists of them "_, ...", comments go and blanks
// are one each. Texts that can't be parsed have one as well.
func Normalize(text string) string {
	n := normalizer{in: text}
	n.out = make([]byte, 0, min(len(text), MaxText)+8)
	for n.at < len(n.in) && len(n.out) < MaxText {
		n.token()
	}
	out := strings.TrimRight(string(n.out), " ;")
	if len(out) > MaxText || n.at < len(n.in) {
		out = strings.ToValidUTF8(out[:min(len(out), MaxText)], "") + "…"
	}
	return strings.ToValidUTF8(out, "�")
}

// normalizer reads a text token by token.
type normalizer struct {
	in  string
	at  int
	out []byte
	// blank says that there was a blank before the next token.
	blank bool
}

// token reads one token, or what lies between two.
func (n *normalizer) token() {
	c := n.in[n.at]
	rest := n.in[n.at:]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		n.at++
		n.blank = true
	case strings.HasPrefix(rest, "--"):
		n.at += lineEnd(rest)
		n.blank = true
	case strings.HasPrefix(rest, "/*"):
		n.at += commentEnd(rest)
		n.blank = true
	case c == '\'':
		n.constant(stringEnd(rest, false))
	case c == '"':
		n.copy(quotedEnd(rest))
	case c == '$':
		n.dollar(rest)
	case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		n.constant(numberEnd(rest))
	case wordStart(c):
		n.word(rest)
	default:
		n.symbol(c)
	}
}

// word reads a name, a keyword, or a string with a prefix such as E'...'.
func (n *normalizer) word(rest string) {
	end := 1
	for end < len(rest) && (wordStart(rest[end]) || rest[end] >= '0' && rest[end] <= '9' || rest[end] == '$') {
		end++
	}
	if end < len(rest) && rest[end] == '\'' && end == 1 && strings.ContainsRune("eEbBxXnN", rune(rest[0])) {
		escapes := rest[0] == 'e' || rest[0] == 'E'
		n.constant(1 + stringEnd(rest[1:], escapes))
		return
	}
	if end == 1 && (rest[0] == 'u' || rest[0] == 'U') && strings.HasPrefix(rest[1:], "&'") {
		n.constant(2 + stringEnd(rest[2:], false))
		return
	}
	n.copy(end)
}

// dollar reads a parameter, which stays as it is, a string in dollars, or a lone sign.
func (n *normalizer) dollar(rest string) {
	end := 1
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	if end > 1 {
		n.copy(end)
		return
	}
	for end < len(rest) && (wordStart(rest[end]) || rest[end] >= '0' && rest[end] <= '9') {
		end++
	}
	if end == len(rest) || rest[end] != '$' {
		n.copy(1)
		return
	}
	tag := rest[:end+1]
	close := strings.Index(rest[len(tag):], tag)
	if close < 0 {
		n.constant(len(rest))
		return
	}
	n.constant(2*len(tag) + close)
}

// symbol copies an operator or punctuation. A list of rows that are alike is one row.
func (n *normalizer) symbol(c byte) {
	n.copy(1)
	if c == ')' {
		n.foldRow()
	}
}

// constant writes the placeholder for the next bytes, unless a list of constants ends with one like it.
func (n *normalizer) constant(bytes int) {
	n.at += bytes
	out := n.out
	switch {
	case hasSuffix(out, "_, ..., "), hasSuffix(out, "_, ...,"):
		n.out = out[:strings.LastIndexByte(string(out), ',')]
	case hasSuffix(out, "_,"):
		n.out = append(out, " ..."...)
	default:
		n.separate()
		n.out = append(n.out, placeholder)
	}
	n.blank = false
}

// foldRow takes back a row of constants that follows one, of VALUES.
func (n *normalizer) foldRow() {
	for _, row := range []string{"(_)", "(_, ...)"} {
		for _, with := range []string{row + ", ..., " + row, row + ", " + row, row + "," + row, row + ", ...," + row} {
			if hasSuffix(n.out, with) {
				n.out = append(n.out[:len(n.out)-len(with)+len(row)], ", ..."...)
				return
			}
		}
	}
}

// copy copies the next bytes.
func (n *normalizer) copy(bytes int) {
	n.separate()
	n.out = append(n.out, n.in[n.at:n.at+bytes]...)
	n.at += bytes
	n.blank = false
}

// separate writes the blank that was read.
func (n *normalizer) separate() {
	if n.blank && len(n.out) > 0 {
		n.out = append(n.out, ' ')
	}
}

func hasSuffix(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix
}

// wordStart reports whether a name may begin with a byte; those of other alphabets may.
func wordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// commentEnd returns the end of a comment, which may hold others.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			if i++; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// stringEnd returns the end of a string in single quotes.
func stringEnd(s string, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

// quotedEnd returns the end of a name in double quotes.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

// numberEnd returns the end of a number, in any of its forms.
func numberEnd(s string) int {
	i := 0
	for i < len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c == '.', c == '_', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == 'x', c == 'X', c == 'o', c == 'O':
			if (c == 'e' || c == 'E') && i+1 < len(s) && (s[i+1] == '+' || s[i+1] == '-') {
				i++
			}
		default:
			return i
		}
		i++
	}
	return i
}
