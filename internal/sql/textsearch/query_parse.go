package textsearch

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ParseQuery reads the text form of a query; words stand as they are.
func ParseQuery(s string) (*Query, error) {
	return parseQuery(s, func(word string, weights uint8, prefix bool) (*Query, error) {
		return &Query{Word: word, Weights: weights, Prefix: prefix}, nil
	})
}

// operandFunc makes a query of an operand as written; nil stands for a word that
// does not count.
type operandFunc func(word string, weights uint8, prefix bool) (*Query, error)

func parseQuery(s string, operand operandFunc) (*Query, error) {
	p := &queryParser{scanner: scanner{all: s, s: s, what: "tsquery"}, operand: operand}
	p.skip()
	if p.s == "" {
		return nil, nil
	}
	q, err := p.binary(1)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.s != "" {
		return nil, p.errSyntax()
	}
	return clean(q), nil
}

type queryParser struct {
	scanner
	operand operandFunc
	depth   int
	nodes   int
}

func (p *queryParser) enter() error {
	if p.depth++; p.depth > MaxQueryDepth {
		return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	return nil
}

// operator reads a binary operator of at least the given priority.
func (p *queryParser) operator(least int) (op Op, distance uint16, ok bool, err error) {
	p.skip()
	switch {
	case strings.HasPrefix(p.s, "|") && least <= 1:
		op = OpOr
	case strings.HasPrefix(p.s, "&") && least <= 2:
		op = OpAnd
	case strings.HasPrefix(p.s, "<") && least <= 3:
		distance, err = p.phrase()
		return OpPhrase, distance, true, err
	default:
		return 0, 0, false, nil
	}
	p.s = p.s[1:]
	return op, 0, true, nil
}

// phrase reads <-> or <N>.
func (p *queryParser) phrase() (uint16, error) {
	if strings.HasPrefix(p.s, "<->") {
		p.s = p.s[3:]
		return 1, nil
	}
	end := strings.IndexByte(p.s, '>')
	if end < 2 || strings.Trim(p.s[1:end], "0123456789") != "" {
		return 0, p.errSyntax()
	}
	n := 0
	for _, c := range p.s[1:end] {
		if n = n*10 + int(c-'0'); n > MaxPhraseDistance {
			return 0, errDistance()
		}
	}
	p.s = p.s[end+1:]
	return uint16(n), nil
}

func errDistance() error {
	return pgerr.New(pgerr.InvalidParameterValue,
		"distance in phrase operator must be an integer value between zero and %d inclusive", MaxPhraseDistance)
}

func (p *queryParser) binary(least int) (*Query, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	height := 0
	for {
		op, distance, ok, err := p.operator(least)
		if err != nil {
			return nil, err
		}
		if !ok {
			return left, nil
		}
		right, err := p.binary(op.priority() + 1)
		if err != nil {
			return nil, err
		}
		left = &Query{Op: op, Left: left, Right: right, Distance: distance}
		if height++; height >= MaxQueryHeight {
			return nil, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
		}
	}
}

func (p *queryParser) unary() (*Query, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.skip()
	switch {
	case p.s == "":
		return nil, pgerr.New(pgerr.SyntaxError, "no operand in tsquery: \"%s\"", p.all)
	case p.s[0] == '!':
		p.s = p.s[1:]
		q, err := p.unary()
		return &Query{Op: OpNot, Left: q}, err
	case p.s[0] == '(':
		p.s = p.s[1:]
		q, err := p.binary(1)
		if err != nil {
			return nil, err
		}
		if p.skip(); !strings.HasPrefix(p.s, ")") {
			return nil, p.errSyntax()
		}
		p.s = p.s[1:]
		return q, nil
	case strings.IndexByte("|&)<:", p.s[0]) >= 0:
		return nil, p.errSyntax()
	}
	word, err := p.word(":()!&|<")
	if err != nil {
		return nil, err
	}
	if p.nodes++; p.nodes > MaxQueryNodes/2 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "tsquery is too large")
	}
	weights, prefix := p.marks()
	q, err := p.operand(word, weights, prefix)
	if q == nil && err == nil {
		q = &Query{stop: true}
	}
	return q, err
}

// marks reads :*AB.
func (p *queryParser) marks() (weights uint8, prefix bool) {
	if !strings.HasPrefix(p.s, ":") {
		return 0, false
	}
	p.s = p.s[1:]
	for p.s != "" {
		if p.s[0] == '*' {
			prefix = true
		} else if w, ok := ParseWeight(p.s[0]); ok {
			weights |= 1 << w
		} else {
			break
		}
		p.s = p.s[1:]
	}
	return weights, prefix
}

// clean removes stop words from a query; phrases keep their distances.
func clean(q *Query) *Query {
	q, _, _ = cleanNode(q)
	return q
}

// cleanNode returns q without stop words, and how much distance what was removed
// adds on the left and on the right of what remains.
func cleanNode(q *Query) (out *Query, addLeft, addRight int) {
	switch {
	case q.Op == OpValue && q.stop:
		return nil, 0, 0
	case q.Op == OpValue:
		return q, 0, 0
	case q.Op == OpNot:
		l, _, _ := cleanNode(q.Left)
		if l == nil {
			return nil, 0, 0
		}
		return &Query{Op: OpNot, Left: l}, 0, 0
	}
	phrase := q.Op == OpPhrase
	distance := 0
	if phrase {
		distance = int(q.Distance)
	}
	l, lleft, lright := cleanNode(q.Left)
	r, rleft, rright := cleanNode(q.Right)
	switch {
	case l == nil && r == nil:
		if phrase {
			// Both the distances on the left and the right of nothing.
			n := lleft + distance + rleft
			return nil, n, n
		}
		return nil, max(lleft, rleft), max(lleft, rleft)
	case l == nil:
		if phrase {
			return r, lleft + distance + rleft, rright
		}
		return r, rleft, rright
	case r == nil:
		if phrase {
			return l, lleft, lright + distance + rleft
		}
		return l, lleft, lright
	case phrase:
		d := min(distance+lright+rleft, MaxPhraseDistance)
		return &Query{Op: OpPhrase, Left: l, Right: r, Distance: uint16(d)}, lleft, rright
	}
	return &Query{Op: q.Op, Left: l, Right: r}, 0, 0
}
