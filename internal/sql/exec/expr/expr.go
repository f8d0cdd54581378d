package expr

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Func computes an expression for a row. It allocates nothing beyond what the
// functions it calls do.
type Func func(row types.Row) (types.Datum, error)

// Into computes an expression for a row and leaves the value, with memory of its own, at a place; nothing after an error. A number
// gets there without the copies that values take through the results of functions.
type Into func(row types.Row, to *types.Datum) error

// Pred reports whether a condition is true (not false, not NULL).
type Pred func(row types.Row) (bool, error)

// Expr compiles an expression over the columns of s.
func (c *Compiler) Expr(e plan.Expr, s Scope) (Func, error) {
	if err := c.Enter(); err != nil {
		return nil, err
	}
	defer c.Leave()
	switch e := e.(type) {
	case *plan.Const:
		d := e.D
		return func(types.Row) (types.Datum, error) { return d, nil }, nil
	case *plan.ColRef:
		return c.column(e.Col, s), nil
	case *plan.Param:
		return c.param(e), nil
	case *plan.Call:
		return c.call(e, s)
	case *plan.Cast:
		return c.cast(e, s)
	case *plan.And, *plan.Or, *plan.Not, *plan.Is, *plan.IsDistinct:
		return c.logic(e, s)
	case *plan.Case, *plan.CaseOperand, *plan.AllElements, *plan.Coalesce, *plan.NullIf, *plan.MinMax:
		return c.conditional(e, s)
	case *plan.InList:
		return c.inList(e, s)
	case *plan.AnyAll:
		return c.anyAll(e, s)
	case *plan.RowCompare:
		return c.rowCompare(e, s)
	case *plan.Subquery:
		if c.subquery == nil {
			return nil, errExpr(e)
		}
		return c.subquery(e, s)
	case *plan.SessionValue:
		return c.sessionValue(e)
	default:
		return c.composite(e, s)
	}
}

// Exprs compiles a list.
func (c *Compiler) Exprs(list []plan.Expr, s Scope) ([]Func, error) {
	fns := make([]Func, len(list))
	for i, e := range list {
		var err error
		if fns[i], err = c.Expr(e, s); err != nil {
			return nil, err
		}
	}
	return fns, nil
}

func (c *Compiler) column(id plan.ColID, s Scope) Func {
	if pos := s.Find(id); pos >= 0 {
		return func(row types.Row) (types.Datum, error) { return row[pos], nil }
	}
	r, slot := c.state, c.outerSlot(id)
	return func(types.Row) (types.Datum, error) { return r.outer[slot], nil }
}

func (c *Compiler) param(e *plan.Param) Func {
	r, i := c.state, e.Index
	return func(types.Row) (types.Datum, error) {
		if i >= len(r.params) {
			return types.Null, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", i+1)
		}
		return r.params[i], nil
	}
}

// Types returns the types of expressions.
func Types(list []plan.Expr) []*types.T {
	ts := make([]*types.T, len(list))
	for i, e := range list {
		ts[i] = e.Type()
	}
	return ts
}

// Optional compiles e, or returns nil for nil.
func (c *Compiler) Optional(e plan.Expr, s Scope) (Func, error) {
	if e == nil {
		return nil, nil
	}
	return c.Expr(e, s)
}

// Pred compiles a condition for use where only "is it true" matters; nil for
// nil.
func (c *Compiler) Pred(e plan.Expr, s Scope) (Pred, error) {
	switch e := e.(type) {
	case nil:
		return nil, nil
	case *plan.And:
		return c.predAll(e.Args, s)
	case *plan.Or:
		return c.predAny(e.Args, s)
	case *plan.Call:
		if f, ok, err := c.fastPred(e, s); ok || err != nil {
			return f, err
		}
	}
	f, err := c.Expr(e, s)
	if err != nil {
		return nil, err
	}
	return func(row types.Row) (bool, error) {
		d, err := f(row)
		return err == nil && d.IsTrue(), err
	}, nil
}

// Preds compiles a list of conditions.
func (c *Compiler) Preds(args []plan.Expr, s Scope) ([]Pred, error) {
	list := make([]Pred, len(args))
	for i, a := range args {
		var err error
		if list[i], err = c.Pred(a, s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *Compiler) predAll(args []plan.Expr, s Scope) (Pred, error) {
	list, err := c.Preds(args, s)
	if err != nil {
		return nil, err
	}
	if len(list) > manyPreds {
		list = c.ticking(list)
	}
	return func(row types.Row) (bool, error) {
		for _, p := range list {
			if ok, err := p(row); !ok {
				return false, err
			}
		}
		return true, nil
	}, nil
}

// manyPreds is how many conditions one row may be checked against without a step.
const manyPreds = 64

// ticking has every condition of a long list count as a step.
func (c *Compiler) ticking(list []Pred) []Pred {
	r := c.state
	for i, p := range list {
		list[i] = func(row types.Row) (bool, error) {
			if err := r.Tick(); err != nil {
				return false, err
			}
			return p(row)
		}
	}
	return list
}

func (c *Compiler) predAny(args []plan.Expr, s Scope) (Pred, error) {
	list, err := c.Preds(args, s)
	if err != nil {
		return nil, err
	}
	if len(list) > manyPreds {
		list = c.ticking(list)
	}
	return func(row types.Row) (bool, error) {
		for _, p := range list {
			if ok, err := p(row); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}, nil
}
