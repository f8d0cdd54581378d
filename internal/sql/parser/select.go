package parser

import (
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// query parses select_no_parens, with its WITH clause.
func (p *parser) query() *ast.Select {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	var with *ast.With
	if p.tok.kind == kwWith {
		with = p.with()
	}
	return p.queryWith(with)
}

// queryWith parses a query after its WITH clause, which may be nil.
func (p *parser) queryWith(with *ast.With) *ast.Select {
	return p.queryTail(p.setOps(p.queryPrimary(), 0), with)
}

// queryPrimary parses an operand of a set operation.
func (p *parser) queryPrimary() *ast.Select {
	loc := p.loc()
	switch p.tok.kind {
	case kwSelect:
		return p.simpleSelect()
	case kwValues:
		p.advance()
		s := &ast.Select{Loc: loc}
		for {
			s.Values = append(s.Values, p.parenExprList())
			if !p.accept(',') {
				return s
			}
		}
	case kwTable:
		p.advance()
		star := &ast.ColumnRef{Loc: loc, Star: true}
		t := &ast.TableRef{Loc: p.loc()}
		p.relationName(t)
		return &ast.Select{Loc: loc, Items: []ast.SelectItem{{X: star}}, From: []ast.TableExpr{t}}
	case '(':
		p.advance()
		s := p.query()
		p.expect(')')
		return s
	}
	p.syntaxError()
	return nil
}

// setOps parses the set operations after s that bind more strongly than min.
func (p *parser) setOps(s *ast.Select, min int) *ast.Select {
	for {
		loc := p.loc()
		op, precedence := ast.SetUnion, 1
		switch p.tok.kind {
		case kwUnion:
		case kwExcept:
			op = ast.SetExcept
		case kwIntersect:
			op, precedence = ast.SetIntersect, 2
		default:
			return s
		}
		if precedence <= min {
			return s
		}
		p.chained++
		p.advance()
		n := &ast.Select{Loc: loc, Op: op, L: s}
		if p.accept(kwAll) {
			n.All = true
		} else {
			p.accept(kwDistinct)
		}
		n.R = p.setOps(p.queryPrimary(), precedence)
		s = n
	}
}

// queryTail parses ORDER BY, LIMIT, OFFSET and the locking clauses of s, and
// gives it its WITH clause.
func (p *parser) queryTail(s *ast.Select, with *ast.With) *ast.Select {
	if p.tok.kind == kwOrder {
		items := p.orderBy()
		if s != nil {
			if s.OrderBy != nil {
				p.failf(pgerr.SyntaxError, items[0].Pos, "multiple ORDER BY clauses not allowed")
			}
			s.OrderBy = items
		}
	}
	if p.err != nil {
		return s
	}
	limited := p.limits(s)
	for p.tok.kind == kwFor {
		p.locking(s)
	}
	if !limited {
		p.limits(s)
	}
	p.checkTies(s)
	if with != nil && p.err == nil {
		if s.With != nil {
			p.failf(pgerr.SyntaxError, with.Pos, "multiple WITH clauses not allowed")
		}
		s.With = with
	}
	return s
}

// checkTies refuses WITH TIES where it has no meaning. PostgreSQL gives no
// position.
func (p *parser) checkTies(s *ast.Select) {
	if !s.WithTies {
		return
	}
	if s.OrderBy == nil {
		p.failf(pgerr.SyntaxError, 0, "WITH TIES cannot be specified without ORDER BY clause")
	}
	for _, l := range s.Locking {
		if l.Wait == lock.WaitSkip {
			p.failf(pgerr.SyntaxError, 0, "SKIP LOCKED and WITH TIES options cannot be used together")
		}
	}
}

// limits parses LIMIT and OFFSET in either order, and FETCH FIRST.
func (p *parser) limits(s *ast.Select) bool {
	var limit, offset bool
	for {
		switch {
		case (p.tok.kind == kwLimit || p.tok.kind == kwFetch) && !limit:
			limit = true
			had := s.Limit != nil
			pos := p.charPos(int(p.peekToken().start))
			if p.tok.kind == kwLimit {
				p.limit(s)
			} else {
				p.fetchFirst(s)
			}
			if had {
				p.failf(pgerr.SyntaxError, pos, "multiple LIMIT clauses not allowed")
			}
		case p.tok.kind == kwOffset && !offset:
			offset = true
			had := s.Offset != nil
			p.advance()
			pos := p.pos()
			s.Offset = p.expr()
			if !p.accept(kwRow) {
				p.accept(kwRows)
			}
			if had {
				p.failf(pgerr.SyntaxError, pos, "multiple OFFSET clauses not allowed")
			}
		default:
			return limit || offset
		}
	}
}

// limit parses LIMIT n|ALL.
func (p *parser) limit(s *ast.Select) {
	pos := p.pos()
	p.advance()
	if loc := p.loc(); p.accept(kwAll) {
		s.Limit = &ast.NullLit{Loc: loc}
		return
	}
	s.Limit = p.expr()
	if p.tok.kind == ',' && p.err == nil {
		p.fail(pgerr.New(pgerr.SyntaxError, "LIMIT #,# syntax is not supported").
			WithHint("Use separate LIMIT and OFFSET clauses."), pos)
	}
}

// fetchFirst parses FETCH FIRST|NEXT [n] ROW|ROWS ONLY|WITH TIES.
func (p *parser) fetchFirst(s *ast.Select) {
	p.advance()
	if !p.accept(kwFirst) {
		p.expect(kwNext)
	}
	if p.tok.kind == kwRow || p.tok.kind == kwRows {
		s.Limit = &ast.IntLit{Val: 1}
	} else {
		s.Limit = p.fetchCount()
	}
	if !p.accept(kwRow) {
		p.expect(kwRows)
	}
	if p.accept(kwOnly) {
		return
	}
	p.expect(kwWith)
	p.expect(kwTies)
	s.WithTies = true
}

// fetchCount parses the count of FETCH FIRST: an operand or a signed number.
func (p *parser) fetchCount() ast.Expr {
	if p.tok.kind == '+' || p.tok.kind == '-' {
		loc, neg := p.loc(), p.tok.kind == '-'
		p.advance()
		if p.tok.kind != tokInt && p.tok.kind != tokNum {
			p.syntaxError()
			return nil
		}
		x := p.primary()
		if neg {
			return negate(loc, x)
		}
		return x
	}
	return p.primary()
}

// locking parses one FOR UPDATE|... clause, or FOR READ ONLY, which locks
// nothing.
func (p *parser) locking(s *ast.Select) {
	c := ast.LockingClause{Loc: p.loc()}
	p.advance()
	switch {
	case p.accept(kwUpdate):
		c.Strength = lock.Update
	case p.accept(kwShare):
		c.Strength = lock.Share
	case p.accept2(kwNo, kwKey):
		p.expect(kwUpdate)
		c.Strength = lock.NoKeyUpdate
	case p.accept2(kwKey, kwShare):
		c.Strength = lock.KeyShare
	case p.accept2(kwRead, kwOnly):
		return
	default:
		p.syntaxError()
		return
	}
	if p.accept(kwOf) {
		c.Of = p.tableNames()
	}
	if p.accept(kwNowait) {
		c.Wait = lock.WaitError
	} else if p.is2(kwSkip, kwLocked) {
		p.advance()
		p.advance()
		c.Wait = lock.WaitSkip
	}
	s.Locking = append(s.Locking, c)
}

// simpleSelect parses SELECT up to its WINDOW clause.
func (p *parser) simpleSelect() *ast.Select {
	s := &ast.Select{Loc: p.loc()}
	p.advance()
	if p.accept(kwDistinct) {
		s.Distinct = true
		if p.accept(kwOn) {
			s.DistinctOn = p.parenExprList()
		}
		s.Items = p.selectItems()
	} else {
		p.accept(kwAll)
		if p.startsSelectItem() {
			s.Items = p.selectItems()
		}
	}
	if p.accept(kwInto) {
		s.Into = p.intoClause()
	}
	if p.accept(kwFrom) {
		s.From = p.fromList()
		s.AsOf = p.asOf()
	}
	if p.accept(kwWhere) {
		s.Where = p.expr()
	}
	if p.accept(kwGroup) {
		p.expect(kwBy)
		p.groupBy(s)
	}
	if p.accept(kwHaving) {
		s.Having = p.expr()
	}
	if p.accept(kwWindow) {
		s.Windows = p.windows()
	}
	return s
}

// startsSelectItem tells a target list from an empty one.
func (p *parser) startsSelectItem() bool {
	switch p.tok.kind {
	case tokEOF, ';', ')', kwInto, kwFrom, kwWhere, kwGroup, kwHaving, kwWindow, kwUnion, kwIntersect,
		kwExcept, kwOrder, kwLimit, kwOffset, kwFetch, kwFor, kwOn, kwReturning:
		return false
	case kwWith: // WITH [NO] DATA after CREATE TABLE AS SELECT
		return false
	}
	return true
}

// selectItems parses a target list.
func (p *parser) selectItems() []ast.SelectItem {
	items := make([]ast.SelectItem, 0, 4)
	for {
		items = append(items, p.selectItem())
		if !p.accept(',') {
			return items
		}
	}
}

// selectItem parses an expression with an optional label, or a star.
func (p *parser) selectItem() ast.SelectItem {
	if p.tok.kind == '*' {
		star := &ast.ColumnRef{Loc: p.loc(), Star: true}
		p.advance()
		return ast.SelectItem{X: star}
	}
	outer := p.labelDepth
	p.labelDepth = p.depth + 1
	it := ast.SelectItem{X: p.expr()}
	p.labelDepth = outer
	if p.accept(kwAs) {
		it.Alias = p.colLabel()
	} else if isBareLabel(p.tok.kind) {
		it.Alias = p.tok.str
		p.advance()
	}
	return it
}

// intoClause parses what follows INTO.
func (p *parser) intoClause() *ast.IntoClause {
	c := &ast.IntoClause{}
	if k := p.peek(); k == kwTable || isColID(k) { // else the word is the table's name
		c.Persistence, _ = p.persistence()
	}
	p.accept(kwTable)
	c.Name = p.tableName()
	return c
}

// groupBy parses the list of GROUP BY.
func (p *parser) groupBy(s *ast.Select) {
	if p.accept(kwDistinct) {
		s.GroupDistinct = true
	} else {
		p.accept(kwAll)
	}
	s.GroupBy = p.groupItems()
}

// groupItems parses group_by_list.
func (p *parser) groupItems() []ast.Expr {
	var list []ast.Expr
	for {
		list = append(list, p.groupItem())
		if !p.accept(',') {
			return list
		}
	}
}

// groupItem parses an expression or a grouping set.
func (p *parser) groupItem() ast.Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	g := &ast.GroupingSet{Loc: p.loc()}
	switch {
	case p.tok.kind == '(' && p.peek() == ')':
		p.advance()
		p.advance()
		return g
	case p.is2(kwRollup, '('):
		p.advance()
		g.Kind, g.Items = ast.GroupingRollup, p.parenExprList()
		return g
	case p.is2(kwCube, '('):
		p.advance()
		g.Kind, g.Items = ast.GroupingCube, p.parenExprList()
		return g
	case p.accept2(kwGrouping, kwSets):
		p.expect('(')
		g.Kind, g.Items = ast.GroupingSets, p.groupItems()
		p.expect(')')
		return g
	}
	return p.expr()
}

// windows parses the definitions of the WINDOW clause.
func (p *parser) windows() []*ast.WindowSpec {
	var list []*ast.WindowSpec
	for {
		name := p.colID()
		p.expect(kwAs)
		w := p.windowSpec(p.loc())
		w.Name = name
		list = append(list, w)
		if !p.accept(',') {
			return list
		}
	}
}

// orderBy parses ORDER BY and its items.
func (p *parser) orderBy() []ast.OrderItem {
	p.expect(kwOrder)
	p.expect(kwBy)
	items := make([]ast.OrderItem, 0, 2)
	for {
		it := ast.OrderItem{Loc: p.loc()}
		it.X = p.expr()
		if p.accept(kwUsing) {
			if p.tok.kind == kwOperator && p.peek() != '(' {
				p.advance()
				p.syntaxError()
			}
			it.Using = p.operator()
		} else {
			it.Dir = p.direction()
		}
		it.Nulls = p.nullsOrder()
		items = append(items, it)
		if !p.accept(',') {
			return items
		}
	}
}

// direction parses ASC or DESC.
func (p *parser) direction() ast.Direction {
	switch {
	case p.accept(kwAsc):
		return ast.DirAsc
	case p.accept(kwDesc):
		return ast.DirDesc
	}
	return ast.DirDefault
}

// nullsOrder parses NULLS FIRST or NULLS LAST.
func (p *parser) nullsOrder() ast.NullsOrder {
	switch {
	case p.accept2(kwNulls, kwFirst):
		return ast.NullsFirst
	case p.accept2(kwNulls, kwLast):
		return ast.NullsLast
	}
	return ast.NullsDefault
}
