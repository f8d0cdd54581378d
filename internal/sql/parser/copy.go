package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// copy parses COPY.
func (p *parser) copy() ast.Statement {
	s := &ast.Copy{Loc: p.loc()}
	p.advance()
	if p.tok.kind == '(' {
		p.advance()
		s.Query = p.preparable()
		p.expect(')')
		p.expect(kwTo)
	} else {
		if p.tok.kind == kwBinary {
			s.Options = append(s.Options, formatOption(p.loc(), "binary"))
			p.advance()
		}
		s.Table = &ast.TableRef{Loc: p.loc(), Name: p.tableName()}
		s.Cols = p.optParenNames()
		s.From = p.accept(kwFrom)
		if !s.From {
			p.expect(kwTo)
		}
	}
	p.copyFile(s)
	if p.tok.kind == kwDelimiters || p.is2(kwUsing, kwDelimiters) {
		p.accept(kwUsing)
		o := ast.Option{Loc: p.loc(), Name: "delimiter"}
		p.advance()
		o.Value = p.strLit()
		s.Options = append(s.Options, o)
	}
	p.accept(kwWith)
	if p.tok.kind == '(' {
		s.Options = append(s.Options, p.copyGenericOptions()...)
	} else {
		p.copyLegacyOptions(s)
	}
	if p.tok.kind == kwWhere {
		pos := p.pos()
		p.advance()
		s.Where = p.expr()
		if !s.From {
			p.failf(pgerr.SyntaxError, pos, "WHERE clause not allowed with COPY TO")
		}
	}
	return s
}

// copyFile parses the file, program or standard stream.
func (p *parser) copyFile(s *ast.Copy) {
	pos := p.pos()
	s.Program = p.accept(kwProgram)
	switch p.tok.kind {
	case tokString:
		s.Filename = p.str()
		if s.Filename == "" && p.err == nil {
			p.failf(pgerr.UndefinedFile, pos, "file name is empty")
		}
	case kwStdin, kwStdout:
		p.advance()
		if s.Program {
			p.failf(pgerr.SyntaxError, pos, "STDIN/STDOUT not allowed with PROGRAM")
		}
	default:
		p.syntaxError()
	}
}

func formatOption(loc ast.Loc, format string) ast.Option {
	return ast.Option{Loc: loc, Name: "format", Value: &ast.StrLit{Loc: loc, Val: format}}
}

// copyGenericOptions parses ( name [value], ... ).
func (p *parser) copyGenericOptions() []ast.Option {
	p.expect('(')
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc()}
		o.Name = lowerASCII(p.colLabel())
		switch p.tok.kind {
		case ',', ')':
		case tokInt, tokNum, '+', '-':
			o.Value = p.numericOnly()
		case '*':
			o.Value = &ast.ColumnRef{Loc: p.loc(), Star: true}
			p.advance()
		case '(':
			p.advance()
			r := &ast.Row{Loc: p.loc()}
			for {
				r.Elems = append(r.Elems, p.booleanOrString())
				if !p.accept(',') {
					break
				}
			}
			p.expect(')')
			o.Value = r
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

// copyLegacyOptions parses the options of the syntax before PostgreSQL 9.0.
func (p *parser) copyLegacyOptions(s *ast.Copy) {
	for p.err == nil {
		loc := p.loc()
		o := ast.Option{Loc: loc}
		switch p.tok.kind {
		case kwBinary, kwCsv:
			o = formatOption(loc, p.tok.str)
			p.advance()
		case kwFreeze, kwHeader:
			o.Name = p.tok.str
			p.advance()
		case kwDelimiter, kwNull, kwQuote, kwEscape:
			o.Name = p.tok.str
			p.advance()
			p.accept(kwAs)
			o.Value = p.strLit()
		case kwEncoding:
			o.Name = p.tok.str
			p.advance()
			o.Value = p.strLit()
		case kwForce:
			p.forceOption(&o)
		default:
			return
		}
		s.Options = append(s.Options, o)
	}
}

// forceOption parses FORCE QUOTE cols|*, FORCE NOT NULL cols, FORCE NULL cols.
func (p *parser) forceOption(o *ast.Option) {
	p.advance()
	switch {
	case p.accept(kwQuote):
		o.Name = "force_quote"
		if p.tok.kind == '*' {
			o.Value = &ast.ColumnRef{Loc: p.loc(), Star: true}
			p.advance()
			return
		}
	case p.accept2(kwNot, kwNull):
		o.Name = "force_not_null"
	default:
		p.expect(kwNull)
		o.Name = "force_null"
	}
	r := &ast.Row{Loc: p.loc()}
	for {
		loc := p.loc()
		r.Elems = append(r.Elems, &ast.StrLit{Loc: loc, Val: p.colID()})
		if !p.accept(',') {
			break
		}
	}
	o.Value = r
}
