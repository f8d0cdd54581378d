package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// createStatistics parses CREATE STATISTICS from this word on.
func (p *parser) createStatistics(loc ast.Loc) ast.Statement {
	p.advance()
	s := &ast.CreateStatistics{Loc: loc}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.anyTableName()
	s.Kinds = p.optParenNames()
	p.expect(kwOn)
	for p.err == nil {
		e := ast.IndexElem{Loc: p.loc()}
		p.keyExpr(&e)
		s.Elems = append(s.Elems, e)
		if !p.accept(',') {
			break
		}
	}
	p.expect(kwFrom)
	s.From = p.fromList()
	return s
}

// alterStatistics parses ALTER STATISTICS from this word on.
func (p *parser) alterStatistics(loc ast.Loc) ast.Statement {
	p.advance()
	ifExists := p.ifExists()
	at := p.loc()
	parts := p.anyName()
	if ifExists || p.is2(kwSet, kwStatistics) {
		p.expect(kwSet)
		p.expect(kwStatistics)
		s := &ast.AlterStatistics{Loc: loc, IfExists: ifExists, Target: p.signedInt()}
		if p.err == nil {
			s.Name = p.makeTableName(at, parts)
		}
		return s
	}
	return p.alterNamed(&ast.AlterObject{Loc: loc, Kind: ast.ObjStatistics, Name: parts})
}
