package expr

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// logic compiles three-valued logic and tests.
func (c *Compiler) logic(e plan.Expr, s Scope) (Func, error) {
	switch e := e.(type) {
	case *plan.And:
		return c.connective(e.Args, s, false)
	case *plan.Or:
		return c.connective(e.Args, s, true)
	case *plan.Not:
		arg, err := c.Expr(e.Arg, s)
		if err != nil {
			return nil, err
		}
		return func(row types.Row) (types.Datum, error) {
			d, err := arg(row)
			return Not(d), err
		}, nil
	case *plan.Is:
		return c.is(e, s)
	case *plan.IsDistinct:
		return c.isDistinct(e, s)
	}
	return nil, errExpr(e)
}

func errExpr(e plan.Expr) error {
	return pgerr.Assertion("expression %T is not executable", e)
}

// Not negates a boolean; NULL stays NULL.
func Not(d types.Datum) types.Datum {
	if d.IsNull() {
		return d
	}
	return types.NewBool(!d.Bool())
}

// connective compiles AND (decisive false) or OR (decisive true): the decisive
// value ends the evaluation, else NULL wins over the other value.
func (c *Compiler) connective(args []plan.Expr, s Scope, decisive bool) (Func, error) {
	fns, err := c.Exprs(args, s)
	if err != nil {
		return nil, err
	}
	r, long := c.state, len(fns) > longList
	return func(row types.Row) (types.Datum, error) {
		null := false
		for _, f := range fns {
			if long {
				if err := r.Tick(); err != nil {
					return types.Null, err
				}
			}
			d, err := f(row)
			if err != nil {
				return types.Null, err
			}
			if d.IsNull() {
				null = true
			} else if d.Bool() == decisive {
				return d, nil
			}
		}
		if null {
			return types.Null, nil
		}
		return types.NewBool(!decisive), nil
	}, nil
}

// longList is how many expressions may be computed for a row as one step.
const longList = 32

func (c *Compiler) is(e *plan.Is, s Scope) (Func, error) {
	arg, err := c.Expr(e.Arg, s)
	if err != nil {
		return nil, err
	}
	if e.OfFields() {
		return isNullRecord(arg, e.Kind == plan.IsNull), nil
	}
	var test func(d types.Datum) bool
	switch e.Kind {
	case plan.IsNull, plan.IsUnknown:
		test = types.Datum.IsNull
	case plan.IsNotNull, plan.IsNotUnknown:
		test = func(d types.Datum) bool { return !d.IsNull() }
	case plan.IsTrue:
		test = types.Datum.IsTrue
	case plan.IsNotTrue:
		test = func(d types.Datum) bool { return !d.IsTrue() }
	case plan.IsFalse:
		test = func(d types.Datum) bool { return !d.IsNull() && !d.Bool() }
	default:
		test = func(d types.Datum) bool { return d.IsNull() || d.Bool() }
	}
	return func(row types.Row) (types.Datum, error) {
		d, err := arg(row)
		if err != nil {
			return types.Null, err
		}
		return types.NewBool(test(d)), nil
	}, nil
}

// isNullRecord tests a record: IS NULL if every field is NULL, IS NOT NULL if
// none is.
func isNullRecord(arg Func, isNull bool) Func {
	return func(row types.Row) (types.Datum, error) {
		d, err := arg(row)
		if err != nil {
			return types.Null, err
		}
		if d.IsNull() {
			return types.NewBool(isNull), nil
		}
		for _, f := range d.Record() {
			if f.IsNull() != isNull {
				return types.False, nil
			}
		}
		return types.True, nil
	}
}

func (c *Compiler) isDistinct(e *plan.IsDistinct, s Scope) (Func, error) {
	l, r, eq, err := c.pair(e.Left, e.Right, e.Eq, s)
	if err != nil {
		return nil, err
	}
	not := e.Not
	return func(row types.Row) (types.Datum, error) {
		a, err := l(row)
		if err != nil {
			return types.Null, err
		}
		b, err := r(row)
		if err != nil {
			return types.Null, err
		}
		if a.IsNull() || b.IsNull() {
			return types.NewBool((a.IsNull() != b.IsNull()) != not), nil
		}
		d, err := eq(a, b)
		return types.NewBool(d.IsTrue() == not), err
	}, nil
}

// pair compiles two operands and the operator between them.
func (c *Compiler) pair(left, right plan.Expr, fn *call.Overload, s Scope) (l, r Func, op BinaryFunc, err error) {
	if l, err = c.Expr(left, s); err != nil {
		return nil, nil, nil, err
	}
	if r, err = c.Expr(right, s); err != nil {
		return nil, nil, nil, err
	}
	op, err = c.Binary(fn, left.Type(), right.Type())
	return l, r, op, err
}

// inList compiles [NOT] IN over a list.
func (c *Compiler) inList(e *plan.InList, s Scope) (Func, error) {
	left, err := c.Expr(e.Left, s)
	if err != nil {
		return nil, err
	}
	if f := c.constSet(e, left); f != nil {
		return f, nil
	}
	list, err := c.Exprs(e.List, s)
	if err != nil {
		return nil, err
	}
	eq, err := c.Binary(e.Eq, e.Left.Type(), e.List[0].Type())
	if err != nil {
		return nil, err
	}
	r, long, not := c.state, len(list) > longList, e.Not
	return func(row types.Row) (types.Datum, error) {
		a, err := left(row)
		if err != nil {
			return types.Null, err
		}
		null := false
		for _, f := range list {
			if long {
				if err := r.Tick(); err != nil {
					return types.Null, err
				}
			}
			b, err := f(row)
			if err != nil {
				return types.Null, err
			}
			d, err := eq(a, b)
			if err != nil {
				return types.Null, err
			}
			if d.IsTrue() {
				return types.NewBool(!not), nil
			}
			null = null || d.IsNull()
		}
		if null {
			return types.Null, nil
		}
		return types.NewBool(not), nil
	}, nil
}

// anyAll compiles op ANY|ALL over an array.
func (c *Compiler) anyAll(e *plan.AnyAll, s Scope) (Func, error) {
	left, err := c.Expr(e.Left, s)
	if err != nil {
		return nil, err
	}
	arr, err := c.Expr(e.Array, s)
	if err != nil {
		return nil, err
	}
	et := e.Array.Type().Elem
	if et == nil {
		et = e.Op.Args[1]
	}
	op, err := c.Binary(e.Op, e.Left.Type(), et)
	if err != nil {
		return nil, err
	}
	r, all := c.state, e.All
	same := c.arraySet(e)
	return func(row types.Row) (types.Datum, error) {
		a, err := left(row)
		if err != nil {
			return types.Null, err
		}
		if set := same.made(); set != nil {
			return set.Test(a, all), nil
		}
		list, err := arr(row)
		if err != nil || list.IsNull() {
			return types.Null, err
		}
		set, err := same.of(list)
		if err != nil {
			return types.Null, err
		}
		if set != nil {
			return set.Test(a, all), nil
		}
		null := false
		for _, b := range list.ArrayElems() {
			if err := r.Tick(); err != nil {
				return types.Null, err
			}
			d, err := op(a, b)
			if err != nil {
				return types.Null, err
			}
			if d.IsNull() {
				null = true
			} else if d.Bool() != all {
				return d, nil // true decides ANY, false decides ALL
			}
		}
		if null {
			return types.Null, nil
		}
		return types.NewBool(all), nil
	}, nil
}
