package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// prepare parses PREPARE and PREPARE TRANSACTION.
func (p *parser) prepare() ast.Statement {
	loc := p.loc()
	p.advance()
	if p.is2(kwTransaction, tokString) {
		p.advance()
		return &ast.PrepareTxn{Loc: loc, ID: p.str()}
	}
	s := &ast.Prepare{Loc: loc}
	s.Name = p.colID()
	if p.accept('(') {
		for {
			s.Types = append(s.Types, p.typeName())
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	p.expect(kwAs)
	s.Stmt = p.preparable()
	// The parameters belong to the prepared statement, not to PREPARE.
	s.NumParams, p.numParams = p.numParams, 0
	return s
}

// execute parses EXECUTE.
func (p *parser) execute() ast.Statement {
	s := &ast.Execute{Loc: p.loc()}
	p.advance()
	s.Name = p.colID()
	if p.tok.kind == '(' {
		s.Args = p.parenExprList()
	}
	return s
}

// deallocate parses DEALLOCATE.
func (p *parser) deallocate() ast.Statement {
	s := &ast.Deallocate{Loc: p.loc()}
	p.advance()
	if p.tok.kind == kwPrepare && p.peek() != tokEOF && p.peek() != ';' {
		p.advance()
	}
	if p.accept(kwAll) {
		s.All = true
		return s
	}
	s.Name = p.colID()
	return s
}

// declare parses DECLARE ... CURSOR.
func (p *parser) declare() ast.Statement {
	s := &ast.DeclareCursor{Loc: p.loc()}
	p.advance()
	s.Name = p.colID()
	for p.err == nil && p.tok.kind != kwCursor {
		switch {
		case p.accept2(kwNo, kwScroll):
			s.Scroll = ast.No
		case p.accept(kwScroll):
			s.Scroll = ast.Yes
		case p.accept(kwBinary):
			s.Binary = true
		case p.accept(kwAsensitive):
			s.Insensitive = ast.No
		case p.accept(kwInsensitive):
			s.Insensitive = ast.Yes
		default:
			p.syntaxError()
		}
	}
	p.expect(kwCursor)
	switch {
	case p.accept(kwWith):
		p.expect(kwHold)
		s.Hold = true
	case p.accept(kwWithout):
		p.expect(kwHold)
		s.WithoutHold = true
	}
	p.expect(kwFor)
	s.Query = p.query()
	return s
}

// fetch parses FETCH and MOVE.
func (p *parser) fetch() ast.Statement {
	s := &ast.Fetch{Loc: p.loc(), Move: p.tok.kind == kwMove, Count: 1}
	p.advance()
	if p.fetchDirection(s) && !p.accept(kwFrom) {
		p.accept(kwIn)
	}
	s.Cursor = p.colID()
	return s
}

// fetchDirection parses the direction of FETCH. A word such as NEXT is the
// cursor's name when nothing follows it; false then, and when there is none.
func (p *parser) fetchDirection(s *ast.Fetch) bool {
	t := p.tok.kind
	if isKeyword(t) && class(t) == ast.Unreserved {
		if k := p.peek(); k == tokEOF || k == ';' {
			return false
		}
	}
	switch t {
	case kwNext:
	case kwPrior:
		s.Direction = ast.FetchBackward
	case kwFirst:
		s.Direction = ast.FetchAbsolute
	case kwLast:
		s.Direction, s.Count = ast.FetchAbsolute, -1
	case kwAbsolute, kwRelative:
		s.Direction = ast.FetchAbsolute
		if t == kwRelative {
			s.Direction = ast.FetchRelative
		}
		p.advance()
		s.Count = p.signedInt()
		return true
	case kwAll:
		s.Direction = ast.FetchAll
	case kwForward, kwBackward:
		p.fetchForward(s, t == kwBackward)
		return true
	case tokInt, '-', '+':
		s.Count = p.signedInt()
		return true
	case kwFrom, kwIn:
		return true
	default:
		return false
	}
	p.advance()
	return true
}

// fetchForward parses FORWARD|BACKWARD [n|ALL].
func (p *parser) fetchForward(s *ast.Fetch, backward bool) {
	p.advance()
	if backward {
		s.Direction = ast.FetchBackward
	}
	switch p.tok.kind {
	case kwAll:
		p.advance()
		s.Direction = ast.FetchAll
		if backward {
			s.Direction = ast.FetchBackwardAll
		}
	case tokInt, '-', '+':
		s.Count = p.signedInt()
	}
}

// signedInt parses SignedIconst.
func (p *parser) signedInt() int64 {
	neg := p.tok.kind == '-'
	if neg || p.tok.kind == '+' {
		p.advance()
	}
	n := int64(p.smallInt())
	if neg {
		return -n
	}
	return n
}

// closeCursor parses CLOSE.
func (p *parser) closeCursor() ast.Statement {
	s := &ast.CloseCursor{Loc: p.loc()}
	p.advance()
	if p.accept(kwAll) {
		s.All = true
		return s
	}
	s.Name = p.colID()
	return s
}

// explain parses EXPLAIN.
func (p *parser) explain() ast.Statement {
	s := &ast.Explain{Loc: p.loc()}
	p.advance()
	switch {
	case p.tok.kind == '(' && p.peek() != '(' && !p.parensHoldQuery():
		s.Options = p.utilityOptions()
	default:
		if p.tok.kind == kwAnalyze || p.tok.kind == kwAnalyse {
			s.Options = append(s.Options, ast.Option{Loc: p.loc(), Name: "analyze"})
			p.advance()
			if p.tok.kind == '(' && !p.parensHoldQuery() && p.extends(ExtExplainOptions) {
				s.Options = append(s.Options, p.utilityOptions()...)
			}
		}
		if p.tok.kind == kwVerbose {
			s.Options = append(s.Options, ast.Option{Loc: p.loc(), Name: "verbose"})
			p.advance()
		}
	}
	s.Stmt = p.explainable()
	return s
}

// explainable parses the statement of EXPLAIN.
func (p *parser) explainable() ast.Statement {
	switch p.tok.kind {
	case kwDeclare:
		return p.declare()
	case kwExecute:
		return p.execute()
	case kwRefresh:
		return p.refresh()
	case kwCreate:
		switch s := p.create().(type) {
		case *ast.CreateTableAs:
			return s
		default:
			p.syntaxError()
			return s
		}
	}
	return p.preparable()
}

// utilityOptions parses ( name [value], ... ), as EXPLAIN, VACUUM and others
// take it.
func (p *parser) utilityOptions() []ast.Option {
	p.expect('(')
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc()}
		if p.tok.kind == kwAnalyze || p.tok.kind == kwAnalyse {
			o.Name = "analyze"
			p.advance()
		} else {
			o.Name = p.nonReserved()
		}
		switch p.tok.kind {
		case ',', ')':
		case tokInt, tokNum, '+', '-':
			o.Value = p.numericOnly()
		default:
			o.Value = p.booleanOrString()
		}
		list = append(list, o)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}
