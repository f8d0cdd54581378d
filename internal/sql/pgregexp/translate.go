package pgregexp

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Limits of regular expressions.
const (
	maxRegexpRepeat = 255
	maxRegexpDepth  = 200
	maxRegexpLen    = 1 << 16
)

// Flags are the options of a regular expression.
type Flags struct {
	Fold    bool // i
	LineDot bool // . and [^...] exclude newline (n, p)
	LineEnd bool // ^ and $ match at newlines (n, w)
	extend  bool // x: white space and comments are ignored
	Literal bool // q: no syntax at all
	Global  bool // g: for functions that replace or list
}

// ParseFlags reads a flags argument over the given defaults.
func ParseFlags(s string, f Flags) (Flags, error) {
	for i, c := range s {
		switch c {
		case 'g':
			f.Global = true
		case 'i':
			f.Fold = true
		case 'c':
			f.Fold = false
		case 'm', 'n':
			f.LineDot, f.LineEnd = true, true
		case 'p':
			f.LineDot, f.LineEnd = true, false
		case 's':
			f.LineDot, f.LineEnd = false, false
		case 'w':
			f.LineDot, f.LineEnd = false, true
		case 'x':
			f.extend = true
		case 't':
			f.extend = false
		case 'q':
			f.Literal = true
		case 'e':
			f.Literal = false
		case 'b':
			return f, pgerr.Unsupported("basic regular expressions are not supported")
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			return f, pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%s\"", s[i:i+n])
		}
	}
	return f, nil
}

// greed is what a part of an expression prefers when it can match in several
// ways.
type greed uint8

const (
	greedNone greed = iota // nothing to prefer
	greedLong
	greedShort
)

// translator rewrites PostgreSQL's advanced regular expressions in the syntax
// of package regexp. What that cannot express is reported as unsupported.
type translator struct {
	in    string
	pos   int
	out   outBuf
	flags Flags
	// allShort makes every quantifier lazy: how an expression that prefers the
	// shortest match as a whole is run.
	allShort bool
	// full writes what package regexp cannot express for the backtracking matcher.
	full    bool
	marks   int // named groups written
	looking int // enclosing lookaround constraints, in which groups do not capture
	depth   int
	groups  int  // capturing groups
	context bool // matches depend on the text before where the search begins
	words   bool // there are word constraints
	// long and short tell which preferences the quantifiers have.
	long, short bool
}

// outBuf collects output that may still get something put before its end part.
type outBuf struct{ b []byte }

func (o *outBuf) WriteString(s string)              { o.b = append(o.b, s...) }
func (o *outBuf) WriteByte(c byte) error            { o.b = append(o.b, c); return nil }
func (o *outBuf) Write(p []byte) (n int, err error) { o.b = append(o.b, p...); return len(p), nil }

// wrap puts everything from start on into a non-capturing group.
func (o *outBuf) wrap(start int) {
	o.b = slices.Insert(o.b, start, []byte("(?:")...)
	o.b = append(o.b, ')')
}

// Regexp is a translated expression ready to run.
type Regexp struct {
	re *regexp.Regexp
	// context: see translator. A search can then not begin in mid-text.
	context bool
	// words: the expression has word constraints, which package regexp knows
	// for ASCII only.
	words bool
	// bt matches instead of re where re is nil, or where the text is not ASCII and
	// words is set.
	bt *backtracker
	// parts finds the groups of a match where some of the quantifiers prefer long
	// matches and some short ones; re then finds what matches as a whole only.
	parts *backtracker
	// behind returns what matches one character and then re.
	behind func() *regexp.Regexp
}

// By returns the backtracking matcher if that is what s needs.
func (re *Regexp) By(s string) *backtracker {
	if re.re == nil {
		return re.bt
	}
	if re.words && re.bt != nil {
		for i := 0; i < len(s); i++ {
			if s[i] >= utf8.RuneSelf {
				return re.bt
			}
		}
	}
	return nil
}

// Check refuses a text that the expression would be wrong about.
func (re *Regexp) Check(s string) error {
	if !re.words {
		return nil
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return pgerr.Unsupported("word constraints in regular expressions are not supported for text other than ASCII")
		}
	}
	return nil
}

// Match reports whether s contains a match.
func (re *Regexp) Match(c stepper, s string) (bool, error) {
	if b := re.By(s); b != nil {
		m, err := b.Find(c, s, 0)
		return m != nil, err
	}
	if err := re.Check(s); err != nil {
		return false, err
	}
	if len(s) > BigText {
		m, err := re.Search(c, s)
		return m != nil, err
	}
	return re.re.MatchString(s), nil
}

// Find returns the submatch offsets of the first match, nil if there is none.
func (re *Regexp) Find(c stepper, s string) ([]int, error) {
	if b := re.By(s); b != nil {
		return b.Find(c, s, 0)
	}
	if err := re.Check(s); err != nil {
		return nil, err
	}
	m, err := re.Search(c, s)
	if err != nil {
		return nil, err
	}
	return re.WithGroups(c, s, m)
}

// WithGroups finds the groups of the match m of re, which is returned with them.
func (re *Regexp) WithGroups(c stepper, s string, m []int) ([]int, error) {
	if re.parts == nil || m == nil {
		return m, nil
	}
	return re.parts.within(c, s, m)
}

func badRegexp(reason string) error {
	return pgerr.New(pgerr.InvalidRegularExpression, "invalid regular expression: %s", reason)
}

// Compile compiles an advanced regular expression. PostgreSQL matches the
// leftmost-longest text, or the shortest if the expression prefers that as a
// whole, and only then lets the parts have their preferences; so an expression
// without lazy quantifiers is run in leftmost-longest mode.
func Compile(pattern string, flags Flags) (*Regexp, error) {
	if len(pattern) > maxRegexpLen {
		return nil, badRegexp("regular expression is too complex")
	}
	t := &translator{in: pattern, flags: flags}
	prefer, err := t.translate()
	if pgerr.CodeOf(err) == pgerr.FeatureNotSupported {
		bt, err := backtrackRegexp(pattern, flags)
		return &Regexp{bt: bt}, err
	}
	mixed := t.long && t.short && t.groups > 0
	if err == nil && prefer == greedShort {
		t = &translator{in: pattern, flags: flags, allShort: true}
		_, err = t.translate()
	}
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(string(t.out.b))
	if err != nil {
		return nil, badRegexp("regular expression is too complex")
	}
	if prefer != greedShort {
		re.Longest()
	}
	out := &Regexp{re: re, context: t.context, words: t.words}
	out.behind = sync.OnceValue(func() *regexp.Regexp {
		b := regexp.MustCompile(`\A(?s:.)(?:` + re.String() + `)`)
		if prefer != greedShort {
			b.Longest()
		}
		return b
	})
	if out.words || mixed {
		out.bt, err = backtrackRegexp(pattern, flags)
	}
	if mixed {
		out.parts = out.bt
	}
	return out, err
}

// backtrackRegexp compiles an expression for the backtracking matcher.
func backtrackRegexp(pattern string, flags Flags) (*backtracker, error) {
	t := &translator{in: pattern, flags: flags, full: true}
	prefer, err := t.translate()
	if err != nil {
		return nil, err
	}
	return compileBacktracker(string(t.out.b), prefer == greedShort)
}

func (t *translator) translate() (greed, error) {
	if err := t.prefix(); err != nil {
		return greedNone, err
	}
	t.out.WriteString("(?s")
	if t.flags.Fold {
		t.out.WriteString("i")
	}
	t.out.WriteString(")")
	if t.flags.Literal {
		t.out.WriteString(regexp.QuoteMeta(t.in[t.pos:]))
		return greedNone, nil
	}
	g, err := t.alternation()
	if err == nil && t.pos < len(t.in) {
		err = badRegexp("parentheses () not balanced")
	}
	return g, err
}

// prefix reads the director (***: or ***=) and the embedded options.
func (t *translator) prefix() error {
	switch {
	case strings.HasPrefix(t.in, "***="):
		t.pos, t.flags.Literal = 4, true
		return nil
	case strings.HasPrefix(t.in, "***:"):
		t.pos = 4
	case strings.HasPrefix(t.in, "***"):
		return badRegexp("quantifier operand invalid")
	}
	rest := t.in[t.pos:]
	if t.flags.Literal || !strings.HasPrefix(rest, "(?") || len(rest) < 3 || rest[2] < 'a' || rest[2] > 'z' {
		return nil
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return badRegexp("parentheses () not balanced")
	}
	f, err := ParseFlags(rest[2:end], t.flags)
	if err != nil || strings.Contains(rest[2:end], "g") {
		return badRegexp("invalid embedded option")
	}
	t.flags = f
	t.pos += end + 1
	return nil
}

func (t *translator) peek() byte {
	if t.pos < len(t.in) {
		return t.in[t.pos]
	}
	return 0
}

func (t *translator) hasPrefix(s string) bool { return strings.HasPrefix(t.in[t.pos:], s) }

// alternation translates branches separated by |, up to a closing parenthesis.
func (t *translator) alternation() (greed, error) {
	if t.depth++; t.depth > maxRegexpDepth {
		return greedNone, badRegexp("regular expression is too complex")
	}
	defer func() { t.depth-- }()
	g, err := t.branch()
	for err == nil && t.pos < len(t.in) && t.in[t.pos] == '|' {
		t.pos++
		t.out.WriteString("|")
		_, err = t.branch()
		g = greedLong
	}
	return g, err
}

// branch translates a sequence of quantified atoms; its preference is that of
// the first one that has any.
func (t *translator) branch() (greed, error) {
	g := greedNone
	for {
		if t.flags.extend {
			t.skipBlanks()
		}
		if t.pos >= len(t.in) || t.in[t.pos] == '|' || t.in[t.pos] == ')' && t.depth > 1 {
			return g, nil
		}
		a, err := t.quantified()
		if err != nil {
			return g, err
		}
		if g == greedNone {
			g = a
		}
	}
}

// skipBlanks skips what the x option ignores.
func (t *translator) skipBlanks() {
	for t.pos < len(t.in) {
		switch c := t.in[t.pos]; {
		case ascii.IsSpace(c):
			t.pos++
		case c == '#':
			for t.pos < len(t.in) && t.in[t.pos] != '\n' {
				t.pos++
			}
		default:
			return
		}
	}
}

// quantified translates an atom with its quantifier.
func (t *translator) quantified() (greed, error) {
	start := len(t.out.b)
	g, constraint, err := t.atom()
	if err != nil {
		return g, err
	}
	if t.flags.extend {
		t.skipBlanks()
	}
	q, fixed, err := t.quantifier()
	if constraint {
		t.context = true
	}
	if err != nil || q == "" {
		return g, err
	}
	if constraint {
		return g, badRegexp("quantifier operand invalid")
	}
	lazy := t.peek() == '?'
	if lazy {
		t.pos++
	}
	if next, _, err := t.quantifier(); err != nil || next != "" {
		return g, badRegexp("quantifier operand invalid")
	}
	t.out.wrap(start) // the atom may be several characters of output
	t.out.WriteString(q)
	if lazy || t.allShort {
		t.out.WriteString("?")
	}
	if fixed && !lazy {
		return g, nil
	}
	t.long, t.short = t.long || !lazy, t.short || lazy
	own, name := greedLong, markLongest
	if lazy {
		own, name = greedShort, markShortest
	}
	if t.full && g != greedNone && g != own {
		t.markFrom(start, name)
	}
	return own, nil
}

// quantifier reads *, +, ? or {m,n} and returns it in the syntax of package
// regexp, "" if there is none; fixed is set for {m}.
func (t *translator) quantifier() (q string, fixed bool, err error) {
	switch c := t.peek(); c {
	case '*', '+', '?':
		t.pos++
		return string(c), false, nil
	case '{':
		if t.pos+1 >= len(t.in) || t.in[t.pos+1] < '0' || t.in[t.pos+1] > '9' {
			return "", false, nil
		}
	default:
		return "", false, nil
	}
	end := strings.IndexByte(t.in[t.pos:], '}')
	if end < 0 {
		return "", false, badRegexp("braces {} not balanced")
	}
	body := t.in[t.pos+1 : t.pos+end]
	t.pos += end + 1
	low, high, comma := strings.Cut(body, ",")
	lo, err := repeatCount(low)
	if err != nil {
		return "", false, err
	}
	if !comma {
		return "{" + strconv.Itoa(lo) + "}", true, nil
	}
	if high == "" {
		return "{" + strconv.Itoa(lo) + ",}", false, nil
	}
	hi, err := repeatCount(high)
	if err != nil {
		return "", false, err
	}
	if hi < lo {
		return "", false, badRegexp("invalid repetition count(s)")
	}
	return "{" + strconv.Itoa(lo) + "," + strconv.Itoa(hi) + "}", lo == hi && lo != 1, nil
}

func repeatCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxRegexpRepeat || s[0] == '+' {
		return 0, badRegexp("invalid repetition count(s)")
	}
	return n, nil
}

// atom translates one atom; constraint is set if it matches the empty string
// By its nature (^, \y) and so cannot be quantified.
func (t *translator) atom() (g greed, constraint bool, err error) {
	switch c := t.in[t.pos]; c {
	case '(':
		g, err = t.group()
		return g, false, err
	case ')':
		return g, false, badRegexp("parentheses () not balanced")
	case '[':
		constraint, err = t.bracket()
		return g, constraint, err
	case '\\':
		constraint, err = t.escape()
		return g, constraint, err
	case '.':
		t.pos++
		if t.flags.LineDot {
			t.out.WriteString(`[^\n]`)
		} else {
			t.out.WriteString(".")
		}
		return g, false, nil
	case '^':
		t.pos++
		t.out.WriteString(choose(t.flags.LineEnd, `(?m:^)`, `\A`))
		return g, true, nil
	case '$':
		t.pos++
		t.out.WriteString(choose(t.flags.LineEnd, `(?m:$)`, `\z`))
		return g, true, nil
	case '*', '+', '?':
		return g, false, badRegexp("quantifier operand invalid")
	case '{':
		if t.pos+1 < len(t.in) && t.in[t.pos+1] >= '0' && t.in[t.pos+1] <= '9' {
			return g, false, badRegexp("quantifier operand invalid")
		}
	}
	n := runeLen(t.in[t.pos:])
	t.out.WriteString(regexp.QuoteMeta(t.in[t.pos : t.pos+n]))
	t.pos += n
	return g, false, nil
}

// group translates a parenthesised expression.
func (t *translator) group() (greed, error) {
	switch {
	case t.hasPrefix("(?#"):
		end := strings.IndexByte(t.in[t.pos:], ')')
		if end < 0 {
			return greedNone, badRegexp("parentheses () not balanced")
		}
		t.pos += end + 1
		t.out.WriteString("(?:)")
		return greedNone, nil
	case t.hasPrefix("(?:"):
		t.pos += 3
		t.out.WriteString("(?:")
	case t.full && (t.hasPrefix("(?=") || t.hasPrefix("(?!") || t.hasPrefix("(?<=") || t.hasPrefix("(?<!")):
		return greedNone, t.lookaround()
	case t.hasPrefix("(?=") || t.hasPrefix("(?!") || t.hasPrefix("(?<=") || t.hasPrefix("(?<!"):
		return greedNone, pgerr.Unsupported("lookaround constraints in regular expressions are not supported")
	case t.hasPrefix("(?"):
		return greedNone, badRegexp("quantifier operand invalid")
	case t.looking > 0:
		t.pos++
		t.out.WriteString("(?:")
	default:
		t.pos++
		t.groups++
		t.out.WriteString("(")
	}
	g, err := t.alternation()
	if err != nil {
		return g, err
	}
	if t.peek() != ')' {
		return g, badRegexp("parentheses () not balanced")
	}
	t.pos++
	t.out.WriteString(")")
	return g, nil
}

// lookaround translates (?=...) and its kin for the backtracking matcher.
func (t *translator) lookaround() error {
	name, length := markAhead, 3
	switch {
	case t.hasPrefix("(?!"):
		name = markNotAhead
	case t.hasPrefix("(?<="):
		name, length = markBehind, 4
	case t.hasPrefix("(?<!"):
		name, length = markNotBehind, 4
	}
	t.pos += length
	t.mark(name)
	t.looking++
	_, err := t.alternation()
	t.looking--
	if err != nil {
		return err
	}
	if t.peek() != ')' {
		return badRegexp("parentheses () not balanced")
	}
	t.pos++
	t.out.WriteString(")")
	return nil
}

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
