package geofuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// measures declares areas, lengths, centers and the like.
func measures() []*call.Overload {
	of := func(f func(c *geometry.Calc, d types.Datum) float64) call.EvalFunc {
		return number(func(c *geometry.Calc, a []types.Datum) float64 { return f(c, a[0]) })
	}
	length, pathLength := of(segmentLength), of(func(c *geometry.Calc, d types.Datum) float64 { return c.PathLength(d.Path()) })
	return []*call.Overload{
		call.Fn("area(box) float8", of(boxArea)), call.Fn("area(circle) float8", of(circleArea)),
		call.Fn("area(path) float8", value(func(c *geometry.Calc, a []types.Datum) types.Datum {
			p := a[0].Path()
			if !p.Closed {
				return types.Null
			}
			return types.NewFloat(c.PathArea(p))
		})),
		call.Fn("width(box) float8", of(func(c *geometry.Calc, d types.Datum) float64 { return c.Width(d.Box()) })),
		call.Fn("height(box) float8", of(func(c *geometry.Calc, d types.Datum) float64 { return c.Height(d.Box()) })),
		call.Fn("diameter(circle) float8", of(func(c *geometry.Calc, d types.Datum) float64 { return c.Diameter(d.Circle()) })),
		call.Fn("radius(circle) float8", of(func(_ *geometry.Calc, d types.Datum) float64 { return d.Circle().Radius })),
		call.Fn("slope(point,point) float8", number(func(c *geometry.Calc, a []types.Datum) float64 {
			return c.Slope(a[0].Point(), a[1].Point())
		})),
		call.Fn("length(lseg) float8", length), call.Op("@-@ lseg float8", length),
		call.Fn("length(path) float8", pathLength), call.Op("@-@ path float8", pathLength),
		call.Fn("center(box) point", converted(types.Box, types.Point)), call.Fn("center(circle) point", converted(types.Circle, types.Point)),
		call.Op("@@ lseg point", converted(types.LSeg, types.Point)), call.Op("@@ box point", converted(types.Box, types.Point)),
		call.Op("@@ polygon point", converted(types.Polygon, types.Point)), call.Op("@@ circle point", converted(types.Circle, types.Point)),
		call.Fn("diagonal(box) lseg", converted(types.Box, types.LSeg)),
	}
}

// pathFunctions declares functions of paths, and the number of points, which polygons have too.
func pathFunctions() []*call.Overload {
	count := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(a[0].PointCount())), nil
	}
	closed := func(want bool) call.EvalFunc {
		return truth(func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Path().Closed == want })
	}
	become := func(closed bool) call.EvalFunc {
		return value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewPath(geometry.Path{Points: a[0].Path().Points, Closed: closed})
		})
	}
	return []*call.Overload{
		call.Fn("npoints(path) int4", count), call.Fn("npoints(polygon) int4", count),
		call.Op("# path int4", count), call.Op("# polygon int4", count),
		call.Fn("isclosed(path) bool", closed(true)), call.Fn("isopen(path) bool", closed(false)),
		call.Fn("pclose(path) path", become(true)), call.Fn("popen(path) path", become(false)),
	}
}

// converted makes a call of the cast between two types.
func converted(from, to *types.T) call.EvalFunc {
	cast, _ := casts.Find(from, to)
	return func(c *call.Context, a []types.Datum) (types.Datum, error) { return cast.Fn(c.Format, a[0], to) }
}
