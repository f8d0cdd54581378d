package geometry

import "github.com/lichendb/lichen/internal/sql/pgerr"

// position says where a point is.
type position int

const (
	outside position = iota
	within
	onEdge
)

// edgeHit is what crossings returns for an edge that the point is on.
const edgeHit = 1 << 30

// inside tells where a point is with regard to a polygon: it counts how often the ray from the point
// to the right crosses the edge, upwards less downwards, in halves.
func (c *Calc) inside(a Point, polygon []Point) position {
	if len(polygon) == 0 {
		return outside
	}
	total := 0
	first := c.Sub(polygon[0], a)
	last := first
	for i := 1; i <= len(polygon); i++ {
		if c.stopped(1) {
			return outside
		}
		p := first
		if i < len(polygon) {
			p = c.Sub(polygon[i], a)
		}
		n := c.crossings(p, last)
		if n == edgeHit {
			return onEdge
		}
		total, last = total+n, p
	}
	if total == 0 {
		return outside
	}
	return within
}

// crossings counts, in halves, how often the positive x axis is crossed from last to p: edgeHit if
// the origin is between them.
func (c *Calc) crossings(p, last Point) int {
	if isZero(p.Y) {
		return endOnAxis(p, last)
	}
	sign := -1
	if more(p.Y, 0) {
		sign = 1
	}
	switch {
	case isZero(last.Y) && less(last.X, 0):
		return 0
	case isZero(last.Y):
		return sign
	case sign < 0 && less(last.Y, 0), sign > 0 && more(last.Y, 0):
		return 0
	case moreSame(p.X, 0) && more(last.X, 0):
		return 2 * sign
	case less(p.X, 0) && lessSame(last.X, 0):
		return 0
	}
	side := c.sub(c.mul(c.sub(p.X, last.X), p.Y), c.mul(c.sub(p.Y, last.Y), p.X))
	switch {
	case isZero(side):
		return edgeHit
	case sign < 0 && less(side, 0), sign > 0 && more(side, 0):
		return 0
	}
	return 2 * sign
}

// endOnAxis is crossings for a point on the x axis.
func endOnAxis(p, last Point) int {
	switch {
	case isZero(p.X):
		return edgeHit
	case more(p.X, 0):
		switch {
		case isZero(last.Y) && more(last.X, 0):
			return 0
		case isZero(last.Y):
			return edgeHit
		case less(last.Y, 0):
			return 1
		}
		return -1
	case isZero(last.Y) && !less(last.X, 0):
		return edgeHit
	}
	return 0
}

// maxCuts bounds how often a segment is cut where it meets the edge of a polygon.
const maxCuts = 10_000

// segmentInside reports whether a segment is in a polygon, of whose edges those before start have been
// looked at. A segment that crosses an edge is cut there, at most maxCuts times.
func (c *Calc) segmentInside(s Segment, p Polygon, start, cuts int) bool {
	if cuts > maxCuts {
		c.fail(pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded"))
	}
	crossed := false
	for i := start; i < len(p); i++ {
		if c.stopped(1) {
			return false
		}
		edge := Segment{p[(i+len(p)-1)%len(p)], p[i]}
		switch first, last := c.OnSegment(s[0], edge), c.OnSegment(s[1], edge); {
		case first && last:
			return true
		case first:
			if !c.touchingInside(s, edge, p, i+1, cuts) {
				return false
			}
		case last:
			if !c.touchingInside(Segment{s[1], s[0]}, edge, p, i+1, cuts) {
				return false
			}
		default:
			cut, ok := c.SegmentCrossing(s, edge)
			if !ok {
				continue
			}
			crossed = true
			if !c.segmentInside(Segment{s[0], cut}, p, i+1, cuts+1) || !c.segmentInside(Segment{s[1], cut}, p, i+1, cuts+1) {
				return false
			}
		}
	}
	return crossed || c.inside(c.Middle(s), p) != outside
}

// touchingInside is segmentInside for a segment whose first point is on an edge: what lies beyond the
// edge, where the segment goes on along it. That the segment leaves the polygon shows later.
func (c *Calc) touchingInside(s, edge Segment, p Polygon, start, cuts int) bool {
	var end Point
	switch {
	case s[0].Same(edge[0]):
		if !c.OnSegment(edge[1], s) {
			return true
		}
		end = edge[1]
	case s[0].Same(edge[1]):
		if !c.OnSegment(edge[0], s) {
			return true
		}
		end = edge[0]
	case c.OnSegment(edge[0], s):
		end = edge[0]
	case c.OnSegment(edge[1], s):
		end = edge[1]
	default:
		return true
	}
	return c.segmentInside(Segment{s[1], end}, p, start, cuts+1)
}
