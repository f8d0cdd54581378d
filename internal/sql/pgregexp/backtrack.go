package pgregexp

import (
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Limits of one search by backtracking: its work, and how many repetitions nest.
const (
	maxRegexpSteps   = 5_000_000
	maxRegexpNesting = 100_000
)

// What package regexp cannot express, the translator writes as empty named
// groups, which a backtracking matcher gives their meaning.
const (
	markBackRef    = "B_" // B_n_: what group n matched
	markAhead      = "LA_"
	markNotAhead   = "LN_"
	markBehind     = "LB_"
	markNotBehind  = "LM_"
	markWordBegin  = "WB_"
	markWordEnd    = "WE_"
	markWordEdge   = "WY_"
	markNoWordEdge = "WN_"
	markLongest    = "GL_" // the longest match of what is within is preferred
	markShortest   = "GS_"
)

// mark writes the beginning of a named group; each has a name of its own.
func (t *translator) mark(name string) {
	t.marks++
	t.out.WriteString("(?P<" + name + strconv.Itoa(t.marks) + ">")
}

// markFrom puts what was written since start into a named group.
func (t *translator) markFrom(start int, name string) {
	t.marks++
	t.out.b = slices.Insert(t.out.b, start, []byte("(?P<"+name+strconv.Itoa(t.marks)+">")...)
	t.out.WriteString(")")
}

// backtracker is an expression that is matched by trying all ways.
type backtracker struct {
	prog   btNode
	groups int
	short  bool // the shortest match is preferred as a whole
}

// btRun is one attempt to match.
type btRun struct {
	c     stepper
	s     string
	caps  []int
	steps int
	depth int // repetitions that are under way
	best  []int
	err   error
	short bool
}

// btNode matches from i on and calls k with where it ended; it returns true once
// k does, which ends the search.
type btNode func(r *btRun, i int, k func(i int) bool) bool

// step counts work; it returns false when there is too much of it.
func (r *btRun) step() bool {
	if r.steps++; r.steps > maxRegexpSteps && r.err == nil {
		r.err = errTooComplex()
	}
	return r.goesOn()
}

// goesOn returns false once something has failed, or the statement is cancelled.
func (r *btRun) goesOn() bool {
	if r.err == nil {
		r.err = r.c.Step(1)
	}
	return r.err == nil
}

func errTooComplex() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "regular expression failed: too complex for the text it is matched with")
}

// Find returns the submatch offsets of the leftmost match from start on.
func (b *backtracker) Find(c stepper, s string, start int) ([]int, error) {
	r := &btRun{c: c, s: s, caps: make([]int, 2*(b.groups+1)), short: b.short}
	for i := start; i <= len(s) && r.goesOn(); {
		for j := range r.caps {
			r.caps[j] = -1
		}
		b.prog(r, i, func(end int) bool {
			if r.best == nil || end > r.best[1] && !r.short || end < r.best[1] && r.short {
				r.best = append([]int(nil), r.caps...)
				r.best[0], r.best[1] = i, end
			}
			return end == len(s) && !r.short || end == i && r.short
		})
		if r.err != nil || r.best != nil {
			return r.best, r.err
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += max(n, 1)
	}
	return nil, r.err
}

// within finds the groups of a match that is known as a whole.
func (b *backtracker) within(c stepper, s string, m []int) ([]int, error) {
	r := &btRun{c: c, s: s, caps: slices.Repeat([]int{-1}, 2*(b.groups+1))}
	b.prog(r, m[0], func(end int) bool {
		if end != m[1] {
			return false
		}
		r.best = slices.Clone(r.caps)
		r.best[0], r.best[1] = m[0], m[1]
		return true
	})
	if r.best == nil && r.err == nil {
		r.best = m
	}
	return r.best, r.err
}

// btCompiler turns a parsed expression into nodes.
type btCompiler struct{ groups int }

func compileBacktracker(pattern string, short bool) (*backtracker, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, badRegexp("regular expression is too complex")
	}
	c := &btCompiler{}
	prog := c.node(re)
	return &backtracker{prog: prog, groups: c.groups, short: short}, nil
}

func (c *btCompiler) node(re *syntax.Regexp) btNode {
	switch re.Op {
	case syntax.OpNoMatch:
		return func(*btRun, int, func(int) bool) bool { return false }
	case syntax.OpLiteral:
		return literalNode(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		class := re.Rune
		return runeNode(func(x rune) bool { return inClass(class, x) })
	case syntax.OpAnyChar:
		return runeNode(func(rune) bool { return true })
	case syntax.OpAnyCharNotNL:
		return runeNode(func(x rune) bool { return x != '\n' })
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return edgeNode(re.Op)
	case syntax.OpCapture:
		return c.capture(re)
	case syntax.OpStar:
		return c.repeat(re, 0, -1)
	case syntax.OpPlus:
		return c.repeat(re, 1, -1)
	case syntax.OpQuest:
		return c.repeat(re, 0, 1)
	case syntax.OpRepeat:
		return c.repeat(re, re.Min, re.Max)
	case syntax.OpConcat:
		return concatNode(c.nodes(re.Sub))
	case syntax.OpAlternate:
		subs := c.nodes(re.Sub)
		return func(r *btRun, i int, k func(int) bool) bool {
			for _, n := range subs {
				if n(r, i, k) {
					return true
				}
			}
			return false
		}
	}
	return func(_ *btRun, i int, k func(int) bool) bool { return k(i) }
}

func (c *btCompiler) nodes(list []*syntax.Regexp) []btNode {
	out := make([]btNode, len(list))
	for i, re := range list {
		out[i] = c.node(re)
	}
	return out
}

func concatNode(subs []btNode) btNode {
	switch len(subs) {
	case 0:
		return func(_ *btRun, i int, k func(int) bool) bool { return k(i) }
	case 1:
		return subs[0]
	}
	rest := concatNode(subs[1:])
	first := subs[0]
	return func(r *btRun, i int, k func(int) bool) bool {
		return first(r, i, func(j int) bool { return rest(r, j, k) })
	}
}

func runeNode(ok func(rune) bool) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		if i >= len(r.s) || !r.step() {
			return false
		}
		x, n := utf8.DecodeRuneInString(r.s[i:])
		return ok(x) && k(i+n)
	}
}

func inClass(class []rune, x rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if x >= class[i] && x <= class[i+1] {
			return true
		}
	}
	return false
}

func sameFold(a, b rune) bool {
	if a == b {
		return true
	}
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}

func literalNode(text []rune, fold bool) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		if !r.step() {
			return false
		}
		for _, want := range text {
			if i >= len(r.s) {
				return false
			}
			x, n := utf8.DecodeRuneInString(r.s[i:])
			if x != want && !(fold && sameFold(x, want)) {
				return false
			}
			i += n
		}
		return k(i)
	}
}

func edgeNode(op syntax.Op) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		ok := false
		switch op {
		case syntax.OpBeginText:
			ok = i == 0
		case syntax.OpEndText:
			ok = i == len(r.s)
		case syntax.OpBeginLine:
			ok = i == 0 || r.s[i-1] == '\n'
		default:
			ok = i == len(r.s) || r.s[i] == '\n'
		}
		return ok && k(i)
	}
}

// repeat compiles a repetition.
func (c *btCompiler) repeat(re *syntax.Regexp, least, most int) btNode {
	lazy := re.Flags&syntax.NonGreedy != 0
	sub := re.Sub[0]
	switch {
	case sub.Op == syntax.OpCharClass:
		return loopNode(func(x rune) bool { return inClass(sub.Rune, x) }, least, most, lazy)
	case sub.Op == syntax.OpAnyChar:
		return loopNode(func(rune) bool { return true }, least, most, lazy)
	case sub.Op == syntax.OpAnyCharNotNL:
		return loopNode(func(x rune) bool { return x != '\n' }, least, most, lazy)
	case sub.Op == syntax.OpLiteral && len(sub.Rune) == 1:
		want, fold := sub.Rune[0], sub.Flags&syntax.FoldCase != 0
		return loopNode(func(x rune) bool { return x == want || fold && sameFold(x, want) }, least, most, lazy)
	}
	return repeatNode(c.node(sub), least, most, lazy)
}

// loopNode is repeatNode for single characters, without nesting.
func loopNode(ok func(rune) bool, least, most int, lazy bool) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		count, end := 0, i
		advance := func() bool {
			if most >= 0 && count == most || end >= len(r.s) || !r.step() {
				return false
			}
			x, n := utf8.DecodeRuneInString(r.s[end:])
			if !ok(x) {
				return false
			}
			end += n
			count++
			return true
		}
		for count < least {
			if !advance() {
				return false
			}
		}
		if lazy {
			for {
				if k(end) {
					return true
				}
				if r.err != nil || !advance() {
					return false
				}
			}
		}
		for advance() {
		}
		for {
			if r.err != nil {
				return false
			}
			if k(end) {
				return true
			}
			if count == least {
				return false
			}
			_, n := utf8.DecodeLastRuneInString(r.s[:end])
			end -= n
			count--
		}
	}
}

// repeatNode matches n between least and most times; most -1 means any number.
func repeatNode(n btNode, least, most int, lazy bool) btNode {
	var try func(r *btRun, i, count int, k func(int) bool) bool
	try = func(r *btRun, i, count int, k func(int) bool) bool {
		if !r.step() {
			return false
		}
		if r.depth++; r.depth > maxRegexpNesting {
			r.err = errTooComplex()
			return false
		}
		defer func() { r.depth-- }()
		more := func() bool {
			return (most < 0 || count < most) && n(r, i, func(j int) bool {
				return (j != i || count < least) && try(r, j, count+1, k)
			})
		}
		switch {
		case count < least:
			return more()
		case lazy:
			return k(i) || more()
		}
		return more() || k(i)
	}
	return func(r *btRun, i int, k func(int) bool) bool { return try(r, i, 0, k) }
}

// capture compiles a group, or what a named one stands for.
func (c *btCompiler) capture(re *syntax.Regexp) btNode {
	switch {
	case re.Name == "":
		c.groups++
		return captureNode(c.groups, c.node(re.Sub[0]))
	case strings.HasPrefix(re.Name, markBackRef):
		num, _, _ := strings.Cut(re.Name[len(markBackRef):], "_")
		group, _ := strconv.Atoi(num)
		return backRefNode(group, strings.Contains(re.Name, "_i"))
	case strings.HasPrefix(re.Name, "L"):
		return lookNode(re.Name[:3], c.node(re.Sub[0]))
	case strings.HasPrefix(re.Name, "G"):
		return orderedNode(c.node(re.Sub[0]), re.Name[:3] == markShortest)
	}
	return wordNode(re.Name[:3])
}

func captureNode(group int, n btNode) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		from, to := r.caps[2*group], r.caps[2*group+1]
		if n(r, i, func(j int) bool {
			f, t := r.caps[2*group], r.caps[2*group+1]
			r.caps[2*group], r.caps[2*group+1] = i, j
			if k(j) {
				return true
			}
			r.caps[2*group], r.caps[2*group+1] = f, t
			return false
		}) {
			return true
		}
		r.caps[2*group], r.caps[2*group+1] = from, to
		return false
	}
}

// orderedNode tries the ways in which n matches by their length.
func orderedNode(n btNode, short bool) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		var ends []int
		n(r, i, func(j int) bool {
			ends = append(ends, j)
			return false
		})
		slices.Sort(ends)
		ends = slices.Compact(ends)
		if !short {
			slices.Reverse(ends)
		}
		for _, end := range ends {
			if !r.goesOn() {
				return false
			}
			if n(r, i, func(j int) bool { return j == end && k(j) }) {
				return true
			}
		}
		return false
	}
}

func backRefNode(group int, fold bool) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		if 2*group+1 >= len(r.caps) || r.caps[2*group+1] < 0 || !r.step() {
			return false
		}
		want := r.s[r.caps[2*group]:r.caps[2*group+1]]
		if len(r.s)-i < len(want) {
			return false
		}
		got := r.s[i : i+len(want)]
		return (got == want || fold && strings.EqualFold(got, want)) && k(i+len(want))
	}
}

// lookNode matches what stands ahead of or behind a position without taking it.
func lookNode(kind string, n btNode) btNode {
	holds := func(r *btRun, i int) bool {
		if kind == markAhead || kind == markNotAhead {
			return n(r, i, func(int) bool { return true })
		}
		for from := i; from >= 0; from-- {
			if from < len(r.s) && !utf8.RuneStart(r.s[from]) {
				continue
			}
			if !r.goesOn() || n(r, from, func(j int) bool { return j == i }) {
				return r.err == nil
			}
		}
		return false
	}
	want := kind == markAhead || kind == markBehind
	return func(r *btRun, i int, k func(int) bool) bool { return r.step() && holds(r, i) == want && k(i) }
}

func isWordRune(x rune) bool {
	return x == '_' || unicode.IsLetter(x) || unicode.IsMark(x) || unicode.IsDigit(x)
}

// wordNode matches at the edges of words.
func wordNode(kind string) btNode {
	return func(r *btRun, i int, k func(int) bool) bool {
		before, after := false, false
		if i > 0 {
			x, _ := utf8.DecodeLastRuneInString(r.s[:i])
			before = isWordRune(x)
		}
		if i < len(r.s) {
			x, _ := utf8.DecodeRuneInString(r.s[i:])
			after = isWordRune(x)
		}
		ok := false
		switch kind {
		case markWordBegin:
			ok = !before && after
		case markWordEnd:
			ok = before && !after
		case markWordEdge:
			ok = before != after
		case markNoWordEdge:
			ok = before == after
		}
		return ok && k(i)
	}
}
