package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// alterDatabase parses ALTER DATABASE after these words.
func (p *parser) alterDatabase(loc ast.Loc) ast.Statement {
	s := &ast.AlterDatabase{Loc: loc}
	name := ast.TableName{Loc: p.loc(), Table: p.colID()}
	s.Name = name.Table
	if p.isConfigureZone() {
		return p.configureZone(loc, ast.ZoneTarget{Source: ast.RangeSource{Kind: ast.ObjDatabase, Name: name}}, false)
	}
	switch {
	case p.accept2(kwRename, kwTo):
		s.Kind, s.NewName = ast.AlterDatabaseRename, p.colID()
	case p.accept2(kwOwner, kwTo):
		s.Kind, s.Owner = ast.AlterDatabaseOwner, p.roleSpec()
	case p.accept2(kwSet, kwTablespace):
		s.Kind, s.NewName = ast.AlterDatabaseSpace, p.colID()
	case p.accept2(kwRefresh, kwCollation):
		p.expect(kwVersion)
		s.Kind = ast.AlterDatabaseRefresh
	case p.tok.kind == kwSet, p.tok.kind == kwReset:
		s.Kind, s.Set = ast.AlterDatabaseSet, p.setOrReset()
	default:
		p.accept(kwWith)
		s.Options = p.databaseOptions()
	}
	return s
}

// alter parses ALTER.
func (p *parser) alter() ast.Statement {
	loc := p.loc()
	p.advance()
	k := p.tok.kind
	if (k == kwTable || k == kwIndex) && p.peek() == kwAll || k == kwMaterialized && p.allViews() {
		return p.refuse(loc, "ALTER")
	}
	switch k {
	case kwTable:
		p.advance()
		return p.alterTable(loc, ast.ObjTable)
	case kwIndex:
		p.advance()
		return p.alterTable(loc, ast.ObjIndex)
	case kwView:
		p.advance()
		return p.alterTable(loc, ast.ObjView)
	case kwMaterialized:
		p.advance()
		p.expect(kwView)
		return p.alterTable(loc, ast.ObjMaterializedView)
	case kwSequence:
		p.advance()
		return p.alterSequence(loc)
	case kwDatabase:
		p.advance()
		return p.alterDatabase(loc)
	case kwSchema:
		p.advance()
		return p.alterObject(loc, ast.ObjSchema)
	case kwRole:
		p.advance()
		return p.alterRole(loc, ast.KindRole)
	case kwGroup:
		p.advance()
		return p.alterRole(loc, ast.KindGroup)
	}
	return p.alterOther(loc)
}

// allViews reports whether MATERIALIZED VIEW ALL comes next.
func (p *parser) allViews() bool {
	l := p.scan()
	return l.next().kind == kwView && l.next().kind == kwAll
}

// alterOther parses ALTER of the less common objects.
func (p *parser) alterOther(loc ast.Loc) ast.Statement {
	switch p.tok.kind {
	case kwUser:
		if !p.isUserMapping() {
			p.advance()
			return p.alterRole(loc, ast.KindUser)
		}
	case kwDefault:
		if p.accept2(kwDefault, kwPrivileges) {
			return p.alterDefaultPrivileges(loc)
		}
	case kwType, kwExtension:
		k := ast.ObjType
		if p.tok.kind == kwExtension {
			k = ast.ObjExtension
		}
		if p.alterIsCommon() {
			p.advance()
			return p.alterObject(loc, k)
		}
		if k == ast.ObjType {
			return p.alterType(loc)
		}
		return p.alterExtension(loc)
	case kwDomain:
		p.advance()
		return p.alterDomain(loc)
	case kwCollation:
		p.advance()
		return p.alterObject(loc, ast.ObjCollation)
	case kwFunction, kwProcedure, kwRoutine, kwAggregate:
		return p.alterRoutine(loc)
	case kwOperator:
		if p.onOperator() {
			return p.alterRoutine(loc)
		}
	case kwEvent:
		if p.onEventTrigger() {
			return p.alterEventTrigger(loc)
		}
	case kwPolicy:
		return p.alterPolicy(loc)
	case kwStatistics:
		return p.alterStatistics(loc)
	case kwTrigger:
		return p.alterTrigger(loc)
	}
	if p.tok.kind == kwRange && p.extends(ExtAlterDialect) {
		return p.alterRange(loc)
	}
	for _, w := range []string{"partition", "job"} { // of the dialects
		if p.isNameWord(w) && p.extends(ExtAlterDialect) {
			return p.skipStatement(loc, "ALTER "+upper(w))
		}
	}
	return p.refuse(loc, "ALTER")
}

// alterIsCommon reports whether the object named after the next token is
// renamed, moved or given to another owner as a whole.
func (p *parser) alterIsCommon() bool {
	l := p.scan()
	l.next()
	t := l.next()
	for t.kind == '.' {
		l.next()
		t = l.next()
	}
	switch t.kind {
	case kwRename:
		return l.next().kind == kwTo
	case kwOwner:
		return true
	case kwSet:
		return l.next().kind == kwSchema
	}
	return false
}

// alterObject parses name RENAME TO, OWNER TO or SET SCHEMA.
func (p *parser) alterObject(loc ast.Loc, k ast.ObjectKind) ast.Statement {
	s := &ast.AlterObject{Loc: loc, Kind: k}
	if k == ast.ObjType || k == ast.ObjCollation {
		s.Name = p.anyName()
	} else {
		s.Name = []ast.Name{p.colID()}
	}
	return p.alterNamed(s)
}

// alterNamed parses what alterObject does after the name.
func (p *parser) alterNamed(s *ast.AlterObject) ast.Statement {
	k := s.Kind
	switch {
	case p.accept2(kwRename, kwTo):
		s.NewName = p.colID()
	case k != ast.ObjSchema && p.accept2(kwSet, kwSchema):
		s.NewSchema = p.colID()
	case k != ast.ObjExtension && p.accept(kwOwner):
		p.expect(kwTo)
		r := p.roleSpec()
		s.Owner = &r
	case k == ast.ObjCollation && p.accept2(kwRefresh, kwVersion):
		s.Refresh = true
	default:
		p.syntaxError()
	}
	return s
}

// alterExtension parses ALTER EXTENSION UPDATE; the other forms are refused.
func (p *parser) alterExtension(loc ast.Loc) ast.Statement {
	l := p.scan()
	l.next()
	if l.next().kind != kwUpdate {
		return p.refuse(loc, "ALTER")
	}
	p.advance()
	s := &ast.UpdateExtension{Loc: loc, Name: p.colID()}
	p.expect(kwUpdate)
	if p.accept(kwTo) {
		s.Version = p.extensionVersion()
	}
	return s
}

// extensionVersion parses a version: a string or a word.
func (p *parser) extensionVersion() string {
	if p.tok.kind == tokString {
		return p.str()
	}
	return p.nonReserved()
}
