package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// compositeType parses the fields of CREATE TYPE name AS (...).
func (p *parser) compositeType(loc ast.Loc, name ast.TableName) ast.Statement {
	s := &ast.CreateComposite{Loc: loc, Name: name}
	p.expect('(')
	if p.accept(')') {
		return s
	}
	s.Fields = p.columnDecls()
	return s
}

// createDomain parses CREATE DOMAIN after these words.
func (p *parser) createDomain(loc ast.Loc) ast.Statement {
	s := &ast.CreateDomain{Loc: loc}
	s.Name = p.tableName()
	p.accept(kwAs)
	s.Type = p.typeName()
	d := &ast.ColumnDef{Loc: loc}
	p.columnConstraints(d)
	s.Collate, s.Constraints = d.Collate, d.Constraints
	return s
}

// alterEnum parses ALTER TYPE name ADD VALUE or RENAME VALUE, from the name on;
// other changes of types have no tree.
func (p *parser) alterEnum(loc ast.Loc) ast.Statement {
	l := p.scan()
	t := l.next()
	for t.kind == '.' {
		l.next()
		t = l.next()
	}
	next := l.next()
	if !(t.kind == kwAdd || t.kind == kwRename) || next.kind != kwValue {
		return p.skipStatement(loc, "ALTER TYPE")
	}
	s := &ast.AlterEnum{Loc: loc}
	s.Name = p.tableName()
	if s.Rename = p.accept(kwRename); s.Rename {
		p.expect(kwValue)
		s.Label = p.str()
		p.expect(kwTo)
		s.NewLabel = p.str()
		return s
	}
	p.expect(kwAdd)
	p.expect(kwValue)
	s.IfNotExists = p.ifNotExists()
	s.Label = p.str()
	switch {
	case p.accept(kwBefore):
		s.Before, s.Neighbor = true, p.str()
	case p.accept(kwAfter):
		s.After, s.Neighbor = true, p.str()
	}
	return s
}
