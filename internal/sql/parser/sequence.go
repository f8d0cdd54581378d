package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// createSequence parses CREATE SEQUENCE after the word SEQUENCE.
func (p *parser) createSequence(loc ast.Loc, persistence ast.Persistence) ast.Statement {
	s := &ast.CreateSequence{Loc: loc, Persistence: persistence}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.tableName()
	s.Options = p.sequenceOptions()
	return s
}

// sequenceOptions parses the options of a sequence, as many as there are.
func (p *parser) sequenceOptions() []ast.SequenceOption {
	var list []ast.SequenceOption
	for {
		o := ast.SequenceOption{Loc: p.loc()}
		if !p.sequenceOption(&o) {
			return list
		}
		list = append(list, o)
	}
}

// sequenceOption parses one option; false when none comes next.
func (p *parser) sequenceOption(o *ast.SequenceOption) bool {
	switch {
	case p.accept(kwAs):
		o.Kind, o.Type = ast.SeqAs, p.simpleType(false)
	case p.accept(kwCache):
		o.Kind, o.Value = ast.SeqCache, p.numericOnly()
	case p.isWord("per") && p.tokenIsWord(p.peekToken(), "node") && p.extends(ExtSequence): // what CACHE means here
		p.advance()
		p.advance()
		p.expect(kwCache)
		o.Kind, o.Value = ast.SeqCache, p.numericOnly()
	case p.isWord("virtual") && p.extends(ExtSequence):
		p.unsupported(p.pos(), "VIRTUAL of a sequence")
	case p.accept(kwCycle):
		o.Kind = ast.SeqCycle
	case p.accept2(kwNo, kwCycle):
		o.Kind = ast.SeqNoCycle
	case p.accept(kwIncrement):
		p.accept(kwBy)
		o.Kind, o.Value = ast.SeqIncrement, p.numericOnly()
	case p.accept(kwMinvalue):
		o.Kind, o.Value = ast.SeqMinValue, p.numericOnly()
	case p.accept2(kwNo, kwMinvalue):
		o.Kind = ast.SeqNoMinValue
	case p.accept(kwMaxvalue):
		o.Kind, o.Value = ast.SeqMaxValue, p.numericOnly()
	case p.accept2(kwNo, kwMaxvalue):
		o.Kind = ast.SeqNoMaxValue
	case p.accept(kwStart):
		p.accept(kwWith)
		o.Kind, o.Value = ast.SeqStart, p.numericOnly()
	case p.accept(kwRestart):
		o.Kind = ast.SeqRestart
		if p.accept(kwWith) || p.tok.kind == tokInt || p.tok.kind == tokNum || p.tok.kind == '-' || p.tok.kind == '+' {
			o.Value = p.numericOnly()
		}
	case p.accept2(kwOwned, kwBy):
		o.Kind, o.Owner = ast.SeqOwnedBy, p.ownedBy()
	case p.accept2(kwSequence, kwName):
		o.Kind, o.Owner = ast.SeqName, p.anyName()
	default:
		return false
	}
	return true
}

// ownedBy parses a column, or NONE, which gives nil.
func (p *parser) ownedBy() []ast.Name {
	none := p.isNameWord("none")
	name := p.anyName()
	if none && len(name) == 1 {
		return nil
	}
	return name
}

// alterSequence parses ALTER SEQUENCE name with options; the forms that tables
// share are parsed as AlterTable.
func (p *parser) alterSequence(loc ast.Loc) ast.Statement {
	ifExists := p.ifExists()
	name := p.tableName()
	switch p.tok.kind {
	case kwRename, kwOwner:
		return p.alterCmds(&ast.AlterTable{Loc: loc, Kind: ast.ObjSequence, IfExists: ifExists, Name: name})
	case kwSet:
		return p.alterCmds(&ast.AlterTable{Loc: loc, Kind: ast.ObjSequence, IfExists: ifExists, Name: name})
	}
	s := &ast.AlterSequence{Loc: loc, IfExists: ifExists, Name: name}
	s.Options = p.sequenceOptions()
	if s.Options == nil && p.err == nil {
		return p.alterCmds(&ast.AlterTable{Loc: loc, Kind: ast.ObjSequence, IfExists: ifExists, Name: name})
	}
	return s
}
