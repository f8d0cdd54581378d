package geofuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// moveFunc moves a point by another.
type moveFunc func(c *geometry.Calc, p, q geometry.Point) geometry.Point

// moves declares what moves, turns and scales shapes by a point, and what joins paths.
func moves() []*call.Overload {
	return slices.Concat(
		moving("+", (*geometry.Calc).Add, asMoved, (*geometry.Calc).CircleAdd),
		moving("-", (*geometry.Calc).Sub, asMoved, (*geometry.Calc).CircleSub),
		moving("*", (*geometry.Calc).Mul, geometry.NewBox, (*geometry.Calc).CircleMul),
		moving("/", (*geometry.Calc).Div, geometry.NewBox, (*geometry.Calc).CircleDiv),
		[]*call.Overload{call.Op("path + path path", value(joinPaths))},
	)
}

// asMoved returns the box with corners that have kept their places.
func asMoved(high, low geometry.Point) geometry.Box { return geometry.Box{High: high, Low: low} }

// moving declares an operator between a shape and a point. box makes one of the moved corners.
func moving(operator string, move moveFunc, box func(high, low geometry.Point) geometry.Box,
	circle func(c *geometry.Calc, k geometry.Circle, p geometry.Point) geometry.Circle) []*call.Overload {
	op := func(t string, f shapeFunc[types.Datum]) *call.Overload {
		return call.Op(t+" "+operator+" point "+t, value(f))
	}
	return []*call.Overload{
		op("point", func(c *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewPoint(move(c, a[0].Point(), a[1].Point()))
		}),
		op("box", func(c *geometry.Calc, a []types.Datum) types.Datum {
			b, q := a[0].Box(), a[1].Point()
			return types.NewBox(box(move(c, b.High, q), move(c, b.Low, q)))
		}),
		op("path", func(c *geometry.Calc, a []types.Datum) types.Datum {
			p := a[0].Path()
			p.Points = c.MapPoints(p.Points, a[1].Point(), move)
			return types.NewPath(p)
		}),
		op("circle", func(c *geometry.Calc, a []types.Datum) types.Datum {
			return types.NewCircle(circle(c, a[0].Circle(), a[1].Point()))
		}),
	}
}

// joinPaths appends an open path to another; NULL if one is closed.
func joinPaths(_ *geometry.Calc, a []types.Datum) types.Datum {
	p, q := a[0].Path(), a[1].Path()
	if p.Closed || q.Closed {
		return types.Null
	}
	return types.NewPath(geometry.Path{Points: slices.Concat(p.Points, q.Points)})
}
