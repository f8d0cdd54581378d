package exec

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// evalFn computes an expression for a row. It allocates nothing beyond what the
// functions it calls do.
type evalFn func(row Row) (types.Datum, error)

// predFn reports whether a condition is true (not false, not NULL).
type predFn func(row Row) (bool, error)

// expr compiles an expression over the columns of s.
func (c *exprCompiler) expr(e plan.Expr, s scope) (evalFn, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	switch e := e.(type) {
	case *plan.Const:
		d := e.D
		return func(Row) (types.Datum, error) { return d, nil }, nil
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
		return c.subquery(e, s)
	case *plan.SessionValue:
		return c.sessionValue(e)
	default:
		return c.composite(e, s)
	}
}

// exprs compiles a list.
func (c *exprCompiler) exprs(list []plan.Expr, s scope) ([]evalFn, error) {
	fns := make([]evalFn, len(list))
	for i, e := range list {
		var err error
		if fns[i], err = c.expr(e, s); err != nil {
			return nil, err
		}
	}
	return fns, nil
}

func (c *exprCompiler) column(id plan.ColID, s scope) evalFn {
	if pos := s.find(id); pos >= 0 {
		return func(row Row) (types.Datum, error) { return row[pos], nil }
	}
	r, slot := c.state, c.outerSlot(id)
	return func(Row) (types.Datum, error) { return r.outer[slot], nil }
}

func (c *exprCompiler) param(e *plan.Param) evalFn {
	r, i := c.state, e.Index
	return func(Row) (types.Datum, error) {
		if i >= len(r.params) {
			return types.Null, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", i+1)
		}
		return r.params[i], nil
	}
}

// optional compiles e, or returns nil for nil.
func (c *exprCompiler) optional(e plan.Expr, s scope) (evalFn, error) {
	if e == nil {
		return nil, nil
	}
	return c.expr(e, s)
}

// pred compiles a condition for use where only "is it true" matters; nil for
// nil.
func (c *exprCompiler) pred(e plan.Expr, s scope) (predFn, error) {
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
	f, err := c.expr(e, s)
	if err != nil {
		return nil, err
	}
	return func(row Row) (bool, error) {
		d, err := f(row)
		return err == nil && d.IsTrue(), err
	}, nil
}

func (c *exprCompiler) preds(args []plan.Expr, s scope) ([]predFn, error) {
	list := make([]predFn, len(args))
	for i, a := range args {
		var err error
		if list[i], err = c.pred(a, s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *exprCompiler) predAll(args []plan.Expr, s scope) (predFn, error) {
	list, err := c.preds(args, s)
	if err != nil {
		return nil, err
	}
	return func(row Row) (bool, error) {
		for _, p := range list {
			if ok, err := p(row); !ok {
				return false, err
			}
		}
		return true, nil
	}, nil
}

func (c *exprCompiler) predAny(args []plan.Expr, s scope) (predFn, error) {
	list, err := c.preds(args, s)
	if err != nil {
		return nil, err
	}
	return func(row Row) (bool, error) {
		for _, p := range list {
			if ok, err := p(row); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}, nil
}

// Row is one row: a view into a batch or a row store.
type Row = []types.Datum
