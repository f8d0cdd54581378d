package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// prec is the binding strength of an operator, PostgreSQL's order.
type prec uint8

const (
	precNone    prec = iota
	precOr           // left
	precAnd          // left
	precNot          // prefix
	precIs           // IS, ISNULL, NOTNULL; not associative
	precCompare      // < > = <= >= <>; not associative
	precMatch        // BETWEEN IN LIKE ILIKE SIMILAR; not associative
	precEscape       // ESCAPE
	precOp           // all other operators; left, and prefix
	precAdd          // left
	precMul          // left
	precPow          // left
	precAt           // AT TIME ZONE; left
	precCollate      // postfix
	precUnary        // prefix + and -
	precCast         // postfix ::
)

// expr parses a_expr of PostgreSQL's grammar.
func (p *parser) expr() ast.Expr { return p.exprPrec(precNone, false) }

// bExpr parses b_expr: an expression without the operators that are words,
// where one of those words may follow.
func (p *parser) bExpr() ast.Expr { return p.exprPrec(precNone, true) }

// exprPrec parses an expression whose operators bind at least as strongly as
// min.
func (p *parser) exprPrec(min prec, restricted bool) ast.Expr {
	if !p.enter() {
		return nil
	}
	x := p.infix(p.prefix(restricted), min, restricted)
	p.leave()
	return x
}

// exprList parses one or more expressions separated by commas.
func (p *parser) exprList() []ast.Expr {
	list := make([]ast.Expr, 0, 4)
	for {
		list = append(list, p.expr())
		if !p.accept(',') {
			return list
		}
	}
}

// parenExprList parses ( expressions ).
func (p *parser) parenExprList() []ast.Expr {
	p.expect('(')
	list := p.exprList()
	p.expect(')')
	return list
}

// prefix parses an operand with the operators before it.
func (p *parser) prefix(restricted bool) ast.Expr {
	switch p.tok.kind {
	case '-':
		loc := p.loc()
		p.advance()
		return negate(loc, p.exprPrec(precUnary, restricted))
	case '+':
		loc := p.loc()
		p.advance()
		return &ast.UnaryOp{Loc: loc, Op: ast.Operator{Name: "+"}, X: p.exprPrec(precUnary, restricted)}
	case kwNot:
		if !restricted {
			loc := p.loc()
			p.advance()
			return &ast.Not{Loc: loc, X: p.exprPrec(precNot, false)}
		}
	case tokOp:
		loc := p.loc()
		op := p.operator()
		return &ast.UnaryOp{Loc: loc, Op: op, X: p.exprPrec(precOp+1, restricted)}
	case kwOperator:
		if p.peek() == '(' {
			loc := p.loc()
			op := p.operator()
			return &ast.UnaryOp{Loc: loc, Op: op, X: p.exprPrec(precOp+1, restricted)}
		}
	case kwDefault:
		if !restricted {
			loc := p.loc()
			p.advance()
			return &ast.DefaultExpr{Loc: loc}
		}
	}
	return p.primary()
}

// negate folds a minus into a number, as PostgreSQL does, so that the smallest
// integers are constants.
func negate(loc ast.Loc, x ast.Expr) ast.Expr {
	switch n := x.(type) {
	case *ast.IntLit:
		if n.Val == -1<<63 {
			return &ast.NumLit{Loc: loc, Text: "9223372036854775808"}
		}
		return &ast.IntLit{Loc: loc, Val: -n.Val}
	case *ast.NumLit:
		if n.Text[0] == '-' {
			return &ast.NumLit{Loc: loc, Text: n.Text[1:]}
		}
		if n.Text == "9223372036854775808" {
			return &ast.IntLit{Loc: loc, Val: -1 << 63}
		}
		return &ast.NumLit{Loc: loc, Text: "-" + n.Text}
	}
	return &ast.UnaryOp{Loc: loc, Op: ast.Operator{Name: "-"}, X: x}
}

// infix parses the operators after x that bind at least as strongly as min.
func (p *parser) infix(x ast.Expr, min prec, restricted bool) ast.Expr {
	for {
		pr := p.infixPrec(restricted)
		if pr == precNone || pr < min || p.depth == p.labelDepth && p.isLabel() {
			return x
		}
		p.chained++
		switch pr {
		case precOr, precAnd:
			x = p.logical(x, pr)
		case precIs:
			x = p.isTest(x, restricted)
		case precMatch:
			x = p.match(x)
		case precAt:
			x = p.atTimeZone(x)
		case precCollate:
			loc := p.loc()
			p.advance()
			x = &ast.Collate{Loc: loc, X: x, Name: p.anyName()}
		case precCast:
			x = p.cast(x)
		default:
			x = p.binary(x, pr, restricted)
		}
	}
}

// cast parses what follows x: ::type, or the dialect's :::type.
func (p *parser) cast(x ast.Expr) ast.Expr {
	loc, end := p.loc(), p.tok.end
	p.advance()
	if p.tok.kind == ':' && p.tok.start == end && p.extends(ExtAnnotation) {
		p.advance()
	}
	return &ast.Cast{Loc: loc, Style: ast.CastColons, X: x, Type: p.typeName()}
}

// isLabel reports whether the next token, an operator, is in fact the label of
// a select item: SELECT a is, b FROM t.
func (p *parser) isLabel() bool {
	if !isKeyword(p.tok.kind) || !isBareLabel(p.tok.kind) {
		return false
	}
	switch p.peek() {
	case tokEOF, ';', ',', ')', kwFrom, kwInto, kwWhere, kwGroup, kwHaving, kwWindow, kwUnion, kwIntersect,
		kwExcept, kwOrder, kwLimit, kwOffset, kwFetch, kwFor:
		return true
	}
	return false
}

// infixPrec returns how strongly the next token binds as an operator after an
// operand; precNone when it is none.
func (p *parser) infixPrec(restricted bool) prec {
	switch p.tok.kind {
	case '=', '<', '>', tokLE, tokGE, tokNE:
		return precCompare
	case '+', '-':
		return precAdd
	case '*', '/', '%':
		return precMul
	case '^':
		return precPow
	case tokOp:
		return precOp
	case kwOperator:
		if p.is2(kwOperator, '(') {
			return precOp
		}
	case tokCast:
		return precCast
	case kwIs:
		return precIs
	}
	if restricted || !isKeyword(p.tok.kind) {
		return precNone
	}
	return p.wordPrec()
}

// wordPrec is infixPrec for operators that are words.
func (p *parser) wordPrec() prec {
	switch p.tok.kind {
	case kwAnd:
		return precAnd
	case kwOr:
		return precOr
	case kwIsnull, kwNotnull:
		return precIs
	case kwBetween, kwIn, kwLike, kwIlike:
		return precMatch
	case kwSimilar:
		if p.is2(kwSimilar, kwTo) {
			return precMatch
		}
	case kwNot:
		switch p.peek() {
		case kwBetween, kwIn, kwLike, kwIlike, kwSimilar:
			return precMatch
		}
	case kwAt: // no name of an output: only AT TIME ZONE may follow
		return precAt
	case kwCollate:
		return precCollate
	}
	return precNone
}

// logical parses AND or OR and its right operand; chains become one node.
func (p *parser) logical(x ast.Expr, pr prec) ast.Expr {
	loc := p.loc()
	p.advance()
	y := p.exprPrec(pr+1, false)
	if pr == precAnd {
		if and, ok := x.(*ast.And); ok {
			and.Args = append(and.Args, y)
			return and
		}
		return &ast.And{Loc: loc, Args: []ast.Expr{x, y}}
	}
	if or, ok := x.(*ast.Or); ok {
		or.Args = append(or.Args, y)
		return or
	}
	return &ast.Or{Loc: loc, Args: []ast.Expr{x, y}}
}

// binary parses an operator and its right operand, or ANY|ALL (...) after it.
func (p *parser) binary(x ast.Expr, pr prec, restricted bool) ast.Expr {
	loc := p.loc()
	op := p.operator()
	if !restricted {
		switch p.tok.kind {
		case kwAny, kwSome, kwAll:
			return p.quantified(loc, x, op)
		}
	}
	b := &ast.BinaryOp{Loc: loc, Op: op, L: x}
	b.R = p.exprPrec(pr+1, restricted)
	if pr == precCompare {
		p.checkNonassoc(pr, restricted)
	}
	return b
}

// checkNonassoc refuses a second operator of a class that does not chain.
func (p *parser) checkNonassoc(pr prec, restricted bool) {
	if p.infixPrec(restricted) == pr {
		p.syntaxError()
	}
}

// operator consumes an operator: a symbol or OPERATOR(schema.symbol).
func (p *parser) operator() ast.Operator {
	if p.tok.kind != kwOperator {
		return ast.Operator{Name: p.operatorSymbol()}
	}
	p.advance()
	p.expect('(')
	var op ast.Operator
	if isColID(p.tok.kind) {
		op.Schema = p.colID()
		p.expect('.')
	}
	op.Name = p.operatorSymbol()
	p.expect(')')
	return op
}

// operatorSymbol consumes an operator written as a symbol.
func (p *parser) operatorSymbol() string {
	var s string
	switch p.tok.kind {
	case '=':
		s = "="
	case '<':
		s = "<"
	case '>':
		s = ">"
	case '+':
		s = "+"
	case '-':
		s = "-"
	case '*':
		s = "*"
	case '/':
		s = "/"
	case '%':
		s = "%"
	case '^':
		s = "^"
	case tokLE:
		s = "<="
	case tokGE:
		s = ">="
	case tokNE:
		s = "<>"
	case tokOp:
		s = p.tok.str
	default:
		p.syntaxError()
		return ""
	}
	p.advance()
	return s
}

// quantified parses ANY|SOME|ALL (subquery or array) after an operator.
func (p *parser) quantified(loc ast.Loc, x ast.Expr, op ast.Operator) ast.Expr {
	q := &ast.Quantified{Loc: loc, L: x, Op: op, All: p.tok.kind == kwAll}
	p.advance()
	g := p.parensOf(false)
	q.Query, q.Array = g.query, g.one
	return q
}

// atTimeZone parses AT TIME ZONE x.
func (p *parser) atTimeZone(x ast.Expr) ast.Expr {
	loc := p.loc()
	p.advance()
	p.advance()
	p.expect(kwZone)
	zone := p.exprPrec(precAt+1, false)
	return &ast.FuncCall{
		Loc: loc, Syntax: ast.SyntaxAtTimeZone, Name: systemFunc("timezone"), Args: []ast.Expr{zone, x},
	}
}

// systemFunc names a built-in function that a special syntax calls.
func systemFunc(name string) ast.FuncName { return ast.FuncName{Schema: "pg_catalog", Name: name} }
