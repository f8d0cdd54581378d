// Package boolquery is a condition of operands with & (and), | (or), ! (not) and parentheses, as the types ltxtquery and query_int
// have it. What the operands are is up to its users: package ltree has words, package intquery integers.
//
//	text ─▶ Parse (with a Scanner of operands) ─▶ Query ─▶ Matches, AppendText
//
// Invariants:
//
//  1. Parse takes what AppendText writes, and makes the same query of it (TestRoundTrip of its users).
//  2. No text makes a query of more than MaxOperators, or with parentheses nested deeper than MaxDepth.
package boolquery

import (
	"errors"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The limits of a query.
const (
	MaxOperators = 100_000
	MaxDepth     = 1000 // of parentheses and !
)

// Query is a condition. Op is 0 for an operand, '!' for one that has only Left, '&' or '|'.
type Query[T any] struct {
	Op          byte
	Operand     T
	Left, Right *Query[T]
}

// Scanner reads the operand that a text begins with, and returns what follows it. It returns ErrNone where none begins.
type Scanner[T any] func(s string) (operand T, rest string, err error)

// ErrNone says that no operand begins.
var ErrNone = errors.New("no operand")

// ErrSyntax is the error for text that is no query.
var ErrSyntax = pgerr.New(pgerr.SyntaxError, "syntax error")

// Syntax is what queries of a type have of their own.
type Syntax[T any] struct {
	Scan Scanner[T]
	// Missing is the error where an operand should begin and none does.
	Missing error
	// Blanks may stand before an operand; before an operator only spaces may.
	Blanks string
}

type parser[T any] struct {
	*Syntax[T]
	s     string
	step  func(int) error
	depth int
	ops   int
}

// Parse reads a query. It calls step with the number of bytes of each operand, and ends with its error.
func (x *Syntax[T]) Parse(s string, step func(int) error) (*Query[T], error) {
	p := &parser[T]{Syntax: x, s: s, step: step}
	q, err := p.or()
	if err != nil {
		return nil, err
	}
	if strings.TrimLeft(p.s, " ") != "" {
		return nil, ErrSyntax
	}
	return q, nil
}

// sign reads an operator or a parenthesis behind blanks, if it comes next.
func (p *parser[T]) sign(c byte, blanks string) bool {
	p.s = strings.TrimLeft(p.s, blanks)
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

// or reads operands of |, which go together from the left.
func (p *parser[T]) or() (*Query[T], error) { return p.list('|', p.and) }

func (p *parser[T]) and() (*Query[T], error) { return p.list('&', p.not) }

func (p *parser[T]) list(op byte, part func() (*Query[T], error)) (*Query[T], error) {
	q, err := part()
	for err == nil && p.sign(op, " ") {
		if p.ops++; p.ops > MaxOperators {
			return nil, pgerr.New(pgerr.StatementTooComplex, "a query of more than %d operators is too complex", MaxOperators)
		}
		var right *Query[T]
		if right, err = part(); err == nil {
			q = &Query[T]{Op: op, Left: q, Right: right}
		}
	}
	return q, err
}

func (p *parser[T]) not() (*Query[T], error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, pgerr.New(pgerr.StatementTooComplex, "a query that is nested deeper than %d is too complex", MaxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.sign('!', p.Blanks):
		q, err := p.not()
		if err != nil {
			return nil, err
		}
		return &Query[T]{Op: '!', Left: q}, nil
	case p.sign('(', p.Blanks):
		q, err := p.or()
		if err == nil && !p.sign(')', " ") {
			err = ErrSyntax
		}
		return q, err
	}
	operand, rest, err := p.Scan(p.s)
	switch {
	case errors.Is(err, ErrNone):
		return nil, p.Missing
	case err != nil:
		return nil, err
	}
	err = p.step(len(p.s) - len(rest))
	p.s = rest
	return &Query[T]{Operand: operand}, err
}

// Matches reports whether the query holds for what holds says of its operands.
func (q *Query[T]) Matches(holds func(operand *T) bool) bool {
	switch q.Op {
	case '!':
		return !q.Left.Matches(holds)
	case '&':
		return q.Left.Matches(holds) && q.Right.Matches(holds)
	case '|':
		return q.Left.Matches(holds) || q.Right.Matches(holds)
	}
	return holds(&q.Operand)
}

// AppendText appends the text of the query, with parentheses where PostgreSQL has them: around each | within another operator.
func (q *Query[T]) AppendText(dst []byte, operand func(dst []byte, x *T) []byte) []byte {
	return q.append(dst, operand, true)
}

func (q *Query[T]) append(dst []byte, operand func(dst []byte, x *T) []byte, first bool) []byte {
	switch q.Op {
	case 0:
		return operand(dst, &q.Operand)
	case '!':
		dst = append(dst, '!')
		if q.Left.Op == 0 {
			return q.Left.append(dst, operand, false)
		}
		return append(q.Left.append(append(dst, "( "...), operand, true), " )"...)
	}
	within := q.Op == '|' && !first
	if within {
		dst = append(dst, "( "...)
	}
	dst = append(q.Left.append(dst, operand, false), ' ', q.Op, ' ')
	if dst = q.Right.append(dst, operand, false); within {
		dst = append(dst, " )"...)
	}
	return dst
}
