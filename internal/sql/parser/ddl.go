package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// create parses CREATE.
func (p *parser) create() ast.Statement {
	loc := p.loc()
	p.advance()
	start := *p
	orReplace := p.accept2(kwOr, kwReplace)
	persistence, persistent := p.persistence()
	switch p.tok.kind {
	case kwView, kwRecursive:
		return p.createView(&ast.CreateView{Loc: loc, OrReplace: orReplace, Persistence: persistence})
	case kwTable, kwSequence, kwMaterialized:
		if !orReplace {
			return p.createRelation(loc, persistence)
		}
	}
	if persistent {
		p.syntaxError()
		return nil
	}
	if p.tok.kind == kwFunction || p.tok.kind == kwProcedure {
		return p.createRoutine(loc, orReplace)
	}
	if p.tok.kind == kwAggregate {
		return p.createAggregate(loc, orReplace)
	}
	if p.tok.kind == kwTrigger || p.tok.kind == kwConstraint && p.peek() == kwTrigger {
		return p.createTrigger(loc, orReplace)
	}
	if orReplace {
		*p = start
		return p.refuse(loc, "CREATE")
	}
	return p.createOther(loc)
}

// createRelation parses CREATE TABLE, SEQUENCE and MATERIALIZED VIEW.
func (p *parser) createRelation(loc ast.Loc, persistence ast.Persistence) ast.Statement {
	k := p.tok.kind
	p.advance()
	switch k {
	case kwTable:
		return p.createTable(loc, persistence)
	case kwSequence:
		return p.createSequence(loc, persistence)
	default:
		p.expect(kwView)
		return p.createMaterializedView(loc, persistence)
	}
}

// persistence parses TEMPORARY or UNLOGGED; written says one of them stood
// there.
func (p *parser) persistence() (per ast.Persistence, written bool) {
	switch p.tok.kind {
	case kwLocal, kwGlobal:
		if p.accept2(p.tok.kind, kwTemp) || p.accept2(p.tok.kind, kwTemporary) {
			return ast.Temporary, true
		}
	case kwTemp, kwTemporary:
		p.advance()
		return ast.Temporary, true
	case kwUnlogged:
		p.advance()
		return ast.Unlogged, true
	}
	return ast.Permanent, false
}

// createOther parses CREATE of what cannot be temporary.
func (p *parser) createOther(loc ast.Loc) ast.Statement {
	switch p.tok.kind {
	case kwIndex:
		return p.createIndex(loc)
	case kwUnique:
		if k := p.peek(); k == kwIndex || p.tokenIsWord(p.peekToken(), "inverted") && p.extends(ExtInvertedIndex) {
			return p.createIndex(loc)
		}
		p.advance()
		p.syntaxError()
		return nil
	case kwDatabase:
		p.advance()
		return p.createDatabase(loc)
	case kwSchema:
		p.advance()
		return p.createSchema(loc)
	case kwTablespace:
		p.advance()
		return p.createTablespace(loc)
	case kwRole:
		p.advance()
		return p.createRole(loc, ast.KindRole)
	case kwGroup:
		p.advance()
		return p.createRole(loc, ast.KindGroup)
	case kwUser:
		if p.isUserMapping() {
			return p.refuse(loc, "CREATE")
		}
		p.advance()
		return p.createRole(loc, ast.KindUser)
	case kwType:
		return p.createType(loc)
	case kwDomain:
		p.advance()
		return p.createDomain(loc)
	case kwExtension:
		p.advance()
		return p.createExtension(loc)
	case kwCollation:
		p.advance()
		return p.createCollation(loc)
	case kwCast:
		return p.createCast(loc)
	case kwStatistics:
		return p.createStatistics(loc)
	case kwPolicy:
		return p.createPolicy(loc)
	case kwOperator:
		if p.onOperator() {
			return p.createOperator(loc)
		}
	case kwEvent:
		if p.onEventTrigger() {
			return p.createEventTrigger(loc)
		}
	}
	if p.isWord("inverted") && p.peek() == kwIndex && p.extends(ExtInvertedIndex) {
		return p.createIndex(loc)
	}
	for _, w := range [...]string{"changefeed", "schedule", "tablegroup"} {
		if k := p.peek(); p.isWord(w) && k != tokEOF && k != ';' && p.extends(ExtCreateDialect) {
			return p.skipStatement(loc, "CREATE "+upper(w))
		}
	}
	return p.refuse(loc, "CREATE")
}

// upper returns an ASCII word in upper case.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// skipStatement passes over a statement of the dialects that has no syntax tree.
func (p *parser) skipStatement(loc ast.Loc, feature string) ast.Statement {
	p.notes.Unread = true
	for p.tok.kind != ';' && p.tok.kind != tokEOF {
		p.advance()
	}
	return &ast.Unsupported{Loc: loc, Feature: feature}
}

// createView parses CREATE VIEW from RECURSIVE or VIEW on.
func (p *parser) createView(s *ast.CreateView) ast.Statement {
	recursive := p.accept(kwRecursive)
	p.expect(kwView)
	s.IfNotExists = p.tok.kind == kwIf && p.peek() == kwNot && p.extends(ExtIfNotExists) && p.ifNotExists()
	s.Name = p.tableName()
	if recursive {
		s.Cols = p.parenNames()
	} else {
		s.Cols = p.optParenNames()
	}
	if p.accept(kwWith) {
		s.With = p.storageParams()
	}
	p.expect(kwAs)
	s.Query = p.query()
	if recursive && p.err == nil {
		s.Query = recursiveView(s)
	}
	if pos := p.pos(); p.accept(kwWith) {
		s.Check = ast.CheckCascaded
		if p.accept(kwLocal) {
			s.Check = ast.CheckLocal
		} else {
			p.accept(kwCascaded)
		}
		p.expect(kwCheck)
		p.expect(kwOption)
		if recursive {
			p.failf(pgerr.FeatureNotSupported, pos, "WITH CHECK OPTION not supported on recursive views")
		}
	}
	return s
}

// recursiveView returns what the query of CREATE RECURSIVE VIEW v (a) AS q stands for:
// WITH RECURSIVE v (a) AS (q) SELECT a FROM v.
func recursiveView(s *ast.CreateView) *ast.Select {
	q := &ast.Select{Loc: s.Query.Loc}
	cte := &ast.CTE{Loc: s.Query.Loc, Name: s.Name.Table, Cols: s.Cols, Stmt: s.Query}
	q.With = &ast.With{Loc: s.Query.Loc, Recursive: true, CTEs: []*ast.CTE{cte}}
	for _, c := range s.Cols {
		q.Items = append(q.Items, ast.SelectItem{X: &ast.ColumnRef{Loc: s.Query.Loc, Column: c}})
	}
	q.From = []ast.TableExpr{&ast.TableRef{Loc: s.Query.Loc, Name: ast.TableName{Loc: s.Query.Loc, Table: s.Name.Table}}}
	return q
}

// createMaterializedView parses CREATE MATERIALIZED VIEW after these words.
func (p *parser) createMaterializedView(loc ast.Loc, persistence ast.Persistence) ast.Statement {
	s := &ast.CreateTableAs{Loc: loc, Materialized: true, Persistence: persistence}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.tableName()
	s.Cols = p.optParenNames()
	if p.accept(kwUsing) {
		s.Using = p.colID()
	}
	s.With = p.tableWith()
	if p.accept(kwTablespace) {
		s.Tablespace = p.colID()
	}
	p.expect(kwAs)
	s.Query = p.query()
	s.WithData = p.withData()
	return s
}

// createDatabase parses CREATE DATABASE after these words.
func (p *parser) createDatabase(loc ast.Loc) ast.Statement {
	s := &ast.CreateDatabase{Loc: loc}
	s.IfNotExists = p.tok.kind == kwIf && p.peek() == kwNot && p.extends(ExtIfNotExists) && p.ifNotExists()
	s.Name = p.colID()
	p.accept(kwWith)
	s.Options = p.databaseOptions()
	return s
}

// databaseOptions parses name [=] value options.
func (p *parser) databaseOptions() []ast.Option {
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc()}
		switch p.tok.kind {
		case kwConnection:
			p.advance()
			p.expect(kwLimit)
			o.Name = "connection_limit"
		case tokIdent, kwEncoding, kwLocation, kwOwner, kwTablespace, kwTemplate:
			o.Name = p.tok.str
			p.advance()
		default:
			return list
		}
		p.accept('=')
		switch p.tok.kind {
		case tokInt, tokNum, '+', '-':
			o.Value = p.numericOnly()
		case kwDefault:
			o.Value = &ast.DefaultExpr{Loc: p.loc()}
			p.advance()
		default:
			o.Value = p.booleanOrString()
		}
		list = append(list, o)
	}
}

// booleanOrString parses opt_boolean_or_string: TRUE, FALSE, ON, a word or a
// string, all as a string constant.
func (p *parser) booleanOrString() ast.Expr {
	loc, t := p.loc(), p.tok
	switch {
	case t.kind == kwTrue, t.kind == kwFalse, t.kind == kwOn, t.kind == tokString, isNonReserved(t.kind):
		p.advance()
		return &ast.StrLit{Loc: loc, Val: t.str}
	}
	p.syntaxError()
	return nil
}

// createTablespace parses CREATE TABLESPACE after these words.
func (p *parser) createTablespace(loc ast.Loc) ast.Statement {
	s := &ast.CreateTablespace{Loc: loc, Name: p.colID()}
	if p.accept(kwOwner) {
		r := p.roleSpec()
		s.Owner = &r
	}
	if p.tok.kind != kwWith || !p.extends(ExtTablespace) {
		p.expect(kwLocation)
		s.HasLocation, s.Location = true, p.str()
	}
	if p.accept(kwWith) {
		s.With = p.storageParams()
	}
	return s
}

// createSchema parses CREATE SCHEMA after these words.
func (p *parser) createSchema(loc ast.Loc) ast.Statement {
	s := &ast.CreateSchema{Loc: loc}
	s.IfNotExists = p.ifNotExists()
	if p.tok.kind != kwAuthorization {
		s.Name = p.colID()
	}
	if p.accept(kwAuthorization) {
		r := p.roleSpec()
		s.Owner = &r
	}
	for p.err == nil {
		switch p.tok.kind {
		case kwCreate:
			if !schemaElement(p.peekToken()) {
				p.advance()
				p.syntaxError()
				return s
			}
			s.Elements = append(s.Elements, p.create())
		case kwGrant:
			s.Elements = append(s.Elements, p.grant())
		default:
			if s.IfNotExists && len(s.Elements) > 0 {
				p.failf(pgerr.FeatureNotSupported, s.Elements[0].Position(), "CREATE SCHEMA IF NOT EXISTS cannot include schema elements")
			}
			return s
		}
	}
	return s
}

// schemaElement reports whether CREATE with this word after it may be part of
// CREATE SCHEMA.
func schemaElement(t token) bool {
	switch t.kind {
	case kwTable, kwView, kwIndex, kwUnique, kwSequence, kwTemp, kwTemporary, kwLocal, kwGlobal, kwUnlogged,
		kwRecursive, kwTrigger, kwOr, kwConstraint:
		return true
	}
	return false
}

// createType parses CREATE TYPE: enums, composite types and ranges; base types have no tree.
func (p *parser) createType(loc ast.Loc) ast.Statement {
	start := *p
	p.advance()
	s := &ast.CreateEnum{Loc: loc}
	s.IfNotExists = p.tok.kind == kwIf && p.peek() == kwNot && p.extends(ExtIfNotExists) && p.ifNotExists()
	s.Name = p.anyTableName()
	if p.tok.kind != kwAs {
		notes := p.notes
		*p = start
		p.notes = notes
		return p.refuse(loc, "CREATE")
	}
	p.advance()
	switch p.tok.kind {
	case kwEnum:
		p.advance()
		p.expect('(')
		if !p.accept(')') {
			s.Labels = append(s.Labels, p.str())
			for p.accept(',') {
				s.Labels = append(s.Labels, p.str())
			}
			p.expect(')')
		}
		return s
	case kwRange:
		p.advance()
		return &ast.CreateRange{Loc: loc, Name: s.Name, Params: p.definition()}
	}
	return p.compositeType(loc, s.Name)
}

// createCast parses CREATE CAST from this word on.
func (p *parser) createCast(loc ast.Loc) ast.Statement {
	p.advance()
	s := &ast.CreateCast{Loc: loc, Context: 'e'}
	s.From, s.To = p.castTypes()
	switch {
	case p.accept2(kwWithout, kwFunction):
		s.Binary = true
	case p.accept2(kwWith, kwInout):
	default:
		p.expect(kwWith)
		p.expect(kwFunction)
		ref := p.routineRef()
		s.Function = &ref
	}
	if p.accept(kwAs) {
		if s.Context = 'i'; !p.accept(kwImplicit) {
			p.expect(kwAssignment)
			s.Context = 'a'
		}
	}
	return s
}

// castTypes parses the source and target of a cast.
func (p *parser) castTypes() (from, to *ast.TypeName) {
	p.expect('(')
	from = p.typeName()
	p.expect(kwAs)
	to = p.typeName()
	p.expect(')')
	return from, to
}

// definition parses definition: ( name = value, ... ), where values are optional.
func (p *parser) definition() []ast.Option {
	p.expect('(')
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc(), Name: p.colLabel()}
		if p.accept('=') {
			o.Value = p.defArg()
		}
		list = append(list, o)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// createCollation parses CREATE COLLATION after these words.
func (p *parser) createCollation(loc ast.Loc) ast.Statement {
	s := &ast.CreateCollation{Loc: loc}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.anyTableName()
	if p.accept(kwFrom) {
		s.From = p.anyName()
	} else {
		s.Params = p.definition()
	}
	return s
}

// createExtension parses CREATE EXTENSION after these words.
func (p *parser) createExtension(loc ast.Loc) ast.Statement {
	s := &ast.CreateExtension{Loc: loc}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.colID()
	p.accept(kwWith)
	for p.err == nil {
		switch {
		case p.accept(kwSchema):
			s.Schema = p.colID()
		case p.accept(kwVersion):
			s.Version = p.extensionVersion()
		case p.accept(kwCascade):
			s.Cascade = true
		default:
			return s
		}
	}
	return s
}

// refresh parses REFRESH MATERIALIZED VIEW.
func (p *parser) refresh() ast.Statement {
	s := &ast.RefreshView{Loc: p.loc()}
	p.advance()
	p.expect(kwMaterialized)
	p.expect(kwView)
	s.Concurrently = p.accept(kwConcurrently)
	s.Name = p.tableName()
	s.WithData = p.withData()
	return s
}
