package expr

import (
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// conditional compiles CASE and its relatives.
func (c *Compiler) conditional(e plan.Expr, s Scope) (Func, error) {
	switch e := e.(type) {
	case *plan.Case:
		return c.caseExpr(e, s)
	case *plan.AllElements:
		return c.allElements(e, s)
	case *plan.CaseOperand:
		r, slot := c.state, c.operand
		return func(types.Row) (types.Datum, error) { return r.operand[slot], nil }, nil
	case *plan.Coalesce:
		return c.coalesce(e, s)
	case *plan.NullIf:
		return c.nullIf(e, s)
	case *plan.MinMax:
		return c.minMax(e, s)
	}
	return nil, errExpr(e)
}

// caseExpr compiles CASE. The operand has a slot of its own per CASE, so that
// nested ones do not disturb each other.
func (c *Compiler) caseExpr(e *plan.Case, s Scope) (Func, error) {
	operand, err := c.Optional(e.Operand, s)
	if err != nil {
		return nil, err
	}
	r, slot, outer := c.state, c.operand, c.operand
	if operand != nil {
		slot = len(r.operand)
		r.operand = append(r.operand, types.Null)
	}
	conds := make([]Pred, len(e.Whens))
	results := make([]Func, len(e.Whens))
	for i, w := range e.Whens {
		c.operand = slot
		conds[i], err = c.Pred(w.Cond, s)
		c.operand = outer
		if err != nil {
			return nil, err
		}
		if results[i], err = c.Expr(w.Result, s); err != nil {
			return nil, err
		}
	}
	other, err := c.Optional(e.Else, s)
	if err != nil {
		return nil, err
	}
	operandElse := e.OperandElse
	return func(row types.Row) (types.Datum, error) {
		if operand != nil {
			d, err := operand(row)
			if err != nil {
				return types.Null, err
			}
			r.operand[slot] = d
		}
		for i, cond := range conds {
			if err := r.Tick(); err != nil {
				return types.Null, err
			}
			ok, err := cond(row)
			if err != nil {
				return types.Null, err
			}
			if ok {
				return results[i](row)
			}
		}
		switch {
		case operandElse:
			return r.operand[slot], nil
		case other == nil:
			return types.Null, nil
		}
		return other(row)
	}, nil
}

// withOperand compiles an expression over an operand (plan.CaseOperand), which gets a slot of
// its own.
func (c *Compiler) withOperand(e plan.Expr, s Scope) (fn Func, slot int, err error) {
	slot, outer := len(c.state.operand), c.operand
	c.state.operand = append(c.state.operand, types.Null)
	c.operand = slot
	fn, err = c.Expr(e, s)
	c.operand = outer
	return fn, slot, err
}

// allElements compiles a condition over the elements of an array.
func (c *Compiler) allElements(e *plan.AllElements, s Scope) (Func, error) {
	array, err := c.Expr(e.Array, s)
	if err != nil {
		return nil, err
	}
	r := c.state
	cond, slot, err := c.withOperand(e.Cond, s)
	if err != nil {
		return nil, err
	}
	return func(row types.Row) (types.Datum, error) {
		d, err := array(row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		for _, x := range d.ArrayElems() {
			if err := r.Tick(); err != nil {
				return types.Null, err
			}
			r.operand[slot] = x
			if ok, err := cond(row); err != nil || !ok.IsNull() && !ok.Bool() {
				return types.NewBool(false), err
			}
		}
		return types.NewBool(true), nil
	}, nil
}

func (c *Compiler) coalesce(e *plan.Coalesce, s Scope) (Func, error) {
	args, err := c.Exprs(e.Args, s)
	if err != nil {
		return nil, err
	}
	return func(row types.Row) (types.Datum, error) {
		for _, f := range args {
			if d, err := f(row); err != nil || !d.IsNull() {
				return d, err
			}
		}
		return types.Null, nil
	}, nil
}

// nullIf compiles NULLIF.
func (c *Compiler) nullIf(e *plan.NullIf, s Scope) (Func, error) {
	left, err := c.Expr(e.Left, s)
	if err != nil {
		return nil, err
	}
	right, err := c.Expr(e.RightCmp, s)
	if err != nil {
		return nil, err
	}
	r := c.state
	cmp, slot, err := c.withOperand(e.LeftCmp, s)
	if err != nil {
		return nil, err
	}
	eq, err := c.Binary(e.Eq, e.LeftCmp.Type(), e.RightCmp.Type())
	if err != nil {
		return nil, err
	}
	return func(row types.Row) (types.Datum, error) {
		value, err := left(row)
		if err != nil {
			return types.Null, err
		}
		r.operand[slot] = value
		a, err := cmp(row)
		if err != nil {
			return types.Null, err
		}
		b, err := right(row)
		if err != nil {
			return types.Null, err
		}
		if d, err := eq(a, b); err != nil || d.IsTrue() {
			return types.Null, err
		}
		return value, nil
	}, nil
}

func (c *Compiler) minMax(e *plan.MinMax, s Scope) (Func, error) {
	args, err := c.Exprs(e.Args, s)
	if err != nil {
		return nil, err
	}
	less, err := c.Binary(e.Less, e.T, e.T)
	if err != nil {
		return nil, err
	}
	least := e.Least
	return func(row types.Row) (types.Datum, error) {
		best := types.Null
		for _, f := range args {
			d, err := f(row)
			if err != nil {
				return types.Null, err
			}
			if d.IsNull() {
				continue
			}
			if best.IsNull() {
				best = d
				continue
			}
			a, b := d, best
			if !least {
				a, b = best, d
			}
			lt, err := less(a, b)
			if err != nil {
				return types.Null, err
			}
			if lt.IsTrue() {
				best = d
			}
		}
		return best, nil
	}, nil
}

// rowCompare compiles a comparison of the order of two rows.
func (c *Compiler) rowCompare(e *plan.RowCompare, s Scope) (Func, error) {
	left, err := c.Exprs(e.Left, s)
	if err != nil {
		return nil, err
	}
	right, err := c.Exprs(e.Right, s)
	if err != nil {
		return nil, err
	}
	eqs, err := c.Binaries(e.Eq, e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	less, err := c.Binaries(e.Less, e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	return rowOrder(left, right, eqs, less, comparisons[e.Op]), nil
}

// rowOrder looks at the first pair of fields that are not equal.
func rowOrder(left, right []Func, eqs, less []BinaryFunc, op Comparison) Func {
	return func(row types.Row) (types.Datum, error) {
		for i, eq := range eqs {
			d, a, b, err := applyPair(left[i], right[i], eq, row)
			if err != nil || d.IsNull() {
				return types.Null, err
			}
			if d.Bool() {
				continue
			}
			lt, err := less[i](a, b)
			if err != nil || lt.IsNull() {
				return types.Null, err
			}
			if lt.Bool() {
				return types.NewBool(op.Holds(-1)), nil
			}
			return types.NewBool(op.Holds(1)), nil
		}
		return types.NewBool(op.Holds(0)), nil
	}
}

func applyPair(l, r Func, op BinaryFunc, row types.Row) (d, a, b types.Datum, err error) {
	if a, err = l(row); err != nil {
		return
	}
	if b, err = r(row); err != nil {
		return
	}
	d, err = op(a, b)
	return
}
