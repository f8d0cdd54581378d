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
			loc := p.loc()
			p.advance()
			x = &ast.Cast{Loc: loc, Style: ast.CastColons, X: x, Type: p.typeName()}
		default:
			x = p.binary(x, pr, restricted)
		}
	}
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
		if p.peek() == '(' {
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
	case kwAt:
		if p.peek() == kwTime {
			return precAt
		}
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

// isTest parses what follows IS, and ISNULL and NOTNULL.
func (p *parser) isTest(x ast.Expr, restricted bool) ast.Expr {
	loc := p.loc()
	switch p.tok.kind {
	case kwIsnull:
		p.advance()
		return &ast.IsNull{Loc: loc, X: x}
	case kwNotnull:
		p.advance()
		return &ast.IsNull{Loc: loc, X: x, Not: true}
	}
	p.advance()
	not := p.accept(kwNot)
	switch p.tok.kind {
	case kwDistinct:
		p.advance()
		p.expect(kwFrom)
		y := p.exprPrec(precIs+1, restricted)
		p.checkNonassoc(precIs, restricted)
		return &ast.IsDistinct{Loc: loc, L: x, R: y, Not: not}
	case kwDocument:
		p.unsupported(loc.Pos, "IS DOCUMENT")
		return x
	}
	if restricted {
		p.syntaxError()
		return x
	}
	switch p.tok.kind {
	case kwNull:
		p.advance()
		return &ast.IsNull{Loc: loc, X: x, Not: not}
	case kwTrue, kwFalse, kwUnknown:
		t := &ast.IsTruth{Loc: loc, X: x, Not: not}
		switch p.tok.kind {
		case kwFalse:
			t.Test = ast.TruthFalse
		case kwUnknown:
			t.Test = ast.TruthUnknown
		}
		p.advance()
		return t
	case kwNormalized, kwNfc, kwNfd, kwNfkc, kwNfkd:
		return p.isNormalized(loc, x, not)
	}
	p.syntaxError()
	return x
}

// isNormalized parses [NFC|...] NORMALIZED after IS [NOT].
func (p *parser) isNormalized(loc ast.Loc, x ast.Expr, not bool) ast.Expr {
	f := &ast.FuncCall{Loc: loc, Syntax: ast.SyntaxIsNormalized, Name: systemFunc("is_normalized"), Args: []ast.Expr{x}}
	if p.tok.kind != kwNormalized {
		f.Args = append(f.Args, p.normalForm())
	}
	p.expect(kwNormalized)
	if not {
		return &ast.Not{Loc: loc, X: f}
	}
	return f
}

// normalForm parses a Unicode normal form as a string constant.
func (p *parser) normalForm() ast.Expr {
	loc := p.loc()
	var s string
	switch p.tok.kind {
	case kwNfc:
		s = "NFC"
	case kwNfd:
		s = "NFD"
	case kwNfkc:
		s = "NFKC"
	case kwNfkd:
		s = "NFKD"
	default:
		p.syntaxError()
		return nil
	}
	p.advance()
	return &ast.StrLit{Loc: loc, Val: s}
}

// match parses [NOT] BETWEEN, IN, LIKE, ILIKE or SIMILAR TO.
func (p *parser) match(x ast.Expr) ast.Expr {
	loc := p.loc()
	not := p.accept(kwNot)
	k := p.tok.kind
	p.advance()
	switch k {
	case kwBetween:
		return p.between(loc, x, not)
	case kwIn:
		in := &ast.In{Loc: loc, X: x, Not: not}
		g := p.parens()
		switch {
		case g.query != nil:
			in.Query = g.query
		case g.list != nil:
			in.List = g.list
		default:
			in.List = []ast.Expr{g.one}
		}
		return in
	case kwLike:
		return p.like(&ast.Like{Loc: loc, Kind: ast.LikeLike, X: x, Not: not})
	case kwIlike:
		return p.like(&ast.Like{Loc: loc, Kind: ast.LikeILike, X: x, Not: not})
	default:
		p.expect(kwTo)
		return p.like(&ast.Like{Loc: loc, Kind: ast.LikeSimilar, X: x, Not: not})
	}
}

// between parses the bounds of BETWEEN.
func (p *parser) between(loc ast.Loc, x ast.Expr, not bool) ast.Expr {
	b := &ast.Between{Loc: loc, X: x, Not: not}
	if p.accept(kwSymmetric) {
		b.Symmetric = true
	} else {
		p.accept(kwAsymmetric)
	}
	b.Lo = p.bExpr()
	p.expect(kwAnd)
	b.Hi = p.exprPrec(precMatch+1, false)
	p.checkNonassoc(precMatch, false)
	return b
}

// likeOperators are the operators that LIKE and ILIKE stand for, by kind and
// negation.
var likeOperators = [...][2]string{ast.LikeLike: {"~~", "!~~"}, ast.LikeILike: {"~~*", "!~~*"}}

// like parses the pattern of LIKE and its kin, or ANY|ALL (...).
func (p *parser) like(l *ast.Like) ast.Expr {
	switch p.tok.kind {
	case kwAny, kwSome, kwAll:
		if l.Kind != ast.LikeSimilar {
			i := 0
			if l.Not {
				i = 1
			}
			return p.quantified(l.Loc, l.X, ast.Operator{Name: likeOperators[l.Kind][i]})
		}
	}
	l.Pattern = p.exprPrec(precMatch+1, false)
	if p.accept(kwEscape) {
		l.Escape = p.exprPrec(precMatch+1, false)
	}
	p.checkNonassoc(precMatch, false)
	return l
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
