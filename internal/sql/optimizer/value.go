package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// valueSource computes what expressions are worth now, for estimates only: a plan must
// be right for any other values.
type valueSource struct {
	params []types.Datum
	ctx    *call.Context
	// missed says that a parameter was asked for that has no value yet.
	missed bool
	// used says that the value of one was.
	used bool
	// If column is not 0 it has the value in this row.
	column plan.ColID
	row    types.Datum
}

// of returns the value that e has for the whole statement, if that is known.
func (v *valueSource) of(e plan.Expr) (types.Datum, bool) {
	switch e := e.(type) {
	case *plan.Const:
		return e.D, true
	case *plan.ColRef:
		return v.row, e.Col == v.column
	case *plan.Param:
		if e.Index < len(v.params) {
			v.used = true
			return v.params[e.Index], true
		}
		v.missed = true
	case *plan.Cast:
		return v.cast(e)
	case *plan.Call:
		return v.call(e)
	}
	return types.Null, false
}

func (v *valueSource) cast(e *plan.Cast) (types.Datum, bool) {
	d, ok := v.of(e.Arg)
	if !ok || d.IsNull() {
		return d, ok
	}
	x := &plan.Cast{Arg: plan.NewConst(e.Arg.Type(), d), T: e.T, Mode: e.Mode}
	if !casts.Immutable(x.Arg.Type(), x.T) {
		return types.Null, false
	}
	d, ok, err := castConst(v.format(), d, x)
	return d, ok && err == nil
}

// format has the settings of the session, nil if there is none.
func (v *valueSource) format() *types.FormatContext {
	if v.ctx == nil {
		return nil
	}
	return v.ctx.Format
}

func (v *valueSource) call(e *plan.Call) (types.Datum, bool) {
	if v.ctx == nil || e.Fn.IsSRF() || e.Fn.Volatility == call.Volatile || e.Fn.Routine != nil || e.VariadicArray {
		return types.Null, false
	}
	args, ts := make([]types.Datum, len(e.Args)), make([]*types.T, len(e.Args))
	for i, a := range e.Args {
		d, ok := v.of(a)
		if !ok || d.IsNull() {
			return types.Null, false
		}
		args[i], ts[i] = d, a.Type()
	}
	d, err := e.Fn.Fold(v.ctx, ts, args)
	return d, err == nil
}

// meets reports whether a condition is true if a column has a value; ok is false if that
// is not known.
func (v *valueSource) meets(cond plan.Expr, column plan.ColID, value types.Datum) (met, ok bool) {
	v.column, v.row = column, value
	d, ok := v.of(cond)
	v.column, v.row = 0, types.Null
	return ok && d.IsTrue(), ok
}

// arrayLen is the assumed number of elements of an unknown array.
const arrayLen = 10

// elements is how many elements an array has, as far as that is known.
func (v *valueSource) elements(array plan.Expr) float64 {
	d, ok := v.of(array)
	switch {
	case ok && d.IsNull():
		return 0
	case ok && d.Family() == types.ArrayFamily:
		return float64(d.ArrayLen())
	}
	return arrayLen
}
