package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// createTrigger parses CREATE TRIGGER and CREATE CONSTRAINT TRIGGER from these words on.
func (p *parser) createTrigger(loc ast.Loc, orReplace bool) ast.Statement {
	s := &ast.CreateTrigger{Loc: loc, OrReplace: orReplace, Timing: ast.TriggerAfter}
	s.Constraint = p.accept(kwConstraint)
	p.expect(kwTrigger)
	s.Name = p.colID()
	switch {
	case s.Constraint:
		p.expect(kwAfter)
	case p.accept(kwBefore):
		s.Timing = ast.TriggerBefore
	case p.accept(kwInstead):
		p.expect(kwOf)
		s.Timing = ast.TriggerInstead
	default:
		p.expect(kwAfter)
	}
	p.triggerEvents(s)
	p.expect(kwOn)
	s.Table = p.tableName()
	if s.Constraint {
		p.constraintTrigger(s)
	} else {
		p.triggerRows(s)
	}
	if p.accept(kwWhen) {
		p.expect('(')
		s.When = p.expr()
		p.expect(')')
	}
	p.expect(kwExecute)
	if !p.accept(kwFunction) {
		p.expect(kwProcedure)
	}
	s.Func = p.routineName()
	p.expect('(')
	for p.err == nil && p.tok.kind != ')' {
		s.Args = append(s.Args, p.triggerArg())
		if !p.accept(',') {
			break
		}
		if p.tok.kind == ')' {
			p.syntaxError()
		}
	}
	p.expect(')')
	return s
}

// constraintTrigger parses what follows the table of a constraint trigger.
func (p *parser) constraintTrigger(s *ast.CreateTrigger) {
	if p.accept(kwFrom) {
		n := p.tableName()
		s.From = &n
	}
	p.constraintSpec(&s.Attrs)
	p.expect(kwFor)
	p.expect(kwEach)
	p.expect(kwRow)
	s.Row = true
}

// triggerRows parses REFERENCING and FOR EACH.
func (p *parser) triggerRows(s *ast.CreateTrigger) {
	if p.accept(kwReferencing) {
		s.Transitions = append(s.Transitions, p.transition())
		for p.err == nil && (p.tok.kind == kwNew || p.tok.kind == kwOld) {
			s.Transitions = append(s.Transitions, p.transition())
		}
	}
	if !p.accept(kwFor) {
		return
	}
	p.accept(kwEach)
	if s.Row = p.accept(kwRow); !s.Row {
		p.expect(kwStatement)
	}
}

// transition parses NEW TABLE AS name and the like.
func (p *parser) transition() ast.Transition {
	t := ast.Transition{Loc: p.loc()}
	if t.New = p.accept(kwNew); !t.New {
		p.expect(kwOld)
	}
	if t.Row = p.accept(kwRow); !t.Row {
		p.expect(kwTable)
	}
	p.accept(kwAs)
	t.Name = p.colID()
	return t
}

// triggerEvents parses events joined by OR, each at most once.
func (p *parser) triggerEvents(s *ast.CreateTrigger) {
	events := map[kind]ast.TriggerEvents{kwInsert: ast.OnInsert, kwDelete: ast.OnDelete, kwUpdate: ast.OnUpdate, kwTruncate: ast.OnTruncate}
	for again := true; again && p.err == nil; again = p.accept(kwOr) {
		e := events[p.tok.kind]
		if e == 0 {
			p.syntaxError()
			return
		}
		p.advance()
		if e == ast.OnUpdate && p.accept(kwOf) {
			s.Of = p.nameList()
		}
		if s.Events&e != 0 {
			p.errorHere("duplicate trigger events specified")
		}
		s.Events |= e
	}
}

// triggerArg parses an argument of a trigger's function, which is a string however it is written.
func (p *parser) triggerArg() string {
	switch p.tok.kind {
	case tokInt, tokNum, tokString:
		text := p.tok.str
		p.advance()
		return text
	}
	return p.colLabel()
}

// dropTrigger parses DROP TRIGGER from that word on.
func (p *parser) dropTrigger(loc ast.Loc) ast.Statement {
	p.advance()
	s := &ast.DropTrigger{Loc: loc, IfExists: p.ifExists()}
	s.Name = p.colID()
	p.expect(kwOn)
	s.Table = p.anyTableName()
	s.Cascade, s.Restrict = p.dropBehavior()
	return s
}

// alterTrigger parses ALTER TRIGGER from that word on.
func (p *parser) alterTrigger(loc ast.Loc) ast.Statement {
	p.advance()
	s := &ast.AlterTriggerStmt{Loc: loc, Name: p.colID()}
	p.expect(kwOn)
	s.Table = p.tableName()
	if p.accept2(kwRename, kwTo) {
		s.NewName = p.colID()
		return s
	}
	s.No = p.accept(kwNo)
	p.expect(kwDepends)
	p.expect(kwOn)
	p.expect(kwExtension)
	s.Extension = p.colID()
	return s
}
