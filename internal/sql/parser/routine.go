package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// routineKinds are the words that ALTER and DROP call routines.
var routineKinds = map[kind]ast.RoutineKind{kwFunction: ast.Function, kwProcedure: ast.Procedure, kwRoutine: ast.AnyRoutine, kwAggregate: ast.Aggregate, kwOperator: ast.OwnOperator}

// createRoutine parses CREATE FUNCTION and PROCEDURE from that word on.
func (p *parser) createRoutine(loc ast.Loc, orReplace bool) ast.Statement {
	s := &ast.CreateRoutine{Loc: loc, OrReplace: orReplace, Kind: routineKinds[p.tok.kind]}
	p.advance()
	s.Name = p.routineName()
	s.Params = p.routineParams()
	if s.Kind == ast.Function && p.accept(kwReturns) {
		p.returns(s)
	}
	for p.err == nil {
		o, ok := p.routineOption(true)
		if !ok {
			break
		}
		s.Options = append(s.Options, o)
	}
	s.Body = p.routineBody()
	if s.Table {
		p.noOutParams(s.Params)
	}
	return s
}

// returns parses what a function returns, behind RETURNS.
func (p *parser) returns(s *ast.CreateRoutine) {
	if !p.accept(kwTable) {
		s.Returns = p.funcType()
		return
	}
	s.Table = true
	p.expect('(')
	for p.err == nil {
		c := ast.RoutineParam{Loc: p.loc(), Mode: ast.ParamTable}
		c.Name = p.paramName()
		c.Type = p.funcType()
		s.Params = append(s.Params, c)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
}

// noOutParams refuses RETURNS TABLE of a function with output parameters.
func (p *parser) noOutParams(list []ast.RoutineParam) {
	for i := range list {
		if m := list[i].Mode; m == ast.ParamOut || m == ast.ParamInOut {
			p.failf(pgerr.SyntaxError, 0, "OUT and INOUT arguments aren't allowed in TABLE functions")
		}
	}
}

// routineName parses func_name.
func (p *parser) routineName() ast.TableName {
	loc, k := p.loc(), p.tok.kind
	switch {
	case isColID(k) && (p.peek() == '.' || p.peek() == '['):
		return p.qualifiedName(loc, p.colID())
	case isColID(k) && !isFuncName(k):
		p.advance()
		p.syntaxError()
		return ast.TableName{}
	}
	return ast.TableName{Loc: loc, Table: p.paramName()}
}

// paramName parses type_function_name.
func (p *parser) paramName() ast.Name {
	if !isFuncName(p.tok.kind) {
		p.syntaxError()
		return ""
	}
	name := p.tok.str
	p.advance()
	return name
}

// routineParams parses the parameters in parentheses.
func (p *parser) routineParams() []ast.RoutineParam {
	p.expect('(')
	list := []ast.RoutineParam{}
	if p.accept(')') {
		return list
	}
	for p.err == nil {
		list = append(list, p.routineParam())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// routineParam parses [mode] [name] type or name mode type, and a default.
func (p *parser) routineParam() ast.RoutineParam {
	r := ast.RoutineParam{Loc: p.loc(), Mode: ast.ParamIn}
	r.Stated = p.paramMode(&r)
	next := p.peek()
	startsType := isFuncName(next) || next == kwSetof || isKeyword(next) && class(next) == ast.ColName && next != kwPrecision
	if isFuncName(p.tok.kind) && (startsType || isParamMode(next)) {
		r.Name = p.tok.str
		p.advance()
	}
	if !r.Stated {
		r.Stated = p.paramMode(&r)
	}
	r.Type = p.funcType()
	if p.accept(kwDefault) || p.accept('=') {
		r.Default = p.expr()
	}
	return r
}

func isParamMode(k kind) bool { return k == kwIn || k == kwOut || k == kwInout || k == kwVariadic }

// paramMode parses the mode of a parameter, if one stands here.
func (p *parser) paramMode(r *ast.RoutineParam) bool {
	if !isParamMode(p.tok.kind) {
		return false
	}
	k := p.tok.kind
	p.advance()
	switch {
	case k == kwInout, k == kwIn && p.accept(kwOut):
		r.Mode = ast.ParamInOut
	case k == kwOut:
		r.Mode = ast.ParamOut
	case k == kwVariadic:
		r.Mode = ast.ParamVariadic
	}
	return true
}

// funcType parses a type, or the type of a column: table.column%TYPE.
func (p *parser) funcType() *ast.TypeName {
	t := p.typeName()
	if len(t.Names) > 1 && p.tok.kind == '%' && p.peek() == kwType {
		p.advance()
		p.advance()
		t.PctType = true
	}
	return t
}

// routineOption parses an option of CREATE FUNCTION, or of ALTER FUNCTION; false if none stands here.
func (p *parser) routineOption(create bool) (ast.RoutineOption, bool) {
	o := ast.RoutineOption{Loc: p.loc()}
	k := p.tok.kind
	switch {
	case k == kwSet || k == kwReset && !create:
		o.Name, o.Set = "set", p.setOrReset()
		return o, true
	case create && p.creationOption(&o):
		return o, true
	}
	return o, p.attributeOption(&o)
}

// creationOption parses the options that ALTER FUNCTION does not have.
func (p *parser) creationOption(o *ast.RoutineOption) bool {
	switch {
	case p.accept(kwAs):
		o.Name, o.Text = "as", p.str()
		if p.accept(',') {
			o.Text2 = p.str()
		}
	case p.accept(kwLanguage):
		o.Name = "language"
		if p.tok.kind == tokString {
			o.Text = p.str()
		} else {
			o.Text = p.nonReserved()
		}
	case p.accept(kwTransform):
		o.Name = "transform"
		for p.err == nil {
			p.expect(kwFor)
			p.expect(kwType)
			p.typeName()
			if !p.accept(',') {
				break
			}
		}
	case p.accept(kwWindow):
		o.Name = "window"
	default:
		return false
	}
	return true
}

// attributeOption parses the options that CREATE and ALTER FUNCTION have in common.
func (p *parser) attributeOption(o *ast.RoutineOption) bool {
	k := p.tok.kind
	external := k == kwExternal && p.peek() == kwSecurity
	switch {
	case k == kwCalled, k == kwReturns:
		p.advance()
		if k == kwReturns {
			p.expect(kwNull)
		}
		p.expect(kwOn)
		p.expect(kwNull)
		p.expect(kwInput)
		o.Name, o.On = "strict", k == kwReturns
	case p.accept(kwStrict):
		o.Name, o.On = "strict", true
	case k == kwImmutable, k == kwStable, k == kwVolatile:
		o.Name, o.Text = "volatility", p.tok.str
		p.advance()
	case external, k == kwSecurity:
		p.accept(kwExternal)
		p.advance()
		o.Name, o.Text = "security", "invoker"
		if p.accept(kwDefiner) {
			o.Text = "definer"
		} else {
			p.expect(kwInvoker)
		}
	case p.accept(kwLeakproof), p.accept2(kwNot, kwLeakproof):
		o.Name, o.On = "leakproof", k == kwLeakproof
	case p.accept(kwCost):
		o.Name, o.Value = "cost", p.numericOnly()
	case p.accept(kwRows):
		o.Name, o.Value = "rows", p.numericOnly()
	case p.accept(kwSupport):
		o.Name = "support"
		p.anyName()
	case p.accept(kwParallel):
		o.Name, o.Text = "parallel", p.colID()
	default:
		return false
	}
	return true
}

// routineBody parses a body in the form of the SQL standard, nil if there is none.
func (p *parser) routineBody() *ast.RoutineBody {
	b := &ast.RoutineBody{Loc: p.loc()}
	if p.accept(kwReturn) {
		b.Return = p.expr()
		return b
	}
	if !p.accept2(kwBegin, kwAtomic) {
		return nil
	}
	for p.err == nil && p.tok.kind != kwEnd {
		switch {
		case p.accept(';'):
			continue
		case p.tok.kind == kwReturn:
			loc := p.loc()
			p.advance()
			b.Stmts = append(b.Stmts, &ast.Select{Loc: loc, Items: []ast.SelectItem{{X: p.expr()}}})
		case p.tok.kind == kwBegin:
			p.syntaxError()
		default:
			b.Stmts = append(b.Stmts, p.statement())
		}
		p.expect(';')
	}
	p.expect(kwEnd)
	return b
}

// routineRef parses a routine's name with its parameters, if they are given.
func (p *parser) routineRef() ast.RoutineRef {
	r := ast.RoutineRef{Loc: p.loc()}
	if isColID(p.tok.kind) || isFuncName(p.tok.kind) {
		r.Name = p.qualifiedName(r.Loc, p.colLabel())
	} else {
		p.syntaxError()
	}
	if p.tok.kind == '(' {
		r.Params = p.routineParams()
	} else {
		r.Bare = true
	}
	return r
}

// routineRefOf is routineRef for a statement about routines of a kind.
func (p *parser) routineRefOf(k ast.RoutineKind) ast.RoutineRef {
	switch k {
	case ast.Aggregate:
		return p.aggregateRef()
	case ast.OwnOperator:
		return p.operatorRef()
	}
	return p.routineRef()
}

// dropRoutine parses DROP FUNCTION, PROCEDURE and ROUTINE from that word on.
func (p *parser) dropRoutine(loc ast.Loc) ast.Statement {
	s := &ast.DropRoutine{Loc: loc, Kind: routineKinds[p.tok.kind]}
	p.advance()
	s.IfExists = p.ifExists()
	for p.err == nil {
		s.Refs = append(s.Refs, p.routineRefOf(s.Kind))
		if !p.accept(',') {
			break
		}
	}
	s.Cascade, s.Restrict = p.dropBehavior()
	return s
}

// alterRoutine parses ALTER FUNCTION, PROCEDURE and ROUTINE from that word on.
func (p *parser) alterRoutine(loc ast.Loc) ast.Statement {
	s := &ast.AlterRoutine{Loc: loc, Kind: routineKinds[p.tok.kind]}
	p.advance()
	s.Ref = p.routineRefOf(s.Kind)
	no := p.tok.kind == kwNo && p.peek() == kwDepends && p.accept(kwNo)
	switch {
	case s.Kind != ast.OwnOperator && p.accept2(kwRename, kwTo):
		s.NewName = p.colID()
	case p.accept2(kwOwner, kwTo):
		r := p.roleSpec()
		s.Owner = &r
	case p.accept2(kwSet, kwSchema):
		s.NewSchema = p.colID()
	case s.Kind == ast.OwnOperator && p.accept(kwSet):
		p.expect('(')
		s.Set = p.operatorOptions(true)
		p.expect(')')
	case s.Kind == ast.Aggregate || s.Kind == ast.OwnOperator:
		p.syntaxError()
	case p.accept(kwDepends):
		p.expect(kwOn)
		p.expect(kwExtension)
		s.Extension = p.colID()
	case no:
		p.syntaxError()
	default:
		p.alterRoutineOptions(s)
	}
	return s
}

func (p *parser) alterRoutineOptions(s *ast.AlterRoutine) {
	for p.err == nil {
		o, ok := p.routineOption(false)
		if !ok {
			break
		}
		s.Options = append(s.Options, o)
	}
	if len(s.Options) == 0 {
		p.syntaxError()
	}
	p.accept(kwRestrict)
}
