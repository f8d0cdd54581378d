package intarrayfuncs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// elements returns the elements of an array that has no NULLs.
func elements(c *call.Context, d types.Datum) ([]int32, error) {
	var list []int32
	for _, e := range d.ArrayElems() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if e.IsNull() {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "array must not contain nulls")
		}
		list = append(list, int32(e.Int()))
	}
	return list, nil
}

// list makes an array of one dimension.
func list(c *call.Context, l []int32, err error) (types.Datum, error) {
	return shaped(c, []types.ArrayDim{{Len: int32(len(l)), Lower: 1}}, l, err)
}

// shaped makes an array of dimensions.
func shaped(c *call.Context, dims []types.ArrayDim, l []int32, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	elems := make([]types.Datum, len(l))
	for i, n := range l {
		elems[i] = types.NewInt(int64(n))
	}
	return types.EncodeArray(dims, elems, c.Format), c.Step(len(l))
}

// resized makes an array of the number of dimensions that another has, all elements in the first: as PostgreSQL shortens arrays.
func resized(c *call.Context, of types.Datum, l []int32, err error) (types.Datum, error) {
	dims := slices.Clone(of.ArrayDims())
	n := int32(len(l))
	for i := range dims {
		dims[i].Len = n
		n = 1
	}
	return shaped(c, dims, l, err)
}

func count(_ *call.Context, a []types.Datum) (types.Datum, error) {
	dims := a[0].ArrayDims()
	if len(dims) == 0 {
		return types.NewInt(0), nil
	}
	n := int64(1)
	for _, d := range dims {
		n *= int64(d.Len)
	}
	return types.NewInt(n), nil
}

// inOrder sorts the elements of an array, which keeps its shape.
func inOrder(c *call.Context, d types.Datum, order func(a, b int32) int) (types.Datum, error) {
	l, err := elements(c, d)
	slices.SortFunc(l, order)
	return shaped(c, d.ArrayDims(), l, err)
}

func down(a, b int32) int { return cmp.Compare(b, a) }

func ascending(c *call.Context, a []types.Datum) (types.Datum, error) {
	return inOrder(c, a[0], cmp.Compare[int32])
}

func descending(c *call.Context, a []types.Datum) (types.Datum, error) {
	return inOrder(c, a[0], down)
}

// sorted is sort with a direction, which does not matter to fewer than two elements.
func sorted(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	switch way := a[1].Str(); {
	case err != nil:
		return types.Null, err
	case len(l) < 2:
		return a[0], nil
	case strings.EqualFold(way, "asc"):
		return ascending(c, a)
	case strings.EqualFold(way, "desc"):
		return descending(c, a)
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "second parameter must be \"ASC\" or \"DESC\"")
}

// unique takes out elements that are like the one before.
func unique(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	if err == nil && len(l) < 2 {
		return a[0], nil
	}
	return resized(c, a[0], slices.Compact(l), err)
}

// find returns the place of an element, 0 if there is none.
func find(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	return types.NewInt(int64(slices.Index(l, int32(a[1].Int())) + 1)), err
}

// part is subarray. Its arithmetic is that of 32 bits.
func part(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	if err != nil || len(l) == 0 {
		return list(c, nil, err)
	}
	n, start, end := int32(len(l)), int32(a[1].Int()), int32(len(l))
	switch {
	case start > 0:
		start--
	case start < 0:
		start += n
	}
	if len(a) == 3 {
		switch wanted := int32(a[2].Int()); {
		case wanted < 0:
			end = n + wanted
		case wanted > 0:
			end = start + wanted
		}
	}
	if start, end = max(start, 0), min(end, n); start >= end {
		return list(c, nil, nil)
	}
	return list(c, l[start:end], nil)
}

func appended(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	return list(c, append(l, int32(a[1].Int())), err)
}

func joined(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	if err != nil {
		return types.Null, err
	}
	m, err := elements(c, a[1])
	return list(c, append(l, m...), err)
}

// without takes out all elements of a value.
func without(c *call.Context, a []types.Datum) (types.Datum, error) {
	l, err := elements(c, a[0])
	n := int32(a[1].Int())
	return resized(c, a[0], slices.DeleteFunc(l, func(e int32) bool { return e == n }), err)
}
