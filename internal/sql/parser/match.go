package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

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
		p.unsupportedLate(loc.Pos, "IS DOCUMENT")
		p.advance()
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
