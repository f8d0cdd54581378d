package expr

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// BindingOf tells a function what is known about its arguments.
func BindingOf(args []plan.Expr) call.Binding {
	b := call.Binding{Types: make([]*types.T, len(args)), Consts: make([]*types.Datum, len(args))}
	for i, a := range args {
		b.Types[i] = a.Type()
		if k, ok := a.(*plan.Const); ok {
			b.Consts[i] = &k.D
		}
	}
	return b
}

// call compiles a function or operator call.
func (c *Compiler) call(e *plan.Call, s Scope) (Func, error) {
	if e.Fn.Volatility == call.Volatile {
		c.Volatile++
	}
	if f, ok, err := c.fastCall(e, s); ok || err != nil {
		return f, err
	}
	if e.Fn.IsSRF() {
		return nil, pgerr.Unsupported("set-returning function %s is not supported here", e.Fn.Name).At(e.Pos)
	}
	args, err := c.Exprs(e.Args, s)
	if err != nil {
		return nil, err
	}
	if e.VariadicArray {
		return c.variadicCall(e, args), nil
	}
	eval, err := e.Fn.Bound(BindingOf(e.Args))
	if err != nil {
		return nil, err
	}
	if eval == nil {
		return nil, pgerr.Unsupported("function %s is not supported here", e.Fn.Name).At(e.Pos)
	}
	r, strict := c.state, e.Fn.Strict
	vals := make([]types.Datum, len(args))
	return func(row types.Row) (types.Datum, error) {
		size, null := 0, false
		for i, a := range args {
			d, err := a(row)
			if err != nil {
				return types.Null, err
			}
			null = null || d.IsNull()
			vals[i] = d
			size += len(d.Str())
		}
		if null && strict {
			return types.Null, nil
		}
		return r.call(e.Fn, eval, vals, size)
	}, nil
}

// SpreadBinding is the binding of a call whose last argument is an array that
// stands for n arguments in all.
func SpreadBinding(e *plan.Call, n int) call.Binding {
	last := len(e.Args) - 1
	b := call.Binding{Types: make([]*types.T, 0, n)}
	for _, a := range e.Args[:last] {
		b.Types = append(b.Types, a.Type())
	}
	elem := e.Args[last].Type().Elem
	if elem == nil {
		elem = types.Unknown
	}
	for len(b.Types) < n {
		b.Types = append(b.Types, elem)
	}
	return b
}

// variadicCall spreads the elements of the last argument. What depends on the
// number of arguments is bound again when it changes.
func (c *Compiler) variadicCall(e *plan.Call, args []Func) Func {
	r, strict := c.state, e.Fn.Strict
	var vals []types.Datum
	var eval call.EvalFunc
	bound := -1
	return func(row types.Row) (types.Datum, error) {
		vals = vals[:0]
		null := false
		for i, a := range args {
			d, err := a(row)
			if err != nil {
				return types.Null, err
			}
			last := i == len(args)-1
			null = null || d.IsNull() && (strict || last && !e.Fn.NullListEmpty)
			switch {
			case !last:
				vals = append(vals, d)
			case !d.IsNull():
				for _, x := range d.ArrayElems() {
					if err := r.Tick(); err != nil {
						return types.Null, err
					}
					vals = append(vals, x)
				}
			}
		}
		if null || strict && slices.ContainsFunc(vals, types.Datum.IsNull) {
			return types.Null, nil
		}
		if bound != len(vals) {
			var err error
			if eval, err = e.Fn.Bound(SpreadBinding(e, len(vals))); err != nil {
				return types.Null, err
			}
			bound = len(vals)
		}
		return r.call(e.Fn, eval, vals, SizeOf(vals))
	}
}

// call computes a call of fn with arguments of so many bytes in all, and accounts for the memory
// that large values take.
func (r *State) call(fn *call.Overload, eval call.EvalFunc, vals []types.Datum, size int) (types.Datum, error) {
	if call.Weighty(size) {
		if err := r.begin(fn, vals, size); err != nil {
			return types.Null, err
		}
	}
	d, err := eval(r.Builtin, vals)
	return r.Builtin.Made(d, err, vals)
}

func (r *State) begin(fn *call.Overload, vals []types.Datum, size int) error {
	if fn.InPlace {
		return r.Builtin.Step(size)
	}
	return r.Builtin.Begin(vals, size)
}

// SizeOf returns how many bytes values take that are not in the datums themselves.
func SizeOf(vals []types.Datum) int {
	size := 0
	for _, d := range vals {
		size += len(d.Str())
	}
	return size
}

// Binary compiles an operator for use on values: NULLs yield NULL if it is
// strict.
func (c *Compiler) Binary(fn *call.Overload, lt, rt *types.T) (BinaryFunc, error) {
	if f := c.fastBinary(fn); f != nil {
		return func(a, b types.Datum) (types.Datum, error) {
			if a.IsNull() || b.IsNull() {
				return types.Null, nil
			}
			return f(a, b)
		}, nil
	}
	eval, err := fn.Bound(call.Binding{Types: []*types.T{lt, rt}})
	if err != nil {
		return nil, err
	}
	r, strict := c.state, fn.Strict
	vals := make([]types.Datum, 2)
	return func(a, b types.Datum) (types.Datum, error) {
		if strict && (a.IsNull() || b.IsNull()) {
			return types.Null, nil
		}
		vals[0], vals[1] = a, b
		return r.call(fn, eval, vals, len(a.Str())+len(b.Str()))
	}, nil
}

// cast compiles a conversion, modifier included.
func (c *Compiler) cast(e *plan.Cast, s Scope) (Func, error) {
	arg, err := c.Expr(e.Arg, s)
	if err != nil {
		return nil, err
	}
	conv, err := c.conversion(e.Arg.Type(), e.T, e.Mode == plan.CastExplicit)
	if err != nil || conv == nil {
		return arg, err
	}
	return func(row types.Row) (types.Datum, error) {
		d, err := arg(row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		return conv(d)
	}, nil
}

// conversion returns how to convert a value that is not NULL, nil for not at
// all.
func (c *Compiler) conversion(from, to *types.T, explicit bool) (func(types.Datum) (types.Datum, error), error) {
	r := c.state
	var convert convertFn
	if !from.Is(to) {
		k, ok := casts.Find(from, to)
		if !ok {
			return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.SQLName, to.SQLName)
		}
		convert = k.Fn
	}
	if to.Typmod < 0 || (from.Is(to) && from.Typmod == to.Typmod) {
		if convert == nil {
			return nil, nil
		}
		return func(d types.Datum) (types.Datum, error) { return r.Convert(convert, d, to) }, nil
	}
	return func(d types.Datum) (types.Datum, error) {
		if convert != nil {
			var err error
			if d, err = r.Convert(convert, d, to); err != nil || d.IsNull() {
				return d, err
			}
		}
		return types.ApplyTypmod(d, to, explicit, r.Builtin.Format)
	}, nil
}

// convertFn is the function of a cast.
type convertFn = func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error)

// Convert converts a value, and accounts for the memory of large ones.
func (r *State) Convert(f convertFn, d types.Datum, to *types.T) (types.Datum, error) {
	if !call.Weighty(len(d.Str())) {
		return f(r.Format(), d, to)
	}
	if err := r.Builtin.BeginCast(d, to); err != nil {
		return types.Null, err
	}
	out, err := f(r.Format(), d, to)
	return r.Builtin.Made(out, err, []types.Datum{d})
}

// sessionValue compiles CURRENT_USER, CURRENT_TIMESTAMP and the like.
func (c *Compiler) sessionValue(e *plan.SessionValue) (Func, error) {
	switch e.Kind {
	case plan.CurrentDate, plan.CurrentTime, plan.CurrentTimestamp, plan.LocalTime, plan.LocalTimestamp:
		to := e.T
		if e.Precision >= 0 {
			to = to.WithTypmod(int32(e.Precision))
		}
		conv, err := c.conversion(types.TimestampTZ, to, true)
		if err != nil {
			return nil, err
		}
		r := c.state
		return func(types.Row) (types.Datum, error) {
			now := types.NewTimestampTZ(r.Builtin.TxnTime)
			if conv == nil {
				return now, nil
			}
			return conv(now)
		}, nil
	}
	return c.sessionName(e.Kind), nil
}

func (c *Compiler) sessionName(kind plan.SessionKind) Func {
	r := c.state
	return func(types.Row) (types.Datum, error) {
		se := r.Builtin.Session
		if se == nil {
			return types.Null, pgerr.Unsupported("session functions are not available here")
		}
		switch kind {
		case plan.SessionUser:
			return named(se.SessionUser())
		case plan.CurrentCatalog:
			return types.NewString(se.CurrentDatabase()), nil
		case plan.CurrentSchema:
			if path := se.SearchPath(false); len(path) > 0 {
				return types.NewString(path[0]), nil
			}
			return types.Null, nil
		}
		return named(se.CurrentUser())
	}
}

func named(name string, err error) (types.Datum, error) {
	return types.NewString(name), err
}
