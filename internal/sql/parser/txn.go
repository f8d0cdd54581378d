package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// begin parses BEGIN and START TRANSACTION.
func (p *parser) begin() ast.Statement {
	s := &ast.Begin{Loc: p.loc(), Start: p.tok.kind == kwStart}
	p.advance()
	if s.Start {
		p.expect(kwTransaction)
	} else {
		p.workOrTransaction()
	}
	s.Modes = p.txnModes(false)
	return s
}

func (p *parser) workOrTransaction() {
	if !p.accept(kwWork) {
		p.accept(kwTransaction)
	}
}

// txnModes parses transaction modes, with or without commas between them.
func (p *parser) txnModes(required bool) ast.TxnModes {
	var m ast.TxnModes
	if !p.txnMode(&m) {
		if required {
			p.syntaxError()
		}
		return m
	}
	for p.err == nil {
		comma := p.accept(',')
		if !p.txnMode(&m) {
			if comma {
				p.syntaxError()
			}
			return m
		}
	}
	return m
}

// txnMode parses one mode; false when none comes next.
func (p *parser) txnMode(m *ast.TxnModes) bool {
	switch {
	case p.accept(kwIsolation):
		p.expect(kwLevel)
		m.Isolation = p.isolation()
	case p.accept2(kwRead, kwOnly):
		m.ReadOnly = ast.Yes
	case p.accept2(kwRead, kwWrite):
		m.ReadOnly = ast.No
	case p.accept(kwDeferrable):
		m.Deferrable = ast.Yes
	case p.accept2(kwNot, kwDeferrable):
		m.Deferrable = ast.No
	case p.tok.kind == kwAs && p.isAsOf():
		m.AsOf = p.asOf()
	case p.isWord("priority") && p.extends(ExtPriority):
		p.advance()
		switch {
		case p.isWord("low"), p.isNameWord("normal"), p.isWord("high"):
			m.Priority = p.colLabel()
		default:
			p.syntaxError()
		}
	default:
		return false
	}
	return true
}

// isolation parses an isolation level.
func (p *parser) isolation() ast.Isolation {
	switch {
	case p.accept2(kwRead, kwUncommitted):
		return ast.ReadUncommitted
	case p.accept2(kwRead, kwCommitted):
		return ast.ReadCommitted
	case p.accept2(kwRepeatable, kwRead):
		return ast.RepeatableRead
	case p.accept(kwSerializable):
		return ast.Serializable
	}
	if p.tok.kind == kwRead || p.tok.kind == kwRepeatable {
		p.advance()
	}
	p.syntaxError()
	return 0
}

// commit parses COMMIT, END and COMMIT PREPARED.
func (p *parser) commit() ast.Statement {
	loc := p.loc()
	if p.accept2(kwCommit, kwPrepared) {
		return &ast.PrepareTxn{Loc: loc, Kind: ast.CommitPrepared, ID: p.str()}
	}
	p.advance()
	p.workOrTransaction()
	return &ast.Commit{Loc: loc, Chain: p.chain()}
}

// chain parses AND [NO] CHAIN.
func (p *parser) chain() bool {
	if !p.accept(kwAnd) {
		return false
	}
	no := p.accept(kwNo)
	p.expect(kwChain)
	return !no
}

// rollback parses ROLLBACK, ABORT, ROLLBACK TO and ROLLBACK PREPARED.
func (p *parser) rollback() ast.Statement {
	loc := p.loc()
	isRollback := p.tok.kind == kwRollback
	if p.accept2(kwRollback, kwPrepared) {
		return &ast.PrepareTxn{Loc: loc, Kind: ast.RollbackPrepared, ID: p.str()}
	}
	p.advance()
	p.workOrTransaction()
	if isRollback && p.accept(kwTo) {
		return &ast.RollbackTo{Loc: loc, Name: p.savepointName()}
	}
	return &ast.Rollback{Loc: loc, Chain: p.chain()}
}

// savepoint parses SAVEPOINT.
func (p *parser) savepoint() ast.Statement {
	loc := p.loc()
	p.advance()
	return &ast.Savepoint{Loc: loc, Name: p.colID()}
}

// release parses RELEASE [SAVEPOINT].
func (p *parser) release() ast.Statement {
	loc := p.loc()
	p.advance()
	return &ast.Release{Loc: loc, Name: p.savepointName()}
}

// savepointName parses [SAVEPOINT] name.
func (p *parser) savepointName() ast.Name {
	if p.tok.kind == kwSavepoint && isColID(p.peek()) {
		p.advance()
	}
	return p.colID()
}

// set parses SET.
func (p *parser) set() ast.Statement {
	loc := p.loc()
	p.advance()
	switch {
	case p.tok.kind == kwConstraints && p.peek() != kwTo && p.peek() != '=':
		return p.setConstraints(loc)
	case p.isClusterSetting():
		return p.setClusterSetting(loc)
	case p.tok.kind == kwLocal && p.settingFollows():
		p.advance()
		return p.setRest(loc, ast.ScopeLocal)
	case p.tok.kind == kwSession && p.peek() != kwAuthorization && p.peek() != kwCharacteristics && p.settingFollows():
		p.advance()
		return p.setRest(loc, ast.ScopeSession)
	}
	return p.setRest(loc, ast.ScopeSession)
}

// settingFollows tells SET LOCAL x from a setting that is named "local".
func (p *parser) settingFollows() bool {
	k := p.peek()
	return k != kwTo && k != '=' && k != '.' && k != kwFrom
}

// setRest parses set_rest: what follows SET [SESSION|LOCAL].
func (p *parser) setRest(loc ast.Loc, scope ast.SetScope) ast.Statement {
	s := &ast.SetVar{Loc: loc, Scope: scope}
	next := p.peek()
	assigned := next == kwTo || next == '=' || next == kwFrom
	switch {
	case p.accept2(kwSession, kwCharacteristics):
		p.expect(kwAs)
		p.expect(kwTransaction)
		return &ast.SetTransaction{Loc: loc, Session: true, Modes: p.txnModes(true)}
	case p.tok.kind == kwTransaction && !assigned:
		p.advance()
		t := &ast.SetTransaction{Loc: loc, Local: scope == ast.ScopeLocal}
		if p.accept(kwSnapshot) {
			t.Snapshot = p.str()
		} else {
			t.Modes = p.txnModes(true)
		}
		return t
	case p.accept2(kwTime, kwZone):
		p.setTimeZone(s)
		return s
	case p.tok.kind == kwNames && !assigned:
		p.advance()
		p.setNames(s)
		return s
	case p.tok.kind == kwCatalog && next == tokString:
		p.advance()
		p.failf(pgerr.FeatureNotSupported, p.pos(), "current database cannot be changed")
		return s
	case p.tok.kind == kwSchema && next == tokString:
		p.advance()
		s.Name, s.Values = "search_path", []ast.Expr{p.strLit()}
		return s
	case p.tok.kind == kwRole && !assigned:
		p.advance()
		s.Name, s.Values = "role", []ast.Expr{p.wordOrString()}
		return s
	case p.accept2(kwSession, kwAuthorization):
		s.Name = "session_authorization"
		if p.accept(kwDefault) {
			s.Default = true
		} else {
			s.Values = []ast.Expr{p.wordOrString()}
		}
		return s
	case p.tok.kind == kwXml && next == kwOption:
		p.advance()
		p.advance()
		if !p.accept(kwDocument) {
			p.expect(kwContent)
		}
		p.unsupportedLate(loc.Pos, "SET XML OPTION")
		return s
	}
	p.setGeneric(s)
	return s
}

// wordOrString parses NonReservedWord_or_Sconst.
func (p *parser) wordOrString() ast.Expr {
	if p.tok.kind == tokString {
		return p.strLit()
	}
	loc := p.loc()
	return &ast.StrLit{Loc: loc, Val: p.nonReserved()}
}

// setGeneric parses name TO|= values, or name FROM CURRENT.
func (p *parser) setGeneric(s *ast.SetVar) {
	s.Name = p.varName()
	if p.accept2(kwFrom, kwCurrent) {
		s.Current = true
		return
	}
	if !p.accept(kwTo) {
		p.expect('=')
	}
	if p.accept(kwDefault) {
		s.Default = true
		return
	}
	for {
		s.Values = append(s.Values, p.varValue())
		if !p.accept(',') {
			return
		}
	}
}

// varName parses a setting's name with its dots, in lower case.
func (p *parser) varName() string {
	s := p.colID()
	for p.accept('.') {
		s += "." + p.colID()
	}
	return lowerASCII(s)
}

// varValue parses one value of a setting.
func (p *parser) varValue() ast.Expr {
	switch p.tok.kind {
	case tokInt, tokNum, '+', '-':
		return p.numericOnly()
	}
	return p.booleanOrString()
}

// setTimeZone parses what follows SET TIME ZONE.
func (p *parser) setTimeZone(s *ast.SetVar) {
	s.Name = "timezone"
	switch p.tok.kind {
	case kwDefault, kwLocal:
		p.advance()
		s.Default = true
	case tokString:
		s.Values = []ast.Expr{p.strLit()}
	case tokIdent:
		s.Values = []ast.Expr{&ast.StrLit{Loc: p.loc(), Val: p.tok.str}}
		p.advance()
	case kwInterval:
		l := p.scan()
		l.next()
		pos := p.charPos(int(l.next().start)) // after the string
		x := p.typedLiteral()
		s.Values = []ast.Expr{x}
		if c, ok := x.(*ast.Cast); ok && p.err == nil {
			switch c.Type.Fields {
			case ast.IntervalAll, ast.IntervalHour, ast.IntervalMinute, ast.IntervalHourToMinute:
			default:
				p.failf(pgerr.SyntaxError, pos, "time zone interval must be HOUR or HOUR TO MINUTE")
			}
		}
	default:
		s.Values = []ast.Expr{p.numericOnly()}
	}
}

// setNames parses what follows SET NAMES.
func (p *parser) setNames(s *ast.SetVar) {
	s.Name = "client_encoding"
	if p.tok.kind == tokString {
		s.Values = []ast.Expr{p.strLit()}
		return
	}
	p.accept(kwDefault)
	s.Default = true
}

// setConstraints parses SET CONSTRAINTS.
func (p *parser) setConstraints(loc ast.Loc) ast.Statement {
	s := &ast.SetConstraints{Loc: loc}
	p.advance()
	if p.accept(kwAll) {
		s.All = true
	} else {
		s.Names = p.tableNames()
	}
	if p.accept(kwDeferred) {
		s.Deferred = true
	} else {
		p.expect(kwImmediate)
	}
	return s
}

// isClusterSetting reports whether CLUSTER SETTING comes next.
func (p *parser) isClusterSetting() bool {
	return p.tok.kind == kwCluster && p.peekToken().str == "setting" && p.extends(ExtClusterSetting)
}

// setClusterSetting parses the dialect's SET CLUSTER SETTING.
func (p *parser) setClusterSetting(loc ast.Loc) ast.Statement {
	p.advance()
	p.advance()
	s := &ast.SetClusterSetting{Loc: loc}
	s.Name = p.settingName()
	if !p.accept(kwTo) {
		p.expect('=')
	}
	if !p.accept(kwDefault) {
		s.Value = p.expr()
	}
	return s
}

// settingName parses a cluster setting's name, whose parts may be any word.
func (p *parser) settingName() string {
	s := p.colLabel()
	for p.accept('.') {
		s += "." + p.colLabel()
	}
	return s
}

// reset parses RESET.
func (p *parser) reset() ast.Statement {
	s := &ast.SetVar{Loc: p.loc(), Reset: true}
	p.advance()
	switch {
	case p.accept2(kwTime, kwZone):
		s.Name = "timezone"
	case p.accept2(kwTransaction, kwIsolation):
		p.expect(kwLevel)
		s.Name = "transaction_isolation"
	case p.accept2(kwSession, kwAuthorization):
		s.Name = "session_authorization"
	case p.accept(kwAll):
	case p.isClusterSetting():
		p.advance()
		p.advance()
		return &ast.SetClusterSetting{Loc: s.Loc, Name: p.settingName()}
	default:
		s.Name = p.varName()
	}
	return s
}
