package stringfuncs

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

var errLikeEnd = pgerr.New(pgerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")

// likeMatch matches s against a LIKE pattern with backslash escapes; bytewise
// makes _ stand for a byte, not a character. It walks both strings once and
// returns to the last % on a mismatch.
func likeMatch(c *call.Context, s, p string, bytewise bool) (bool, error) {
	si, pi := 0, 0
	backS, backP := -1, 0 // where to resume after a mismatch
	for {
		if pi == len(p) {
			if si == len(s) {
				return true, nil
			}
		} else if p[pi] == '%' {
			pi++
			backS, backP = si, pi
			continue
		} else if n, width, err := likeStep(s[si:], p[pi:], bytewise); err != nil {
			return false, err
		} else if n > 0 {
			si, pi = si+n, pi+width
			continue
		}
		if backS < 0 || backS >= len(s) {
			return false, nil
		}
		if err := c.Step(1 + si - backS); err != nil {
			return false, err
		}
		backS += CharLen(s[backS:], bytewise)
		si, pi = backS, backP
	}
}

// likeStep matches the first element of p, not a %, at the start of s. It
// returns how many bytes of s it takes, 0 for a mismatch, and its own length.
func likeStep(s, p string, bytewise bool) (n, width int, err error) {
	c, width := p[0], 1
	if c == '\\' {
		if len(p) == 1 {
			if s == "" {
				return 0, 1, nil
			}
			return 0, 0, call.Fail(errLikeEnd)
		}
		c, width = p[1], 2
	} else if c == '_' {
		return CharLen(s, bytewise), 1, nil
	}
	if s == "" || s[0] != c {
		return 0, width, nil
	}
	return 1, width, nil
}

// CharLen returns the length in bytes of the first character of s, or of its first byte.
func CharLen(s string, bytewise bool) int {
	if s == "" {
		return 0
	}
	if bytewise || s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// likeLiterals splits a pattern of text between % into the texts: what values begin with, what they
// have after one another, what they end with. ok is false for a pattern that has more to it.
func likeLiterals(p string) (texts []string, ok bool) {
	var text []byte
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '%':
			texts, text = append(texts, string(text)), text[:0]
		case c == '_' || c == '\\' && i+1 == len(p):
			return nil, false
		case c == '\\':
			i++
			text = append(text, p[i])
		default:
			text = append(text, c)
		}
	}
	return append(texts, string(text)), true
}

// compileLike returns a matcher of a pattern that is known beforehand if it is text between %, which
// becomes string searches; else nil.
func compileLike(p string) call.StringTest {
	texts, ok := likeLiterals(p)
	if !ok {
		return nil
	}
	first, last := texts[0], texts[len(texts)-1]
	if len(texts) == 1 {
		return func(_ *call.Context, s string) bool { return s == first }
	}
	within := slices.DeleteFunc(texts[1:len(texts)-1], func(t string) bool { return t == "" })
	return func(c *call.Context, s string) bool {
		if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, text := range within {
			i := index(c, s, text)
			if i < 0 {
				return false
			}
			s = s[i+len(text):]
		}
		return true
	}
}

// index is strings.Index, which ends early once the statement is cancelled.
func index(c *call.Context, s, part string) int {
	if len(s) <= call.PieceBytes {
		return strings.Index(s, part)
	}
	if i, err := call.Index(c, s, part); err == nil {
		return i
	}
	return -1
}

// like declares one of the LIKE operators.
func like(sig string, negate, fold, bytewise bool) *call.Overload {
	prepare := func(_ *call.Context, s string) string { return s }
	if fold {
		prepare = lower
	}
	o := call.OpBind(sig, func(b call.Binding) (call.EvalFunc, error) {
		if p, ok := b.Const(1); ok {
			pattern := p.Str()
			if fold {
				pattern = strings.ToLower(pattern)
			}
			if match := compileLike(pattern); match != nil {
				return func(c *call.Context, a []types.Datum) (types.Datum, error) {
					return types.NewBool(match(c, prepare(c, a[0].Str())) != negate), nil
				}, nil
			}
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			ok, err := likeMatch(c, prepare(c, a[0].Str()), prepare(c, a[1].Str()), bytewise)
			if err != nil {
				return types.Null, err
			}
			return types.NewBool(ok != negate), nil
		}, nil
	})
	if !fold {
		o.Test = func(pattern string) call.StringTest { return testLike(pattern, negate) }
	}
	return o
}

// testLike returns LIKE, or NOT LIKE, of a pattern that becomes string searches; else nil.
func testLike(pattern string, negate bool) call.StringTest {
	match := compileLike(pattern)
	if match == nil || !negate {
		return match
	}
	return func(c *call.Context, s string) bool { return !match(c, s) }
}

func patternOperators() []*call.Overload {
	var all []*call.Overload
	for _, l := range []string{"text", "name", "bpchar"} {
		all = append(all,
			like(l+" ~~ text bool", false, false, false), like(l+" !~~ text bool", true, false, false),
			like(l+" ~~* text bool", false, true, false), like(l+" !~~* text bool", true, true, false),
			regexpOperator(l+" ~ text bool", false, false), regexpOperator(l+" !~ text bool", true, false),
			regexpOperator(l+" ~* text bool", false, true), regexpOperator(l+" !~* text bool", true, true))
	}
	return append(all, like("bytea ~~ bytea bool", false, false, true), like("bytea !~~ bytea bool", true, false, true))
}

// likeEscape rewrites a LIKE pattern with another escape character (or none,
// for an empty one) to one with backslash: LIKE ... ESCAPE. Patterns are of bytes or
// of characters.
func likeEscape(bytes bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		p, esc := a[0].Str(), a[1].Str()
		if esc != "" && CharLen(esc, bytes) != len(esc) {
			return types.Null, errEscape()
		}
		if esc == `\` {
			return a[0], nil
		}
		p, err := withBackslash(c, p, esc, bytes)
		if err != nil {
			return types.Null, err
		}
		if bytes {
			return types.NewBytes(p), nil
		}
		return call.Text(p)
	}
}

// withBackslash is a pattern with backslashes where it has esc, and in pairs where
// it has backslashes.
func withBackslash(c *call.Context, p, esc string, bytes bool) (string, error) {
	var b strings.Builder
	for p != "" {
		// What stands for itself is copied as far as the next character that does not.
		n := plainLen(p, esc)
		b.WriteString(p[:n])
		p = p[n:]
		if err := c.Step(1 + n/bytesPerStep); err != nil {
			return "", err
		}
		switch {
		case p == "" || n == maxPlain:
		case esc != "" && strings.HasPrefix(p, esc):
			p = p[len(esc):]
			n := CharLen(p, bytes)
			b.WriteByte('\\')
			b.WriteString(p[:n])
			p = p[n:]
		default:
			b.WriteString(`\\`)
			p = p[1:]
		}
	}
	return b.String(), nil
}

// maxPlain is the longest piece of a pattern that is copied between two steps.
const maxPlain = 8 << 10

// plainLen is how far a pattern goes without a backslash and esc, maxPlain at most.
func plainLen(p, esc string) int {
	piece := p[:min(len(p), maxPlain)]
	n := len(piece)
	if i := strings.IndexByte(piece, '\\'); i >= 0 {
		n = i
	}
	if esc == "" {
		return n
	}
	// An esc of several bytes may begin in the piece and end behind it.
	if i := strings.Index(p[:min(len(p), n+len(esc)-1)], esc); i >= 0 {
		n = min(n, i)
	}
	return n
}

func checkEscape(esc string) error {
	if utf8.RuneCountInString(esc) > 1 {
		return errEscape()
	}
	return nil
}

func errEscape() error {
	return pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
		WithHint("Escape string must be empty or one character.")
}

// similarToEscape turns a SIMILAR TO pattern into a regular expression.
func similarToEscape(c *call.Context, a []types.Datum) (types.Datum, error) {
	esc := `\`
	if len(a) == 2 {
		esc = a[1].Str()
	}
	if err := checkEscape(esc); err != nil {
		return types.Null, err
	}
	p, err := similarPattern(c.Format, a[0].Str(), esc)
	if err != nil {
		return types.Null, err
	}
	return call.Text(p)
}

// similarPattern does the work of similarToEscape. Two escaped double quotes
// delimit the part that SUBSTRING ... SIMILAR extracts.
func similarPattern(fc *types.FormatContext, p, esc string) (string, error) {
	var b strings.Builder
	b.WriteString("^(?:")
	var in bracket
	quotes, pace := 0, fc.Pace()
	for i := 0; i < len(p) && !pace.Stopped(i); {
		n := CharLen(p[i:], false)
		c := p[i : i+n]
		i += n
		escaped := esc != "" && c == esc && i < len(p)
		if escaped {
			n = CharLen(p[i:], false)
			c = p[i : i+n]
			i += n
		}
		switch {
		case escaped && c == `"` && in.depth == 0:
			if quotes++; quotes > 2 {
				return "", pgerr.New(pgerr.InvalidUseOfEscapeCharacter, "SQL regular expression may not contain more than two escape-double-quote separators")
			}
			writeSimilarQuote(&b, quotes)
			continue
		case escaped:
			b.WriteString(`\` + c)
		case in.depth > 0:
			writeInBracket(&b, c)
		default:
			writeSimilar(&b, c)
		}
		in.take(c, escaped)
	}
	b.WriteString(")$")
	return b.String(), nil
}

// bracket tells where a pattern is in a bracket expression, in which characters stand for themselves.
type bracket struct {
	depth int    // counts the brackets within it, as of [[:alpha:]]
	start string // what it begins with, "[" or "[^", while nothing follows that
}

// take moves on by a character.
func (b *bracket) take(c string, escaped bool) {
	start := b.start
	b.start = ""
	switch {
	case escaped:
	case c == "[":
		if b.depth++; b.depth == 1 {
			b.start = c
		}
	case b.depth == 0:
	case c == "^" && start == "[":
		b.start = "[^"
	case c == "]" && start == "": // at its start it stands for itself
		b.depth--
	}
}

func writeInBracket(b *strings.Builder, c string) {
	if c == `\` {
		b.WriteByte('\\')
	}
	b.WriteString(c)
}

// writeSimilar writes what a character outside of brackets means.
func writeSimilar(b *strings.Builder, c string) {
	switch c {
	case "%":
		b.WriteString(".*")
	case "_":
		b.WriteByte('.')
	case "(":
		b.WriteString("(?:")
	case `\`, ".", "^", "$":
		b.WriteString(`\` + c)
	default:
		b.WriteString(c)
	}
}

// writeSimilarQuote makes the part between the two separators the first
// capture, with a shortest match before it.
func writeSimilarQuote(b *strings.Builder, n int) {
	switch n {
	case 1:
		s := b.String()
		b.Reset()
		b.WriteString("^(?:" + s[len("^(?:"):] + "){1,1}?(")
	case 2:
		b.WriteString("){1,1}(?:")
	}
}

// IsWordByte reports whether c is a letter, a digit or an underscore of ASCII.
func IsWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// similarEscape is similar_to_escape with a NULL for the default escape character.
func similarEscape(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	if a[1].IsNull() {
		a = a[:1]
	}
	return similarToEscape(c, a)
}
