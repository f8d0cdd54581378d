package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// vacuum parses VACUUM.
func (p *parser) vacuum() ast.Statement {
	s := &ast.Vacuum{Loc: p.loc()}
	p.advance()
	if p.tok.kind == '(' {
		s.Options = p.utilityOptions()
	} else {
		for _, k := range []kind{kwFull, kwFreeze, kwVerbose, kwAnalyze} {
			if p.tok.kind == k || k == kwAnalyze && p.tok.kind == kwAnalyse {
				s.Options = append(s.Options, ast.Option{Loc: p.loc(), Name: keywordWord(k)})
				p.advance()
			}
		}
	}
	s.Tables = p.vacuumTables()
	return s
}

// analyze parses ANALYZE.
func (p *parser) analyze() ast.Statement {
	s := &ast.Vacuum{Loc: p.loc(), AnalyzeOnly: true}
	p.advance()
	switch p.tok.kind {
	case '(':
		s.Options = p.utilityOptions()
	case kwVerbose:
		s.Options = []ast.Option{{Loc: p.loc(), Name: "verbose"}}
		p.advance()
	}
	s.Tables = p.vacuumTables()
	return s
}

// vacuumTables parses the optional tables with their columns.
func (p *parser) vacuumTables() []ast.VacuumTable {
	if !isColID(p.tok.kind) {
		return nil
	}
	var list []ast.VacuumTable
	for {
		t := ast.VacuumTable{Name: p.tableName()}
		t.Cols = p.optParenNames()
		list = append(list, t)
		if !p.accept(',') {
			return list
		}
	}
}

// reindex parses REINDEX.
func (p *parser) reindex() ast.Statement {
	s := &ast.Reindex{Loc: p.loc()}
	p.advance()
	if p.tok.kind == '(' {
		s.Options = p.utilityOptions()
	}
	switch p.tok.kind {
	case kwIndex:
		s.Kind = ast.ObjIndex
	case kwTable:
		s.Kind = ast.ObjTable
	case kwSchema:
		s.Kind = ast.ObjSchema
	case kwDatabase:
		s.Kind = ast.ObjDatabase
	case kwSystem:
		s.Kind, s.System = ast.ObjDatabase, true
	default:
		p.syntaxError()
		return s
	}
	p.advance()
	s.Concurrently = p.accept(kwConcurrently)
	if s.Kind == ast.ObjIndex || s.Kind == ast.ObjTable {
		s.Name = p.tableName()
	} else {
		s.Name = p.plainName()
	}
	return s
}

// cluster parses CLUSTER.
func (p *parser) cluster() ast.Statement {
	s := &ast.Cluster{Loc: p.loc()}
	p.advance()
	parens := p.tok.kind == '('
	if parens {
		s.Options = p.utilityOptions()
	} else if p.tok.kind == kwVerbose {
		s.Options = []ast.Option{{Loc: p.loc(), Name: "verbose"}}
		p.advance()
	}
	if !parens && !isColID(p.tok.kind) {
		return s
	}
	n := p.tableName()
	s.Table = &n
	switch {
	case p.accept(kwUsing):
		s.Index = p.colID()
	case p.tok.kind == kwOn && n.Schema == "": // before 8.3: CLUSTER index ON table
		p.advance()
		s.Index = n.Table
		t := p.tableName()
		s.Table = &t
	}
	return s
}

// checkpoint parses CHECKPOINT.
func (p *parser) checkpoint() ast.Statement {
	s := &ast.Checkpoint{Loc: p.loc()}
	p.advance()
	return s
}

// lock parses LOCK [TABLE].
func (p *parser) lock() ast.Statement {
	s := &ast.LockTable{Loc: p.loc(), Mode: ast.AccessExclusive}
	p.advance()
	p.accept(kwTable)
	s.Tables = p.relationList()
	if p.accept(kwIn) {
		s.Mode = p.lockMode()
		p.expect(kwMode)
	}
	s.NoWait = p.accept(kwNowait)
	return s
}

// lockMode parses a table lock mode.
func (p *parser) lockMode() ast.LockMode {
	switch {
	case p.accept2(kwAccess, kwShare):
		return ast.AccessShare
	case p.accept2(kwAccess, kwExclusive):
		return ast.AccessExclusive
	case p.accept2(kwRow, kwShare):
		return ast.RowShare
	case p.accept2(kwRow, kwExclusive):
		return ast.RowExclusive
	case p.accept(kwShare):
		switch {
		case p.accept2(kwUpdate, kwExclusive):
			return ast.ShareUpdateExclusive
		case p.accept2(kwRow, kwExclusive):
			return ast.ShareRowExclusive
		}
		return ast.Share
	case p.accept(kwExclusive):
		return ast.Exclusive
	}
	p.syntaxError()
	return 0
}

// do parses DO.
func (p *parser) do() ast.Statement {
	s := &ast.Do{Loc: p.loc()}
	p.advance()
	seen := false
	for p.tok.kind == kwLanguage || p.tok.kind == tokString {
		if p.accept(kwLanguage) {
			if p.tok.kind == tokString {
				s.Language = p.str()
			} else {
				s.Language = p.nonReserved()
			}
			continue
		}
		s.Code, seen = p.str(), true
	}
	switch {
	case seen:
	case s.Language == "" || p.tok.kind != ';' && p.tok.kind != tokEOF:
		p.syntaxError()
	default:
		p.failf(pgerr.SyntaxError, 0, "no inline code specified")
	}
	return s
}

// callStmt parses CALL.
func (p *parser) callStmt() ast.Statement {
	s := &ast.Call{Loc: p.loc()}
	p.advance()
	loc := p.loc()
	plain := isFuncName(p.tok.kind)
	if !plain && !isColID(p.tok.kind) {
		p.syntaxError()
		return s
	}
	parts := []ast.Name{p.colLabel()}
	for p.accept('.') {
		parts = append(parts, p.colLabel())
	}
	if len(parts) == 1 && !plain {
		p.syntaxError()
		return s
	}
	s.Func = p.application(loc, parts)
	return s
}

// discard parses DISCARD.
func (p *parser) discard() ast.Statement {
	s := &ast.Discard{Loc: p.loc()}
	p.advance()
	switch p.tok.kind {
	case kwAll:
	case kwPlans:
		s.Kind = ast.DiscardPlans
	case kwSequences:
		s.Kind = ast.DiscardSequences
	case kwTemp, kwTemporary:
		s.Kind = ast.DiscardTemp
	default:
		p.syntaxError()
		return s
	}
	p.advance()
	return s
}

// listen parses LISTEN.
func (p *parser) listen() ast.Statement {
	s := &ast.Listen{Loc: p.loc()}
	p.advance()
	s.Channel = p.colID()
	return s
}

// unlisten parses UNLISTEN.
func (p *parser) unlisten() ast.Statement {
	s := &ast.Unlisten{Loc: p.loc()}
	p.advance()
	if p.accept('*') {
		s.All = true
		return s
	}
	s.Channel = p.colID()
	return s
}

// notify parses NOTIFY.
func (p *parser) notify() ast.Statement {
	s := &ast.Notify{Loc: p.loc()}
	p.advance()
	s.Channel = p.colID()
	if p.accept(',') {
		s.Payload = p.str()
	}
	return s
}
