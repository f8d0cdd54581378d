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
	s.Name = p.anyTableName()
	p.accept(kwAs)
	s.Type = p.typeName()
	d := &ast.ColumnDef{Loc: loc}
	p.columnConstraints(d)
	s.Collate, s.Constraints = d.Collate, d.Constraints
	return s
}

// alterType parses ALTER TYPE from the word TYPE on: changes of enums and of the
// attributes of composite types; those of base types have no tree.
func (p *parser) alterType(loc ast.Loc) ast.Statement {
	l := p.scan()
	l.next()
	t := l.next()
	for t.kind == '.' {
		l.next()
		t = l.next()
	}
	next := l.next()
	switch {
	case t.kind == kwSet:
		return p.refuse(loc, "ALTER")
	case next.kind == kwValue && (t.kind == kwAdd || t.kind == kwRename):
		p.advance()
		return p.alterEnum(loc)
	}
	p.advance()
	return p.alterComposite(loc)
}

// alterComposite parses what ALTER TYPE does to attributes, from the name on.
func (p *parser) alterComposite(loc ast.Loc) ast.Statement {
	s := &ast.AlterComposite{Loc: loc, Name: p.anyTableName()}
	for p.err == nil {
		c := ast.AttributeCmd{Loc: p.loc()}
		p.alterAttribute(&c)
		s.Cmds = append(s.Cmds, c)
		if c.Kind == ast.AttributeRename || !p.accept(',') {
			break
		}
		if p.tok.kind == kwRename { // stands alone
			p.syntaxError()
		}
	}
	return s
}

// alterAttribute parses one change of an attribute.
func (p *parser) alterAttribute(c *ast.AttributeCmd) {
	switch k := p.tok.kind; k {
	case kwAdd, kwDrop, kwAlter, kwRename:
		c.Kind = map[kind]ast.AttributeKind{
			kwAdd: ast.AttributeAdd, kwDrop: ast.AttributeDrop, kwAlter: ast.AttributeAlter, kwRename: ast.AttributeRename,
		}[k]
		p.advance()
	default:
		p.syntaxError()
		return
	}
	p.expect(kwAttribute)
	if c.Kind == ast.AttributeDrop {
		c.IfExists = p.ifExists()
	}
	c.Name = p.colID()
	switch c.Kind {
	case ast.AttributeRename:
		p.expect(kwTo)
		c.NewName = p.colID()
	case ast.AttributeAlter:
		if p.accept(kwSet) {
			p.expect(kwData)
		}
		p.expect(kwType)
		fallthrough
	case ast.AttributeAdd:
		c.Type = p.typeName()
		if p.accept(kwCollate) {
			c.Collate = p.anyName()
		}
	}
	c.Cascade, c.Restrict = p.dropBehavior()
}

// alterEnum parses ALTER TYPE name ADD VALUE or RENAME VALUE, from the name on.
func (p *parser) alterEnum(loc ast.Loc) ast.Statement {
	s := &ast.AlterEnum{Loc: loc}
	s.Name = p.anyTableName()
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

// alterDomain parses ALTER DOMAIN after these words.
func (p *parser) alterDomain(loc ast.Loc) ast.Statement {
	name := p.anyName()
	common := &ast.AlterObject{Loc: loc, Kind: ast.ObjDomain, Name: name}
	switch {
	case p.accept2(kwRename, kwTo):
		common.NewName = p.colID()
		return common
	case p.accept2(kwSet, kwSchema):
		common.NewSchema = p.colID()
		return common
	case p.accept2(kwOwner, kwTo):
		r := p.roleSpec()
		common.Owner = &r
		return common
	}
	s := &ast.AlterDomain{Loc: loc, Name: ast.TableName{Loc: loc, Table: name[len(name)-1]}}
	if len(name) > 1 {
		s.Name.Schema = name[len(name)-2]
	}
	p.domainChange(s)
	return s
}

// domainChange parses what ALTER DOMAIN does to a domain.
func (p *parser) domainChange(s *ast.AlterDomain) {
	switch {
	case p.accept2(kwSet, kwDefault):
		s.X = p.expr()
	case p.accept2(kwDrop, kwDefault):
	case p.accept2(kwSet, kwNot):
		p.expect(kwNull)
		s.Kind = ast.AlterDomainSetNotNull
	case p.accept2(kwDrop, kwNot):
		p.expect(kwNull)
		s.Kind = ast.AlterDomainDropNotNull
	case p.accept(kwAdd):
		s.Kind, s.Constraint = ast.AlterDomainAdd, p.tableConstraint()
	case p.accept2(kwDrop, kwConstraint):
		s.Kind, s.IfExists = ast.AlterDomainDrop, p.ifExists()
		s.Con = p.colID()
		s.Cascade, _ = p.dropBehavior()
	case p.accept2(kwRename, kwConstraint):
		s.Kind, s.Con = ast.AlterDomainRename, p.colID()
		p.expect(kwTo)
		s.NewName = p.colID()
	case p.accept2(kwValidate, kwConstraint):
		s.Kind, s.Con = ast.AlterDomainValidate, p.colID()
	default:
		p.syntaxError()
	}
}
