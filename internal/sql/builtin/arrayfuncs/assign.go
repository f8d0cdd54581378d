package arrayfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxArrayGrowth bounds how many elements an assignment outside of an array adds.
const MaxArrayGrowth = 1 << 20

// elementAssignments declares what an assignment to an element or a slice of an array calls: it
// takes the old array and returns the new one.
func elementAssignments() []*call.Overload {
	return []*call.Overload{
		call.Fn("lichen_set_element(anyarray,any,int4...) anyarray", setElement).NonStrict(),
		call.FnBind("lichen_set_coordinate(any,any,int4...) any", bindSetCoordinate).NonStrict(),
		call.Fn("lichen_set_slice(anyarray,anycompatiblearray,int8,int4...) anyarray", setSlice).NonStrict(),
	}
}

func errSubscript(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.ArraySubscriptError, format, args...)
}

// checkSubscripts refuses NULL among the subscripts of an assignment.
func checkSubscripts(subs []types.Datum) error {
	for _, s := range subs {
		if s.IsNull() {
			return pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
	}
	return nil
}

func bindSetCoordinate(b call.Binding) (call.EvalFunc, error) {
	if elem, _ := b.Types[0].Coordinates(); elem == nil || !b.Types[1].Is(elem) {
		return nil, call.NoMatch("lichen_set_coordinate", false, b.Types)
	}
	return setCoordinate, nil
}

// setCoordinate is setElement for a geometric value. NULL, as the value or as what is assigned, changes
// nothing.
func setCoordinate(_ *call.Context, args []types.Datum) (types.Datum, error) {
	old, subs := args[0], args[2:]
	if err := checkSubscripts(subs); err != nil {
		return types.Null, err
	}
	if old.IsNull() || args[1].IsNull() {
		return old, nil
	}
	if len(subs) != 1 {
		return types.Null, errSubscript("wrong number of array subscripts")
	}
	i := subs[0].Int()
	if i < 0 || i >= int64(len(old.CoordinateArray().Elems)) {
		return types.Null, errSubscript("array subscript out of range")
	}
	return old.WithCoordinate(int(i), args[1]), nil
}

func setElement(c *call.Context, args []types.Datum) (types.Datum, error) {
	subs := args[2:]
	if err := checkSubscripts(subs); err != nil {
		return types.Null, err
	}
	if len(subs) > types.MaxArrayDims {
		return types.Null, types.TooManyDims(len(subs))
	}
	var a types.Array
	if !args[0].IsNull() {
		a = args[0].DecodeArray(c.Format)
	}
	if len(a.Dims) == 0 {
		dims := make([]types.ArrayDim, len(subs))
		for i, s := range subs {
			dims[i] = types.ArrayDim{Len: 1, Lower: int32(s.Int())}
		}
		return types.EncodeArray(dims, []types.Datum{args[1]}, c.Format), nil
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
	return types.EncodeArray(a.Dims, a.Elems, c.Format), nil
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

// setSlice replaces the slice of an array whose bounds follow the mask of those
// that were given: the lower and the upper one of each dimension. The shape of
// the source does not matter, as in PostgreSQL: its elements are taken in turn.
func setSlice(c *call.Context, args []types.Datum) (types.Datum, error) {
	var a types.Array
	if !args[0].IsNull() {
		a = args[0].DecodeArray(c.Format)
	}
	if args[1].IsNull() {
		return types.EncodeArray(a.Dims, a.Elems, c.Format), nil
	}
	src := args[1].DecodeArray(c.Format).Elems
	bounds, given := args[3:], args[2].Int()
	if len(bounds)%2 != 0 {
		return types.Null, errSubscript("wrong number of array subscripts")
	}
	if len(bounds)/2 > types.MaxArrayDims {
		return types.Null, types.TooManyDims(len(bounds) / 2)
	}
	for i := range bounds {
		if given>>i&1 != 0 && bounds[i].IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
		}
	}
	if len(a.Dims) == 0 {
		return newSlice(src, given, bounds)
	}
	box, err := sliceBox(&a, given, bounds)
	if err != nil {
		return types.Null, err
	}
	if box.size() > int64(len(src)) {
		return types.Null, errSubscript("source array too small")
	}
	if len(a.Dims) == 1 {
		if err := growArray(&a, box.lo[0], box.hi[0]); err != nil {
			return types.Null, err
		}
	}
	box.fill(&a, src)
	return types.EncodeArray(a.Dims, a.Elems, c.Format), nil
}

// newSlice makes an array of a slice of one that was empty.
func newSlice(src []types.Datum, given int64, bounds []types.Datum) (types.Datum, error) {
	dims := make([]types.ArrayDim, len(bounds)/2)
	if given != 1<<len(bounds)-1 {
		return types.Null, errSubscript("array slice subscript must provide both boundaries").
			WithDetail("When assigning to a slice of an empty array value, slice boundaries must be fully specified.")
	}
	size := int64(1)
	for i := range dims {
		lo, hi := bounds[2*i].Int(), bounds[2*i+1].Int()
		if hi-lo+1 < 0 {
			return types.Null, ErrArrayTooLarge
		}
		if size *= hi - lo + 1; size > int64(len(src)) {
			return types.Null, errSubscript("source array too small")
		}
		dims[i] = types.ArrayDim{Len: int32(hi - lo + 1), Lower: int32(lo)}
	}
	return types.NewArrayDims(dims, src[:size]), nil
}

// arrayBox is a slice of an array: the subscripts from lo to hi in each dimension.
type arrayBox struct{ lo, hi []int64 }

// sliceBox returns the slice of a with the given bounds; only an array of one
// dimension may grow by it.
func sliceBox(a *types.Array, given int64, bounds []types.Datum) (arrayBox, error) {
	var x arrayBox
	if len(bounds)/2 > len(a.Dims) {
		return x, errSubscript("wrong number of array subscripts")
	}
	for i, d := range a.Dims {
		first, last := int64(d.Lower), int64(d.Lower)+int64(d.Len)-1
		lo, hi := first, last
		if given>>(2*i)&1 != 0 {
			lo = bounds[2*i].Int()
		}
		if given>>(2*i+1)&1 != 0 {
			hi = bounds[2*i+1].Int()
		}
		switch {
		case lo > hi:
			return x, errSubscript("upper bound cannot be less than lower bound")
		case len(a.Dims) > 1 && (lo < first || hi > last):
			return x, errSubscript("array subscript out of range")
		}
		x.lo, x.hi = append(x.lo, lo), append(x.hi, hi)
	}
	return x, nil
}

// size returns the number of elements.
func (x *arrayBox) size() int64 {
	n := int64(1)
	for i := range x.lo {
		n *= x.hi[i] - x.lo[i] + 1
	}
	return n
}

// fill puts the elements of src in turn into the slice of a.
func (x *arrayBox) fill(a *types.Array, src []types.Datum) {
	at := append([]int64(nil), x.lo...)
	for _, v := range src[:x.size()] {
		pos := int64(0)
		for i, d := range a.Dims {
			pos = pos*int64(d.Len) + at[i] - int64(d.Lower)
		}
		a.Elems[pos] = v
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] <= x.hi[i] {
				break
			}
			at[i] = x.lo[i]
		}
	}
}
