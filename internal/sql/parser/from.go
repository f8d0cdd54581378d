package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// fromList parses from_list.
func (p *parser) fromList() []ast.TableExpr {
	list := make([]ast.TableExpr, 0, 2)
	for {
		list = append(list, p.tableExpr())
		if !p.accept(',') {
			return list
		}
	}
}

// tableExpr parses table_ref: a table expression with the joins after it.
func (p *parser) tableExpr() ast.TableExpr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	return p.joins(p.tablePrimary())
}

// startsJoin reports whether the next token begins a join.
func (p *parser) startsJoin() bool {
	switch p.tok.kind {
	case kwJoin, kwInner, kwLeft, kwRight, kwFull, kwCross, kwNatural:
		return true
	}
	return false
}

// joins parses the joins after l. A join condition belongs to the nearest join
// that has none, so the right side takes further joins until its own condition
// comes.
func (p *parser) joins(l ast.TableExpr) ast.TableExpr {
	for p.startsJoin() {
		p.chained++
		j := &ast.Join{Loc: p.loc(), L: l}
		if p.accept(kwCross) {
			j.Kind = ast.JoinCross
			p.expect(kwJoin)
			j.R = p.tablePrimary()
			l = j
			continue
		}
		j.Natural = p.accept(kwNatural)
		j.Kind = p.joinKind()
		p.expect(kwJoin)
		j.R = p.tablePrimary()
		if !j.Natural {
			if p.startsJoin() {
				if !p.enter() {
					return j
				}
				j.R = p.joins(j.R)
				p.leave()
			}
			p.joinCondition(j)
		}
		l = j
	}
	return l
}

// joinKind parses [INNER] or LEFT|RIGHT|FULL [OUTER].
func (p *parser) joinKind() ast.JoinKind {
	k := ast.JoinInner
	switch p.tok.kind {
	case kwInner:
		p.advance()
		return k
	case kwLeft:
		k = ast.JoinLeft
	case kwRight:
		k = ast.JoinRight
	case kwFull:
		k = ast.JoinFull
	default:
		return k
	}
	p.advance()
	p.accept(kwOuter)
	return k
}

// joinCondition parses ON x or USING (cols) [AS alias].
func (p *parser) joinCondition(j *ast.Join) {
	if p.accept(kwUsing) {
		j.Using = p.parenNames()
		if p.tok.kind == kwAs && !p.isAsOf() {
			p.advance()
			j.UsingAlias = p.colID()
		}
		return
	}
	p.expect(kwOn)
	j.On = p.expr()
}

// tablePrimary parses a table expression without joins after it.
func (p *parser) tablePrimary() ast.TableExpr {
	switch p.tok.kind {
	case '(':
		return p.parenTable()
	case '[':
		if p.extends(ExtStatementRef) {
			return p.statementRef()
		}
	case kwOnly:
		return p.relation()
	case kwLateral:
		p.advance()
		if p.tok.kind == '(' {
			s := &ast.SubqueryRef{Loc: p.loc(), Lateral: true}
			s.Query = p.parenQuery()
			s.Alias = p.subqueryAlias(s.Loc, s.Query)
			return s
		}
		return p.funcTable(true)
	case kwRows:
		if p.peek() == kwFrom {
			return p.funcTable(false)
		}
	case kwXmltable:
		if p.peek() != '(' {
			break
		}
		f := &ast.FuncRef{Loc: p.loc()}
		p.xml(f.Loc, "FROM")
		p.funcAlias(f)
		return f
	}
	if p.startsFuncTable() {
		return p.funcTable(false)
	}
	return p.relation()
}

// startsFuncTable reports whether the next token begins a function in FROM,
// not a table's name.
func (p *parser) startsFuncTable() bool {
	k := p.tok.kind
	if !isColID(k) {
		if _, ok := sqlValueKind(k); ok {
			return true
		}
		return k == kwCast || isFuncName(k)
	}
	next := p.peek()
	if next != '.' {
		return next == '(' && (!isKeyword(k) || class(k) != ast.ColName || isTableCall(k))
	}
	l := p.scan()
	for {
		if t := l.next(); t.kind != '.' {
			return t.kind == '('
		}
		if !isColLabel(l.next().kind) {
			return false
		}
	}
}

// isTableCall reports whether a keyword of the class of column names is called
// like a function that may stand in FROM.
func isTableCall(k kind) bool {
	return isSpecialCall(k) && k != kwRow && k != kwExists && k != kwGrouping
}

// relation parses a table's name with ONLY, index hint, alias and sample.
func (p *parser) relation() *ast.TableRef {
	t := &ast.TableRef{Loc: p.loc()}
	p.relationName(t)
	if p.isAt() && p.extends(ExtIndexHint) {
		p.indexHint(t)
	}
	t.Alias = p.alias()
	if p.tok.kind == kwTablesample {
		t.Sample = p.tableSample()
	}
	return t
}

// relationName parses relation_expr: name, name *, ONLY name, ONLY (name).
func (p *parser) relationName(t *ast.TableRef) {
	if p.accept(kwOnly) {
		t.Only = true
		if p.accept('(') {
			t.Name = p.tableName()
			p.expect(')')
			return
		}
		t.Name = p.tableName()
		return
	}
	t.Name = p.tableName()
	p.accept('*')
}

// isAt reports whether an @ comes next.
func (p *parser) isAt() bool { return p.tok.kind == tokOp && p.tok.str == "@" }

// isIndexName reports whether an index's name follows the table's, after @.
func (p *parser) isIndexName() bool { return p.isAt() && p.extends(ExtIndexName) }

// indexHint parses the dialect's @index or @{FORCE_INDEX=index,...}.
func (p *parser) indexHint(t *ast.TableRef) {
	p.advance()
	if p.tok.kind != '{' {
		t.IndexHint = p.colLabel()
		return
	}
	p.advance()
	for {
		name := p.colLabel()
		if p.accept('=') {
			v := p.colLabel()
			if name == "force_index" {
				t.IndexHint = v
			}
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect('}')
}

// tableSample parses TABLESAMPLE.
func (p *parser) tableSample() *ast.TableSample {
	p.advance()
	loc := p.loc()
	s := &ast.TableSample{Loc: loc}
	if !isFuncName(p.tok.kind) {
		p.syntaxError()
	}
	parts := []ast.Name{p.colLabel()}
	for p.accept('.') {
		parts = append(parts, p.colLabel())
	}
	s.Method = p.funcName(loc, parts)
	s.Args = p.parenExprList()
	if p.accept(kwRepeatable) {
		p.expect('(')
		s.Repeatable = p.expr()
		p.expect(')')
	}
	return s
}

// alias parses [AS] name [(cols)].
func (p *parser) alias() ast.Alias {
	var a ast.Alias
	if p.tok.kind == kwAs {
		if p.isAsOf() {
			return a
		}
		p.advance()
		a.Name = p.colID()
	} else if isColID(p.tok.kind) {
		a.Name = p.tok.str
		p.advance()
	} else {
		return a
	}
	a.Cols = p.optParenNames()
	return a
}

// subqueryAlias parses the alias of a subquery, without which PostgreSQL 15
// takes none.
func (p *parser) subqueryAlias(loc ast.Loc, q *ast.Select) ast.Alias {
	a := p.alias()
	if a.Name != "" || p.err != nil || p.extends(ExtNoAlias) {
		return a
	}
	what, example := "subquery", "(SELECT ...)"
	if q.Values != nil {
		what, example = "VALUES", "(VALUES ...)"
	}
	p.fail(pgerr.New(pgerr.SyntaxError, "%s in FROM must have an alias", what).
		WithHint("For example, FROM %s [AS] foo.", example), loc.Pos)
	return a
}

// isAsOf reports whether AS OF SYSTEM TIME comes next.
func (p *parser) isAsOf() bool {
	if p.tok.kind != kwAs || p.peek() != kwOf {
		return false
	}
	l := p.scan()
	l.next()
	return l.next().kind == kwSystem && p.extends(ExtAsOf)
}

// asOf parses the dialect's AS OF SYSTEM TIME x.
func (p *parser) asOf() ast.Expr {
	if !p.isAsOf() {
		return nil
	}
	p.advance()
	p.advance()
	p.advance()
	p.expect(kwTime)
	return p.expr()
}

// tableGroup is what stood between parentheses in FROM.
type tableGroup struct {
	query *ast.Select
	table ast.TableExpr
}

// parenTable parses a query or a join in parentheses, with its alias.
func (p *parser) parenTable() ast.TableExpr {
	loc := p.loc()
	return p.aliased(loc, p.tableParens())
}

// aliased makes a table expression of a group and the alias after it.
func (p *parser) aliased(loc ast.Loc, g tableGroup) ast.TableExpr {
	if g.query != nil {
		return &ast.SubqueryRef{Loc: loc, Query: g.query, Alias: p.subqueryAlias(loc, g.query)}
	}
	if j, ok := g.table.(*ast.Join); ok && j.Alias.Name == "" {
		j.Alias = p.alias()
	}
	return g.table
}

// tableParens parses parentheses in FROM. As in parens, what they hold may show
// only after an inner pair.
func (p *parser) tableParens() tableGroup {
	if !p.enter() {
		return tableGroup{}
	}
	defer p.leave()
	p.expect('(')
	if p.startsQuery() {
		g := tableGroup{query: p.query()}
		p.expect(')')
		return g
	}
	var t ast.TableExpr
	if p.tok.kind == '(' && p.parensHoldQuery() {
		loc := p.loc()
		inner := p.tableParens()
		switch {
		case inner.query != nil && p.continuesQuery():
			g := tableGroup{query: p.queryTail(p.setOps(inner.query, 0), nil)}
			p.expect(')')
			return g
		case inner.query != nil && p.tok.kind == ')':
			p.advance()
			return inner
		}
		t = p.joins(p.aliased(loc, inner))
	} else {
		t = p.tableExpr()
	}
	if j, ok := t.(*ast.Join); !ok || j.Alias.Name != "" {
		p.syntaxError()
	}
	p.expect(')')
	return tableGroup{table: t}
}

// statementRef parses the dialect's [statement].
func (p *parser) statementRef() ast.TableExpr {
	s := &ast.StatementRef{Loc: p.loc()}
	if !p.enter() {
		return s
	}
	defer p.leave()
	p.advance()
	s.Stmt = p.statement()
	p.expect(']')
	s.Alias = p.alias()
	return s
}

// funcTable parses a function, or ROWS FROM (...), with ordinality and alias.
func (p *parser) funcTable(lateral bool) ast.TableExpr {
	f := &ast.FuncRef{Loc: p.loc(), Lateral: lateral}
	if p.accept2(kwRows, kwFrom) {
		f.RowsFrom = true
		p.expect('(')
		for {
			it := ast.FuncItem{Call: p.tableFunc()}
			if p.accept(kwAs) {
				p.expect('(')
				it.Cols = p.columnDecls()
			}
			f.Funcs = append(f.Funcs, it)
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	} else {
		f.Funcs = []ast.FuncItem{{Call: p.tableFunc()}}
	}
	if p.accept2(kwWith, kwOrdinality) {
		f.Ordinality = true
	}
	p.funcAlias(f)
	return f
}

// tableFunc parses func_expr_windowless.
func (p *parser) tableFunc() ast.Expr {
	loc := p.loc()
	if isFuncName(p.tok.kind) && p.tok.kind != kwCurrentSchema && p.tok.kind != kwCollation {
		parts := []ast.Name{p.tok.str}
		p.advance()
		for p.accept('.') {
			parts = append(parts, p.colLabel())
		}
		if p.tok.kind != '(' {
			p.syntaxError()
			return nil
		}
		return p.application(loc, parts)
	}
	if !p.startsFuncTable() {
		if isColID(p.tok.kind) {
			p.anyName()
		}
		p.syntaxError()
		return nil
	}
	x := p.primary()
	switch x := x.(type) {
	case *ast.FuncCall:
		if x.Syntax != ast.SyntaxOverlaps {
			return x
		}
	case *ast.Cast:
		if x.Style == ast.CastFunc {
			return x
		}
	case *ast.SQLValue, *ast.Coalesce, *ast.MinMax, *ast.NullIf:
		return x
	}
	p.syntaxError()
	return nil
}

// funcAlias parses [AS] [name] (columns), where the columns may have types.
func (p *parser) funcAlias(f *ast.FuncRef) {
	if p.isAsOf() {
		return
	}
	if p.accept(kwAs) {
		if p.accept('(') {
			f.Cols = p.columnDecls()
			return
		}
		f.Alias.Name = p.colID()
	} else if isColID(p.tok.kind) {
		f.Alias.Name = p.colID()
	} else {
		return
	}
	if p.tok.kind != '(' {
		return
	}
	p.advance()
	if k := p.peek(); isColID(p.tok.kind) && (k == ',' || k == ')') {
		f.Alias.Cols = p.nameList()
		p.expect(')')
		return
	}
	f.Cols = p.columnDecls()
}

// columnDecls parses name type [COLLATE c], ... and the closing parenthesis.
func (p *parser) columnDecls() []ast.ColumnDecl {
	var list []ast.ColumnDecl
	for {
		d := ast.ColumnDecl{Loc: p.loc()}
		d.Name = p.colID()
		d.Type = p.typeName()
		if p.accept(kwCollate) {
			d.Collate = p.anyName()
		}
		list = append(list, d)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}
