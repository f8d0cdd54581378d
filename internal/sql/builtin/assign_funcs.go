package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxArrayGrowth bounds how many elements an assignment outside of an array adds.
const MaxArrayGrowth = 1 << 20

// assignFunctions declares what an assignment to a part of a column calls: it
// takes the old value and returns the new one.
func assignFunctions() []*Overload {
	field := fnBind("lichen_set_field(record,int4,any) record", bindSetField).nonStrict()
	field.RetType = func(args []*types.T) *types.T { return args[0] }
	return []*Overload{
		fn("lichen_set_element(anyarray,anyelement,int4...) anyarray", setElement).nonStrict(),
		fn("lichen_set_slice(anyarray,anyarray,int4,int4) anyarray", setSlice).nonStrict(),
		fn("lichen_set_json(jsonb,jsonb,any...) jsonb", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return SetJSONElement(a[0], a[2:], a[1])
		}).nonStrict(),
		field,
	}
}

func errSubscript(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.ArraySubscriptError, format, args...)
}

func setElement(_ *Context, args []types.Datum) (types.Datum, error) {
	subs := args[2:]
	for _, s := range subs {
		if s.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
	}
	if len(subs) > types.MaxArrayDims {
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", len(subs), types.MaxArrayDims)
	}
	var a types.Array
	if !args[0].IsNull() {
		a = args[0].Array()
	}
	if len(a.Dims) == 0 {
		dims := make([]types.ArrayDim, len(subs))
		for i, s := range subs {
			dims[i] = types.ArrayDim{Len: 1, Lower: int32(s.Int())}
		}
		return types.NewArrayDims(dims, []types.Datum{args[1]}), nil
	}
	if len(a.Dims) != len(subs) {
		return types.Null, errSubscript("wrong number of array subscripts")
	}
	if len(subs) == 1 {
		if err := growArray(&a, subs[0].Int(), subs[0].Int()); err != nil {
			return types.Null, err
		}
	}
	pos := int64(0)
	for i, s := range subs {
		k := s.Int() - int64(a.Dims[i].Lower)
		if k < 0 || k >= int64(a.Dims[i].Len) {
			return types.Null, errSubscript("array subscript out of range")
		}
		pos = pos*int64(a.Dims[i].Len) + k
	}
	a.Elems[pos] = args[1]
	return types.NewArrayDims(a.Dims, a.Elems), nil
}

// growArray adds NULLs to an array of one dimension until it has the subscripts
// from lo to hi.
func growArray(a *types.Array, lo, hi int64) error {
	d := &a.Dims[0]
	before := max(int64(d.Lower)-lo, 0)
	after := max(hi-(int64(d.Lower)+int64(d.Len)-1), 0)
	if before+after > MaxArrayGrowth {
		return pgerr.New(pgerr.ProgramLimitExceeded, "an assignment may add %d array elements at most", MaxArrayGrowth)
	}
	if before+after == 0 {
		return nil
	}
	elems := make([]types.Datum, before, before+int64(len(a.Elems))+after)
	elems = append(elems, a.Elems...)
	a.Elems = append(elems, make([]types.Datum, after)...)
	d.Lower -= int32(before)
	d.Len += int32(before + after)
	return nil
}

func setSlice(_ *Context, args []types.Datum) (types.Datum, error) {
	if args[1].IsNull() {
		return args[0], nil
	}
	src := args[1].Array()
	var a types.Array
	if !args[0].IsNull() {
		a = args[0].Array()
	}
	if len(a.Dims) > 1 || len(src.Dims) > 1 {
		return types.Null, pgerr.Unsupported("assigning to a slice of a multidimensional array is not supported")
	}
	if len(a.Dims) == 0 && (args[2].IsNull() || args[3].IsNull()) {
		return types.Null, errSubscript("array slice subscript must provide both boundaries").
			WithDetail("When assigning to a slice of an empty array value, slice boundaries must be fully specified.")
	}
	lo, hi := int64(1), int64(0)
	if len(a.Dims) == 1 {
		lo, hi = int64(a.Dims[0].Lower), int64(a.Dims[0].Lower)+int64(a.Dims[0].Len)-1
	}
	if !args[2].IsNull() {
		lo = args[2].Int()
	}
	if !args[3].IsNull() {
		hi = args[3].Int()
	}
	if lo > hi {
		return types.Null, errSubscript("upper bound cannot be less than lower bound")
	}
	if int64(len(src.Elems)) < hi-lo+1 {
		return types.Null, errSubscript("source array too small")
	}
	if len(a.Dims) == 0 {
		a = types.Array{Dims: []types.ArrayDim{{Len: 1, Lower: int32(lo)}}, Elems: []types.Datum{types.Null}}
	}
	if err := growArray(&a, lo, hi); err != nil {
		return types.Null, err
	}
	copy(a.Elems[lo-int64(a.Dims[0].Lower):], src.Elems[:hi-lo+1])
	return types.NewArrayDims(a.Dims, a.Elems), nil
}

func bindSetField(b Binding) (EvalFunc, error) {
	ts := fieldTypes(b.Types[0])
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		row := baseRow(c, b.Types[0], a[0])
		if row == nil {
			row = make([]types.Datum, len(ts))
		}
		i := a[1].Int()
		if i < 0 || i >= int64(len(row)) || len(row) != len(ts) {
			return types.Null, pgerr.New(pgerr.DatatypeMismatch, "record has no field %d", i+1)
		}
		row[i] = a[2]
		return types.NewRecord(ts, row), nil
	}, nil
}
