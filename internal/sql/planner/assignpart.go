package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// partValue plans the new value of a column of which a part is assigned: old is
// its value so far; value plans what is assigned, for a column of a type.
func (b *builder) partValue(target *ast.Target, c *catalog.Column, old plan.Expr, s *scope,
	value func(c *catalog.Column) (plan.Expr, error)) (plan.Expr, error) {
	part := func(t *types.T) (plan.Expr, error) {
		p := *c
		p.Type, p.Domain = t, nil
		return value(&p)
	}
	first := &target.Path[0]
	switch {
	case first.Field != "":
		return b.setField(target, c, old, part)
	case c.Type.Oid == types.JSONB.Oid:
		return b.setJSON(target, old, s, part)
	case c.Type.Elem == nil:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", c.Type.SQLName).At(target.Pos)
	case first.Index.Slice:
		return b.setSlice(target, c, old, s, part)
	}
	v, err := part(c.Type.Elem.WithTypmod(c.Type.Typmod))
	if err != nil {
		return nil, err
	}
	args := []plan.Expr{old, v}
	for i := range target.Path {
		step := &target.Path[i]
		if step.Index == nil || step.Index.Slice {
			return nil, pgerr.Unsupported("assigning to this part of a column is not supported").At(target.Pos)
		}
		x, err := b.subscriptInt(step.Index.Lo, s)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return b.assignCall("lichen_set_element", args, target.Pos)
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

func (b *builder) setSlice(target *ast.Target, c *catalog.Column, old plan.Expr, s *scope, part func(*types.T) (plan.Expr, error)) (plan.Expr, error) {
	if len(target.Path) > 1 {
		return nil, pgerr.Unsupported("assigning to a slice of a multidimensional array is not supported").At(target.Pos)
	}
	v, err := part(c.Type)
	if err != nil {
		return nil, err
	}
	ix := target.Path[0].Index
	lo, err := b.subscriptInt(ix.Lo, s)
	if err != nil {
		return nil, err
	}
	hi, err := b.subscriptInt(ix.Hi, s)
	if err != nil {
		return nil, err
	}
	return b.assignCall("lichen_set_slice", []plan.Expr{old, v, lo, hi}, target.Pos)
}

func (b *builder) setJSON(target *ast.Target, old plan.Expr, s *scope, part func(*types.T) (plan.Expr, error)) (plan.Expr, error) {
	v, err := part(types.JSONB)
	if err != nil {
		return nil, err
	}
	args := []plan.Expr{old, v}
	for i := range target.Path {
		step := &target.Path[i]
		if step.Index == nil || step.Index.Slice {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices").At(target.Pos)
		}
		x, err := b.typed(step.Index.Lo, s)
		if err != nil {
			return nil, err
		}
		if t := x.Type(); t.Family != types.IntFamily && !t.IsString() {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "subscript type %s is not supported", t.SQLName).At(target.Pos)
		}
		args = append(args, x)
	}
	return b.assignCall("lichen_set_json", args, target.Pos)
}

func (b *builder) setField(target *ast.Target, c *catalog.Column, old plan.Expr, part func(*types.T) (plan.Expr, error)) (plan.Expr, error) {
	name := target.Path[0].Field
	i := c.Type.FieldByName(name)
	switch {
	case c.Type.Family != types.RecordFamily:
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot assign to field \"%s\" of column \"%s\" because its type %s is not a composite type",
			name, c.Name, c.Type.SQLName).At(target.Pos)
	case i < 0:
		return nil, pgerr.New(pgerr.UndefinedColumn, "cannot assign to field \"%s\" of column \"%s\" because there is no such column in data type %s",
			name, c.Name, c.Type.SQLName).At(target.Pos)
	case len(target.Path) > 1:
		return nil, pgerr.Unsupported("assigning to this part of a column is not supported").At(target.Pos)
	}
	v, err := part(c.Type.Fields()[i].Type)
	if err != nil {
		return nil, err
	}
	fn, err := builtin.ResolveFunction("lichen_set_field", []*types.T{types.Record, types.Int4, v.Type()})
	if err != nil {
		return nil, pgerr.From(err).At(target.Pos)
	}
	return &plan.Call{Fn: fn, Args: []plan.Expr{old, plan.NewConst(types.Int4, types.NewInt(int64(i))), v}, T: c.Type, Pos: target.Pos}, nil
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
