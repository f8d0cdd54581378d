package geofuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// constructors declares what makes shapes of numbers and points.
func constructors() []*call.Overload {
	return []*call.Overload{
		call.Fn("point(float8,float8) point", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewPoint(geometry.Point{X: a[0].Float(), Y: a[1].Float()})
		})),
		call.Fn("lseg(point,point) lseg", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewLSeg(geometry.Segment{a[0].Point(), a[1].Point()})
		})),
		call.Fn("line(point,point) line", value(func(c *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewLine(c.Through(a[0].Point(), a[1].Point(), pgerr.InvalidParameterValue))
		})),
		call.Fn("box(point,point) box", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewBox(geometry.NewBox(a[0].Point(), a[1].Point()))
		})),
		call.Fn("circle(point,float8) circle", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewCircle(geometry.Circle{Center: a[0].Point(), Radius: a[1].Float()})
		})),
		call.Fn("bound_box(box,box) box", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewBox(a[0].Box().Bound(a[1].Box()))
		})),
		call.Fn("polygon(int4,circle) polygon", value(func(c *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewPolygon(c.CirclePolygon(int(a[0].Int()), a[1].Circle()))
		})),
	}
}

// conversions declares the casts between shapes as functions.
func conversions() []*call.Overload {
	var all []*call.Overload
	add := func(to *types.T, list ...*types.T) {
		for _, from := range list {
			all = append(all, call.Fn(to.Name+"("+from.Name+") "+to.Name, converted(from, to)))
		}
	}
	add(types.Point, types.LSeg, types.Box, types.Polygon, types.Circle)
	add(types.LSeg, types.Box)
	add(types.Box, types.Point, types.Polygon, types.Circle)
	add(types.Path, types.Polygon)
	add(types.Polygon, types.Path, types.Box, types.Circle)
	add(types.Circle, types.Box, types.Polygon)
	return all
}
