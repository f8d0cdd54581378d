package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/hstorefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// hstoreSubscript plans x[key] of an hstore as x -> key.
func (b *builder) hstoreSubscript(x plan.Expr, e *ast.Subscript, s *scope) (plan.Expr, error) {
	if len(e.Indexes) != 1 || e.Indexes[0].Slice {
		return nil, errOneSubscript(e.Pos)
	}
	key, err := b.hstoreKey(e.Indexes[0].Lo, s)
	if err != nil {
		return nil, err
	}
	at := e.Indexes[0].Lo.Position()
	return b.operator(ast.Operator{Name: "->"}, []plan.Expr{x, key}, []int{e.X.Position(), at}, e.Pos)
}

func errOneSubscript(at int) error {
	return pgerr.Unsupported("hstore allows only one subscript").At(at)
}

// hstoreKey plans a subscript.
func (b *builder) hstoreKey(e ast.Expr, s *scope) (plan.Expr, error) {
	key, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	key, ok, err := b.coerce(key, types.Text, plan.CastAssignment, e.Position())
	if err == nil && !ok {
		err = pgerr.New(pgerr.DatatypeMismatch, "hstore subscript must have type text").At(e.Position())
	}
	return key, err
}

// hstore assigns to old[key].
func (p *partAssign) hstore(old plan.Expr, path []ast.TargetStep) (plan.Expr, error) {
	if len(path) != 1 || path[0].Index.Slice {
		return nil, errOneSubscript(p.target.Pos)
	}
	key, err := p.b.hstoreKey(path[0].Index.Lo, p.s)
	if err != nil {
		return nil, err
	}
	v, err := p.part(types.Text, old, nil)
	if err != nil {
		return nil, err
	}
	return p.b.ownCall(hstorefuncs.SetPair, []plan.Expr{old, key, v}, p.target.Pos)
}
