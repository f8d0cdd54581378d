package geometry

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// through returns the line of a slope through a point.
func (c *Calc) through(p Point, slope float64) Line {
	switch {
	case math.IsInf(slope, 0):
		return Line{-1, 0, p.X}
	case slope == 0:
		return Line{0, -1, p.Y}
	}
	return Line{slope, -1, plain(c.sub(p.Y, c.mul(slope, p.X)))}
}

// Through returns the line through two points: code is that of the error if they are the same.
func (c *Calc) Through(p, q Point, code pgerr.Code) Line {
	if p.Same(q) {
		c.fail(pgerr.New(code, "invalid line specification: must be two distinct points"))
	}
	return c.through(p, c.Slope(p, q))
}

// line returns the line that a segment is part of.
func (c *Calc) line(s Segment) Line { return c.through(s[0], c.slope(s)) }

// Degenerate reports whether the equation of a line is one of no line.
func (l Line) Degenerate() bool { return isZero(l.A) && isZero(l.B) }

// Vertical reports whether a line is vertical.
func (l Line) Vertical() bool { return isZero(l.B) }

// Horizontal reports whether a line is horizontal.
func (l Line) Horizontal() bool { return isZero(l.A) }

func (l Line) isNaN() bool { return math.IsNaN(l.A) || math.IsNaN(l.B) || math.IsNaN(l.C) }

// lineSlope returns the slope of a line, infinite if it is vertical.
func (c *Calc) lineSlope(l Line) float64 {
	switch {
	case l.Horizontal():
		return 0
	case l.Vertical():
		return math.Inf(1)
	}
	return c.div(l.A, -l.B)
}

// lineNormal returns the slope of the lines perpendicular to l.
func (c *Calc) lineNormal(l Line) float64 {
	switch {
	case l.Horizontal():
		return math.Inf(1)
	case l.Vertical():
		return 0
	}
	return c.div(l.B, l.A)
}

// Perpendicular reports whether two lines are perpendicular.
func (c *Calc) Perpendicular(l, m Line) bool {
	switch {
	case isZero(l.A):
		return isZero(m.B)
	case isZero(m.A):
		return isZero(l.B)
	case isZero(l.B):
		return isZero(m.A)
	case isZero(m.B):
		return isZero(l.A)
	}
	return same(c.div(c.mul(l.A, m.A), c.mul(l.B, m.B)), -1)
}

// SameLine reports whether two lines are the same: the coefficients of one are those of the other
// times a factor.
func (c *Calc) SameLine(l, m Line) bool {
	if l.isNaN() || m.isNaN() {
		return exactly(l.A, m.A) && exactly(l.B, m.B) && exactly(l.C, m.C)
	}
	ratio := 1.0
	switch {
	case !isZero(m.A):
		ratio = c.div(l.A, m.A)
	case !isZero(m.B):
		ratio = c.div(l.B, m.B)
	case !isZero(m.C):
		ratio = c.div(l.C, m.C)
	}
	return same(l.A, c.mul(ratio, m.A)) && same(l.B, c.mul(ratio, m.B)) && same(l.C, c.mul(ratio, m.C))
}

// Crossing returns the point that two lines have in common; false if they are parallel.
func (c *Calc) Crossing(l, m Line) (Point, bool) {
	if isZero(l.B) {
		if isZero(m.B) {
			return Point{}, false
		}
		l, m = m, l
	}
	if same(m.A, c.mul(l.A, c.div(m.B, l.B))) {
		return Point{}, false
	}
	x := c.div(c.sub(c.mul(l.B, m.C), c.mul(m.B, l.C)), c.sub(c.mul(l.A, m.B), c.mul(m.A, l.B)))
	y := c.div(-c.add(c.mul(l.A, x), l.C), l.B)
	return Point{plain(x), plain(y)}, true
}

// LineDistance returns the distance of two lines, 0 if they cross.
func (c *Calc) LineDistance(l, m Line) float64 {
	if _, ok := c.Crossing(l, m); ok {
		return 0
	}
	usable := func(a, b float64) bool { return !isZero(a) && !math.IsNaN(a) && !isZero(b) && !math.IsNaN(b) }
	ratio := 1.0
	switch {
	case usable(l.A, m.A):
		ratio = c.div(l.A, m.A)
	case usable(l.B, m.B):
		ratio = c.div(l.B, m.B)
	}
	return c.div(math.Abs(c.sub(l.C, c.mul(ratio, m.C))), c.hypot(l.A, l.B))
}

// OnLine reports whether a point is on a line.
func (c *Calc) OnLine(p Point, l Line) bool {
	return isZero(c.add(c.add(c.mul(l.A, p.X), c.mul(l.B, p.Y)), l.C))
}

// SegmentOnLine reports whether both ends of a segment are on a line.
func (c *Calc) SegmentOnLine(s Segment, l Line) bool { return c.OnLine(s[0], l) && c.OnLine(s[1], l) }
