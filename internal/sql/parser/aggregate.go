package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// createAggregate parses CREATE AGGREGATE from that word on.
func (p *parser) createAggregate(loc ast.Loc, orReplace bool) ast.Statement {
	p.advance()
	s := &ast.CreateAggregate{Loc: loc, OrReplace: orReplace, Name: p.routineName()}
	if p.tok.kind != '(' {
		p.syntaxError()
		return s
	}
	start := *p
	p.advance()
	s.Old = isColLabel(p.tok.kind) && p.peek() == '='
	*p = start
	if !s.Old {
		s.Args = p.aggregateArgs()
	}
	p.expect('(')
	for p.err == nil {
		s.Options = append(s.Options, p.aggregateOption(s.Old))
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return s
}

// aggregateArgs parses aggr_args.
func (p *parser) aggregateArgs() (a ast.AggregateArgs) {
	p.expect('(')
	switch {
	case p.accept('*'):
		a.Star = true
	case p.tok.kind == kwOrder:
	default:
		a.Params = p.aggregateParams()
	}
	if !a.Star && p.accept2(kwOrder, kwBy) {
		a.Ordered = p.aggregateParams()
	}
	p.expect(')')
	return a
}

func (p *parser) aggregateParams() (list []ast.RoutineParam) {
	for p.err == nil {
		r := p.routineParam()
		if r.Default != nil && p.err == nil { // the grammar has none
			p.failf(pgerr.SyntaxError, r.Pos, "syntax error at or near \"DEFAULT\"")
		}
		list = append(list, r)
		if !p.accept(',') {
			break
		}
	}
	return list
}

// aggregateOption parses name [= value].
func (p *parser) aggregateOption(old bool) ast.AggregateOption {
	o := ast.AggregateOption{Loc: p.loc(), Name: p.colLabel()}
	if !p.accept('=') {
		if old {
			p.syntaxError()
		}
		return o
	}
	next := p.peek()
	switch k := p.tok.kind; {
	case k == tokInt, k == tokNum, (k == '+' || k == '-') && (next == tokInt || next == tokNum):
		o.Value = p.numericOnly()
	case k == tokString:
		o.Value = p.strLit()
	case k == kwOperator && next == '(', !isColLabel(k):
		op := p.operator()
		o.Operator = &op
	case k == kwNone, isReserved(k):
		o.Word = p.colLabel()
	default:
		o.Type = p.funcType()
	}
	return o
}

// aggregateRef parses an aggregate's name with its arguments, as statements that change it have it.
func (p *parser) aggregateRef() ast.RoutineRef {
	r := ast.RoutineRef{Loc: p.loc(), Name: p.routineName()}
	a := p.aggregateArgs()
	r.Star, r.Params, r.Direct = a.Star, append(a.Params, a.Ordered...), len(a.Params)
	return r
}
