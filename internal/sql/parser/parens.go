package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// group is what stood between parentheses: a query, one expression, or a list
// of several.
type group struct {
	query *ast.Select
	one   ast.Expr
	list  []ast.Expr
}

// parens parses ( query ) or ( expressions ). Where a query begins with more
// parentheses, only what follows them tells the two apart.
func (p *parser) parens() group { return p.parensOf(true) }

// parensOf is parens that takes a list of several expressions only if many.
func (p *parser) parensOf(many bool) group {
	p.expect('(')
	if !p.enter() {
		return group{}
	}
	defer p.leave()
	if p.startsQuery() {
		g := group{query: p.query()}
		p.expect(')')
		return g
	}
	if p.tok.kind != '(' || !p.parensHoldQuery() {
		return p.parensRest(p.expr(), many)
	}
	loc := p.loc()
	inner := p.parens()
	if inner.query != nil && p.continuesQuery() {
		g := group{query: p.queryTail(p.setOps(inner.query, 0), nil)}
		p.expect(')')
		return g
	}
	if inner.query != nil && p.tok.kind == ')' {
		p.advance()
		return inner
	}
	x := p.groupExpr(loc, inner)
	return p.parensRest(p.infix(x, precNone, false), many)
}

// parensRest parses the rest of ( x, ... ).
func (p *parser) parensRest(x ast.Expr, many bool) group {
	if p.accept(')') {
		return group{one: x}
	}
	if !many {
		p.syntaxError()
		return group{}
	}
	list := []ast.Expr{x}
	for p.accept(',') {
		list = append(list, p.expr())
	}
	p.expect(')')
	return group{list: list}
}

// startsQuery reports whether the next token begins a query.
func (p *parser) startsQuery() bool {
	switch p.tok.kind {
	case kwSelect, kwWith, kwTable:
		return true
	case kwValues:
		return p.peek() == '('
	}
	return false
}

// continuesQuery reports whether the next token goes on with a query after its
// closing parenthesis.
func (p *parser) continuesQuery() bool {
	switch p.tok.kind {
	case kwUnion, kwIntersect, kwExcept, kwOrder, kwLimit, kwOffset, kwFetch, kwFor:
		return true
	}
	return false
}

// parensHoldQuery reports whether the parentheses that begin with the next
// token hold a query behind them. The answer is the same for all of a run of
// parentheses, so it is kept until the run ends.
func (p *parser) parensHoldQuery() bool {
	if p.tok.start >= p.runEnd {
		p.scanRun()
	}
	return p.runIsQuery
}

// scanRun looks at what follows the run of parentheses that begins here.
func (p *parser) scanRun() {
	l := p.scan()
	t := l.next()
	for t.kind == '(' {
		t = l.next()
	}
	p.runEnd = t.start
	switch t.kind {
	case kwSelect, kwWith, kwTable:
		p.runIsQuery = true
	case kwValues:
		p.runIsQuery = l.next().kind == '('
	default:
		p.runIsQuery = false
	}
}

// parenthesised parses an operand in parentheses: an expression, a row or a
// query, with subscripts and fields after it.
func (p *parser) parenthesised() ast.Expr {
	loc := p.loc()
	return p.groupExpr(loc, p.parens())
}

// groupExpr makes an operand of a group.
func (p *parser) groupExpr(loc ast.Loc, g group) ast.Expr {
	switch {
	case g.query != nil:
		return p.indirection(&ast.Subquery{Loc: loc, Query: g.query})
	case g.list != nil:
		return p.overlaps(&ast.Row{Loc: loc, Elems: g.list})
	default:
		return p.indirection(g.one)
	}
}

// parenQuery parses a query in parentheses.
func (p *parser) parenQuery() *ast.Select {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	p.expect('(')
	var s *ast.Select
	switch {
	case p.startsQuery():
		s = p.query()
	case p.tok.kind == '(':
		s = p.parenQuery()
		if p.continuesQuery() {
			s = p.queryTail(p.setOps(s, 0), nil)
		}
	default:
		p.syntaxError()
	}
	p.expect(')')
	return s
}
