package parser

import (
	"regexp"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// This file reads statements by a description of their grammar (refused.go)
// where no tree of them is needed.
//
// In the notation a word in capitals is a keyword, 'x' a token of one character,
// a word in small letters another rule or one of primitives, (a | b) a choice,
// [a] an option, {a} a repetition, possibly of none, and a, behind an item
// stands for a list of it with commas between.
//
// Alternatives are tried in order and given up at a syntax error; of all syntax
// errors met the furthest counts. That is where PostgreSQL's LR parser sees it:
// at the first token with which no alternative can go on.

// pattern matches the next tokens: false if the first does not fit, with nothing
// consumed. What does not fit later is the parser's error.
type pattern func(p *parser) bool

// refusal is a statement or expression that is read and then refused.
type refusal struct {
	feature string
	body    pattern
}

// refusedGrammar is refusedText and rulesText compiled.
type refusedGrammar struct {
	byVerb map[string][]refusal
	rules  map[string]pattern
}

var (
	compileOnce sync.Once
	compiled    refusedGrammar
)

// grammar returns the grammar, which the first call compiles.
func grammar() *refusedGrammar {
	compileOnce.Do(func() { compiled = compileGrammar() })
	return &compiled
}

func compileGrammar() refusedGrammar {
	c := ebnf{text: map[string]string{}, rules: map[string]pattern{}, primitives: primitives()}
	for _, l := range lines(rulesText) {
		name, body, _ := strings.Cut(l, " = ")
		c.text[name] = body
	}
	for name := range c.text {
		c.word(name)
	}
	g := refusedGrammar{byVerb: map[string][]refusal{}, rules: c.rules}
	for _, l := range lines(refusedText) {
		feature, body, ok := strings.Cut(l, ": ")
		if !ok {
			continue
		}
		verb, _, _ := strings.Cut(feature, " ")
		g.byVerb[verb] = append(g.byVerb[verb], refusal{feature, c.compile(body)})
	}
	return g
}

// lines joins the lines of a description that go on with those behind them, which
// are indented.
func lines(text string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\n\t", " ")), "\n")
}

// refuse reads a statement that begins with verb, already consumed, and has no tree.
func (p *parser) refuse(loc ast.Loc, verb string) ast.Statement {
	if !p.enter() {
		return nil
	}
	before := p.furthest
	p.furthest = dead{}
	s := p.refused(loc, verb)
	p.leave()
	if p.err == nil && s == nil {
		p.syntaxError()
	}
	if f := p.furthest; f.err != nil && (p.err == nil && f.at > p.tok.start || isSyntaxError(p.err) && f.at > p.errAt) {
		p.err = nil
		p.fail(f.err, f.err.Position)
		p.errAt = f.at
	}
	p.furthest = before
	return s
}

// rule reads what a rule describes.
func (p *parser) rule(name string) {
	if !grammar().rules[name](p) {
		p.syntaxError()
	}
}

// xml reads a form of SQL/XML, all of which are refused after the text is read.
func (p *parser) xml(loc ast.Loc, verb string) ast.Expr {
	if s, ok := p.refuse(loc, verb).(*ast.Unsupported); ok {
		p.unsupportedLate(loc.Pos, "XML function "+strings.ToLower(strings.TrimPrefix(s.Feature, verb+" ")))
	}
	return &ast.NullLit{Loc: loc}
}

// refused tries the statements of a verb in turn; nil if none fits.
func (p *parser) refused(loc ast.Loc, verb string) ast.Statement {
	for _, r := range grammar().byVerb[verb] {
		if p.try(r.body) {
			return &ast.Unsupported{Loc: loc, Feature: r.feature, IfExists: p.droppedIfExists(loc)}
		}
	}
	return nil
}

// ifExists matches the beginning of a DROP ... IF EXISTS, up to what it names.
var ifExists = regexp.MustCompile(`(?i)^drop\s+(?:[a-z]+\s+){1,4}?if\s+exists\s+`)

// droppedIfExists returns what the DROP ... IF EXISTS that was just read names,
// empty if it is none.
func (p *parser) droppedIfExists(loc ast.Loc) string {
	text := p.lex.sql[loc.Pos-1 : p.prevEnd]
	if head := ifExists.FindString(text); head != "" {
		return text[len(head):]
	}
	return ""
}

// dead is a syntax error that ended one alternative, and the token it was at.
type dead struct {
	err *pgerr.Error
	at  int32
}

// try matches a pattern, or consumes nothing and remembers how far it came.
func (p *parser) try(m pattern) bool {
	before := *p
	ok := m(p)
	if !isSyntaxError(p.err) {
		return ok
	}
	f := p.furthest
	if f.err == nil || p.errAt > f.at {
		f = dead{p.err, p.errAt}
	}
	*p = before
	p.furthest = f
	return false
}

// isSyntaxError reports whether an error is that of a token that does not fit,
// after which something else may be tried.
func isSyntaxError(e *pgerr.Error) bool {
	return e != nil && strings.HasPrefix(e.Message, "syntax error at ")
}

// ebnfToken matches a token of a description, with the comma that makes it a list.
var ebnfToken = regexp.MustCompile(`'.'|[A-Za-z_]+,?|\),|[\[\](){}|]`)

// ebnf compiles descriptions.
type ebnf struct {
	text  map[string]string
	rules map[string]pattern
	// primitives are the rules that are written in Go.
	primitives map[string]func(p *parser)
	toks       []string // of the description being compiled, those not consumed
}

func (c *ebnf) compile(body string) pattern {
	saved := c.toks
	c.toks = ebnfToken.FindAllString(body, -1)
	m := c.choice()
	if len(c.toks) > 0 {
		panic("grammar: " + c.toks[0] + " in " + body)
	}
	c.toks = saved
	return m
}

// next consumes and returns the next token of a description, "" at its end.
func (c *ebnf) next() string {
	if len(c.toks) == 0 {
		return ""
	}
	t := c.toks[0]
	c.toks = c.toks[1:]
	return t
}

// choice compiles alternatives up to a closing bracket, which it leaves.
func (c *ebnf) choice() pattern {
	list := []pattern{c.sequence()}
	for len(c.toks) > 0 && c.toks[0] == "|" {
		c.next()
		list = append(list, c.sequence())
	}
	if len(list) == 1 {
		return list[0]
	}
	return func(p *parser) bool {
		for _, m := range list {
			if p.try(m) {
				return true
			}
		}
		return false
	}
}

func (c *ebnf) sequence() pattern {
	var list []pattern
	for len(c.toks) > 0 && !strings.Contains("| ) ] } ), ],", c.toks[0]) {
		list = append(list, c.item())
	}
	return func(p *parser) bool {
		start := p.tok.start
		for _, m := range list {
			switch {
			case m(p):
			case p.tok.start == start && p.err == nil:
				return false
			default:
				p.syntaxError()
			}
			if p.err != nil {
				return true
			}
		}
		return true
	}
}

// item compiles one item, with the comma that makes it a list.
func (c *ebnf) item() pattern {
	t := c.next()
	word, isList := strings.CutSuffix(t, ",")
	var m pattern
	switch word {
	case "(":
		m = c.choice()
		isList = c.next() == "),"
	case "[":
		inner := c.choice()
		c.next()
		return func(p *parser) bool { p.try(inner); return true }
	case "{":
		inner := c.choice()
		c.next()
		return func(p *parser) bool {
			for at := p.tok.start - 1; p.err == nil && p.tok.start > at; {
				at = p.tok.start
				if !p.try(inner) {
					break
				}
			}
			return true
		}
	default:
		m = c.word(word)
	}
	if !isList {
		return m
	}
	return func(p *parser) bool {
		if !m(p) {
			return false
		}
		for p.err == nil && p.accept(',') {
			if !m(p) {
				p.syntaxError()
			}
		}
		return true
	}
}

// word compiles a keyword, a character, a primitive or the name of a rule.
func (c *ebnf) word(w string) pattern {
	if k := kind(w[0]); k == '\'' {
		return oneToken(kind(w[1]))
	}
	if k := keywordNamed(w); k != 0 {
		return keywordPattern(k)
	}
	if f, ok := c.primitives[w]; ok {
		return func(p *parser) bool { f(p); return true }
	}
	m, ok := c.rules[w]
	if !ok {
		body, known := c.text[w]
		if !known {
			panic("grammar: no rule " + w)
		}
		m = c.compile(body)
		c.rules[w] = m
	}
	return m
}

// oneToken matches one token.
func oneToken(k kind) pattern { return func(p *parser) bool { return p.accept(k) } }

// keywordNamed returns the keyword that a word in capitals is.
func keywordNamed(w string) kind {
	if w != upper(w) {
		return 0
	}
	for i, k := range ast.Keywords {
		if upper(k.Word) == w {
			return firstKeyword + kind(i)
		}
	}
	panic("grammar: no keyword " + w)
}

// keywordPattern matches a keyword, but for those which PostgreSQL's lexer joins
// with the next word.
func keywordPattern(k kind) pattern {
	switch k {
	case kwWith:
		return func(p *parser) bool {
			return p.tok.kind == kwWith && p.peek() != kwTime && p.peek() != kwOrdinality && p.accept(kwWith)
		}
	case kwNot:
		return func(p *parser) bool {
			if p.tok.kind != kwNot {
				return false
			}
			switch p.peek() {
			case kwBetween, kwIn, kwLike, kwIlike, kwSimilar:
				return false
			}
			return p.accept(kwNot)
		}
	}
	return oneToken(k)
}
