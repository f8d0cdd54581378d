package cli

import (
	"strings"
	"unicode"
)

// statementScanner splits text that arrives line by line into statements. A statement ends with a semicolon
// outside of quotes, comments and parentheses.
type statementScanner struct {
	text strings.Builder
	// escapes says that backslashes are escapes in '...': standard_conforming_strings is off.
	escapes bool

	quote  byte   // ' or " or $ while inside of quotes
	escape bool   // the string has backslash escapes
	tag    string // $tag$ that ends the dollar quotes
	block  int    // depth of block comments
	parens int
}

// scanned is a complete statement or a command of the shell.
type scanned struct {
	sql     string // with its semicolon
	command string // from its backslash to the end of the line
}

// blank reports whether no statement has begun.
func (s *statementScanner) blank() bool {
	return s.quote == 0 && s.block == 0 && strings.TrimSpace(s.text.String()) == ""
}

// rest returns the unfinished statement and resets the scanner.
func (s *statementScanner) rest() string {
	t := strings.TrimSpace(s.text.String())
	*s = statementScanner{escapes: s.escapes}
	return t
}

// line scans a line without its line end, and returns the statements and commands that it completes.
func (s *statementScanner) line(line string) (out []scanned) {
	from := 0
	flush := func(to int) {
		s.text.WriteString(line[from:to])
		from = to
	}
	for i := 0; i < len(line); {
		if s.quote != 0 || s.block > 0 {
			i = s.inside(line, i)
			continue
		}
		switch c := line[i]; {
		case strings.HasPrefix(line[i:], "--"):
			if strings.TrimSpace(s.text.String()+line[from:i]) == "" {
				from = len(line) // a comment before a statement isn't part of it
			}
			i = len(line)
		case strings.HasPrefix(line[i:], "/*"):
			s.block = 1
			i += 2
		case c == '\'' || c == '"':
			s.quote = c
			s.escape = c == '\'' && (s.escapes || escapePrefix(line[:i]))
			i++
		case c == '$' && (i == 0 || !isWord(line[i-1])):
			if tag := dollarTag(line[i:]); tag != "" {
				s.quote, s.tag = '$', tag
				i += len(tag)
			} else {
				i++
			}
		case c == '(' || c == ')':
			s.parens += map[byte]int{'(': 1, ')': -1}[c]
			i++
		case c == ';' && s.parens <= 0:
			i++
			flush(i)
			if sql := s.rest(); sql != ";" {
				out = append(out, scanned{sql: sql})
			}
		case c == '\\':
			flush(i)
			return append(out, scanned{command: strings.TrimSpace(line[i:])})
		default:
			i++
		}
	}
	flush(len(line))
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
	return out
}

// inside skips a character of a quoted part or comment and returns the position after it.
func (s *statementScanner) inside(line string, i int) int {
	rest := line[i:]
	switch {
	case s.block > 0 && strings.HasPrefix(rest, "*/"):
		s.block--
		return i + 2
	case s.block > 0 && strings.HasPrefix(rest, "/*"):
		s.block++
		return i + 2
	case s.block > 0:
		return i + 1
	case s.quote == '$':
		if strings.HasPrefix(rest, s.tag) {
			s.quote = 0
			return i + len(s.tag)
		}
		return i + 1
	case s.escape && rest[0] == '\\':
		return min(i+2, len(line))
	case rest[0] == s.quote:
		s.quote = 0 // a doubled quote opens again at once
	}
	return i + 1
}

// dollarTag returns the $tag$ at the beginning of s; empty if there is none.
func dollarTag(s string) string {
	end := strings.IndexByte(s[1:], '$')
	if end < 0 {
		return ""
	}
	tag := s[1 : end+1]
	for i, r := range tag {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return ""
		}
	}
	return s[:end+2]
}

// escapePrefix reports whether the E of E'...' is the end of s.
func escapePrefix(s string) bool {
	n := len(s)
	return n > 0 && (s[n-1] == 'e' || s[n-1] == 'E') && (n < 2 || !isWord(s[n-2]))
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
