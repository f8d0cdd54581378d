package pgregexp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Character classes, as the inside of a bracket expression.
const (
	classWord  = `\p{L}\p{M}\p{Nd}_`
	classSpace = `\t-\r \x{85}\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}`
)

// namedClass returns the class [:name:].
func namedClass(name string) (string, bool) {
	switch name {
	case "alnum":
		return `\p{L}\p{M}\p{Nd}`, true
	case "alpha":
		return `\p{L}\p{M}`, true
	case "blank":
		return `\t `, true
	case "cntrl":
		return `\p{Cc}`, true
	case "digit":
		return `0-9`, true
	case "graph":
		return `\p{L}\p{M}\p{N}\p{P}\p{S}`, true
	case "lower":
		return `\p{Ll}`, true
	case "print":
		return `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}`, true
	case "punct":
		return `\p{P}\p{S}`, true
	case "space":
		return classSpace, true
	case "upper":
		return `\p{Lu}`, true
	case "xdigit":
		return `0-9A-Fa-f`, true
	case "word":
		return classWord, true
	}
	return "", false
}

func badEscape() error { return badRegexp(`invalid escape \ sequence`) }

// classOutput puts a character class outside of brackets.
func (t *translator) classOutput(class string, negate bool) {
	t.out.WriteString(choose(negate, "[^", "[") + class)
	if negate && t.flags.LineDot {
		t.out.WriteString(`\n`)
	}
	t.out.WriteString("]")
}

// escape translates a backslash outside of brackets.
func (t *translator) escape() (constraint bool, err error) {
	if t.pos+1 >= len(t.in) {
		return false, badEscape()
	}
	c := t.in[t.pos+1]
	if t.full && strings.IndexByte("yYmM", c) >= 0 {
		t.mark(map[byte]string{'y': markWordEdge, 'Y': markNoWordEdge, 'm': markWordBegin, 'M': markWordEnd}[c])
		t.out.WriteString(")")
		t.pos += 2
		return true, nil
	}
	if ok, err := t.backReference(c); ok || err != nil {
		return false, err
	}
	switch c {
	case 'd', 'D':
		t.classOutput(`0-9`, c == 'D')
	case 's', 'S':
		t.classOutput(classSpace, c == 'S')
	case 'w', 'W':
		t.classOutput(classWord, c == 'W')
	case 'A':
		t.out.WriteString(`\A`)
		constraint = true
	case 'Z':
		t.out.WriteString(`\z`)
		constraint = true
	case 'y':
		t.out.WriteString(`\b`)
		constraint, t.words = true, true
	case 'Y':
		t.out.WriteString(`\B`)
		constraint, t.words = true, true
	case 'm', 'M':
		t.pos += 2
		return true, t.wordEdge(c == 'm', 2)
	default:
		r, err := t.charEscape()
		if err != nil {
			return false, err
		}
		t.writeRune(r)
		return false, nil
	}
	t.pos += 2
	return constraint, nil
}

// backReference translates \1 and the like for the backtracking matcher.
func (t *translator) backReference(c byte) (bool, error) {
	if !t.full || c < '1' || c > '9' {
		return false, nil
	}
	end := t.pos + 2
	for end < len(t.in) && end < t.pos+4 && t.in[end] >= '0' && t.in[end] <= '9' {
		if n, _ := strconv.Atoi(t.in[t.pos+1 : end+1]); n > t.groups {
			break
		}
		end++
	}
	n, _ := strconv.Atoi(t.in[t.pos+1 : end])
	if n > t.groups || t.looking > 0 {
		return false, badRegexp("invalid backreference number")
	}
	t.mark(markBackRef + strconv.Itoa(n) + "_" + choose(t.flags.Fold, "i", "c"))
	t.out.WriteString(")")
	t.pos = end
	return true, nil
}

func (t *translator) writeRune(r rune) { fmt.Fprintf(&t.out, `\x{%x}`, r) }

// wordEdge translates a constraint that matches only at the beginning (or only
// at the end) of a word. Package regexp knows just the boundary, which is the
// same where a word character is bound to follow (or precede). The constraint
// of the given length has just been read.
func (t *translator) wordEdge(begin bool, length int) error {
	if t.full {
		t.mark(choose(begin, markWordBegin, markWordEnd))
		t.out.WriteString(")")
		return nil
	}
	ok := false
	if begin {
		ok = startsWithWord(t.in[t.pos:])
	} else {
		ok = endsWithWord(t.in[:t.pos-length])
	}
	if !ok {
		return pgerr.Unsupported(`regular expression constraints \m and \M are supported next to a word character only`)
	}
	t.out.WriteString(`\b`)
	t.words = true
	return nil
}

// startsWithWord reports whether what the expression s matches is bound to
// begin with a word character.
func startsWithWord(s string) bool {
	s = strings.TrimLeft(strings.ReplaceAll(s, "(?:", "("), "(")
	optional := func(rest string) bool {
		return rest != "" && strings.IndexByte("*?{", rest[0]) >= 0
	}
	switch {
	case s == "" || strings.Contains(s, "|"):
		return false
	case strings.HasPrefix(s, `\w`) || strings.HasPrefix(s, `\d`):
		return !optional(s[2:])
	}
	if n := wordBracket(s); n > 0 {
		return !optional(s[n:])
	}
	return isWord(s[0]) && !optional(s[1:])
}

// wordBracket returns the length of the bracket expression that s begins with
// if it holds nothing but word characters, else 0.
func wordBracket(s string) int {
	end := strings.IndexByte(s, ']')
	if s[0] != '[' || end < 2 {
		return 0
	}
	for i := 1; i < end; i++ {
		if !isWord(s[i]) && (s[i] != '-' || i == 1 || i == end-1 || s[i-1] > s[i+1]) {
			return 0
		}
	}
	return end + 1
}

// endsWithWord is startsWithWord for the end of what s matches.
func endsWithWord(s string) bool {
	s = strings.TrimRight(s, ")+")
	switch {
	case s == "" || strings.Contains(s, "|"):
		return false
	case strings.HasSuffix(s, `\w`) || strings.HasSuffix(s, `\d`):
		return true
	case len(s) > 1 && s[len(s)-2] == '\\':
		return false
	}
	return isWord(s[len(s)-1])
}

// charEscape reads an escape that stands for one character.
func (t *translator) charEscape() (rune, error) {
	c := t.in[t.pos+1]
	if !isWord(c) || c == '_' {
		r, n := utf8.DecodeRuneInString(t.in[t.pos+1:])
		t.pos += 1 + n
		return r, nil
	}
	t.pos += 2
	switch c {
	case 'a':
		return 7, nil
	case 'b':
		return 8, nil
	case 'B':
		return '\\', nil
	case 'c':
		if t.pos >= len(t.in) {
			return 0, badEscape()
		}
		t.pos++
		return rune(t.in[t.pos-1] & 0x1f), nil
	case 'e':
		return 0x1b, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'u':
		return t.hexEscape(4, 4)
	case 'U':
		return t.hexEscape(8, 8)
	case 'x':
		return t.hexEscape(1, 255)
	}
	if c >= '0' && c <= '9' {
		return t.digitEscape()
	}
	return 0, badEscape()
}

// hexEscape reads between least and most hexadecimal digits.
func (t *translator) hexEscape(least, most int) (rune, error) {
	var v uint64
	n := 0
	for n < most && t.pos < len(t.in) {
		d, ok := ascii.HexDigit(t.in[t.pos])
		if !ok {
			break
		}
		v = min(v<<4|uint64(d), 1<<32)
		n++
		t.pos++
	}
	if n < least || !utf8.ValidRune(rune(min(v, 1<<30))) {
		return 0, badEscape()
	}
	return rune(v), nil
}

// digitEscape reads \0, an octal \xyz, or a back reference. The first digit
// has been read.
func (t *translator) digitEscape() (rune, error) {
	start := t.pos - 1
	for t.pos < len(t.in) && t.pos < start+3 && t.in[t.pos] >= '0' && t.in[t.pos] <= '7' {
		t.pos++
	}
	digits := t.in[start:t.pos]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, badEscape()
	}
	if digits[0] != '0' && (len(digits) == 1 || n <= t.groups) {
		if n > t.groups {
			return 0, badRegexp("invalid backreference number")
		}
		return 0, pgerr.Unsupported("back references in regular expressions are not supported")
	}
	v, err := strconv.ParseUint(digits, 8, 16)
	if err != nil {
		return 0, badEscape()
	}
	return rune(v), nil
}

// bracket translates a bracket expression.
func (t *translator) bracket() (constraint bool, err error) {
	if t.hasPrefix("[[:<:]]") || t.hasPrefix("[[:>:]]") {
		begin := t.in[t.pos+3] == '<'
		t.pos += 7
		return true, t.wordEdge(begin, 7)
	}
	t.pos++
	var b strings.Builder
	negate := t.peek() == '^'
	if negate {
		t.pos++
	}
	for first := true; ; first = false {
		if t.pos >= len(t.in) {
			return false, badRegexp("brackets [] not balanced")
		}
		if t.peek() == ']' && !first {
			t.pos++
			break
		}
		if err := t.bracketItem(&b); err != nil {
			return false, err
		}
	}
	t.classOutput(b.String(), negate)
	return false, nil
}

// bracketItem translates a class, a character or a range.
func (t *translator) bracketItem(b *strings.Builder) error {
	if t.hasPrefix("[:") {
		end := strings.Index(t.in[t.pos+2:], ":]")
		if end < 0 {
			return badRegexp("brackets [] not balanced")
		}
		class, ok := namedClass(t.in[t.pos+2 : t.pos+2+end])
		if !ok {
			return badRegexp("invalid character class")
		}
		t.pos += end + 4
		b.WriteString(class)
		return nil
	}
	if class, ok := t.bracketClassEscape(); ok {
		b.WriteString(class)
		return nil
	}
	lo, err := t.bracketChar()
	if err != nil {
		return err
	}
	hi := lo
	if t.hasPrefix("-") && !t.hasPrefix("-]") {
		t.pos++
		if t.pos >= len(t.in) {
			return badRegexp("brackets [] not balanced")
		}
		if hi, err = t.bracketChar(); err != nil {
			return err
		}
	}
	if hi < lo {
		return badRegexp("invalid character range")
	}
	fmt.Fprintf(b, `\x{%x}-\x{%x}`, lo, hi)
	return nil
}

// bracketClassEscape reads \d, \s or \w inside of brackets.
func (t *translator) bracketClassEscape() (string, bool) {
	for _, e := range []struct{ esc, class string }{
		{`\d`, `0-9`}, {`\s`, classSpace}, {`\w`, classWord},
		{`\D`, `[:^digit:]`}, {`\S`, `\S`}, {`\W`, `\W`},
	} {
		if t.hasPrefix(e.esc) {
			t.pos += 2
			return e.class, true
		}
	}
	return "", false
}

// bracketChar reads one character of a bracket expression.
func (t *translator) bracketChar() (rune, error) {
	if t.hasPrefix("[.") || t.hasPrefix("[=") {
		end := strings.Index(t.in[t.pos+2:], t.in[t.pos+1:t.pos+2]+"]")
		if end < 0 {
			return 0, badRegexp("brackets [] not balanced")
		}
		name := t.in[t.pos+2 : t.pos+2+end]
		t.pos += end + 4
		if r, n := utf8.DecodeRuneInString(name); n == len(name) && n > 0 {
			return r, nil
		}
		return 0, badRegexp("invalid collating element")
	}
	if t.hasPrefix(`\`) {
		if t.pos+1 >= len(t.in) {
			return 0, badEscape()
		}
		return t.charEscape()
	}
	r, n := utf8.DecodeRuneInString(t.in[t.pos:])
	t.pos += n
	return r, nil
}

// isWord reports whether c is an ASCII letter, a digit or an underscore.
func isWord(c byte) bool { return c == '_' || ascii.IsDigit(c) || ascii.IsLetter(c) }
