package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// createPolicy parses CREATE POLICY from POLICY on.
func (p *parser) createPolicy(loc ast.Loc) ast.Statement {
	s := &ast.CreatePolicy{Loc: loc}
	s.Name, s.Table = p.policyName()
	if p.accept(kwAs) {
		at := p.pos()
		s.As = p.tok.str
		if p.expect(tokIdent); p.err == nil && s.As != "permissive" && s.As != "restrictive" {
			p.fail(pgerr.New(pgerr.SyntaxError, "unrecognized row security option \"%s\"", s.As).
				WithHint("Only PERMISSIVE or RESTRICTIVE policies are supported currently."), at)
		}
	}
	if p.accept(kwFor) {
		s.Command = p.policyCommand()
	}
	s.Roles, s.Using, s.Check = p.policyTail()
	return s
}

// policyName parses POLICY name ON table.
func (p *parser) policyName() (ast.Name, ast.TableName) {
	p.advance()
	name := p.colID()
	p.expect(kwOn)
	return name, p.tableName()
}

// policyCommand parses the command that a policy is for.
func (p *parser) policyCommand() byte {
	commands := map[kind]byte{
		kwAll: ast.PolicyAll, kwSelect: ast.PolicySelect, kwInsert: ast.PolicyInsert, kwUpdate: ast.PolicyUpdate, kwDelete: ast.PolicyDelete,
	}
	c, ok := commands[p.tok.kind]
	if !ok {
		p.syntaxError()
	}
	p.advance()
	return c
}

// policyTail parses what CREATE and ALTER POLICY end with.
func (p *parser) policyTail() (roles []ast.RoleSpec, using, check ast.Expr) {
	if p.accept(kwTo) {
		roles = p.roleList()
	}
	if p.accept(kwUsing) {
		using = p.policyExpr()
	}
	if p.accept2(kwWith, kwCheck) {
		check = p.policyExpr()
	}
	return roles, using, check
}

// alterPolicy parses ALTER POLICY from POLICY on.
func (p *parser) alterPolicy(loc ast.Loc) ast.Statement {
	s := &ast.AlterPolicy{Loc: loc}
	p.advance()
	s.IfExists = p.ifExists()
	s.Name = p.colID()
	p.expect(kwOn)
	s.Table = p.tableName()
	if s.IfExists || p.tok.kind == kwRename {
		p.expect(kwRename)
		p.expect(kwTo)
		s.NewName = p.colID()
		return s
	}
	s.Roles, s.Using, s.Check = p.policyTail()
	return s
}

// dropPolicy parses DROP POLICY from POLICY on.
func (p *parser) dropPolicy(loc ast.Loc) ast.Statement {
	s := &ast.DropPolicy{Loc: loc}
	p.advance()
	s.IfExists = p.ifExists()
	s.Name = p.colID()
	p.expect(kwOn)
	s.Table = p.tableName()
	s.Cascade, s.Restrict = p.dropBehavior()
	return s
}

func (p *parser) policyExpr() ast.Expr {
	p.expect('(')
	x := p.expr()
	p.expect(')')
	return x
}
