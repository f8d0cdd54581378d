package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// insert parses INSERT or the dialect's UPSERT after its WITH clause.
func (p *parser) insert(with *ast.With) *ast.Insert {
	s := &ast.Insert{Loc: p.loc(), With: with, Upsert: p.tok.kind != kwInsert}
	p.advance()
	p.expect(kwInto)
	s.Table = &ast.TableRef{Loc: p.loc(), Name: p.tableName()}
	if p.accept(kwAs) {
		s.Table.Alias.Name = p.colID()
	}
	if p.accept2(kwDefault, kwValues) {
		p.insertTail(s)
		return s
	}
	if p.tok.kind == '(' && p.peek() != '(' && !p.parensHoldQuery() {
		p.advance()
		s.Cols = p.targets()
		p.expect(')')
	}
	if p.accept(kwOverriding) {
		switch {
		case p.accept(kwUser):
			s.Overriding = ast.OverridingUser
		default:
			p.expect(kwSystem)
			s.Overriding = ast.OverridingSystem
		}
		p.expect(kwValue)
	}
	s.Source = p.query()
	p.insertTail(s)
	return s
}

// insertTail parses ON CONFLICT and RETURNING.
func (p *parser) insertTail(s *ast.Insert) {
	if p.tok.kind == kwOn && !s.Upsert {
		s.OnConflict = p.onConflict()
	}
	s.Returning = p.returning()
}

// targets parses the columns that a statement assigns to.
func (p *parser) targets() []ast.Target {
	list := make([]ast.Target, 0, 8)
	for {
		list = append(list, p.target())
		if !p.accept(',') {
			return list
		}
	}
}

// target parses a column with the path into it.
func (p *parser) target() ast.Target {
	t := ast.Target{Loc: p.loc()}
	t.Column = p.colID()
	for {
		switch p.tok.kind {
		case '.':
			p.advance()
			t.Path = append(t.Path, ast.TargetStep{Field: p.colLabel()})
		case '[':
			ix := p.subscript()
			t.Path = append(t.Path, ast.TargetStep{Index: &ix})
		default:
			return t
		}
	}
}

// onConflict parses ON CONFLICT.
func (p *parser) onConflict() *ast.OnConflict {
	c := &ast.OnConflict{Loc: p.loc()}
	p.advance()
	p.expect(kwConflict)
	switch p.tok.kind {
	case '(':
		c.Target = p.indexElems()
		if p.accept(kwWhere) {
			c.TargetWhere = p.expr()
		}
	case kwOn:
		p.advance()
		p.expect(kwConstraint)
		c.Constraint = p.colID()
	}
	p.expect(kwDo)
	if p.accept(kwNothing) {
		c.DoNothing = true
		return c
	}
	p.expect(kwUpdate)
	p.expect(kwSet)
	c.Set = p.setClauses()
	if p.accept(kwWhere) {
		c.Where = p.expr()
	}
	return c
}

// returning parses RETURNING, if present.
func (p *parser) returning() []ast.SelectItem {
	if !p.accept(kwReturning) {
		return nil
	}
	return p.selectItems()
}

// setClauses parses the assignments of UPDATE.
func (p *parser) setClauses() []ast.SetClause {
	list := make([]ast.SetClause, 0, 2)
	for {
		c := ast.SetClause{Loc: p.loc()}
		if p.accept('(') {
			c.Multi = true
			c.Targets = p.targets()
			p.expect(')')
		} else {
			c.Targets = []ast.Target{p.target()}
		}
		p.expect('=')
		c.X = p.expr()
		list = append(list, c)
		if !p.accept(',') {
			return list
		}
	}
}

// dmlTable parses relation_expr_opt_alias, the target of UPDATE and DELETE,
// where SET is no alias.
func (p *parser) dmlTable() *ast.TableRef {
	t := &ast.TableRef{Loc: p.loc()}
	p.relationName(t)
	if p.isAt() && p.extends(ExtIndexHint) {
		p.indexHint(t)
	}
	if p.accept(kwAs) {
		t.Alias.Name = p.colID()
	} else if isColID(p.tok.kind) && p.tok.kind != kwSet {
		t.Alias.Name = p.colID()
	}
	return t
}

// update parses UPDATE after its WITH clause.
func (p *parser) update(with *ast.With) *ast.Update {
	s := &ast.Update{Loc: p.loc(), With: with}
	p.advance()
	s.Table = p.dmlTable()
	p.expect(kwSet)
	s.Set = p.setClauses()
	if p.accept(kwFrom) {
		s.From = p.fromList()
	}
	s.Where = p.whereOrCurrent()
	s.OrderBy, s.Limit = p.dmlLimit()
	s.Returning = p.returning()
	return s
}

// delete parses DELETE after its WITH clause.
func (p *parser) delete(with *ast.With) *ast.Delete {
	s := &ast.Delete{Loc: p.loc(), With: with}
	p.advance()
	p.expect(kwFrom)
	s.Table = p.dmlTable()
	if p.accept(kwUsing) {
		s.Using = p.fromList()
	}
	s.Where = p.whereOrCurrent()
	s.OrderBy, s.Limit = p.dmlLimit()
	s.Returning = p.returning()
	return s
}

// whereOrCurrent parses WHERE x or WHERE CURRENT OF cursor.
func (p *parser) whereOrCurrent() ast.Expr {
	if !p.accept(kwWhere) {
		return nil
	}
	if p.is2(kwCurrent, kwOf) {
		c := &ast.CurrentOf{Loc: p.loc()}
		p.advance()
		p.advance()
		c.Cursor = p.colID()
		return c
	}
	return p.expr()
}

// dmlLimit parses the dialect's ORDER BY and LIMIT of UPDATE and DELETE.
func (p *parser) dmlLimit() (order []ast.OrderItem, limit ast.Expr) {
	if p.tok.kind != kwOrder && p.tok.kind != kwLimit || !p.extends(ExtDMLLimit) {
		return nil, nil
	}
	if p.tok.kind == kwOrder {
		order = p.orderBy()
	}
	if p.accept(kwLimit) {
		limit = p.expr()
	}
	return order, limit
}

// truncate parses TRUNCATE.
func (p *parser) truncate() ast.Statement {
	s := &ast.Truncate{Loc: p.loc()}
	p.advance()
	p.accept(kwTable)
	s.Tables = p.relationList()
	if p.accept2(kwRestart, kwIdentity) {
		s.RestartIdentity = true
	} else {
		p.accept2(kwContinue, kwIdentity)
	}
	s.Cascade, _ = p.dropBehavior()
	return s
}

// relationList parses relation_expr_list.
func (p *parser) relationList() []ast.TableRef {
	var list []ast.TableRef
	for {
		t := ast.TableRef{Loc: p.loc()}
		p.relationName(&t)
		list = append(list, t)
		if !p.accept(',') {
			return list
		}
	}
}
