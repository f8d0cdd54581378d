package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// merge parses MERGE after its WITH clause.
func (p *parser) merge(with *ast.With) *ast.Merge {
	s := &ast.Merge{Loc: p.loc(), With: with}
	p.advance()
	p.expect(kwInto)
	s.Table = p.dmlTable()
	p.expect(kwUsing)
	s.Using = p.tableExpr()
	p.expect(kwOn)
	s.On = p.expr()
	for {
		w := ast.MergeWhen{Loc: p.loc()}
		p.expect(kwWhen)
		w.Matched = !p.accept(kwNot)
		p.expect(kwMatched)
		if p.accept(kwAnd) {
			w.Cond = p.expr()
		}
		p.expect(kwThen)
		p.mergeAction(&w)
		s.When = append(s.When, w)
		if p.err != nil || p.tok.kind != kwWhen {
			return s
		}
	}
}

// mergeAction parses what follows THEN.
func (p *parser) mergeAction(w *ast.MergeWhen) {
	switch {
	case p.accept(kwDo):
		p.expect(kwNothing)
	case w.Matched && p.accept(kwUpdate):
		p.expect(kwSet)
		w.Action, w.Set = ast.MergeUpdate, p.setClauses()
	case w.Matched:
		p.expect(kwDelete)
		w.Action = ast.MergeDelete
	default:
		p.expect(kwInsert)
		w.Action = ast.MergeInsert
		p.mergeInsert(w)
	}
}

func (p *parser) mergeInsert(w *ast.MergeWhen) {
	if p.accept2(kwDefault, kwValues) {
		return
	}
	if p.accept('(') {
		w.Cols = p.targets()
		p.expect(')')
	}
	if p.accept(kwOverriding) {
		if p.accept(kwUser) {
			w.Overriding = ast.OverridingUser
		} else {
			p.expect(kwSystem)
			w.Overriding = ast.OverridingSystem
		}
		p.expect(kwValue)
	}
	p.expect(kwValues)
	p.expect('(')
	w.Values = p.exprList()
	p.expect(')')
}
