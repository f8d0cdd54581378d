package expr

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// composite compiles expressions over arrays and records.
func (c *Compiler) composite(e plan.Expr, s Scope) (Func, error) {
	switch e := e.(type) {
	case *plan.ArrayCtor:
		return c.arrayCtor(e, s)
	case *plan.RowCtor:
		return c.rowCtor(e, s)
	case *plan.Subscript:
		return c.subscript(e, s)
	case *plan.FieldSelect:
		return c.fieldSelect(e, s)
	}
	return nil, errExpr(e)
}

// fieldSelect compiles a field of a record, which need not be decoded if it is a parameter that was taken apart.
func (c *Compiler) fieldSelect(e *plan.FieldSelect, s Scope) (Func, error) {
	arg, err := c.Expr(e.Arg, s)
	if err != nil {
		return nil, err
	}
	field, fields := e.Field, c.fieldsOf(e.Arg)
	return func(row types.Row) (types.Datum, error) {
		if fields != nil && field < len(*fields) {
			return (*fields)[field], nil
		}
		d, err := arg(row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		if f := d.Record(); field < len(f) {
			return f[field].Datum, nil
		}
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "record has no field %d", field+1)
	}, nil
}

// fieldsOf returns where the fields of a parameter stand that may have been taken apart, nil for other expressions.
func (c *Compiler) fieldsOf(e plan.Expr) *[]types.Datum {
	p, ok := e.(*plan.Param)
	if !ok || p.Index >= len(c.state.Rows) {
		return nil
	}
	return &c.state.Rows[p.Index]
}

// Binaries compiles one operator per pair of fields.
func (c *Compiler) Binaries(fns []*call.Overload, left, right []plan.Expr) ([]BinaryFunc, error) {
	out := make([]BinaryFunc, len(fns))
	for i, fn := range fns {
		var err error
		if out[i], err = c.Binary(fn, left[i].Type(), right[i].Type()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *Compiler) arrayCtor(e *plan.ArrayCtor, s Scope) (Func, error) {
	fns, err := c.Exprs(e.Elems, s)
	if err != nil {
		return nil, err
	}
	nested, r := e.Nested, c.state
	vals := make([]types.Datum, len(fns))
	return func(row types.Row) (types.Datum, error) {
		for i, f := range fns {
			if err := r.Tick(); err != nil {
				return types.Null, err
			}
			d, err := f(row)
			if err != nil {
				return types.Null, err
			}
			vals[i] = d
		}
		if nested {
			return nestArrays(r.Builtin, vals)
		}
		return types.NewArray(vals), nil
	}, nil
}

// nestArrays makes an array with one more dimension of arrays of one shape.
func nestArrays(c *call.Context, parts []types.Datum) (types.Datum, error) {
	var elems []types.Datum
	var dims []types.ArrayDim
	first := true
	for _, p := range parts {
		var a types.Array
		if !p.IsNull() {
			a = p.DecodeArray(c.Format)
			if err := c.Step(0); err != nil {
				return types.Null, err
			}
		}
		if first {
			dims, first = a.Dims, false
		} else if !slices.Equal(dims, a.Dims) {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError,
				"multidimensional arrays must have array expressions with matching dimensions")
		}
		elems = append(elems, a.Elems...)
	}
	if len(dims)+1 > types.MaxArrayDims {
		return types.Null, types.TooManyDims(len(dims) + 1)
	}
	if len(elems) == 0 {
		return types.NewArray(nil), nil
	}
	outer := types.ArrayDim{Len: int32(len(parts)), Lower: 1}
	return types.EncodeArray(append([]types.ArrayDim{outer}, dims...), elems, c.Format), c.Step(0)
}

func (c *Compiler) rowCtor(e *plan.RowCtor, s Scope) (Func, error) {
	fns, err := c.Exprs(e.Fields, s)
	if err != nil {
		return nil, err
	}
	nullRow, err := c.Optional(e.NullRow, s)
	if err != nil {
		return nil, err
	}
	ts := make([]*types.T, len(fns))
	for i, f := range e.Fields {
		if ts[i] = f.Type(); ts[i].Is(types.Unknown) { // a constant that nothing gave a type
			ts[i] = types.Text
		}
	}
	vals := make([]types.Datum, len(fns))
	return func(row types.Row) (types.Datum, error) {
		if nullRow != nil {
			if d, err := nullRow(row); err != nil || d.IsNull() {
				return types.Null, err
			}
		}
		for i, f := range fns {
			d, err := f(row)
			if err != nil {
				return types.Null, err
			}
			vals[i] = d
		}
		return types.NewRecord(ts, vals), nil
	}, nil
}

// subscript compiles an array element or slice.
func (c *Compiler) subscript(e *plan.Subscript, s Scope) (Func, error) {
	arg, err := c.Expr(e.Arg, s)
	if err != nil {
		return nil, err
	}
	bounds := func(list []plan.Expr) ([]Func, error) {
		fns := make([]Func, len(e.Upper))
		for i := range list {
			var err error
			if fns[i], err = c.Optional(list[i], s); err != nil {
				return nil, err
			}
		}
		return fns, nil
	}
	lower, err := bounds(e.Lower)
	if err != nil {
		return nil, err
	}
	upper, err := bounds(e.Upper)
	if err != nil {
		return nil, err
	}
	slice, r := e.Slice, c.state
	return func(row types.Row) (types.Datum, error) {
		d, err := arg(row)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		a := subscripted(r, d)
		if err := r.Builtin.Step(0); err != nil {
			return types.Null, err
		}
		lo, hi := make([]int64, len(upper)), make([]int64, len(upper))
		for i := range upper {
			given, err := subscriptBounds(a, i, lower[i], upper[i], row, &lo[i], &hi[i], slice)
			if err != nil || !given {
				return types.Null, err
			}
		}
		if slice {
			return arraySlice(r.Builtin.Format, a, lo, hi), r.Builtin.Step(0)
		}
		return arrayElement(a, hi), nil
	}, nil
}

// subscripted returns what has subscripts in d: an array, or a geometric value.
func subscripted(r *State, d types.Datum) types.Array {
	if d.Family() == types.GeometryFamily {
		return d.CoordinateArray()
	}
	return d.DecodeArray(r.Builtin.Format)
}

// subscriptBounds evaluates the bounds of dimension i; false for a NULL bound.
func subscriptBounds(a types.Array, i int, lower, upper Func, row types.Row, lo, hi *int64, slice bool) (bool, error) {
	*lo, *hi = 1, 0
	if i < len(a.Dims) {
		*lo, *hi = int64(a.Dims[i].Lower), int64(a.Dims[i].Lower)+int64(a.Dims[i].Len)-1
	}
	for _, b := range []struct {
		f   Func
		dst *int64
	}{{lower, lo}, {upper, hi}} {
		if b.f == nil {
			continue
		}
		d, err := b.f(row)
		if err != nil || d.IsNull() {
			return false, err
		}
		*b.dst = d.Int()
	}
	if slice && lower == nil && i < len(a.Dims) {
		*lo = int64(a.Dims[i].Lower)
	}
	return true, nil
}

// arrayElement returns the element at a subscript, NULL outside the array.
func arrayElement(a types.Array, at []int64) types.Datum {
	if len(at) != len(a.Dims) {
		return types.Null
	}
	pos := int64(0)
	for i, dim := range a.Dims {
		k := at[i] - int64(dim.Lower)
		if k < 0 || k >= int64(dim.Len) {
			return types.Null
		}
		pos = pos*int64(dim.Len) + k
	}
	return a.Elems[pos]
}

// arraySlice cuts a box out of an array; subscripts begin at 1 again.
func arraySlice(fc *types.FormatContext, a types.Array, lo, hi []int64) types.Datum {
	if len(lo) > len(a.Dims) || len(a.Dims) == 0 {
		return types.NewArray(nil)
	}
	dims := make([]types.ArrayDim, len(a.Dims))
	from := make([]int64, len(a.Dims))
	for i, dim := range a.Dims {
		l, h := int64(dim.Lower), int64(dim.Lower)+int64(dim.Len)-1
		if i < len(lo) {
			l, h = max(l, lo[i]), min(h, hi[i])
		}
		if l > h {
			return types.NewArray(nil)
		}
		from[i] = l - int64(dim.Lower)
		dims[i] = types.ArrayDim{Len: int32(h - l + 1), Lower: 1}
	}
	var elems []types.Datum
	var cut func(i int, base int64)
	cut = func(i int, base int64) {
		for k := int64(0); k < int64(dims[i].Len) && !fc.Stopped(1); k++ {
			pos := base*int64(a.Dims[i].Len) + from[i] + k
			if i == len(dims)-1 {
				elems = append(elems, a.Elems[pos])
			} else {
				cut(i+1, pos)
			}
		}
	}
	cut(0, 0)
	return types.EncodeArray(dims, elems, fc)
}
