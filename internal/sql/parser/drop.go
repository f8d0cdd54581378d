package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// dropKinds are the objects that DROP names with a list of qualified names.
var dropKinds = map[kind]ast.ObjectKind{
	kwTable: ast.ObjTable, kwView: ast.ObjView, kwIndex: ast.ObjIndex, kwSequence: ast.ObjSequence,
	kwSchema: ast.ObjSchema, kwType: ast.ObjType, kwDomain: ast.ObjDomain, kwExtension: ast.ObjExtension,
	kwCollation: ast.ObjCollation, kwMaterialized: ast.ObjMaterializedView, kwStatistics: ast.ObjStatistics,
}

// drop parses DROP.
func (p *parser) drop() ast.Statement {
	loc := p.loc()
	p.advance()
	if k, ok := dropKinds[p.tok.kind]; ok {
		if p.accept(kwMaterialized) {
			p.expect(kwView)
		} else {
			p.advance()
		}
		return p.dropList(&ast.Drop{Loc: loc, Kind: k})
	}
	switch p.tok.kind {
	case kwFunction, kwProcedure, kwRoutine, kwAggregate:
		return p.dropRoutine(loc)
	case kwOperator:
		if p.onOperator() {
			return p.dropRoutine(loc)
		}
	case kwEvent:
		if p.onEventTrigger() {
			return p.dropList(&ast.Drop{Loc: loc, Kind: ast.ObjEventTrigger})
		}
	case kwPolicy:
		return p.dropPolicy(loc)
	case kwTrigger:
		return p.dropTrigger(loc)
	case kwDatabase:
		p.advance()
		return p.dropDatabase(loc)
	case kwCast:
		p.advance()
		s := &ast.DropCast{Loc: loc, IfExists: p.ifExists()}
		s.From, s.To = p.castTypes()
		s.Cascade, s.Restrict = p.dropBehavior()
		return s
	case kwTablespace:
		p.advance()
		s := &ast.DropTablespace{Loc: loc, IfExists: p.ifExists()}
		s.Name = p.colID()
		return s
	case kwRole:
		p.advance()
		return p.dropRole(loc, ast.KindRole)
	case kwGroup:
		p.advance()
		return p.dropRole(loc, ast.KindGroup)
	case kwUser:
		if !p.isUserMapping() {
			p.advance()
			return p.dropRole(loc, ast.KindUser)
		}
	case kwOwned:
		p.advance()
		p.expect(kwBy)
		s := &ast.ReassignOwned{Loc: loc, Drop: true}
		s.Roles = p.roleList()
		s.Cascade, _ = p.dropBehavior()
		return s
	}
	return p.refuse(loc, "DROP")
}

// dropList parses the rest of DROP kind.
func (p *parser) dropList(s *ast.Drop) ast.Statement {
	if s.Kind == ast.ObjIndex {
		s.Concurrently = p.accept(kwConcurrently)
	}
	s.IfExists = p.ifExists()
	for {
		var n ast.TableName
		switch s.Kind {
		case ast.ObjType, ast.ObjDomain:
			n = p.typeAsName()
		case ast.ObjSchema, ast.ObjExtension, ast.ObjEventTrigger:
			n = p.plainName()
		default:
			n = p.anyTableName()
		}
		if s.Kind == ast.ObjIndex && p.isIndexName() {
			p.advance()
			for len(s.Tables) < len(s.Names) {
				s.Tables = append(s.Tables, ast.TableName{})
			}
			s.Tables = append(s.Tables, n)
			n = ast.TableName{Loc: p.loc(), Catalog: n.Catalog, Schema: n.Schema, Table: p.colLabel()}
		}
		s.Names = append(s.Names, n)
		if !p.accept(',') {
			break
		}
	}
	for s.Tables != nil && len(s.Tables) < len(s.Names) {
		s.Tables = append(s.Tables, ast.TableName{})
	}
	s.Cascade, s.Restrict = p.dropBehavior()
	return s
}

// typeAsName parses a type, in any of its spellings, where its name is meant.
func (p *parser) typeAsName() ast.TableName {
	loc := p.loc()
	t := p.typeName()
	if p.err != nil {
		return ast.TableName{}
	}
	parts := append([]ast.Name(nil), t.Names...)
	if t.ArrayDims != nil {
		parts[len(parts)-1] = "_" + parts[len(parts)-1]
	}
	return p.makeTableName(loc, parts)
}

// dropDatabase parses DROP DATABASE after these words.
func (p *parser) dropDatabase(loc ast.Loc) ast.Statement {
	s := &ast.DropDatabase{Loc: loc}
	s.IfExists = p.ifExists()
	s.Name = p.colID()
	if p.tok.kind == '(' || p.tok.kind == kwWith {
		p.accept(kwWith)
		p.expect('(')
		for {
			p.expect(kwForce)
			s.Force = true
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	if (p.tok.kind == kwCascade || p.tok.kind == kwRestrict) && p.extends(ExtDropBehavior) {
		s.Cascade, s.Restrict = p.dropBehavior()
	}
	return s
}

// comment parses COMMENT ON.
func (p *parser) comment() ast.Statement {
	s := &ast.Comment{Loc: p.loc()}
	p.advance()
	p.expect(kwOn)
	if !p.commentObject(s) {
		return p.refuse(s.Loc, "COMMENT")
	}
	p.expect(kwIs)
	if p.accept(kwNull) {
		s.Null = true
	} else {
		s.Text = p.str()
	}
	return s
}

// commentKinds are the objects that COMMENT ON names without more.
var commentKinds = map[kind]ast.ObjectKind{
	kwTable: ast.ObjTable, kwView: ast.ObjView, kwIndex: ast.ObjIndex, kwSequence: ast.ObjSequence,
	kwSchema: ast.ObjSchema, kwType: ast.ObjType, kwDomain: ast.ObjDomain, kwExtension: ast.ObjExtension,
	kwCollation: ast.ObjCollation, kwDatabase: ast.ObjDatabase, kwRole: ast.ObjRole,
	kwColumn: ast.ObjColumn, kwTablespace: ast.ObjTablespace, kwLanguage: ast.ObjLanguage,
	kwStatistics: ast.ObjStatistics, kwPublication: ast.ObjPublication,
	kwSubscription: ast.ObjSubscription, kwServer: ast.ObjForeignServer, kwConversion: ast.ObjConversion,
}

// commentObject parses the object of COMMENT ON; false for kinds without a tree.
func (p *parser) commentObject(s *ast.Comment) bool {
	if k, ok := commentKinds[p.tok.kind]; ok {
		p.advance()
		if s.Kind = k; k == ast.ObjType || k == ast.ObjDomain {
			s.Name = p.typeAsName().Parts()
		} else {
			s.Name = p.anyName()
		}
		return true
	}
	switch p.tok.kind {
	case kwMaterialized:
		p.advance()
		p.expect(kwView)
		s.Kind, s.Name = ast.ObjMaterializedView, p.anyName()
	case kwConstraint, kwTrigger, kwRule, kwPolicy:
		s.Kind = map[kind]ast.ObjectKind{
			kwConstraint: ast.ObjConstraint, kwTrigger: ast.ObjTrigger, kwRule: ast.ObjRule, kwPolicy: ast.ObjPolicy,
		}[p.tok.kind]
		p.advance()
		s.Name = []ast.Name{p.colID()}
		p.expect(kwOn)
		if s.Kind == ast.ObjConstraint && p.accept(kwDomain) {
			s.Kind = ast.ObjDomainConstraint
		}
		s.On = p.anyName()
	case kwFunction, kwProcedure, kwRoutine:
		s.Kind = map[kind]ast.ObjectKind{
			kwFunction: ast.ObjFunction, kwProcedure: ast.ObjProcedure, kwRoutine: ast.ObjRoutine,
		}[p.tok.kind]
		p.advance()
		n, args := p.functionWithArgs()
		s.Name, s.Args = n.Parts(), args
	case kwAggregate:
		p.advance()
		ref := p.aggregateRef()
		s.Kind, s.Name, s.Args = ast.ObjAggregate, ref.Name.Parts(), []*ast.TypeName{}
		for i := range ref.Params {
			s.Args = append(s.Args, ref.Params[i].Type)
		}
	case kwEvent:
		if !p.onEventTrigger() {
			return false
		}
		s.Kind, s.Name = ast.ObjEventTrigger, []ast.Name{p.colID()}
	case kwCast:
		p.advance()
		from, to := p.castTypes()
		s.Kind, s.Args = ast.ObjCast, []*ast.TypeName{from, to}
	case kwOperator:
		if !p.onOperator() {
			return false
		}
		p.advance()
		ref := p.operatorRef()
		s.Kind, s.Name, s.Prefix = ast.ObjOperator, ref.Name.Parts(), ref.Prefix
		for i := range ref.Params {
			s.Args = append(s.Args, ref.Params[i].Type)
		}
	default:
		return false
	}
	return true
}
