package geofuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// containment declares <@ and @>: whether a shape is in, or on, another.
func containment() []*call.Overload {
	all := []*call.Overload{
		call.Op("point <@ line bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.OnLine(a[0].Point(), a[1].Line()) })),
		call.Op("point <@ lseg bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.OnSegment(a[0].Point(), a[1].LSeg()) })),
		call.Op("lseg <@ line bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.SegmentOnLine(a[0].LSeg(), a[1].Line()) })),
		call.Op("lseg <@ box bool", truth(func(_ *geometry.Calc, a []types.Datum) bool { return a[1].Box().HoldsSegment(a[0].LSeg()) })),
	}
	both := func(outer, inner string, contains func(c *geometry.Calc, outer, inner types.Datum) bool) {
		all = append(all,
			call.Op(outer+" @> "+inner+" bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return contains(c, a[0], a[1]) })),
			call.Op(inner+" <@ "+outer+" bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return contains(c, a[1], a[0]) })))
	}
	both("box", "point", func(_ *geometry.Calc, outer, inner types.Datum) bool { return outer.Box().Holds(inner.Point()) })
	both("box", "box", func(_ *geometry.Calc, outer, inner types.Datum) bool { return outer.Box().Contains(inner.Box()) })
	both("path", "point", func(c *geometry.Calc, outer, inner types.Datum) bool { return c.OnPath(inner.Point(), outer.Path()) })
	both("polygon", "point", func(c *geometry.Calc, outer, inner types.Datum) bool {
		return c.PolygonHolds(outer.Polygon(), inner.Point())
	})
	both("polygon", "polygon", func(c *geometry.Calc, outer, inner types.Datum) bool {
		return c.PolygonContains(outer.Polygon(), inner.Polygon())
	})
	both("circle", "point", func(c *geometry.Calc, outer, inner types.Datum) bool {
		return c.CircleHolds(outer.Circle(), inner.Point())
	})
	both("circle", "circle", func(c *geometry.Calc, outer, inner types.Datum) bool {
		return c.CircleContains(outer.Circle(), inner.Circle())
	})
	return all
}

// crossings declares &&, ?# and #: whether, and where, two shapes meet.
func crossings() []*call.Overload {
	boxes := truth(func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Box().Overlaps(a[1].Box()) })
	segments := func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
		return c.SegmentCrossing(a[0].LSeg(), a[1].LSeg())
	}
	lines := func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
		return c.Crossing(a[0].Line(), a[1].Line())
	}
	any := func(f func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool)) call.EvalFunc {
		return truth(func(c *geometry.Calc, a []types.Datum) bool {
			_, ok := f(c, a)
			return ok
		})
	}
	return []*call.Overload{
		call.Op("box && box bool", boxes), call.Op("box ?# box bool", boxes),
		call.Op("polygon && polygon bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
			return c.PolygonsOverlap(a[0].Polygon(), a[1].Polygon())
		})),
		call.Op("circle && circle bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
			return c.CirclesOverlap(a[0].Circle(), a[1].Circle())
		})),
		call.Op("lseg ?# lseg bool", any(segments)), call.Op("lseg # lseg point", pointOrNull(segments)),
		call.Op("line ?# line bool", any(lines)), call.Op("line # line point", pointOrNull(lines)),
		call.Op("lseg ?# line bool", any(func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool) {
			return c.LineCrossing(a[0].LSeg(), a[1].Line())
		})),
		call.Op("lseg ?# box bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
			return c.BoxMeetsSegment(a[1].Box(), a[0].LSeg())
		})),
		call.Op("line ?# box bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.BoxMeetsLine(a[1].Box(), a[0].Line()) })),
		call.Op("path ?# path bool", truth(func(c *geometry.Calc, a []types.Datum) bool { return c.PathsMeet(a[0].Path(), a[1].Path()) })),
		call.Op("box # box box", value(func(_ *geometry.Calc, a []types.Datum) types.Datum {
			b, ok := a[0].Box().Intersection(a[1].Box())
			if !ok {
				return types.Null
			}
			return types.NewBox(b)
		})),
	}
}

// directions declares what asks for the direction of lines, by operators and by functions.
func directions() []*call.Overload {
	var all []*call.Overload
	add := func(operator, name, t string, args int, f shapeFunc[bool]) {
		if args == 1 {
			all = append(all, call.Op(operator+" "+t+" bool", truth(f)), call.Fn(name+"("+t+") bool", truth(f)))
			return
		}
		all = append(all, call.Op(t+" "+operator+" "+t+" bool", truth(f)), call.Fn(name+"("+t+","+t+") bool", truth(f)))
	}
	add("?-", "ishorizontal", "lseg", 1, func(_ *geometry.Calc, a []types.Datum) bool { return a[0].LSeg().Horizontal() })
	add("?-", "ishorizontal", "line", 1, func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Line().Horizontal() })
	add("?-", "ishorizontal", "point", 2, func(_ *geometry.Calc, a []types.Datum) bool {
		return geometry.Same(a[0].Point().Y, a[1].Point().Y)
	})
	add("?|", "isvertical", "lseg", 1, func(_ *geometry.Calc, a []types.Datum) bool { return a[0].LSeg().Vertical() })
	add("?|", "isvertical", "line", 1, func(_ *geometry.Calc, a []types.Datum) bool { return a[0].Line().Vertical() })
	add("?|", "isvertical", "point", 2, func(_ *geometry.Calc, a []types.Datum) bool {
		return geometry.Same(a[0].Point().X, a[1].Point().X)
	})
	add("?||", "isparallel", "lseg", 2, func(c *geometry.Calc, a []types.Datum) bool {
		return c.ParallelSegments(a[0].LSeg(), a[1].LSeg())
	})
	add("?||", "isparallel", "line", 2, func(c *geometry.Calc, a []types.Datum) bool {
		_, ok := c.Crossing(a[0].Line(), a[1].Line())
		return !ok
	})
	add("?-|", "isperp", "lseg", 2, func(c *geometry.Calc, a []types.Datum) bool {
		return c.PerpendicularSegments(a[0].LSeg(), a[1].LSeg())
	})
	add("?-|", "isperp", "line", 2, func(c *geometry.Calc, a []types.Datum) bool { return c.Perpendicular(a[0].Line(), a[1].Line()) })
	return all
}
