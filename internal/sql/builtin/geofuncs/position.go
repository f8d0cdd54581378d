package geofuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// position is an operator on where shapes are: it compares a side of each.
type position struct {
	operator    string
	left, right geometry.Side
	compare     geometry.Comparison
	exact       geometry.Comparison // for polygons, which have no tolerance
}

var (
	exactLess     geometry.Comparison = func(a, b float64) bool { return a < b }
	exactLessSame geometry.Comparison = func(a, b float64) bool { return a <= b }
	exactMore     geometry.Comparison = func(a, b float64) bool { return a > b }
	exactMoreSame geometry.Comparison = func(a, b float64) bool { return a >= b }
)

// strictPositions are those of shapes that are apart.
var strictPositions = []position{
	{"<<", geometry.Right, geometry.Left, geometry.Less, exactLess},
	{">>", geometry.Left, geometry.Right, geometry.More, exactMore},
	{"<<|", geometry.Top, geometry.Bottom, geometry.Less, exactLess},
	{"|>>", geometry.Bottom, geometry.Top, geometry.More, exactMore},
}

// reaches are those of shapes of which one extends no further than the other.
var reaches = []position{
	{"&<", geometry.Right, geometry.Right, geometry.LessSame, exactLessSame},
	{"&>", geometry.Left, geometry.Left, geometry.MoreSame, exactMoreSame},
	{"&<|", geometry.Top, geometry.Top, geometry.LessSame, exactLessSame},
	{"|&>", geometry.Bottom, geometry.Bottom, geometry.MoreSame, exactMoreSame},
}

// sideFunc returns the coordinate of a side of a shape.
type sideFunc func(c *geometry.Calc, d types.Datum, s geometry.Side) float64

func boxSide(_ *geometry.Calc, d types.Datum, s geometry.Side) float64 { return d.Box().Side(s) }

func polygonSide(c *geometry.Calc, d types.Datum, s geometry.Side) float64 {
	return c.Bound(d.Polygon()).Side(s)
}

func circleSide(c *geometry.Calc, d types.Datum, s geometry.Side) float64 {
	return c.CircleSide(d.Circle(), s)
}

func pointSide(_ *geometry.Calc, d types.Datum, s geometry.Side) float64 {
	p := d.Point()
	return geometry.Box{High: p, Low: p}.Side(s)
}

// positions declares the operators on where shapes are.
func positions() []*call.Overload {
	var all []*call.Overload
	add := func(t string, side sideFunc, list ...position) {
		for _, p := range list {
			if t == "polygon" {
				p.compare = p.exact
			}
			all = append(all, call.Op(t+" "+p.operator+" "+t+" bool", truth(func(c *geometry.Calc, a []types.Datum) bool {
				return p.compare(side(c, a[0], p.left), side(c, a[1], p.right))
			})))
		}
	}
	add("point", pointSide, strictPositions...)
	add("point", pointSide,
		position{operator: "<^", left: geometry.Top, right: geometry.Bottom, compare: geometry.Less},
		position{operator: ">^", left: geometry.Bottom, right: geometry.Top, compare: geometry.More})
	areas := slices.Concat(strictPositions, reaches)
	add("box", boxSide, areas...)
	add("polygon", polygonSide, areas...)
	add("circle", circleSide, areas...)
	add("box", boxSide,
		position{operator: "<^", left: geometry.Top, right: geometry.Bottom, compare: geometry.LessSame},
		position{operator: ">^", left: geometry.Bottom, right: geometry.Top, compare: geometry.MoreSame})
	return all
}
