package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// with parses WITH [RECURSIVE] and its common table expressions.
func (p *parser) with() *ast.With {
	w := &ast.With{Loc: p.loc()}
	p.expect(kwWith)
	if p.tok.kind == kwRecursive && isColID(p.peek()) {
		w.Recursive = true
		p.advance()
	}
	for {
		w.CTEs = append(w.CTEs, p.cte())
		if !p.accept(',') {
			return w
		}
	}
}

// cte parses one common table expression.
func (p *parser) cte() *ast.CTE {
	c := &ast.CTE{Loc: p.loc()}
	c.Name = p.colID()
	c.Cols = p.optParenNames()
	p.expect(kwAs)
	switch {
	case p.accept(kwMaterialized):
		c.Materialize = ast.MaterializeAlways
	case p.accept2(kwNot, kwMaterialized):
		c.Materialize = ast.MaterializeNever
	}
	p.expect('(')
	c.Stmt = p.preparable()
	p.expect(')')
	if p.tok.kind == kwSearch {
		c.Search = p.searchClause()
	}
	if p.tok.kind == kwCycle {
		c.Cycle = p.cycleClause()
	}
	return c
}

// searchClause parses SEARCH DEPTH|BREADTH FIRST BY cols SET col.
func (p *parser) searchClause() *ast.SearchClause {
	s := &ast.SearchClause{Loc: p.loc()}
	p.advance()
	if p.accept(kwBreadth) {
		s.Breadth = true
	} else {
		p.expect(kwDepth)
	}
	p.expect(kwFirst)
	p.expect(kwBy)
	s.By = p.nameList()
	p.expect(kwSet)
	s.Set = p.colID()
	return s
}

// cycleClause parses CYCLE cols SET mark [TO v DEFAULT d] USING path.
func (p *parser) cycleClause() *ast.CycleClause {
	c := &ast.CycleClause{Loc: p.loc()}
	p.advance()
	c.Cols = p.nameList()
	p.expect(kwSet)
	c.Mark = p.colID()
	if p.accept(kwTo) {
		c.Value = p.primary()
		p.expect(kwDefault)
		c.Default = p.primary()
	}
	p.expect(kwUsing)
	c.Path = p.colID()
	return c
}

// preparable parses a query or data-modifying statement, as WITH, PREPARE and
// EXPLAIN hold it.
func (p *parser) preparable() ast.Statement {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	var with *ast.With
	if p.tok.kind == kwWith {
		with = p.with()
	}
	switch {
	case p.tok.kind == kwInsert:
		return p.insert(with)
	case p.tok.kind == kwUpdate:
		return p.update(with)
	case p.tok.kind == kwDelete:
		return p.delete(with)
	case p.tok.kind == kwMerge:
		return p.merge(with)
	case p.isWord("upsert") && p.extends(ExtUpsert):
		return p.insert(with)
	}
	if q := p.queryWith(with); q != nil {
		return q
	}
	return nil
}
