package geofuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// orders are the comparisons that tolerate small differences.
var orders = []struct {
	operator string
	compare  geometry.Comparison
}{
	{"<", geometry.Less}, {"<=", geometry.LessSame}, {">", geometry.More}, {">=", geometry.MoreSame},
}

// comparisons declares what compares shapes: boxes and circles by their area, segments by their
// length, paths by the number of their points.
func comparisons() []*call.Overload {
	all := sameShapes()
	bySize := func(t, operator string, compare geometry.Comparison, size func(c *geometry.Calc, d types.Datum) float64) {
		all = append(all, call.Op(t+" "+operator+" "+t+" bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
			return compare(size(c, a[0]), size(c, a[1]))
		})))
	}
	for _, o := range orders {
		bySize("box", o.operator, o.compare, boxArea)
		bySize("circle", o.operator, o.compare, circleArea)
		bySize("lseg", o.operator, o.compare, segmentLength)
	}
	bySize("box", "=", geometry.Same, boxArea)
	bySize("circle", "=", geometry.Same, circleArea)
	bySize("circle", "<>", geometry.Different, circleArea)
	return append(all, pathComparisons()...)
}

func pathComparisons() []*call.Overload {
	mk := func(operator string, holds func(n, m int) bool) *call.Overload {
		return call.Op("path "+operator+" path bool", truth(func(_ *geometry.Calc, a []types.Datum) bool {
			return holds(a[0].PointCount(), a[1].PointCount())
		}))
	}
	return []*call.Overload{
		mk("=", func(n, m int) bool { return n == m }),
		mk("<", func(n, m int) bool { return n < m }), mk("<=", func(n, m int) bool { return n <= m }),
		mk(">", func(n, m int) bool { return n > m }), mk(">=", func(n, m int) bool { return n >= m }),
	}
}

func boxArea(c *geometry.Calc, d types.Datum) float64       { return c.BoxArea(d.Box()) }
func circleArea(c *geometry.Calc, d types.Datum) float64    { return c.CircleArea(d.Circle()) }
func segmentLength(c *geometry.Calc, d types.Datum) float64 { return c.Length(d.LSeg()) }

// sameShapes declares what tells shapes with the same points.
func sameShapes() []*call.Overload {
	samePoint := func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Point().Same(a[1].Point()) }
	sameSegment := func(_ *geometry.Calc, a []types.Datum) bool { return a[0].LSeg().Same(a[1].LSeg()) }
	not := func(f shapeFunc[bool]) shapeFunc[bool] {
		return func(c *geometry.Calc, a []types.Datum) bool { return !f(c, a) }
	}
	return []*call.Overload{
		call.Op("point ~= point bool", truth(samePoint)), call.Op("point <> point bool", truth(not(samePoint))),
		call.Op("lseg = lseg bool", truth(sameSegment)), call.Op("lseg <> lseg bool", truth(not(sameSegment))),
		call.Op("line = line bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.SameLine(a[0].Line(), a[1].Line()) })),
		call.Op("box ~= box bool", truth(func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Box().Same(a[1].Box()) })),
		call.Op("circle ~= circle bool", truth(func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Circle().Same(a[1].Circle()) })),
		call.Op("polygon ~= polygon bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
			return c.SamePolygon(a[0].Polygon(), a[1].Polygon())
		})),
	}
}
