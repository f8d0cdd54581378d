package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// onOperator reports whether the statement is about an operator, not about a class or a family of some.
func (p *parser) onOperator() bool {
	k := p.peek()
	return p.tok.kind == kwOperator && k != kwClass && k != kwFamily
}

// createOperator parses CREATE OPERATOR from OPERATOR on.
func (p *parser) createOperator(loc ast.Loc) ast.Statement {
	p.advance()
	s := &ast.CreateOperator{Loc: loc, Name: p.anyOperator()}
	p.expect('(')
	s.Options = p.operatorOptions(false)
	p.expect(')')
	return s
}

// operatorOptions parses a list of options; with valued each must have a value.
func (p *parser) operatorOptions(valued bool) (list []ast.AggregateOption) {
	for p.err == nil {
		list = append(list, p.aggregateOption(valued))
		if !p.accept(',') {
			break
		}
	}
	return list
}

// anyOperator parses the name of an operator with its schema.
func (p *parser) anyOperator() ast.TableName {
	n := ast.TableName{Loc: p.loc()}
	for isColID(p.tok.kind) && p.err == nil {
		n.Catalog, n.Schema = n.Schema, p.colID()
		p.expect('.')
	}
	n.Table = p.operatorSymbol()
	return n
}

// operatorRef parses an operator with its operands, as statements that change it have it.
func (p *parser) operatorRef() ast.RoutineRef {
	r := ast.RoutineRef{Loc: p.loc(), Name: p.anyOperator()}
	p.expect('(')
	operand := func() {
		r.Params = append(r.Params, ast.RoutineParam{Loc: p.loc(), Mode: ast.ParamIn, Type: p.typeName()})
	}
	if r.Prefix = p.accept(kwNone); !r.Prefix {
		operand()
	}
	if !r.Prefix && p.tok.kind == ')' {
		p.oneOperandType()
	}
	p.expect(',')
	if !r.Prefix && p.accept(kwNone) {
		p.fail(pgerr.New(pgerr.SyntaxError, "postfix operators are not supported"), 0)
	} else {
		operand()
	}
	p.expect(')')
	return r
}
