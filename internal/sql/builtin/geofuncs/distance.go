package geofuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// distanceFunc returns the distance of two shapes.
type distanceFunc = shapeFunc[float64]

// distances declares the operator <->, for shapes of two types in either order.
func distances() []*call.Overload {
	all := []*call.Overload{
		distance("point", "point", func(c *geometry.Calc, a []types.Datum) float64 { return c.Distance(a[0].Point(), a[1].Point()) }),
		distance("lseg", "lseg", func(c *geometry.Calc, a []types.Datum) float64 {
			return second(c.SegmentToSegment(a[0].LSeg(), a[1].LSeg()))
		}),
		distance("line", "line", func(c *geometry.Calc, a []types.Datum) float64 { return c.LineDistance(a[0].Line(), a[1].Line()) }),
		distance("box", "box", func(c *geometry.Calc, a []types.Datum) float64 { return c.BoxDistance(a[0].Box(), a[1].Box()) }),
		distance("polygon", "polygon", func(c *geometry.Calc, a []types.Datum) float64 {
			return c.PolygonDistance(a[0].Polygon(), a[1].Polygon())
		}),
		distance("circle", "circle", func(c *geometry.Calc, a []types.Datum) float64 {
			return c.CircleDistance(a[0].Circle(), a[1].Circle())
		}),
		call.Op("path <-> path float8", value(func(c *geometry.Calc, a []types.Datum) types.Datum {
			d, ok := c.PathDistance(a[0].Path(), a[1].Path())
			if !ok {
				return types.Null
			}
			return types.NewFloat(d)
		})),
	}
	mixed := func(left, right string, f distanceFunc) {
		swapped := func(c *geometry.Calc, a []types.Datum) float64 {
			return f(c, []types.Datum{a[1], a[0]})
		}
		all = append(all, distance(left, right, f), distance(right, left, swapped))
	}
	mixed("point", "lseg", func(c *geometry.Calc, a []types.Datum) float64 {
		return second(c.PointToSegment(a[0].Point(), a[1].LSeg()))
	})
	mixed("point", "line", func(c *geometry.Calc, a []types.Datum) float64 {
		return second(c.PointToLine(a[0].Point(), a[1].Line()))
	})
	mixed("point", "box", func(c *geometry.Calc, a []types.Datum) float64 {
		return second(c.PointToBox(a[0].Point(), a[1].Box()))
	})
	mixed("point", "path", func(c *geometry.Calc, a []types.Datum) float64 { return c.PointToPath(a[0].Point(), a[1].Path()) })
	mixed("point", "polygon", func(c *geometry.Calc, a []types.Datum) float64 {
		return c.PointToPolygon(a[0].Point(), a[1].Polygon())
	})
	mixed("point", "circle", func(c *geometry.Calc, a []types.Datum) float64 {
		return c.PointToCircle(a[0].Point(), a[1].Circle())
	})
	mixed("line", "lseg", func(c *geometry.Calc, a []types.Datum) float64 {
		return second(c.LineToSegment(a[0].Line(), a[1].LSeg()))
	})
	mixed("lseg", "box", func(c *geometry.Calc, a []types.Datum) float64 { return c.SegmentToBox(a[0].LSeg(), a[1].Box()) })
	mixed("circle", "polygon", func(c *geometry.Calc, a []types.Datum) float64 {
		return c.CircleToPolygon(a[0].Circle(), a[1].Polygon())
	})
	return all
}

func distance(left, right string, f distanceFunc) *call.Overload {
	return call.Op(left+" <-> "+right+" float8", number(f))
}

// second returns the distance to a closest point.
func second(_ geometry.Point, d float64) float64 { return d }

// closestPoints declares the operator ##: the point of the right shape that is closest to the left one.
func closestPoints() []*call.Overload {
	return []*call.Overload{
		call.Op("point ## lseg point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestOnSegment(a[0].Point(), a[1].LSeg())
		})),
		call.Op("point ## line point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestOnLine(a[0].Point(), a[1].Line())
		})),
		call.Op("point ## box point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestOnBox(a[0].Point(), a[1].Box())
		})),
		call.Op("lseg ## lseg point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestToSegment(a[0].LSeg(), a[1].LSeg())
		})),
		call.Op("lseg ## box point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestToBox(a[0].LSeg(), a[1].Box())
		})),
		call.Op("line ## lseg point", pointOrNull(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.ClosestToLine(a[0].Line(), a[1].LSeg())
		})),
	}
}
