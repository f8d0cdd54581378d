package arrayfuncs

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func arrayOperators() []*call.Overload {
	return []*call.Overload{
		call.OpBind("anyarray @> anyarray bool", comparing(containsOp(0, 1))), call.OpBind("anyarray <@ anyarray bool", comparing(containsOp(1, 0))),
		call.OpBind("anyarray && anyarray bool", comparing(bindOverlap)),
		call.Op("anycompatiblearray || anycompatiblearray anycompatiblearray", arrayCat).NonStrict(),
		call.Op("anycompatiblearray || anycompatible anycompatiblearray", arrayAppend).NonStrict(),
		call.Op("anycompatible || anycompatiblearray anycompatiblearray", arrayPrepend).NonStrict(),
	}
}

func arrayFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("array_length(anyarray,int4) int4", arrayDim(func(d types.ArrayDim) int32 { return d.Len })),
		call.Fn("array_lower(anyarray,int4) int4", arrayDim(func(d types.ArrayDim) int32 { return d.Lower })),
		call.Fn("array_upper(anyarray,int4) int4", arrayDim(func(d types.ArrayDim) int32 { return d.Lower + d.Len - 1 })),
		// information_schema's helper, which drivers use to take index keys apart.
		call.SRF("_pg_expandarray(anyarray) setof record", expandArray).Columns([]string{"x", "n"}, []*types.T{types.AnyElement, types.Int4}),
		call.Fn("array_ndims(anyarray) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if n := len(a[0].ArrayDims()); n > 0 {
				return types.NewInt(int64(n)), nil
			}
			return types.Null, nil
		}),
		call.Fn("array_dims(anyarray) text", arrayDimsText),
		call.Fn("cardinality(anyarray) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(a[0].ArrayLen())), nil
		}),
		call.Fn("array_append(anycompatiblearray,anycompatible) anycompatiblearray", arrayAppend).NonStrict(),
		call.Fn("array_prepend(anycompatible,anycompatiblearray) anycompatiblearray", arrayPrepend).NonStrict(),
		call.Fn("array_cat(anycompatiblearray,anycompatiblearray) anycompatiblearray", arrayCat).NonStrict(),
		call.FnBind("array_position(anycompatiblearray,anycompatible) int4", comparing(bindPosition)).NonStrict(),
		call.FnBind("array_position(anycompatiblearray,anycompatible,int4) int4", comparing(bindPosition)).NonStrict(),
		call.FnBind("array_positions(anycompatiblearray,anycompatible) _int4", comparing(bindPositions)).NonStrict(),
		call.FnBind("array_remove(anycompatiblearray,anycompatible) anycompatiblearray", comparing(bindRemove)).NonStrict(),
		call.FnBind("array_replace(anycompatiblearray,anycompatible,anycompatible) anycompatiblearray", comparing(bindReplace)).NonStrict(),
		call.FnBind("array_to_string(anyarray,text) text", bindArrayToString).Stable(),
		call.FnBind("array_to_string(anyarray,text,text) text", bindArrayToString).NonStrict().Stable(),
		call.Fn("array_fill(anyelement,_int4) anyarray", arrayFill).NonStrict(), call.Fn("array_fill(anyelement,_int4,_int4) anyarray", arrayFill).NonStrict(),
		call.Fn("trim_array(anyarray,int4) anyarray", trimArray),
		call.FnBind("width_bucket(anycompatible,anycompatiblearray) int4", bindBucket),
		call.SRF("unnest(anyarray) setof anyelement", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			return call.NewColumn(a[0].DecodeArray(c.Format).Elems), nil
		}),
		call.SRF("generate_subscripts(anyarray,int4) setof int4", generateSubscripts),
		call.SRF("generate_subscripts(anyarray,int4,bool) setof int4", generateSubscripts),
	}
}

// ElemType returns the element type of an array type.
func ElemType(t *types.T) *types.T {
	if t.Elem == nil {
		return t
	}
	return t.Elem
}

// sameElems reports whether two elements are equal and neither is NULL.
func sameElems(c *call.Context, t *types.T, a, b types.Datum) bool {
	return !a.IsNull() && !b.IsNull() && types.CompareTyped(t, a, b, c.Format) == 0
}

// NotDistinct is sameElems with NULL equal to NULL.
func NotDistinct(c *call.Context, t *types.T, a, b types.Datum) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	return types.CompareTyped(t, a, b, c.Format) == 0
}

// comparing refuses arrays of elements that can't be told apart.
func comparing(bind call.BindFunc) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		if t := ElemType(b.Types[0]); !types.HasEquality(t) {
			return nil, pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", t.SQLName)
		}
		return bind(b)
	}
}

func containsOp(whole, part int) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		t := ElemType(b.Types[0])
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			in := a[whole].DecodeArray(c.Format).Elems
			for _, p := range a[part].ArrayElems() {
				found, err := containsElem(c, t, in, p)
				if err != nil || !found {
					return types.False, err
				}
			}
			return types.True, nil
		}, nil
	}
}

func containsElem(c *call.Context, t *types.T, in []types.Datum, e types.Datum) (bool, error) {
	for i := range in {
		if err := c.Step(1); err != nil {
			return false, err
		}
		if sameElems(c, t, in[i], e) {
			return true, nil
		}
	}
	return false, c.Step(1)
}

func bindOverlap(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		in := a[0].DecodeArray(c.Format).Elems
		for _, e := range a[1].ArrayElems() {
			found, err := containsElem(c, t, in, e)
			if err != nil || found {
				return types.True, err
			}
		}
		return types.False, nil
	}, nil
}

func arrayDim(f func(d types.ArrayDim) int32) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		dims, n := a[0].ArrayDims(), a[1].Int()
		if n < 1 || n > int64(len(dims)) {
			return types.Null, nil
		}
		return types.NewInt(int64(f(dims[n-1]))), nil
	}
}

func arrayDimsText(_ *call.Context, a []types.Datum) (types.Datum, error) {
	dims := a[0].ArrayDims()
	if len(dims) == 0 {
		return types.Null, nil
	}
	var b strings.Builder
	for _, d := range dims {
		b.WriteString("[" + strconv.Itoa(int(d.Lower)) + ":" + strconv.Itoa(int(d.Lower+d.Len-1)) + "]")
	}
	return call.Text(b.String())
}

// ErrArrayTooLarge is 54000 for an array of more elements than PostgreSQL allows.
var ErrArrayTooLarge = pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (134217727)")

// withElem adds an element to a one-dimensional array, at its end or before
// its first.
func withElem(c *call.Context, arr, e types.Datum, atEnd bool) (types.Datum, error) {
	if arr.IsNull() {
		return types.NewArray([]types.Datum{e}), nil
	}
	a := arr.DecodeArray(c.Format)
	if len(a.Dims) > 1 {
		return types.Null, pgerr.New(pgerr.DataException, "argument must be empty or one-dimensional array")
	}
	if len(a.Elems) >= types.MaxArrayElems-1 {
		return types.Null, call.Fail(ErrArrayTooLarge)
	}
	if len(a.Dims) == 0 {
		return types.NewArray([]types.Datum{e}), nil
	}
	elems := make([]types.Datum, 0, len(a.Elems)+1)
	if !atEnd {
		elems = append(elems, e)
	}
	elems = append(elems, a.Elems...)
	if atEnd {
		elems = append(elems, e)
	}
	return types.EncodeArray([]types.ArrayDim{{Len: int32(len(elems)), Lower: a.Dims[0].Lower}}, elems, c.Format), nil
}

func arrayAppend(c *call.Context, a []types.Datum) (types.Datum, error) {
	return withElem(c, a[0], a[1], true)
}
func arrayPrepend(c *call.Context, a []types.Datum) (types.Datum, error) {
	return withElem(c, a[1], a[0], false)
}

func arrayCat(c *call.Context, args []types.Datum) (types.Datum, error) {
	switch {
	case args[0].IsNull():
		return args[1], nil
	case args[1].IsNull():
		return args[0], nil
	}
	a, b := args[0].DecodeArray(c.Format), args[1].DecodeArray(c.Format)
	switch {
	case len(a.Dims) == 0:
		return args[1], nil
	case len(b.Dims) == 0:
		return args[0], nil
	case len(a.Elems)+len(b.Elems) >= types.MaxArrayElems:
		return types.Null, call.Fail(ErrArrayTooLarge)
	}
	dims, ok := catDims(a.Dims, b.Dims)
	if !ok {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays").WithDetail(
			"Arrays with differing element dimensions are not compatible for concatenation.")
	}
	elems := make([]types.Datum, 0, len(a.Elems)+len(b.Elems))
	return types.EncodeArray(dims, append(append(elems, a.Elems...), b.Elems...), c.Format), nil
}

// catDims returns the shape of two arrays put together: of the same number of
// dimensions and the same inner ones, or one an element of the other.
func catDims(a, b []types.ArrayDim) ([]types.ArrayDim, bool) {
	inner := func(x, y []types.ArrayDim) bool {
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	}
	switch {
	case len(a) == len(b) && inner(a[1:], b[1:]):
		dims := append([]types.ArrayDim(nil), a...)
		dims[0].Len += b[0].Len
		return dims, true
	case len(a) == len(b)+1 && inner(a[1:], b):
		dims := append([]types.ArrayDim(nil), a...)
		dims[0].Len++
		return dims, true
	case len(b) == len(a)+1 && inner(b[1:], a):
		dims := append([]types.ArrayDim(nil), b...)
		dims[0].Len++
		return dims, true
	}
	return nil, false
}

var errMultiSearch = pgerr.New(pgerr.FeatureNotSupported, "searching for elements in multidimensional arrays is not supported")

// positions calls f with the subscripts of the elements equal to e.
func positions(c *call.Context, t *types.T, arr, e types.Datum, from int64, f func(subscript int64) bool) error {
	a := arr.DecodeArray(c.Format)
	if len(a.Dims) > 1 {
		return call.Fail(errMultiSearch)
	}
	for i := range a.Elems {
		if err := c.Step(1); err != nil {
			return err
		}
		at := int64(a.Dims[0].Lower) + int64(i)
		if at >= from && NotDistinct(c, t, a.Elems[i], e) && !f(at) {
			break
		}
	}
	return nil
}

func bindPosition(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.Null, nil
		}
		from := int64(-1 << 62)
		if len(a) == 3 && a[0].ArrayLen() > 0 {
			if len(a[0].ArrayDims()) > 1 {
				return types.Null, call.Fail(errMultiSearch)
			}
			if a[2].IsNull() {
				return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
			}
			from = a[2].Int()
		}
		found := types.Null
		err := positions(c, t, a[0], a[1], from, func(at int64) bool {
			found = types.NewInt(at)
			return false
		})
		return found, err
	}, nil
}

func bindPositions(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.Null, nil
		}
		var all []types.Datum
		if err := positions(c, t, a[0], a[1], -1<<62, func(at int64) bool {
			all = append(all, types.NewInt(at))
			return true
		}); err != nil {
			return types.Null, err
		}
		return types.NewArray(all), nil
	}, nil
}

func bindRemove(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, args []types.Datum) (types.Datum, error) {
		if args[0].IsNull() {
			return types.Null, nil
		}
		a := args[0].DecodeArray(c.Format)
		if len(a.Dims) > 1 {
			return types.Null, pgerr.New(pgerr.FeatureNotSupported, "removing elements from multidimensional arrays is not supported")
		}
		var kept []types.Datum
		for i := range a.Elems {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if !NotDistinct(c, t, a.Elems[i], args[1]) {
				kept = append(kept, a.Elems[i])
			}
		}
		if len(kept) == len(a.Elems) {
			return args[0], nil
		}
		return types.EncodeArray([]types.ArrayDim{{Len: int32(len(kept)), Lower: a.Dims[0].Lower}}, kept, c.Format), nil
	}, nil
}

func bindReplace(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, args []types.Datum) (types.Datum, error) {
		if args[0].IsNull() {
			return types.Null, nil
		}
		a := args[0].DecodeArray(c.Format)
		for i := range a.Elems {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if NotDistinct(c, t, a.Elems[i], args[1]) {
				a.Elems[i] = args[2]
			}
		}
		return types.EncodeArray(a.Dims, a.Elems, c.Format), nil
	}, nil
}

func bindArrayToString(b call.Binding) (call.EvalFunc, error) {
	t := ElemType(b.Types[0])
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() || a[1].IsNull() {
			return types.Null, nil
		}
		var buf []byte
		first := true
		for _, e := range a[0].ArrayElems() {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if e.IsNull() && (len(a) < 3 || a[2].IsNull()) {
				continue
			}
			if !first {
				buf = append(buf, a[1].Str()...)
			}
			first = false
			if e.IsNull() {
				buf = append(buf, a[2].Str()...)
			} else {
				buf = stringfuncs.AppendAsText(buf, t, e, c)
			}
		}
		return call.Text(string(buf))
	}, nil
}

func arrayFill(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() || len(a) == 3 && a[2].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	lens := a[1].DecodeArray(c.Format)
	var lows []types.Datum
	for _, l := range lens.Elems {
		if l.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
		}
	}
	if len(a) == 3 {
		lows = a[2].DecodeArray(c.Format).Elems
		if len(lows) != len(lens.Elems) {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
				WithDetail("Low bound array has different size than dimensions array.")
		}
	}
	if len(lens.Dims) > 1 {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
			WithDetail("Dimension array must be one dimensional.")
	}
	if len(lens.Elems) > types.MaxArrayDims {
		return types.Null, types.TooManyDims(len(lens.Elems))
	}
	return fillArray(c, a[0], lens.Elems, lows)
}

// fillArray makes an array of copies of a value.
func fillArray(c *call.Context, value types.Datum, lens, lows []types.Datum) (types.Datum, error) {
	total := int64(1)
	dims := make([]types.ArrayDim, len(lens))
	for i, l := range lens {
		if lows != nil && lows[i].IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
		}
		if l.Int() < 0 {
			return types.Null, call.Fail(ErrArrayTooLarge)
		}
		dims[i] = types.ArrayDim{Len: int32(l.Int()), Lower: 1}
		if lows != nil {
			dims[i].Lower = int32(lows[i].Int())
			if _, err := numfuncs.CheckInt4(lows[i].Int() + l.Int()); err != nil {
				return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "array lower bound is too large: %d", dims[i].Lower)
			}
		}
		if total *= l.Int(); total > types.MaxArrayElems/16 {
			return types.Null, call.Fail(ErrArrayTooLarge)
		}
	}
	if len(dims) == 0 || total == 0 {
		return types.NewArray(nil), nil
	}
	if err := c.Reserve(int(total) * (int(unsafe.Sizeof(value)) + call.Scratch*(8+len(value.Str())))); err != nil {
		return types.Null, err
	}
	elems := make([]types.Datum, total)
	for i := range elems {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		elems[i] = value
	}
	return types.EncodeArray(dims, elems, c.Format), nil
}

// bindBucket is width_bucket over an array of thresholds, which must be sorted.
func bindBucket(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if len(a[1].ArrayDims()) > 1 {
			return types.Null, pgerr.New(pgerr.ArraySubscriptError, "thresholds must be one-dimensional array")
		}
		limits := a[1].DecodeArray(c.Format).Elems
		lo, hi := 0, len(limits)
		for _, l := range limits {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if l.IsNull() {
				return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
			}
		}
		for lo < hi {
			mid := (lo + hi) / 2
			if types.CompareTyped(t, a[0], limits[mid], c.Format) < 0 {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return types.NewInt(int64(lo)), nil
	}, nil
}

func trimArray(c *call.Context, args []types.Datum) (types.Datum, error) {
	a, n := args[0].DecodeArray(c.Format), args[1].Int()
	have := int64(0)
	if len(a.Dims) > 0 {
		have = int64(a.Dims[0].Len)
	}
	if n < 0 || n > have {
		return types.Null, pgerr.New("2202E", "number of elements to trim must be between 0 and %d", have)
	}
	if n == have {
		return types.NewArray(nil), nil
	}
	per := int64(len(a.Elems)) / have
	dims := append([]types.ArrayDim(nil), a.Dims...)
	for i := range dims {
		dims[i].Lower = 1
	}
	dims[0].Len -= int32(n)
	return types.EncodeArray(dims, a.Elems[:(have-n)*per], c.Format), nil
}

func generateSubscripts(_ *call.Context, a []types.Datum) (call.RowIterator, error) {
	dims, n := a[0].ArrayDims(), a[1].Int()
	if n < 1 || n > int64(len(dims)) {
		return call.NewColumn(nil), nil
	}
	lo := int64(dims[n-1].Lower)
	hi := lo + int64(dims[n-1].Len) - 1
	if len(a) == 3 && a[2].Bool() {
		return numfuncs.NewSeries(hi, lo, -1), nil
	}
	return numfuncs.NewSeries(lo, hi, 1), nil
}

// expandArray yields the elements of an array, each with its number; those of more than one
// dimension are NULL, as a single subscript of such an array is.
func expandArray(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	dims := a[0].ArrayDims()
	for i, e := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if len(dims) > 1 {
			if e = types.Null; i == int(dims[0].Len) {
				break
			}
		}
		rows = append(rows, []types.Datum{e, types.NewInt(int64(i) + 1)})
	}
	return call.NewRows(rows), nil
}
