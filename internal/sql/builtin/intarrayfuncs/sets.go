package intarrayfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// setOf returns the elements of an array in order, without those that are there twice.
func setOf(c *call.Context, d types.Datum) ([]int32, error) {
	l, err := elements(c, d)
	slices.Sort(l)
	return slices.Compact(l), err
}

// setsOf is setOf for two arrays.
func setsOf(c *call.Context, a []types.Datum) (x, y []int32, err error) {
	if x, err = setOf(c, a[0]); err == nil {
		y, err = setOf(c, a[1])
	}
	return x, y, err
}

// both returns what two sets have in common.
func both(x, y []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(x), func(e int32) bool { return !has(y, e) })
}

func has(set []int32, e int32) bool {
	_, ok := slices.BinarySearch(set, e)
	return ok
}

func overlaps(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	return types.NewBool(len(both(x, y)) > 0), err
}

func contains(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	return types.NewBool(len(both(y, x)) == len(y)), err
}

func contained(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	return types.NewBool(len(both(x, y)) == len(x)), err
}

// alike reports whether two arrays have the same elements, each as often as the other.
func alike(c *call.Context, a []types.Datum) (bool, error) {
	x, err := elements(c, a[0])
	if err != nil {
		return false, err
	}
	y, err := elements(c, a[1])
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y), err
}

func same(c *call.Context, a []types.Datum) (types.Datum, error) {
	is, err := alike(c, a)
	return types.NewBool(is), err
}

func different(c *call.Context, a []types.Datum) (types.Datum, error) {
	is, err := alike(c, a)
	return types.NewBool(!is), err
}

func union(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	x = append(x, y...)
	slices.Sort(x)
	return list(c, slices.Compact(x), err)
}

func withElement(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, err := elements(c, a[0])
	x = append(x, int32(a[1].Int()))
	slices.Sort(x)
	return list(c, slices.Compact(x), err)
}

func subtract(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	return list(c, slices.DeleteFunc(x, func(e int32) bool { return has(y, e) }), err)
}

func intersect(c *call.Context, a []types.Datum) (types.Datum, error) {
	x, y, err := setsOf(c, a)
	return list(c, both(x, y), err)
}
