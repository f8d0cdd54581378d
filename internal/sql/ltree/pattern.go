package ltree

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// word is a label to look for, with how it is compared.
type word struct {
	text string
	// prefix: labels that begin so match; fold: case does not matter; parts: the words between underscores are looked for one by one.
	prefix, fold, parts bool
}

// flag sets what a character behind a word says; false: it says nothing.
func (w *word) flag(c rune) bool {
	switch c {
	case '@':
		w.fold = true
	case '*':
		w.prefix = true
	case '%':
		w.parts = true
	default:
		return false
	}
	return true
}

func (w *word) appendText(dst []byte) []byte {
	dst = append(dst, w.text...)
	if w.parts {
		dst = append(dst, '%')
	}
	if w.fold {
		dst = append(dst, '@')
	}
	if w.prefix {
		dst = append(dst, '*')
	}
	return dst
}

// matches reports whether a label is the word.
func (w *word) matches(label string) bool {
	if !w.parts {
		return w.same(w.text, label)
	}
	for _, q := range parts(w.text) {
		found := false
		for _, p := range parts(label) {
			if found = w.same(q, p); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// same compares a text that is looked for with one that is there.
func (w *word) same(want, is string) bool {
	if len(want) != len(is) && !(w.prefix && len(is) > len(want)) {
		return false
	}
	if is = is[:len(want)]; w.fold { // which is not Unicode's folding: ſ is no s
		want, is = strings.ToLower(want), strings.ToLower(is)
	}
	return want == is
}

// parts are the words between underscores.
func parts(label string) []string {
	return strings.FieldsFunc(label, func(r rune) bool { return r == '_' })
}

// level is what a pattern has between dots.
type level struct {
	words []word // none for *
	not   bool
	// counted: how many labels may match was written. low and high say so, also of *.
	counted   bool
	low, high int
}

func (l *level) matches(label string) bool {
	for i := range l.words {
		if l.words[i].matches(label) {
			return !l.not
		}
	}
	return l.not || len(l.words) == 0
}

// Pattern is an lquery.
type Pattern struct{ levels []level }

// MatchSteps is how many steps a comparison with a path of so many bytes takes at most.
func (p *Pattern) MatchSteps(path string) int { return len(p.levels) * (len(path) + 1) }

// Matches reports whether a path matches the pattern.
func (p *Pattern) Matches(path string) bool {
	labels := Labels(path)
	// at[i] says that the levels so far may take the first i labels.
	at := make([]bool, len(labels)+1)
	at[0] = true
	for i := range p.levels {
		at = p.levels[i].advance(labels, at)
	}
	return at[len(labels)]
}

// advance returns which numbers of labels may be taken once the level has taken some too.
func (l *level) advance(labels []string, at []bool) []bool {
	next := make([]bool, len(at))
	// The labels before the i-th that match in a row, and the numbers in at among which the level may have begun.
	run := 0
	for i := range at {
		if i > 0 {
			if l.matches(labels[i-1]) {
				run++
			} else {
				run = 0
			}
		}
		for n := l.low; n <= min(run, l.high); n++ {
			if at[i-n] {
				next[i] = true
				break
			}
		}
	}
	return next
}

// AppendText appends the text of the pattern.
func (p *Pattern) AppendText(dst []byte) []byte {
	for i := range p.levels {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = p.levels[i].appendText(dst)
	}
	return dst
}

func (l *level) appendText(dst []byte) []byte {
	if l.not {
		dst = append(dst, '!')
	}
	for j := range l.words {
		if j > 0 {
			dst = append(dst, '|')
		}
		dst = l.words[j].appendText(dst)
	}
	if len(l.words) == 0 {
		dst = append(dst, '*')
	}
	switch {
	case !l.counted && len(l.words) > 0, len(l.words) == 0 && l.low == 0 && l.high == MaxLevels:
		return dst
	}
	dst = append(dst, '{')
	if l.low > 0 || l.high == 0 {
		dst = strconv.AppendInt(dst, int64(l.low), 10)
	}
	if l.low != l.high {
		if dst = append(dst, ','); l.high != MaxLevels {
			dst = strconv.AppendInt(dst, int64(l.high), 10)
		}
	}
	return append(dst, '}')
}

// patternParser reads a pattern.
type patternParser struct {
	s  string
	at int // the next character, the first one is 1
}

// ParsePattern reads an lquery. step is called with the number of bytes of each level.
func ParsePattern(s string, step func(int) error) (*Pattern, error) {
	if n := strings.Count(s, ".") + 1; n > MaxLevels {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "number of lquery items (%d) exceeds the maximum allowed (%d)", n, MaxLevels)
	}
	p := patternParser{s: s, at: 1}
	q := &Pattern{}
	for {
		was := len(p.s)
		l, err := p.level()
		if err != nil {
			return nil, err
		}
		if err := step(was - len(p.s)); err != nil {
			return nil, err
		}
		q.levels = append(q.levels, l)
		switch c := p.peek(); c {
		case '.':
			p.next()
		case end:
			return q, nil
		default:
			return nil, p.unexpected()
		}
	}
}

// end stands for the character behind the last.
const end = -1

func (p *patternParser) peek() rune {
	if p.s == "" {
		return end
	}
	r, _ := utf8.DecodeRuneInString(p.s)
	return r
}

func (p *patternParser) next() {
	_, n := utf8.DecodeRuneInString(p.s)
	p.s = p.s[n:]
	p.at++
}

// unexpected is the error for the next character.
func (p *patternParser) unexpected() error {
	if p.s == "" {
		return pgerr.New(pgerr.SyntaxError, "lquery syntax error").WithDetail("Unexpected end of input.")
	}
	return pgerr.New(pgerr.SyntaxError, "lquery syntax error at character %d", p.at)
}

func (p *patternParser) level() (l level, err error) {
	l.low, l.high = 1, 1
	switch c := p.peek(); {
	case c == '*':
		p.next()
		l.low, l.high = 0, MaxLevels
	case c == '!':
		p.next()
		l.not = true
		err = p.words(&l)
	case isLabel(c):
		err = p.words(&l)
	default:
		err = p.unexpected()
	}
	if err == nil && p.peek() == '{' {
		p.next()
		l.counted = true
		err = p.count(&l)
	}
	return l, err
}

// words reads the words of a level.
func (p *patternParser) words(l *level) error {
	for {
		w, chars := word{}, 0
		start := p.s
		for isLabel(p.peek()) {
			p.next()
			chars++
		}
		w.text = start[:len(start)-len(p.s)]
		ends := p.at
		for w.flag(p.peek()) {
			p.next()
		}
		switch c := p.peek(); {
		case c != '|' && c != '{' && c != '.' && c != end: // or a label behind a flag
			return p.unexpected()
		case chars == 0: // behind !
			return pgerr.New(pgerr.SyntaxError, "lquery syntax error at character %d", ends).WithDetail("Empty labels are not allowed.")
		}
		if err := checkLabel(chars, ends); err != nil {
			return err
		}
		l.words = append(l.words, w)
		if p.peek() != '|' {
			return nil
		}
		if p.next(); !isLabel(p.peek()) {
			return p.unexpected()
		}
	}
}

// count reads how many labels a level takes, behind the opening brace.
func (p *patternParser) count(l *level) error {
	l.low, l.high = 0, MaxLevels
	if p.peek() != ',' {
		n, at, err := p.number()
		if err != nil {
			return err
		}
		if n > MaxLevels {
			return badCount(pgerr.ProgramLimitExceeded, "Low limit (%d) exceeds the maximum allowed (%d), at character %d.", n, MaxLevels, at)
		}
		if l.low, l.high = n, n; p.peek() == '}' {
			p.next()
			return nil
		}
		if p.peek() != ',' {
			return p.unexpected()
		}
	}
	if p.next(); p.peek() == '}' {
		p.next()
		l.high = MaxLevels
		return nil
	}
	n, at, err := p.number()
	switch {
	case err != nil:
		return err
	case n > MaxLevels:
		return badCount(pgerr.ProgramLimitExceeded, "High limit (%d) exceeds the maximum allowed (%d), at character %d.", n, MaxLevels, at)
	case l.low > n:
		return badCount(pgerr.SyntaxError, "Low limit (%d) is greater than high limit (%d), at character %d.", l.low, n, at)
	case p.peek() != '}':
		return p.unexpected()
	}
	l.high = n
	p.next()
	return nil
}

func badCount(code pgerr.Code, detail string, args ...any) error {
	return pgerr.New(code, "lquery syntax error").WithDetail(detail, args...)
}

// number reads digits, and returns where they begin.
func (p *patternParser) number() (n, at int, err error) {
	if at = p.at; p.peek() < '0' || p.peek() > '9' {
		return 0, at, p.unexpected()
	}
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		n = min(n*10+int(c-'0'), 1<<31-1)
		p.next()
	}
	return n, at, nil
}
