package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// onEventTrigger consumes EVENT TRIGGER, if it is there.
func (p *parser) onEventTrigger() bool { return p.accept2(kwEvent, kwTrigger) }

// createEventTrigger parses CREATE EVENT TRIGGER behind these words.
func (p *parser) createEventTrigger(loc ast.Loc) ast.Statement {
	s := &ast.CreateEventTrigger{Loc: loc, Name: p.colID()}
	p.expect(kwOn)
	s.Event = p.colLabel()
	if p.accept(kwWhen) {
		for p.err == nil {
			f := ast.EventFilter{Name: p.colID()}
			p.expect(kwIn)
			p.expect('(')
			for p.err == nil {
				f.Values = append(f.Values, p.str())
				if !p.accept(',') {
					break
				}
			}
			p.expect(')')
			s.Filters = append(s.Filters, f)
			if !p.accept(kwAnd) {
				break
			}
		}
	}
	p.expect(kwExecute)
	if !p.accept(kwProcedure) {
		p.expect(kwFunction)
	}
	s.Func = p.routineName()
	p.expect('(')
	p.expect(')')
	return s
}

// alterEventTrigger parses ALTER EVENT TRIGGER behind these words.
func (p *parser) alterEventTrigger(loc ast.Loc) ast.Statement {
	s := &ast.AlterEventTrigger{Loc: loc, Name: p.colID()}
	switch {
	case p.accept2(kwRename, kwTo):
		s.NewName = p.colID()
	case p.accept2(kwOwner, kwTo):
		r := p.roleSpec()
		s.Owner = &r
	case p.accept(kwDisable):
		s.Enabled = 'D'
	case p.accept(kwEnable):
		switch s.Enabled = 'O'; {
		case p.accept(kwReplica):
			s.Enabled = 'R'
		case p.accept(kwAlways):
			s.Enabled = 'A'
		}
	default:
		p.syntaxError()
	}
	return s
}
