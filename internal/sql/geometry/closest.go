package geometry

import "math"

// nearest keeps the least of distances, and the point that it is measured to. Its zero value has
// none.
type nearest struct {
	point    Point
	distance float64
	any      bool
}

// add takes a distance into account.
func (n *nearest) add(p Point, d float64) {
	if !n.any || below(d, n.distance) {
		*n = nearest{p, d, true}
	}
}

// PointToLine returns the point of a line that is closest to p, and its distance: NaN, and p, if
// none is found.
func (c *Calc) PointToLine(p Point, l Line) (Point, float64) {
	closest, ok := c.Crossing(c.through(p, c.lineNormal(l)), l)
	if !ok {
		return p, math.NaN()
	}
	return closest, c.Distance(closest, p)
}

// PointToSegment returns the point of a segment that is closest to p, and its distance.
func (c *Calc) PointToSegment(p Point, s Segment) (Point, float64) {
	closest, _ := c.LineToSegment(c.through(p, c.normal(s[0], s[1])), s)
	return closest, c.Distance(closest, p)
}

// LineToSegment returns the point of a segment that is closest to a line, and its distance.
func (c *Calc) LineToSegment(l Line, s Segment) (Point, float64) {
	if p, ok := c.LineCrossing(s, l); ok {
		return p, 0
	}
	_, first := c.PointToLine(s[0], l)
	_, last := c.PointToLine(s[1], l)
	if first < last {
		return s[0], first
	}
	return s[1], last
}

// SegmentToSegment returns the point of s that is closest to t, and its distance.
func (c *Calc) SegmentToSegment(s, t Segment) (Point, float64) {
	if p, ok := c.SegmentCrossing(s, t); ok {
		return p, 0
	}
	var least nearest
	least.add(c.PointToSegment(t[0], s))
	least.add(c.PointToSegment(t[1], s))
	for _, end := range s {
		_, d := c.PointToSegment(end, t)
		least.add(end, d)
	}
	return least.point, least.distance
}

// PointToBox returns the point of a box that is closest to p, and its distance.
func (c *Calc) PointToBox(p Point, b Box) (Point, float64) {
	if b.Holds(p) {
		return p, 0
	}
	var least nearest
	for _, side := range b.sides() {
		least.add(c.PointToSegment(p, side))
	}
	return least.point, least.distance
}

// segmentToSides returns the point of the sides of a box that is closest to a segment, and its
// distance.
func (c *Calc) segmentToSides(s Segment, b Box) (Point, float64) {
	var least nearest
	for _, side := range b.sides() {
		least.add(c.SegmentToSegment(side, s))
	}
	return least.point, least.distance
}

// SegmentToBox returns the distance of a segment from a box, 0 if they meet.
func (c *Calc) SegmentToBox(s Segment, b Box) float64 {
	if c.BoxMeetsSegment(b, s) {
		return 0
	}
	_, d := c.segmentToSides(s, b)
	return d
}

// ClosestOnLine is PointToLine; false if there is no such point.
func (c *Calc) ClosestOnLine(p Point, l Line) (Point, bool) { return found(c.PointToLine(p, l)) }

// ClosestOnSegment is PointToSegment; false if there is no such point.
func (c *Calc) ClosestOnSegment(p Point, s Segment) (Point, bool) {
	return found(c.PointToSegment(p, s))
}

// ClosestOnBox is PointToBox; false if there is no such point.
func (c *Calc) ClosestOnBox(p Point, b Box) (Point, bool) { return found(c.PointToBox(p, b)) }

// ClosestToSegment returns the point of t that is closest to s; false if they are parallel.
func (c *Calc) ClosestToSegment(s, t Segment) (Point, bool) {
	if c.slope(s) == c.slope(t) {
		return Point{}, false
	}
	return found(c.SegmentToSegment(t, s))
}

// ClosestToLine returns the point of a segment that is closest to a line; false if they are
// parallel.
func (c *Calc) ClosestToLine(l Line, s Segment) (Point, bool) {
	if c.slope(s) == c.lineSlope(l) {
		return Point{}, false
	}
	return found(c.LineToSegment(l, s))
}

// ClosestToBox returns the point of a box that is closest to a segment; where they meet it is the
// point of the segment that is closest to the box's center. False if there is no such point.
func (c *Calc) ClosestToBox(s Segment, b Box) (Point, bool) {
	if c.BoxMeetsSegment(b, s) {
		p, _ := c.PointToSegment(c.BoxCenter(b), s)
		return p, true
	}
	return found(c.segmentToSides(s, b))
}

// found tells a point from none by its distance.
func found(p Point, distance float64) (Point, bool) { return p, !math.IsNaN(distance) }
