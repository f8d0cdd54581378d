package distribution

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ShareBelow estimates the share of the values of a column of a type that are less than d,
// or equal if asked for.
func ShareBelow(c *catalog.ColumnStatistics, of *types.T, d types.Datum, orEqual bool) float64 {
	i, _ := slices.BinarySearchFunc(c.Bounds, d, func(b, d types.Datum) int {
		if n := types.CompareTyped(of, b, d, nil); n != 0 || !orEqual {
			return n
		}
		return -1
	})
	switch i {
	case 0:
		return 0
	case len(c.Bounds):
		return 1
	}
	return (float64(i-1) + within(c.Bounds[i-1], c.Bounds[i], d)) / float64(len(c.Bounds)-1)
}

// within says how far d is on the way from lo to hi.
func within(lo, hi, d types.Datum) float64 {
	l, ok := position(lo)
	h, _ := position(hi)
	x, _ := position(d)
	if !ok || h <= l {
		return 0.5
	}
	return min(max((x-l)/(h-l), 0), 1)
}

// position maps values of some families to numbers in their order.
func position(d types.Datum) (float64, bool) {
	switch d.Family() {
	case types.IntFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		return float64(d.Int()), true
	case types.FloatFamily:
		return d.Float(), true
	}
	return 0, false
}
