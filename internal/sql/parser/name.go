package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// colID parses a name of a column, table or other object.
func (p *parser) colID() ast.Name {
	if !isColID(p.tok.kind) || p.isNullsOrder() {
		p.syntaxError()
		return ""
	}
	s := p.tok.str
	p.advance()
	return s
}

// isNullsOrder reports whether NULLS FIRST or NULLS LAST comes next, which
// PostgreSQL's lexer makes something else than a name.
func (p *parser) isNullsOrder() bool {
	return p.tok.kind == kwNulls && (p.peek() == kwFirst || p.peek() == kwLast)
}

// colLabel parses a name where any keyword may stand.
func (p *parser) colLabel() ast.Name {
	if !isColLabel(p.tok.kind) {
		p.syntaxError()
		return ""
	}
	s := p.tok.str
	p.advance()
	return s
}

// nonReserved parses NonReservedWord.
func (p *parser) nonReserved() ast.Name {
	if !isNonReserved(p.tok.kind) {
		p.syntaxError()
		return ""
	}
	s := p.tok.str
	p.advance()
	return s
}

// nameList parses names separated by commas.
func (p *parser) nameList() []ast.Name {
	list := make([]ast.Name, 0, 4)
	for {
		list = append(list, p.colID())
		if !p.accept(',') {
			return list
		}
	}
}

// parenNames parses ( names ).
func (p *parser) parenNames() []ast.Name {
	p.expect('(')
	list := p.nameList()
	p.expect(')')
	return list
}

// optParenNames parses ( names ), if present.
func (p *parser) optParenNames() []ast.Name {
	if p.tok.kind != '(' {
		return nil
	}
	return p.parenNames()
}

// anyName parses any_name: a name with qualification.
func (p *parser) anyName() []ast.Name {
	list := append(make([]ast.Name, 0, 1), p.colID())
	for p.accept('.') {
		list = append(list, p.colLabel())
	}
	return list
}

// tableName parses qualified_name.
func (p *parser) tableName() ast.TableName {
	t := ast.TableName{Loc: p.loc()}
	t.Table = p.colID()
	switch p.tok.kind {
	case '.':
		return p.qualifiedName(t.Loc, t.Table)
	case '[':
		p.notAName()
	}
	return t
}

// plainName parses a name that takes no qualification, such as a schema's.
func (p *parser) plainName() ast.TableName {
	loc := p.loc()
	return ast.TableName{Loc: loc, Table: p.colID()}
}

// anyTableName parses any_name as a table's name.
func (p *parser) anyTableName() ast.TableName {
	loc := p.loc()
	return p.makeTableName(loc, p.anyName())
}

// notAName passes over subscripts and stars, which PostgreSQL's grammar takes
// in a qualified name and refuses behind it.
func (p *parser) notAName() {
	for p.err == nil {
		switch {
		case p.tok.kind == '[':
			p.subscript()
		case p.accept('.'):
			if !p.accept('*') {
				p.colLabel()
			}
		default:
			p.syntaxError()
		}
	}
}

// qualifiedName is tableName after the first part, at the dot.
func (p *parser) qualifiedName(loc ast.Loc, first ast.Name) ast.TableName {
	parts := append(make([]ast.Name, 0, 3), first)
	for p.tok.kind == '.' && p.peek() != '*' {
		p.advance()
		parts = append(parts, p.colLabel())
	}
	if p.tok.kind == '.' || p.tok.kind == '[' {
		p.notAName()
	}
	return p.makeTableName(loc, parts)
}

// makeTableName makes a table name of dotted parts.
func (p *parser) makeTableName(loc ast.Loc, parts []ast.Name) ast.TableName {
	t := ast.TableName{Loc: loc}
	switch len(parts) {
	case 1:
		t.Table = parts[0]
	case 2:
		t.Schema, t.Table = parts[0], parts[1]
	case 3:
		t.Catalog, t.Schema, t.Table = parts[0], parts[1], parts[2]
	default:
		p.tooManyNames(loc, parts, false)
	}
	return t
}

// tableNames parses qualified names separated by commas.
func (p *parser) tableNames() []ast.TableName {
	var list []ast.TableName
	for {
		list = append(list, p.tableName())
		if !p.accept(',') {
			return list
		}
	}
}

// str parses a string constant.
func (p *parser) str() string {
	if p.tok.kind != tokString {
		p.syntaxError()
		return ""
	}
	s := p.tok.str
	p.advance()
	return s
}

// ifExists parses IF EXISTS.
func (p *parser) ifExists() bool {
	if p.is2(kwIf, kwExists) {
		p.advance()
		p.advance()
		return true
	}
	return false
}

// ifNotExists parses IF NOT EXISTS.
func (p *parser) ifNotExists() bool {
	if p.is2(kwIf, kwNot) {
		p.advance()
		p.advance()
		p.expect(kwExists)
		return true
	}
	return false
}

// dropBehavior parses CASCADE or RESTRICT.
func (p *parser) dropBehavior() (cascade, restrict bool) {
	if p.accept(kwCascade) {
		return true, false
	}
	return false, p.accept(kwRestrict)
}
