package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// partAssign plans assignments to a part of a column.
type partAssign struct {
	b      *builder
	s      *scope
	target *ast.Target
	column *catalog.Column
	value  func(c *catalog.Column) (plan.Expr, error)
}

// partValue plans the new value of a column of which a part is assigned: old is
// its value so far; value plans what is assigned, for a column of a type.
func (b *builder) partValue(target *ast.Target, c *catalog.Column, old plan.Expr, s *scope,
	value func(c *catalog.Column) (plan.Expr, error)) (plan.Expr, error) {
	p := partAssign{b: b, s: s, target: target, column: c, value: value}
	return p.part(c.Type, old, target.Path)
}

// part plans what becomes of old, a value of type t, when the part at path is assigned. A
// value of a domain has to fulfil its constraints.
func (p *partAssign) part(t *types.T, old plan.Expr, path []ast.TargetStep) (plan.Expr, error) {
	x, err := p.undomained(t.WithDomain(nil), old, path)
	if err != nil || t.Domain() == nil {
		return x, err
	}
	return p.b.domainValue(x, t.Domain(), p.target.Pos)
}

// undomained is part for the type below a domain.
func (p *partAssign) undomained(t *types.T, old plan.Expr, path []ast.TargetStep) (plan.Expr, error) {
	if len(path) == 0 {
		c := *p.column
		c.Type, c.Domain = t, nil
		return p.value(&c)
	}
	n := 0
	slice := false
	for n < len(path) && path[n].Index != nil {
		slice = slice || path[n].Index.Slice
		n++
	}
	switch {
	case n == 0:
		return p.field(t, old, path)
	case t.Oid == types.JSONB.Oid:
		return p.json(old, path)
	case t.Oid == types.Hstore.Oid:
		return p.hstore(old, path)
	case t.Subscripted() == nil:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", t.SQLName).At(p.target.Pos)
	case slice && t.Elem == nil:
		return nil, errSliceOfFixed()
	case slice:
		return p.slice(t, old, path[:n], path[n:])
	}
	return p.element(t, old, path[:n], path[n:])
}

// element assigns to old[i], or to a part of that.
func (p *partAssign) element(t *types.T, old plan.Expr, index, rest []ast.TargetStep) (plan.Expr, error) {
	sub := &plan.Subscript{Arg: old, T: t.Subscripted()}
	for i := range index {
		x, err := p.b.subscriptInt(index[i].Index.Lo, p.s)
		if err != nil {
			return nil, err
		}
		sub.Lower, sub.Upper = append(sub.Lower, nil), append(sub.Upper, x)
	}
	v, err := p.part(sub.T, sub, rest)
	if err != nil {
		return nil, err
	}
	args := []plan.Expr{old, v}
	for _, x := range sub.Upper {
		args = append(args, plan.CopyExpr(x))
	}
	if t.Elem == nil {
		x, err := p.b.assignCall("lichen_set_coordinate", args, p.target.Pos)
		if c, ok := x.(*plan.Call); ok {
			c.T = t
		}
		return x, err
	}
	return p.b.assignCall("lichen_set_element", args, p.target.Pos)
}

// assignCall plans a call whose result replaces a column's value.
func (b *builder) assignCall(name string, args []plan.Expr, at int) (plan.Expr, error) {
	pos := make([]int, len(args))
	for i := range pos {
		pos[i] = at
	}
	return b.function(name, args, pos, at)
}

func (b *builder) subscriptInt(e ast.Expr, s *scope) (plan.Expr, error) {
	if e == nil {
		return plan.NewNull(types.Int4), nil
	}
	v, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	v, ok, err := b.coerce(v, types.Int4, plan.CastAssignment, e.Position())
	if err == nil && !ok {
		err = pgerr.New(pgerr.DatatypeMismatch, "array subscript must have type integer").At(e.Position())
	}
	return v, err
}

// slice assigns to old[l:u][...]. Beside slices a subscript i means 1:i.
func (p *partAssign) slice(t *types.T, old plan.Expr, index, rest []ast.TargetStep) (plan.Expr, error) {
	v, err := p.part(t, old, rest)
	if err != nil {
		return nil, err
	}
	var given int64
	var bounds []plan.Expr
	bound := func(e ast.Expr) error {
		x, err := p.b.subscriptInt(e, p.s)
		if e != nil {
			given |= 1 << len(bounds)
		}
		bounds = append(bounds, x)
		return err
	}
	for i := range index {
		lo, hi := index[i].Index.Lo, index[i].Index.Hi
		if !index[i].Index.Slice {
			lo, hi = &ast.IntLit{Val: 1}, lo
		}
		if err := bound(lo); err != nil {
			return nil, err
		}
		if err := bound(hi); err != nil {
			return nil, err
		}
	}
	args := append([]plan.Expr{old, v, plan.NewConst(types.Int8, types.NewInt(given))}, bounds...)
	return p.b.assignCall("lichen_set_slice", args, p.target.Pos)
}

func (p *partAssign) json(old plan.Expr, path []ast.TargetStep) (plan.Expr, error) {
	v, err := p.part(types.JSONB, old, nil)
	if err != nil {
		return nil, err
	}
	args := []plan.Expr{old, v}
	for i := range path {
		step := &path[i]
		if step.Index == nil || step.Index.Slice {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices").At(p.target.Pos)
		}
		x, err := p.b.typed(step.Index.Lo, p.s)
		if err != nil {
			return nil, err
		}
		if t := x.Type(); t.Family != types.IntFamily && !t.IsString() {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "subscript type %s is not supported", t.SQLName).At(p.target.Pos)
		}
		args = append(args, x)
	}
	return p.b.assignCall("lichen_set_json", args, p.target.Pos)
}

// field assigns to (old).name, or to a part of that.
func (p *partAssign) field(t *types.T, old plan.Expr, path []ast.TargetStep) (plan.Expr, error) {
	name := path[0].Field
	i := t.FieldByName(name)
	switch {
	case t.Family != types.RecordFamily:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot assign to field \"%s\" of column \"%s\" because its type %s is not a composite type",
			name, p.column.Name, t.SQLName).At(p.target.Pos)
	case i < 0:
		return nil, pgerr.New(pgerr.UndefinedColumn, "cannot assign to field \"%s\" of column \"%s\" because there is no such column in data type %s",
			name, p.column.Name, t.SQLName).At(p.target.Pos)
	}
	typ := t.Fields()[i].Type
	v, err := p.part(typ, &plan.FieldSelect{Arg: old, Field: i, Name: name, T: typ}, path[1:])
	if err != nil {
		return nil, err
	}
	fn, err := builtin.ResolveFunction("lichen_set_field", []*types.T{types.Record, types.Int4, v.Type()})
	if err != nil {
		return nil, pgerr.From(err).At(p.target.Pos)
	}
	return &plan.Call{Fn: fn, Args: []plan.Expr{plan.CopyExpr(old), plan.NewConst(types.Int4, types.NewInt(int64(i))), v}, T: t, Pos: p.target.Pos}, nil
}

// partType returns the type of the part of a column that a target names.
func partType(t *types.T, path []ast.TargetStep) *types.T {
	for len(path) > 0 && t != nil {
		step := &path[0]
		path = path[1:]
		if i := t.FieldByName(step.Field); step.Field != "" {
			if i < 0 {
				return nil
			}
			t = t.Fields()[i].Type
			continue
		}
		if t.Oid == types.Hstore.Oid {
			return types.Text
		}
		if t.Oid == types.JSONB.Oid || step.Index.Slice {
			return t
		}
		for len(path) > 0 && path[0].Index != nil {
			path = path[1:]
		}
		t = t.Subscripted()
	}
	return t
}

// noPartDefault refuses DEFAULT for a part of a column.
func noPartDefault(target *ast.Target) error {
	if target.Path[0].Index != nil {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot set an array element to DEFAULT").At(target.Pos)
	}
	return pgerr.New(pgerr.FeatureNotSupported, "cannot set a subfield to DEFAULT").At(target.Pos)
}

// columnNow returns the value of a column of the row that UPDATE changes.
func (b *builder) columnNow(c *catalog.Column, s *scope, pos int) (plan.Expr, error) {
	if len(s.items) > 0 {
		it := s.items[0]
		for i := range it.cols {
			if it.cols[i].name == c.Name {
				return b.useColumn(&it.cols[i], s, s, pos), nil
			}
		}
	}
	return nil, pgerr.Unsupported("assigning to parts of a column is not supported here").At(pos)
}
