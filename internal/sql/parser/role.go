package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// roleSpec parses RoleSpec.
func (p *parser) roleSpec() ast.RoleSpec {
	r := ast.RoleSpec{Loc: p.loc()}
	switch p.tok.kind {
	case kwCurrentRole:
		r.Kind = ast.RoleCurrentRole
	case kwCurrentUser:
		r.Kind = ast.RoleCurrentUser
	case kwSessionUser:
		r.Kind = ast.RoleSessionUser
	default:
		if !isNonReserved(p.tok.kind) {
			p.syntaxError()
			return r
		}
		r.Name = p.tok.str
		switch {
		case r.Name == "public":
			r.Kind, r.Name = ast.RolePublic, ""
		case r.Name == "none":
			p.failf(pgerr.ReservedName, r.Pos, `role name "none" is reserved`)
			return r
		}
	}
	p.advance()
	return r
}

// roleList parses role_list.
func (p *parser) roleList() []ast.RoleSpec {
	var list []ast.RoleSpec
	for {
		list = append(list, p.roleSpec())
		if !p.accept(',') {
			return list
		}
	}
}

// isUserMapping reports whether USER MAPPING, not a user of that name, comes next.
func (p *parser) isUserMapping() bool {
	l := p.scan()
	if l.next().kind != kwMapping {
		return false
	}
	switch l.next().kind {
	case kwFor, kwIf:
		return true
	}
	return false
}

// createRole parses CREATE ROLE|USER|GROUP after that word.
func (p *parser) createRole(loc ast.Loc, k ast.RoleKind) ast.Statement {
	s := &ast.CreateRole{Loc: loc, Kind: k}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.roleSpec()
	p.accept(kwWith)
	s.Options = p.roleOptions(true)
	return s
}

// roleOptions parses the options of CREATE and ALTER ROLE.
func (p *parser) roleOptions(create bool) []ast.Option {
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc()}
		if !create && createsRole(p.tok.kind) || !p.roleOption(&o) {
			return list
		}
		list = append(list, o)
	}
}

// createsRole reports whether an option is one of CREATE ROLE only.
func createsRole(k kind) bool { return k == kwSysid || k == kwAdmin || k == kwRole || k == kwIn }

// roleFlags are the options that are words with an opposite.
var roleFlags = map[string]ast.Option{
	"superuser": {Name: "superuser"}, "nosuperuser": {Name: "superuser", Value: noFlag},
	"createdb": {Name: "createdb"}, "nocreatedb": {Name: "createdb", Value: noFlag},
	"createrole": {Name: "createrole"}, "nocreaterole": {Name: "createrole", Value: noFlag},
	"replication": {Name: "replication"}, "noreplication": {Name: "replication", Value: noFlag},
	"bypassrls": {Name: "bypassrls"}, "nobypassrls": {Name: "bypassrls", Value: noFlag},
	"login": {Name: "login"}, "nologin": {Name: "login", Value: noFlag},
	"noinherit": {Name: "inherit", Value: noFlag},
}

// noFlag marks the negative words of roleFlags.
var noFlag = &ast.BoolLit{}

// roleOption parses one option; false when none comes next.
func (p *parser) roleOption(o *ast.Option) bool {
	switch p.tok.kind {
	case kwPassword, kwEncrypted:
		p.accept(kwEncrypted)
		p.expect(kwPassword)
		o.Name = "password"
		if p.tok.kind == kwNull {
			o.Value = &ast.NullLit{Loc: p.loc()}
			p.advance()
		} else {
			o.Value = p.strLit()
		}
	case kwInherit:
		p.advance()
		o.Name, o.Value = "inherit", &ast.BoolLit{Loc: o.Loc, Val: true}
	case kwConnection:
		p.advance()
		p.expect(kwLimit)
		o.Name, o.Value = "connection_limit", p.numericOnly()
	case kwValid:
		p.advance()
		p.expect(kwUntil)
		o.Name, o.Value = "valid_until", p.strLit()
	case kwSysid:
		p.advance()
		o.Name, o.Value = "sysid", p.numericOnly()
	case kwAdmin:
		p.advance()
		o.Name, o.Value = "admin", p.roleNames()
	case kwRole, kwUser:
		p.advance()
		o.Name, o.Value = "role", p.roleNames()
	case kwIn:
		p.advance()
		if !p.accept(kwRole) {
			p.expect(kwGroup)
		}
		o.Name, o.Value = "in_role", p.roleNames()
	case tokIdent:
		f, ok := roleFlags[p.tok.str]
		if !ok {
			p.failf(pgerr.SyntaxError, p.pos(), `unrecognized role option "%s"`, p.tok.str)
			return false
		}
		p.advance()
		o.Name, o.Value = f.Name, &ast.BoolLit{Loc: o.Loc, Val: f.Value == nil}
	default:
		return false
	}
	return true
}

// roleNames parses a list of roles as the value of an option.
func (p *parser) roleNames() ast.Expr {
	r := &ast.Row{Loc: p.loc()}
	for {
		loc := p.loc()
		role := p.roleSpec()
		r.Elems = append(r.Elems, &ast.StrLit{Loc: loc, Val: role.Name})
		if !p.accept(',') {
			return r
		}
	}
}

// alterRole parses ALTER ROLE|USER|GROUP after that word.
func (p *parser) alterRole(loc ast.Loc, k ast.RoleKind) ast.Statement {
	s := &ast.AlterRole{Loc: loc, Kind: k}
	s.IfExists = p.ifExists()
	if p.accept(kwAll) {
		s.All = true
	} else {
		s.Name = p.roleSpec()
	}
	switch {
	case p.accept2(kwRename, kwTo):
		s.NewName = p.nonReserved()
		return s
	case k == ast.KindGroup:
		return p.alterGroup(s)
	case p.accept2(kwIn, kwDatabase):
		s.Database = p.colID()
	}
	if p.tok.kind == kwSet || p.tok.kind == kwReset || s.Database != "" || s.All {
		s.Set = p.setOrReset()
		return s
	}
	p.accept(kwWith)
	s.Options = p.roleOptions(false)
	return s
}

// alterGroup parses ALTER GROUP g ADD|DROP USER roles, which grants membership.
func (p *parser) alterGroup(s *ast.AlterRole) ast.Statement {
	if s.Name.Kind != ast.RoleNamed {
		p.unsupportedLate(s.Name.Pos, "ALTER GROUP of a special role")
	}
	g := &ast.Grant{Loc: s.Loc, OnRoles: true, Revoke: p.tok.kind == kwDrop}
	if !g.Revoke && p.tok.kind != kwAdd {
		p.syntaxError()
		return g
	}
	p.advance()
	p.expect(kwUser)
	g.Privileges = []ast.Privilege{{Name: s.Name.Name}}
	g.Roles = p.roleList()
	return g
}

// setOrReset parses SetResetClause of ALTER ROLE and ALTER DATABASE.
func (p *parser) setOrReset() *ast.SetVar {
	loc := p.loc()
	var st ast.Statement
	if p.tok.kind == kwReset {
		st = p.reset()
	} else {
		p.expect(kwSet)
		st = p.setRest(loc, ast.ScopeSession)
	}
	v, ok := st.(*ast.SetVar)
	if !ok {
		p.unsupportedLate(loc.Pos, "SET TRANSACTION as a property")
	}
	return v
}

// dropRole parses DROP ROLE|USER|GROUP after that word.
func (p *parser) dropRole(loc ast.Loc, k ast.RoleKind) ast.Statement {
	s := &ast.DropRole{Loc: loc, Kind: k}
	s.IfExists = p.ifExists()
	s.Names = p.roleList()
	return s
}

// reassignOwned parses REASSIGN OWNED.
func (p *parser) reassignOwned() ast.Statement {
	s := &ast.ReassignOwned{Loc: p.loc()}
	p.advance()
	p.expect(kwOwned)
	p.expect(kwBy)
	s.Roles = p.roleList()
	p.expect(kwTo)
	s.To = p.roleSpec()
	return s
}

// grant parses GRANT and REVOKE.
func (p *parser) grant() ast.Statement {
	s := &ast.Grant{Loc: p.loc(), Revoke: p.tok.kind == kwRevoke}
	p.advance()
	option := p.tok.kind
	if s.Revoke && (p.accept2(kwGrant, kwOption) || p.accept2(kwAdmin, kwOption)) {
		s.WithGrant = true
		p.expect(kwFor)
	} else {
		option = tokEOF
	}
	s.Privileges = p.privileges()
	switch {
	case p.tok.kind == kwOn && option != kwAdmin:
		p.advance()
		p.grantObjects(s)
	case s.Privileges[0].Name == "all", option == kwGrant:
		p.syntaxError()
	default:
		s.OnRoles = true
	}
	p.grantTail(s)
	return s
}

// grantTail parses what follows the objects of GRANT and REVOKE.
func (p *parser) grantTail(s *ast.Grant) {
	if s.Revoke {
		p.expect(kwFrom)
	} else {
		p.expect(kwTo)
	}
	p.accept(kwGroup)
	s.Roles = append(s.Roles, p.roleSpec())
	for p.accept(',') {
		p.accept(kwGroup)
		s.Roles = append(s.Roles, p.roleSpec())
	}
	if !s.Revoke && p.accept(kwWith) {
		if s.OnRoles {
			p.expect(kwAdmin)
		} else {
			p.expect(kwGrant)
		}
		p.expect(kwOption)
		s.WithGrant = true
	}
	if p.accept2(kwGranted, kwBy) {
		r := p.roleSpec()
		s.GrantedBy = &r
	}
	if s.Revoke {
		s.Cascade, _ = p.dropBehavior()
	}
}

// privileges parses the privileges or roles of GRANT.
func (p *parser) privileges() []ast.Privilege {
	if p.accept(kwAll) {
		p.accept(kwPrivileges)
		return []ast.Privilege{{Name: "all", Cols: p.optParenNames()}}
	}
	var list []ast.Privilege
	for {
		var v ast.Privilege
		switch p.tok.kind {
		case kwSelect, kwReferences, kwCreate:
			v.Name = p.colLabel()
		case kwAlter:
			v.Name = p.colLabel()
			if p.accept(kwSystem) {
				v.Name = "alter system"
			}
		default:
			v.Name = p.colID()
		}
		v.Cols = p.optParenNames()
		list = append(list, v)
		if !p.accept(',') {
			return list
		}
	}
}

// grantObjects parses what GRANT ... ON names.
func (p *parser) grantObjects(s *ast.Grant) {
	if p.accept(kwAll) {
		s.AllInSchema = true
		switch {
		case p.accept(kwTables):
			s.Kind = ast.ObjTable
		case p.accept(kwSequences):
			s.Kind = ast.ObjSequence
		case p.accept(kwFunctions):
			s.Kind = ast.ObjFunction
		case p.accept(kwProcedures):
			s.Kind = ast.ObjProcedure
		default:
			p.expect(kwRoutines)
			s.Kind = ast.ObjRoutine
		}
		p.expect(kwIn)
		p.expect(kwSchema)
		loc := p.loc()
		for _, n := range p.nameList() {
			s.Names = append(s.Names, ast.TableName{Loc: loc, Table: n})
		}
		return
	}
	s.Kind = p.grantKind()
	if s.Kind == ast.ObjFunction || s.Kind == ast.ObjProcedure || s.Kind == ast.ObjRoutine {
		for {
			name, args := p.functionWithArgs()
			s.Names = append(s.Names, name)
			s.FuncArgs = append(s.FuncArgs, args)
			if !p.accept(',') {
				return
			}
		}
	}
	switch s.Kind {
	case ast.ObjLargeObject:
		p.unsupportedLate(p.pos(), "GRANT ON "+s.Kind.String())
		p.rule("numbers")
		return
	case ast.ObjParameter:
		s.Names = append(s.Names, p.parameterName())
		for p.accept(',') {
			s.Names = append(s.Names, p.parameterName())
		}
		return
	}
	switch s.Kind {
	case ast.ObjDatabase, ast.ObjSchema, ast.ObjTablespace, ast.ObjLanguage, ast.ObjForeignServer, ast.ObjForeignDataWrapper:
		s.Names = append(s.Names, p.plainName())
		for p.accept(',') {
			s.Names = append(s.Names, p.plainName())
		}
	default:
		s.Names = p.tableNames()
	}
}

// parameterName parses the name of a parameter, with dots in it.
func (p *parser) parameterName() ast.TableName {
	n := ast.TableName{Loc: p.loc(), Table: p.colID()}
	for p.accept('.') {
		n.Table += "." + p.colID()
	}
	return n
}

// grantKind parses the optional kind of the objects of GRANT.
func (p *parser) grantKind() ast.ObjectKind {
	k := ast.ObjTable
	switch p.tok.kind {
	case kwTable:
	case kwSequence:
		k = ast.ObjSequence
	case kwDatabase:
		k = ast.ObjDatabase
	case kwSchema:
		k = ast.ObjSchema
	case kwDomain:
		k = ast.ObjDomain
	case kwType:
		k = ast.ObjType
	case kwLanguage:
		k = ast.ObjLanguage
	case kwTablespace:
		k = ast.ObjTablespace
	case kwFunction:
		k = ast.ObjFunction
	case kwProcedure:
		k = ast.ObjProcedure
	case kwRoutine:
		k = ast.ObjRoutine
	case kwParameter:
		k = ast.ObjParameter
	case kwLarge:
		p.advance()
		p.expect(kwObject)
		return ast.ObjLargeObject
	case kwForeign:
		p.advance()
		k = ast.ObjForeignServer
		word := kwServer
		if p.accept(kwData) {
			k, word = ast.ObjForeignDataWrapper, kwWrapper
		}
		p.expect(word)
		return k
	default:
		return k
	}
	if p.tok.kind != kwTable && isColID(p.tok.kind) {
		if n := p.peek(); n == kwTo || n == kwFrom || n == ',' || n == '.' {
			return ast.ObjTable // a table that happens to be named like a kind
		}
	}
	p.advance()
	return k
}

// functionWithArgs parses a function's name with the types of its arguments.
func (p *parser) functionWithArgs() (ast.TableName, []*ast.TypeName) {
	loc := p.loc()
	if !isColID(p.tok.kind) && !isFuncName(p.tok.kind) {
		p.syntaxError()
	}
	name := p.qualifiedName(loc, p.colLabel())
	if !p.accept('(') {
		return name, nil
	}
	args := []*ast.TypeName{}
	if p.accept(')') {
		return name, args
	}
	for {
		args = p.argType(args)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return name, args
}

// argType parses an argument of a function's signature, [mode] [name] type, and
// appends its type unless it is an output.
func (p *parser) argType(args []*ast.TypeName) []*ast.TypeName {
	out := false
	switch p.tok.kind {
	case kwIn, kwInout, kwVariadic:
		p.advance()
	case kwOut:
		p.advance()
		out = true
	}
	next := p.peek()
	startsType := isFuncName(next) || next == kwSetof || isKeyword(next) && class(next) == ast.ColName && next != kwPrecision
	if isFuncName(p.tok.kind) && startsType {
		p.advance()
	}
	t := p.typeName()
	if out {
		return args
	}
	return append(args, t)
}

// alterDefaultPrivileges parses ALTER DEFAULT PRIVILEGES after these words.
func (p *parser) alterDefaultPrivileges(loc ast.Loc) ast.Statement {
	s := &ast.AlterDefaultPrivileges{Loc: loc}
	for p.err == nil {
		switch {
		case p.accept(kwFor):
			if !p.accept(kwRole) {
				p.expect(kwUser)
			}
			s.ForRoles = append(s.ForRoles, p.roleList()...)
			continue
		case p.accept2(kwIn, kwSchema):
			s.Schemas = append(s.Schemas, p.nameList()...)
			continue
		}
		break
	}
	if p.tok.kind != kwGrant && p.tok.kind != kwRevoke {
		p.syntaxError()
		return s
	}
	g := &ast.Grant{Loc: p.loc(), Revoke: p.tok.kind == kwRevoke}
	p.advance()
	if g.Revoke && p.accept2(kwGrant, kwOption) {
		g.WithGrant = true
		p.expect(kwFor)
	}
	g.Privileges = p.privileges()
	p.expect(kwOn)
	switch {
	case p.accept(kwTables):
		g.Kind = ast.ObjTable
	case p.accept(kwSequences):
		g.Kind = ast.ObjSequence
	case p.accept(kwFunctions), p.accept(kwRoutines):
		g.Kind = ast.ObjFunction
	case p.accept(kwTypes):
		g.Kind = ast.ObjType
	default:
		p.expect(kwSchemas)
		g.Kind = ast.ObjSchema
	}
	p.grantTail(g)
	s.Grant = g
	return s
}
