package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// funcName makes a function name of dotted parts.
func (p *parser) funcName(loc ast.Loc, parts []ast.Name) ast.FuncName {
	var f ast.FuncName
	switch len(parts) {
	case 1:
		f.Name = parts[0]
	case 2:
		f.Schema, f.Name = parts[0], parts[1]
	case 3:
		f.Catalog, f.Schema, f.Name = parts[0], parts[1], parts[2]
	default:
		p.tooManyNames(loc, parts, false)
	}
	return f
}

// call parses a call from its opening parenthesis, or type(mods) 'literal'.
func (p *parser) call(loc ast.Loc, parts []ast.Name) ast.Expr {
	f := p.application(loc, parts)
	if p.tok.kind == tokString && !f.Star && !f.Distinct && !f.Variadic && len(f.Args) > 0 {
		p.checkTypmods(f)
		return p.literalOf(&ast.TypeName{Loc: loc, Names: parts, Typmods: f.Args})
	}
	p.callSuffix(f)
	return f
}

// checkTypmods refuses the arguments of a call that a type cannot have.
func (p *parser) checkTypmods(f *ast.FuncCall) {
	for _, a := range f.Args {
		if n, ok := a.(*ast.NamedArg); ok {
			p.failf(pgerr.SyntaxError, n.Pos, "type modifier cannot have parameter name")
		}
	}
	if f.OrderBy != nil {
		p.failf(pgerr.SyntaxError, p.orderPos, "type modifier cannot have ORDER BY")
	}
}

// application parses func_application from its opening parenthesis.
func (p *parser) application(loc ast.Loc, parts []ast.Name) *ast.FuncCall {
	f := &ast.FuncCall{Loc: loc, Name: p.funcName(loc, parts)}
	p.expect('(')
	switch p.tok.kind {
	case ')':
		p.advance()
		return f
	case '*':
		if p.accept2('*', ')') {
			f.Star = true
			return f
		}
	case kwDistinct:
		p.advance()
		f.Distinct = true
	case kwAll:
		p.advance()
	}
	f.Args = make([]ast.Expr, 0, 2)
	for {
		if p.accept(kwVariadic) {
			f.Variadic = true
		}
		f.Args = append(f.Args, p.funcArg())
		if f.Variadic || !p.accept(',') {
			break
		}
	}
	if p.tok.kind == kwOrder {
		p.orderPos = p.pos()
		f.OrderBy = p.orderBy()
	}
	p.expect(')')
	return f
}

// funcArg parses an argument: x, name => x or name := x.
func (p *parser) funcArg() ast.Expr {
	if isFuncName(p.tok.kind) {
		if k := p.peek(); k == tokArrow || k == tokColonEq {
			a := &ast.NamedArg{Loc: p.loc(), Name: p.tok.str}
			p.advance()
			p.advance()
			a.X = p.expr()
			return a
		}
	}
	return p.expr()
}

// callSuffix parses WITHIN GROUP, FILTER and OVER.
func (p *parser) callSuffix(f *ast.FuncCall) {
	if p.is2(kwWithin, kwGroup) {
		p.withinGroup(f)
	}
	if p.is2(kwFilter, '(') {
		p.advance()
		p.advance()
		p.expect(kwWhere)
		f.Filter = p.expr()
		p.expect(')')
	}
	if p.tok.kind == kwOver {
		p.advance()
		f.Over = p.overSpec()
	}
}

// withinGroup parses WITHIN GROUP (ORDER BY ...).
func (p *parser) withinGroup(f *ast.FuncCall) {
	pos := p.pos()
	var clash string
	switch {
	case f.OrderBy != nil:
		clash = "cannot use multiple ORDER BY clauses with WITHIN GROUP"
	case f.Distinct:
		clash = "cannot use DISTINCT with WITHIN GROUP"
	case f.Variadic:
		clash = "cannot use VARIADIC with WITHIN GROUP"
	}
	p.advance()
	p.advance()
	p.expect('(')
	f.OrderBy = p.orderBy()
	f.WithinGroup = true
	p.expect(')')
	if clash != "" {
		p.failf(pgerr.SyntaxError, pos, "%s", clash)
	}
}

// typeFuncPrimary parses an operand that begins with a keyword of the class of
// function and type names.
func (p *parser) typeFuncPrimary() ast.Expr {
	t := p.tok
	loc := p.loc()
	next := p.peek()
	switch {
	case t.kind == kwCurrentSchema && next != '(' && next != tokString:
		return p.sqlValue(ast.CurrentSchema)
	case t.kind == kwCollation && next == kwFor:
		p.advance()
		p.advance()
		p.expect('(')
		x := p.expr()
		p.expect(')')
		return &ast.FuncCall{
			Loc: loc, Syntax: ast.SyntaxCollationFor, Name: systemFunc("pg_collation_for"), Args: []ast.Expr{x},
		}
	}
	p.advance()
	switch p.tok.kind {
	case '(':
		return p.call(loc, []ast.Name{t.str})
	case tokString:
		return p.literalOf(&ast.TypeName{Loc: loc, Names: []ast.Name{t.str}})
	}
	p.syntaxError()
	return nil
}

// colNamePrimary parses an operand that begins with a keyword of the class of
// column names: the special functions and types, or a column after all.
func (p *parser) colNamePrimary() ast.Expr {
	if p.startsTypedLiteral() {
		return p.typedLiteral()
	}
	if p.is2(kwGrouping, '(') {
		loc := p.loc()
		p.advance()
		return &ast.Grouping{Loc: loc, Args: p.parenExprList()}
	}
	if p.peek() == '(' {
		return p.specialCall()
	}
	loc := p.loc()
	first := p.tok.str
	p.advance()
	if p.tok.kind == '.' {
		return p.dottedName(loc, first)
	}
	return p.indirection(&ast.ColumnRef{Loc: loc, Column: first})
}

// specialCall parses a keyword that is called like a function.
func (p *parser) specialCall() ast.Expr {
	loc := p.loc()
	k := p.tok.kind
	if k >= kwXmlattributes && k <= kwXmltable {
		return p.xml(loc, "EXPRESSION")
	}
	p.advance()
	switch k {
	case kwCoalesce:
		return &ast.Coalesce{Loc: loc, Args: p.parenExprList()}
	case kwGreatest, kwLeast:
		return &ast.MinMax{Loc: loc, Least: k == kwLeast, Args: p.parenExprList()}
	case kwExists:
		return &ast.Subquery{Loc: loc, Kind: ast.SubqueryExists, Query: p.parenQuery()}
	case kwRow:
		p.advance()
		r := &ast.Row{Loc: loc, Explicit: true}
		if p.tok.kind != ')' {
			r.Elems = p.exprList()
		}
		p.expect(')')
		return p.overlaps(r)
	}
	if !isSpecialCall(k) {
		p.syntaxError()
		return nil
	}
	p.advance() // the parenthesis
	x := p.specialArgs(loc, k)
	p.expect(')')
	return x
}

// isSpecialCall reports whether a keyword of the class of column names is called
// like a function.
func isSpecialCall(k kind) bool {
	switch k {
	case kwCoalesce, kwGreatest, kwLeast, kwExists, kwRow, kwGrouping, kwNullif, kwExtract, kwOverlay,
		kwPosition, kwSubstring, kwTrim, kwNormalize, kwTreat:
		return true
	}
	return k == kwXmltable || k >= kwXmlattributes && k <= kwXmlserialize
}

// specialArgs parses the arguments, in a grammar of their own, of the function
// that keyword k calls.
func (p *parser) specialArgs(loc ast.Loc, k kind) ast.Expr {
	switch k {
	case kwNullif:
		n := &ast.NullIf{Loc: loc}
		n.L = p.expr()
		p.expect(',')
		n.R = p.expr()
		return n
	case kwExtract:
		return p.extractArgs(loc)
	case kwOverlay:
		return p.overlayArgs(loc)
	case kwPosition:
		needle := p.bExpr()
		p.expect(kwIn)
		hay := p.bExpr()
		return &ast.FuncCall{
			Loc: loc, Syntax: ast.SyntaxPosition, Name: systemFunc("position"), Args: []ast.Expr{hay, needle},
		}
	case kwSubstring:
		return p.substringArgs(loc)
	case kwTrim:
		return p.trimArgs(loc)
	case kwNormalize:
		f := &ast.FuncCall{
			Loc: loc, Syntax: ast.SyntaxNormalize, Name: systemFunc("normalize"), Args: []ast.Expr{p.expr()},
		}
		if p.accept(',') {
			f.Args = append(f.Args, p.normalForm())
		}
		return f
	default:
		return p.treatArgs(loc)
	}
}

// extractArgs parses field FROM x.
func (p *parser) extractArgs(loc ast.Loc) ast.Expr {
	field := &ast.StrLit{Loc: p.loc(), Val: p.tok.str}
	switch p.tok.kind {
	case tokIdent, tokString, kwYear, kwMonth, kwDay, kwHour, kwMinute, kwSecond:
		p.advance()
	default:
		p.syntaxError()
	}
	p.expect(kwFrom)
	return &ast.FuncCall{
		Loc: loc, Syntax: ast.SyntaxExtract, Name: systemFunc("extract"), Args: []ast.Expr{field, p.expr()},
	}
}

// overlayArgs parses a PLACING b FROM c [FOR d], or a plain argument list.
func (p *parser) overlayArgs(loc ast.Loc) ast.Expr {
	f := p.plainArgs(loc, "overlay")
	if len(f.Args) == 1 && p.accept(kwPlacing) {
		f.Syntax, f.Name = ast.SyntaxOverlay, systemFunc("overlay")
		f.Args = append(f.Args, p.expr())
		p.expect(kwFrom)
		f.Args = append(f.Args, p.expr())
		if p.accept(kwFor) {
			f.Args = append(f.Args, p.expr())
		}
	}
	return f
}

// plainArgs parses the arguments of a keyword function that is called as any
// other, up to the closing parenthesis or another word.
func (p *parser) plainArgs(loc ast.Loc, name ast.Name) *ast.FuncCall {
	f := &ast.FuncCall{Loc: loc, Name: ast.FuncName{Name: name}}
	if p.tok.kind == ')' {
		return f
	}
	for {
		f.Args = append(f.Args, p.funcArg())
		if !p.accept(',') {
			return f
		}
	}
}

// substringArgs parses a FROM b FOR c in its variants, or a plain argument list.
func (p *parser) substringArgs(loc ast.Loc) ast.Expr {
	f := p.plainArgs(loc, "substring")
	if len(f.Args) != 1 {
		return f
	}
	switch p.tok.kind {
	case kwFrom:
		p.advance()
		f.Args = append(f.Args, p.expr())
		if p.accept(kwFor) {
			f.Args = append(f.Args, p.expr())
		}
	case kwFor:
		p.advance()
		length := p.expr()
		if p.accept(kwFrom) {
			f.Args = append(f.Args, p.expr(), length)
			break
		}
		// Without FROM the length must not be taken for a pattern.
		int4 := &ast.TypeName{Names: []ast.Name{"pg_catalog", "int4"}}
		f.Args = append(f.Args, &ast.IntLit{Val: 1}, &ast.Cast{X: length, Type: int4})
	case kwSimilar:
		p.advance()
		f.Args = append(f.Args, p.expr())
		p.expect(kwEscape)
		f.Args = append(f.Args, p.expr())
		f.Syntax, f.Name = ast.SyntaxSubstringSimilar, systemFunc("substring")
		return f
	default:
		return f
	}
	f.Syntax, f.Name = ast.SyntaxSubstring, systemFunc("substring")
	return f
}

// trimArgs parses [BOTH|LEADING|TRAILING] [a FROM] b.
func (p *parser) trimArgs(loc ast.Loc) ast.Expr {
	f := &ast.FuncCall{Loc: loc, Syntax: ast.SyntaxTrimBoth, Name: systemFunc("btrim")}
	switch p.tok.kind {
	case kwBoth:
		p.advance()
	case kwLeading:
		p.advance()
		f.Syntax, f.Name = ast.SyntaxTrimLeading, systemFunc("ltrim")
	case kwTrailing:
		p.advance()
		f.Syntax, f.Name = ast.SyntaxTrimTrailing, systemFunc("rtrim")
	}
	if p.accept(kwFrom) {
		f.Args = p.exprList()
		return f
	}
	f.Args = p.exprList()
	if len(f.Args) == 1 && p.accept(kwFrom) {
		f.Args = append(p.exprList(), f.Args[0])
	}
	return f
}

// treatArgs parses x AS type: a call of the function named as the type.
func (p *parser) treatArgs(loc ast.Loc) ast.Expr {
	x := p.expr()
	p.expect(kwAs)
	t := p.typeName()
	f := &ast.FuncCall{Loc: loc, Args: []ast.Expr{x}}
	if p.err == nil {
		f.Name = systemFunc(t.Names[len(t.Names)-1])
	}
	return f
}
