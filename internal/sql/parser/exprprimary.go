package parser

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxBlock is how many constants are allocated at a time: statements that insert
// many rows consist of little else.
const maxBlock = 128

// newInt returns a constant from a block, which grows with their number.
func (p *parser) newInt(loc ast.Loc, v int64) *ast.IntLit {
	n := len(p.ints)
	if n == cap(p.ints) {
		p.ints, n = make([]ast.IntLit, 0, min(max(1, 2*n), maxBlock)), 0
	}
	p.ints = append(p.ints, ast.IntLit{Loc: loc, Val: v})
	return &p.ints[n]
}

// newStr is newInt for a string.
func (p *parser) newStr(loc ast.Loc, v string) *ast.StrLit {
	n := len(p.strs)
	if n == cap(p.strs) {
		p.strs, n = make([]ast.StrLit, 0, min(max(1, 2*n), maxBlock)), 0
	}
	p.strs = append(p.strs, ast.StrLit{Loc: loc, Val: v})
	return &p.strs[n]
}

// primary parses c_expr: an operand without operators.
func (p *parser) primary() ast.Expr {
	loc := p.loc()
	t := p.tok
	switch t.kind {
	case tokInt:
		p.advance()
		return p.newInt(loc, t.num)
	case tokString:
		p.advance()
		return p.newStr(loc, t.str)
	case tokNum:
		p.advance()
		return &ast.NumLit{Loc: loc, Text: t.str}
	case tokParam:
		return p.param()
	case tokIdent:
		return p.name()
	case '(':
		return p.parenthesised()
	case tokBit, tokHex:
		p.advance()
		if b, ok := escapedBytes(t.str); ok && t.kind == tokBit && !p.strict {
			if strings.Contains(t.str, `\'`) {
				p.extends(ExtBytesQuote)
			}
			return bytesLiteral(loc, b)
		}
		return &ast.BitLit{Loc: loc, Val: t.str, Hex: t.kind == tokHex}
	}
	if !isKeyword(t.kind) {
		p.syntaxError()
		return nil
	}
	switch class(t.kind) {
	case ast.Unreserved:
		if t.kind == kwDouble && p.peek() == kwPrecision {
			return p.typedLiteral()
		}
		return p.name()
	case ast.ColName:
		return p.colNamePrimary()
	case ast.TypeFuncName:
		return p.typeFuncPrimary()
	default:
		return p.reservedPrimary()
	}
}

// param parses $n.
func (p *parser) param() ast.Expr {
	loc, n := p.loc(), p.tok.num
	if n < 1 || n > MaxParam {
		p.failLate(pgerr.New(pgerr.UndefinedParameter, "there is no parameter %s", p.lex.sql[p.tok.start:p.tok.end]), loc.Pos)
		n = 1
	}
	p.advance()
	if int(n) > p.numParams {
		p.numParams = int(n)
	}
	return p.indirection(&ast.Param{Loc: loc, N: int(n)})
}

// overlaps parses OVERLAPS row, if it follows a row.
func (p *parser) overlaps(row *ast.Row) ast.Expr {
	if p.tok.kind != kwOverlaps {
		return row
	}
	f := &ast.FuncCall{Loc: row.Loc, Syntax: ast.SyntaxOverlaps, Name: systemFunc("overlaps")}
	if len(row.Elems) != 2 {
		p.failf(pgerr.SyntaxError, row.Pos, "wrong number of parameters on left side of OVERLAPS expression")
		return f
	}
	p.advance()
	right := p.row()
	if p.err == nil && len(right.Elems) != 2 {
		p.failf(pgerr.SyntaxError, right.Pos, "wrong number of parameters on right side of OVERLAPS expression")
	}
	if p.err == nil {
		f.Args = []ast.Expr{row.Elems[0], row.Elems[1], right.Elems[0], right.Elems[1]}
	}
	return f
}

// row parses ROW(...) or (a, b, ...).
func (p *parser) row() *ast.Row {
	r := &ast.Row{Loc: p.loc()}
	if p.accept(kwRow) {
		r.Explicit = true
		p.expect('(')
		if p.tok.kind != ')' {
			r.Elems = p.exprList()
		}
		p.expect(')')
		return r
	}
	g := p.parens()
	if g.list == nil {
		p.syntaxError()
	}
	r.Elems = g.list
	return r
}

// indirection parses subscripts and field selections after x.
func (p *parser) indirection(x ast.Expr) ast.Expr {
	for {
		switch p.tok.kind {
		case '[':
			s := &ast.Subscript{Loc: p.loc(), X: x}
			for p.tok.kind == '[' {
				s.Indexes = append(s.Indexes, p.subscript())
			}
			x = s
		case '.':
			f := &ast.FieldSelect{Loc: p.loc(), X: x}
			p.advance()
			if p.accept('*') {
				f.Star = true
				p.endStar()
				return f
			}
			f.Field = p.colLabel()
			x = f
		default:
			return x
		}
		p.chained++
	}
}

// endStar refuses subscripts and fields after a star.
func (p *parser) endStar() {
	if p.tok.kind != '.' && p.tok.kind != '[' {
		return
	}
	p.indirection(nil)
	p.errorHere(`improper use of "*"`)
}

// subscript parses [i] or [i:j].
func (p *parser) subscript() ast.Index {
	var ix ast.Index
	p.expect('[')
	if p.tok.kind != ':' {
		ix.Lo = p.expr()
	}
	if p.accept(':') {
		ix.Slice = true
		if p.tok.kind != ']' {
			ix.Hi = p.expr()
		}
	}
	p.expect(']')
	return ix
}

// name parses an operand that begins with a name: a column, a function call or
// type 'literal'.
func (p *parser) name() ast.Expr {
	loc := p.loc()
	first := p.tok
	p.advance()
	switch p.tok.kind {
	case '(':
		return p.call(loc, []ast.Name{first.str})
	case tokString:
		return p.literalOf(&ast.TypeName{Loc: loc, Names: []ast.Name{first.str}})
	case '.':
		return p.dottedName(loc, first.str)
	case '[':
		return p.indirection(&ast.ColumnRef{Loc: loc, Column: first.str})
	}
	return &ast.ColumnRef{Loc: loc, Column: first.str}
}

// dottedName is name after the first part, at the dot.
func (p *parser) dottedName(loc ast.Loc, first ast.Name) ast.Expr {
	parts := make([]ast.Name, 1, 4)
	parts[0] = first
	for p.accept('.') {
		if p.accept('*') {
			p.endStar()
			return p.columnRef(loc, parts, true)
		}
		parts = append(parts, p.colLabel())
	}
	switch p.tok.kind {
	case '(':
		return p.call(loc, parts)
	case tokString:
		return p.literalOf(&ast.TypeName{Loc: loc, Names: parts})
	}
	return p.indirection(p.columnRef(loc, parts, false))
}

// columnRef makes a column reference of dotted parts.
func (p *parser) columnRef(loc ast.Loc, parts []ast.Name, star bool) ast.Expr {
	c := &ast.ColumnRef{Loc: loc, Star: star}
	full := parts
	if star {
		full = append(full, "")
	}
	if len(full) > 4 {
		p.tooManyNames(loc, parts, star)
		return c
	}
	dst := [...]*ast.Name{&c.Catalog, &c.Schema, &c.Table, &c.Column}
	for i, part := range full {
		*dst[4-len(full)+i] = part
	}
	return c
}

// tooManyNames reports a qualified name with more parts than it can have.
func (p *parser) tooManyNames(loc ast.Loc, parts []ast.Name, star bool) {
	var s string
	for i, part := range parts {
		if i > 0 {
			s += "."
		}
		s += part
	}
	if star {
		s += ".*"
	}
	p.failf(pgerr.SyntaxError, loc.Pos, "improper qualified name (too many dotted names): %s", s)
}

// literalOf parses the string of type 'literal'.
func (p *parser) literalOf(t *ast.TypeName) ast.Expr {
	s := &ast.StrLit{Loc: p.loc(), Val: p.tok.str}
	p.expect(tokString)
	return &ast.Cast{Loc: t.Loc, Style: ast.CastLiteral, X: s, Type: t}
}

// reservedPrimary parses an operand that begins with a reserved word.
func (p *parser) reservedPrimary() ast.Expr {
	loc := p.loc()
	switch p.tok.kind {
	case kwNull:
		p.advance()
		return &ast.NullLit{Loc: loc}
	case kwTrue, kwFalse:
		v := p.tok.kind == kwTrue
		p.advance()
		return &ast.BoolLit{Loc: loc, Val: v}
	case kwCase:
		return p.caseExpr()
	case kwCast:
		return p.castCall()
	case kwArray:
		return p.array()
	case kwUnique:
		p.advance()
		p.nullsNotDistinct()
		if p.tok.kind == '(' {
			p.parenQuery()
			p.failf(pgerr.FeatureNotSupported, loc.Pos, "UNIQUE predicate is not yet implemented")
		}
	}
	if k, ok := sqlValueKind(p.tok.kind); ok {
		return p.sqlValue(k)
	}
	p.syntaxError()
	return nil
}

// caseExpr parses CASE ... END.
func (p *parser) caseExpr() ast.Expr {
	c := &ast.Case{Loc: p.loc()}
	p.advance()
	if p.tok.kind != kwWhen {
		c.Operand = p.expr()
	}
	if p.tok.kind != kwWhen {
		p.syntaxError()
	}
	for p.tok.kind == kwWhen {
		w := ast.When{Loc: p.loc()}
		p.advance()
		w.Cond = p.expr()
		p.expect(kwThen)
		w.Result = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if p.accept(kwElse) {
		c.Else = p.expr()
	}
	p.expect(kwEnd)
	return c
}

// castCall parses CAST(x AS type).
func (p *parser) castCall() ast.Expr {
	c := &ast.Cast{Loc: p.loc()}
	p.advance()
	p.expect('(')
	c.X = p.expr()
	p.expect(kwAs)
	c.Type = p.typeName()
	p.expect(')')
	return c
}

// array parses ARRAY[...] or ARRAY(query).
func (p *parser) array() ast.Expr {
	loc := p.loc()
	p.advance()
	switch p.tok.kind {
	case '(':
		return &ast.Subquery{Loc: loc, Kind: ast.SubqueryArray, Query: p.parenQuery()}
	case '[':
		return p.arrayElems(loc)
	}
	p.syntaxError()
	return nil
}

// arrayElems parses [a, b] or [[a], [b]].
func (p *parser) arrayElems(loc ast.Loc) ast.Expr {
	a := &ast.ArrayExpr{Loc: loc}
	if !p.enter() {
		return a
	}
	defer p.leave()
	p.expect('[')
	switch p.tok.kind {
	case ']':
	case '[':
		for {
			a.Elems = append(a.Elems, p.arrayElems(p.loc()))
			if !p.accept(',') {
				break
			}
		}
	default:
		a.Elems = p.exprList()
	}
	p.expect(']')
	return a
}

// sqlValueKind returns the parameterless function a keyword calls.
func sqlValueKind(k kind) (ast.SQLValueKind, bool) {
	switch k {
	case kwCurrentDate:
		return ast.CurrentDate, true
	case kwCurrentTime:
		return ast.CurrentTime, true
	case kwCurrentTimestamp:
		return ast.CurrentTimestamp, true
	case kwLocaltime:
		return ast.LocalTime, true
	case kwLocaltimestamp:
		return ast.LocalTimestamp, true
	case kwCurrentRole:
		return ast.CurrentRole, true
	case kwCurrentUser:
		return ast.CurrentUser, true
	case kwUser:
		return ast.User, true
	case kwSessionUser:
		return ast.SessionUser, true
	case kwCurrentCatalog:
		return ast.CurrentCatalog, true
	case kwCurrentSchema:
		return ast.CurrentSchema, true
	}
	return 0, false
}

// sqlValue parses CURRENT_DATE and its kin, with the precision some take.
func (p *parser) sqlValue(k ast.SQLValueKind) ast.Expr {
	v := &ast.SQLValue{Loc: p.loc(), Kind: k, Precision: -1}
	p.advance()
	if k >= ast.CurrentTime && k <= ast.LocalTimestamp && p.accept('(') {
		v.Precision = p.smallInt()
		p.expect(')')
	}
	return v
}
