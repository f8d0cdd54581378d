package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// show parses SHOW. PostgreSQL's form is a setting's name; the dialects' lists
// are recognised by their word, and by what follows where a setting could be
// meant.
func (p *parser) show() ast.Statement {
	loc := p.loc()
	p.advance()
	if !p.strict {
		if s := p.showObjects(loc); s != nil {
			p.extends(ExtShow)
			return s
		}
	}
	s := &ast.Show{Loc: loc}
	switch {
	case p.accept2(kwTime, kwZone):
		s.Name = "timezone"
	case p.accept2(kwTransaction, kwIsolation):
		p.expect(kwLevel)
		s.Name = "transaction_isolation"
	case p.accept2(kwSession, kwAuthorization):
		s.Name = "session_authorization"
	case p.accept(kwAll):
		s.Name = "all"
	default:
		s.Name = p.varName()
	}
	return s
}

// plainLists are the lists that stand alone or take FROM name.
var plainLists = map[string]ast.ShowKind{
	"databases": ast.ShowDatabases, "schemas": ast.ShowSchemas, "tables": ast.ShowTables,
	"sequences": ast.ShowSequences, "types": ast.ShowTypes, "enums": ast.ShowEnums, "users": ast.ShowUsers, "roles": ast.ShowRoles,
	"sessions": ast.ShowSessions, "queries": ast.ShowQueries, "statements": ast.ShowQueries,
	"jobs": ast.ShowJobs, "transactions": ast.ShowTransactions, "functions": ast.ShowFunctions,
	"regions": ast.ShowRegions, "schedules": ast.ShowSchedules,
}

// tableLists are the lists about one table, FROM name.
var tableLists = map[string]ast.ShowKind{
	"columns": ast.ShowColumns, "indexes": ast.ShowIndexes, "index": ast.ShowIndexes, "keys": ast.ShowIndexes,
	"constraints": ast.ShowConstraints, "constraint": ast.ShowConstraints,
}

// showObjects parses the dialects' SHOW; nil when it is a setting.
func (p *parser) showObjects(loc ast.Loc) ast.Statement {
	if !isColLabel(p.tok.kind) || p.lex.sql[p.tok.start] == '"' {
		return nil
	}
	s := &ast.ShowObjects{Loc: loc}
	word, next := p.tok.str, p.peekToken()
	if k, ok := plainLists[word]; ok {
		s.Kind = k
		p.advance()
		return p.showTail(s)
	}
	if k, ok := tableLists[word]; ok && (next.kind == kwFrom || next.kind == kwOn) {
		s.Kind = k
		p.advance()
		p.advance()
		return p.showFrom(s)
	}
	switch {
	case word == "create":
		p.advance()
		return p.showCreate(s)
	case word == "ranges" || word == "range":
		if word == "range" && next.kind == kwFrom {
			return p.showRange(loc)
		}
		if word == "ranges" {
			return p.showRanges(loc, false)
		}
	case word == "survival":
		return p.showRanges(loc, false)
	case word == "grants":
		p.advance()
		return p.showGrants(s)
	case word == "statistics" && next.kind == kwFor:
		p.advance()
		p.advance()
		p.accept(kwTable)
		s.Kind = ast.ShowStatistics
		n := p.tableName()
		s.Name = &n
		return s
	}
	return p.showCluster(s, word, next)
}

// showCluster parses SHOW CLUSTER SETTING, SHOW ALL CLUSTER SETTINGS and the
// rest of the lists with several words.
func (p *parser) showCluster(s *ast.ShowObjects, word string, next token) ast.Statement {
	switch {
	case word == "cluster" && next.str == "setting":
		p.advance()
		p.advance()
		if p.accept(kwAll) {
			s.Kind, s.All = ast.ShowClusterSettings, true
			return s
		}
		s.Kind, s.Setting = ast.ShowClusterSetting, p.settingName()
		return s
	case word == "cluster" && next.str == "settings", word == "all" && next.str == "cluster":
		p.advance()
		if p.accept(kwCluster) {
			s.All = true
		}
		if !p.acceptWord("settings") {
			p.syntaxError()
		}
		s.Kind = ast.ShowClusterSettings
		return s
	case word == "cluster" && (next.str == "ranges" || next.str == "survival"):
		p.advance()
		return p.showRanges(s.Loc, true)
	case word == "all" && next.kind == kwZone:
		p.advance()
		p.advance()
		if !p.acceptWord("configurations") {
			p.syntaxError()
		}
		s.Kind = ast.ShowZoneConfigurations
		return s
	case word == "cluster" || word == "all" || word == "local":
		if k, ok := plainLists[next.str]; ok {
			p.advance()
			p.advance()
			s.Kind, s.All = k, word == "all"
			return p.showTail(s)
		}
	case word == "zone" && (next.str == "configurations" || next.kind == kwConfiguration):
		p.advance()
		if next.kind == kwConfiguration {
			return p.showZone(s.Loc)
		}
		p.advance()
		s.Kind = ast.ShowZoneConfigurations
		return s
	case p.isExperimental() && next.kind != tokEOF && next.kind != ';':
		return p.skipStatement(s.Loc, "SHOW "+upper(word))
	case word == "savepoint" || word == "trace" || word == "syntax" || word == "backup":
		if next.kind != tokEOF && next.kind != ';' {
			return p.skipStatement(s.Loc, "SHOW "+upper(word))
		}
	}
	return nil
}

// showTail parses FROM name and the options of a list.
func (p *parser) showTail(s *ast.ShowObjects) ast.Statement {
	if s.Kind == ast.ShowRegions && p.accept2(kwFrom, kwCluster) {
		return s
	}
	if p.accept(kwFrom) {
		return p.showFrom(s)
	}
	p.showOptions(s)
	return s
}

// showFrom parses [TABLE|DATABASE|INDEX|SCHEMA] name after FROM.
func (p *parser) showFrom(s *ast.ShowObjects) ast.Statement {
	next := p.peek()
	named := isColID(next) || next == '.'
	switch {
	case p.tok.kind == kwTable:
		p.advance()
	case p.tok.kind == kwDatabase && named && next != '.':
		p.advance()
		s.Object = ast.ObjDatabase
	case p.tok.kind == kwIndex && named && next != '.':
		p.advance()
		s.Object = ast.ObjIndex
	case p.tok.kind == kwSchema && named && next != '.':
		p.advance()
		s.Object = ast.ObjSchema
	}
	n := p.tableName()
	s.Name = &n
	p.showOptions(s)
	return s
}

// showOptions parses WITH COMMENT, DETAILS and their kin.
func (p *parser) showOptions(s *ast.ShowObjects) {
	if p.tok.kind != kwWith {
		return
	}
	p.advance()
	for {
		switch w := p.colLabel(); w {
		case "comment":
			s.WithComment = true
		case "details":
			s.WithDetails = true
		case "tables", "indexes", "keys", "explain":
			p.unsupported(p.pos(), "SHOW ... WITH "+upper(w))
		default:
			p.syntaxError()
		}
		if !p.accept(',') {
			return
		}
	}
}

// showCreate parses SHOW CREATE [kind] name and SHOW CREATE ALL kinds.
func (p *parser) showCreate(s *ast.ShowObjects) ast.Statement {
	s.Kind = ast.ShowCreate
	if p.accept(kwAll) {
		s.All = true
		switch {
		case p.accept(kwTables):
			s.Object = ast.ObjTable
		case p.accept(kwSchemas):
			s.Object = ast.ObjSchema
		case p.accept(kwTypes):
			s.Object = ast.ObjType
		default:
			p.syntaxError()
		}
		return s
	}
	named := isColID(p.peek())
	switch {
	case p.tok.kind == kwTable:
		p.advance()
	case p.tok.kind == kwView && named:
		p.advance()
		s.Object = ast.ObjView
	case p.tok.kind == kwSequence && named:
		p.advance()
		s.Object = ast.ObjSequence
	case p.tok.kind == kwDatabase && named:
		p.advance()
		s.Object = ast.ObjDatabase
	case p.tok.kind == kwSchema && named:
		p.advance()
		s.Object = ast.ObjSchema
	case p.tok.kind == kwIndex && named:
		p.advance()
		s.Object = ast.ObjIndex
	}
	n := p.tableName()
	s.Name = &n
	return s
}

// showGrants parses SHOW GRANTS [ON [kind] name] [FOR roles].
func (p *parser) showGrants(s *ast.ShowObjects) ast.Statement {
	s.Kind = ast.ShowGrants
	if p.accept(kwOn) {
		p.showFrom(s)
	}
	if p.accept(kwFor) {
		s.Grantees = p.roleList()
	}
	return s
}

// use parses the dialect's USE database.
func (p *parser) use() ast.Statement {
	s := &ast.Use{Loc: p.loc()}
	p.advance()
	s.Database = p.colID()
	return s
}

// cancel parses the dialect's CANCEL, PAUSE and RESUME.
func (p *parser) cancel() ast.Statement {
	s := &ast.Cancel{Loc: p.loc(), Verb: upper(p.tok.str)}
	p.advance()
	if s.Verb == "CANCEL" && p.tok.kind == kwAll {
		return p.skipStatement(s.Loc, "CANCEL ALL")
	}
	many := false
	switch {
	case p.acceptWord("query"):
	case p.acceptWord("queries"):
		many = true
	case p.accept(kwSession):
		s.Kind = ast.CancelSessions
	case p.acceptWord("sessions"):
		s.Kind, many = ast.CancelSessions, true
	case p.acceptWord("job"):
		s.Kind = ast.CancelJobs
	case p.acceptWord("jobs"):
		s.Kind, many = ast.CancelJobs, true
	default:
		p.syntaxError()
		return s
	}
	s.IfExists = p.ifExists()
	if many && (p.startsQuery() || p.tok.kind == '(') {
		s.Query = p.query()
		return s
	}
	s.IDs = []ast.Expr{p.expr()}
	return s
}
