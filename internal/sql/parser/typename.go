package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// typeName parses Typename: a type with SETOF and array bounds.
func (p *parser) typeName() *ast.TypeName {
	setof := p.accept(kwSetof)
	t := p.simpleType(false)
	t.Setof = setof
	if p.accept(kwArray) {
		dim := -1
		if p.accept('[') {
			dim = p.smallInt()
			p.expect(']')
		}
		t.ArrayDims = []int{dim}
		return t
	}
	for p.tok.kind == '[' {
		p.advance()
		dim := -1
		if p.tok.kind != ']' {
			dim = p.smallInt()
		}
		p.expect(']')
		t.ArrayDims = append(t.ArrayDims, dim)
	}
	return t
}

// systemType returns a built-in type that has a grammar of its own.
func systemType(loc ast.Loc, name ast.Name) *ast.TypeName {
	return &ast.TypeName{Loc: loc, Names: []ast.Name{"pg_catalog", name}}
}

// simpleType parses a type without array bounds. As the type of a literal, BIT
// and CHAR without a length have none, otherwise 1.
func (p *parser) simpleType(literal bool) *ast.TypeName {
	loc := p.loc()
	k := p.tok.kind
	switch k {
	case kwInt, kwInteger:
		p.advance()
		t := systemType(loc, "int4")
		t.DefaultInt, t.Stored = true, p.stored
		return t
	case kwSmallint, kwBigint, kwReal, kwBoolean:
		p.advance()
		name := map[kind]ast.Name{kwSmallint: "int2", kwBigint: "int8", kwReal: "float4", kwBoolean: "bool"}[k]
		return systemType(loc, name)
	case kwFloat:
		return p.floatType()
	case kwDecimal, kwDec, kwNumeric:
		p.advance()
		t := systemType(loc, "numeric")
		t.Typmods = p.typmods()
		return t
	case kwBit:
		return p.bitType(literal)
	case kwCharacter, kwChar, kwNational, kwNchar, kwVarchar:
		return p.charType(literal)
	case kwTime, kwTimestamp:
		return p.timeType()
	case kwInterval:
		return p.intervalType()
	case kwDouble:
		if p.peek() == kwPrecision {
			p.advance()
			p.advance()
			return systemType(loc, "float8")
		}
	}
	return p.genericType()
}

// genericType parses a type that is just a name, with modifiers.
func (p *parser) genericType() *ast.TypeName {
	t := &ast.TypeName{Loc: p.loc()}
	if !isFuncName(p.tok.kind) {
		p.syntaxError()
		return t
	}
	t.Names = append(make([]ast.Name, 0, 1), p.tok.str)
	p.advance()
	for p.accept('.') {
		t.Names = append(t.Names, p.colLabel())
	}
	t.Typmods = p.typmods()
	return t
}

// typmods parses the optional (modifiers) of a type.
func (p *parser) typmods() []ast.Expr {
	if p.tok.kind != '(' {
		return nil
	}
	return p.parenExprList()
}

// floatType parses FLOAT [(bits)].
func (p *parser) floatType() *ast.TypeName {
	loc := p.loc()
	p.advance()
	t := systemType(loc, "float8")
	if p.accept('(') {
		pos := p.pos()
		bits := p.smallInt()
		p.expect(')')
		switch {
		case bits < 1:
			p.failf(pgerr.InvalidParameterValue, pos, "precision for type float must be at least 1 bit")
		case bits > 53:
			p.failf(pgerr.InvalidParameterValue, pos, "precision for type float must be less than 54 bits")
		case bits <= 24:
			t.Names[1] = "float4"
		}
	}
	return t
}

// bitType parses BIT [VARYING] [(n)].
func (p *parser) bitType(literal bool) *ast.TypeName {
	t := systemType(p.loc(), "bit")
	p.advance()
	if p.accept(kwVarying) {
		t.Names[1] = "varbit"
	}
	t.Typmods = p.typmods()
	if t.Typmods == nil && t.Names[1] == "bit" && !literal {
		t.Typmods = []ast.Expr{&ast.IntLit{Val: 1}}
	}
	return t
}

// charType parses CHAR, VARCHAR and their longer spellings.
func (p *parser) charType(literal bool) *ast.TypeName {
	t := systemType(p.loc(), "bpchar")
	if p.accept(kwNational) {
		if p.tok.kind != kwCharacter && p.tok.kind != kwChar {
			p.syntaxError()
		}
	}
	k := p.tok.kind
	p.advance()
	if k == kwVarchar || p.accept(kwVarying) {
		t.Names[1] = "varchar"
	}
	if p.accept('(') {
		t.Typmods = []ast.Expr{p.intLiteral()}
		p.expect(')')
	} else if t.Names[1] == "bpchar" && !literal {
		t.Typmods = []ast.Expr{&ast.IntLit{Val: 1}}
	}
	return t
}

// timeType parses TIME and TIMESTAMP with precision and zone.
func (p *parser) timeType() *ast.TypeName {
	t := systemType(p.loc(), "time")
	if p.tok.kind == kwTimestamp {
		t.Names[1] = "timestamp"
	}
	p.advance()
	if p.accept('(') {
		t.Typmods = []ast.Expr{p.intLiteral()}
		p.expect(')')
	}
	switch {
	case p.accept2(kwWith, kwTime):
		p.expect(kwZone)
		t.Names[1] += "tz"
	case p.accept(kwWithout):
		p.expect(kwTime)
		p.expect(kwZone)
	}
	return t
}

// intervalType parses INTERVAL [fields] or INTERVAL (n).
func (p *parser) intervalType() *ast.TypeName {
	t := systemType(p.loc(), "interval")
	p.advance()
	if p.accept('(') {
		t.Typmods = []ast.Expr{p.intLiteral()}
		p.expect(')')
		return t
	}
	p.intervalFields(t)
	return t
}

// intervalRanges maps the first and last field of a range.
var intervalRanges = map[[2]kind]ast.IntervalFields{
	{kwYear, kwMonth}:    ast.IntervalYearToMonth,
	{kwDay, kwHour}:      ast.IntervalDayToHour,
	{kwDay, kwMinute}:    ast.IntervalDayToMinute,
	{kwDay, kwSecond}:    ast.IntervalDayToSecond,
	{kwHour, kwMinute}:   ast.IntervalHourToMinute,
	{kwHour, kwSecond}:   ast.IntervalHourToSecond,
	{kwMinute, kwSecond}: ast.IntervalMinuteToSecond,
}

// intervalFields parses YEAR, DAY TO SECOND(n) and so on, if present.
func (p *parser) intervalFields(t *ast.TypeName) {
	first := p.tok.kind
	switch first {
	case kwYear:
		t.Fields = ast.IntervalYear
	case kwMonth:
		t.Fields = ast.IntervalMonth
	case kwDay:
		t.Fields = ast.IntervalDay
	case kwHour:
		t.Fields = ast.IntervalHour
	case kwMinute:
		t.Fields = ast.IntervalMinute
	case kwSecond:
		t.Fields = ast.IntervalSecond
	default:
		return
	}
	p.advance()
	last := first
	if first != kwSecond && first != kwMonth && p.accept(kwTo) {
		last = p.tok.kind
		f, ok := intervalRanges[[2]kind{first, last}]
		if !ok {
			p.syntaxError()
			return
		}
		t.Fields = f
		p.advance()
	}
	if last == kwSecond && p.accept('(') {
		t.Typmods = []ast.Expr{p.intLiteral()}
		p.expect(')')
	}
}

// startsTypedLiteral reports whether the next token, a keyword, begins type
// 'literal' rather than naming a column.
func (p *parser) startsTypedLiteral() bool {
	switch p.tok.kind {
	case kwInt, kwInteger, kwSmallint, kwBigint, kwReal, kwBoolean:
		return p.peek() == tokString
	case kwFloat, kwDecimal, kwDec, kwNumeric, kwInterval, kwVarchar:
		return p.peek() == tokString || p.peek() == '('
	case kwBit, kwCharacter, kwChar, kwNchar:
		k := p.peek()
		return k == tokString || k == '(' || k == kwVarying
	case kwNational:
		return p.peek() == kwCharacter || p.peek() == kwChar
	case kwTime, kwTimestamp:
		k := p.peek()
		return k == tokString || k == '(' || k == kwWithout || k == kwWith
	}
	return false
}

// typedLiteral parses type 'literal' for the types with a grammar of their own.
func (p *parser) typedLiteral() ast.Expr {
	if p.tok.kind == kwInterval {
		t := systemType(p.loc(), "interval")
		p.advance()
		if p.accept('(') {
			t.Typmods = []ast.Expr{p.intLiteral()}
			p.expect(')')
			return p.literalOf(t)
		}
		x := p.literalOf(t)
		p.intervalFields(t)
		return x
	}
	return p.literalOf(p.simpleType(true))
}

// smallInt parses an unsigned integer that fits int4.
func (p *parser) smallInt() int {
	if p.tok.kind != tokInt || p.tok.num > 1<<31-1 {
		p.syntaxError()
		return 0
	}
	n := int(p.tok.num)
	p.advance()
	return n
}

// intLiteral parses an unsigned integer that fits int4, as a literal.
func (p *parser) intLiteral() ast.Expr {
	loc := p.loc()
	return &ast.IntLit{Loc: loc, Val: int64(p.smallInt())}
}
