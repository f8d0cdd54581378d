package geometry

import (
	"iter"
	"math"
)

// segments yields the segments of a path, a closed one's from the last point to the first before
// all others.
func (p Path) segments() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		n := len(p.Points)
		if p.Closed && n > 0 && !yield(Segment{p.Points[n-1], p.Points[0]}) {
			return
		}
		for i := 1; i < n; i++ {
			if !yield(Segment{p.Points[i-1], p.Points[i]}) {
				return
			}
		}
	}
}

// PathArea returns the area within a closed path.
func (c *Calc) PathArea(p Path) float64 {
	area := 0.0
	for i, a := range p.Points {
		if c.stopped(1) {
			return 0
		}
		b := p.Points[(i+1)%len(p.Points)]
		area = c.add(area, c.mul(a.X, b.Y))
		area = c.sub(area, c.mul(a.Y, b.X))
	}
	return c.div(math.Abs(area), 2)
}

// PathLength returns the length of a path.
func (c *Calc) PathLength(p Path) float64 {
	length := 0.0
	for s := range p.segments() {
		if c.stopped(1) {
			return 0
		}
		length = c.add(length, c.Length(s))
	}
	return length
}

// PathsMeet reports whether two paths have a point in common that is not one of parallel segments.
func (c *Calc) PathsMeet(p, q Path) bool {
	if !c.bound(p.Points).Overlaps(c.bound(q.Points)) {
		return false
	}
	for s := range p.segments() {
		for t := range q.segments() {
			if c.stopped(1) {
				return false
			}
			if _, ok := c.SegmentCrossing(s, t); ok {
				return true
			}
		}
	}
	return false
}

// PathDistance returns the distance of two paths; false if one of them has no segment.
func (c *Calc) PathDistance(p, q Path) (float64, bool) {
	var least nearest
	for s := range p.segments() {
		for t := range q.segments() {
			if c.stopped(1) {
				return 0, false
			}
			least.add(c.SegmentToSegment(s, t))
		}
	}
	return least.distance, least.any
}

// PointToPath returns the distance of a point from a path, 0 from one without segments.
func (c *Calc) PointToPath(a Point, p Path) float64 {
	var least nearest
	for s := range p.segments() {
		if c.stopped(1) {
			return 0
		}
		least.add(c.PointToSegment(a, s))
	}
	return least.distance
}

// OnPath reports whether a point is on an open path, or in the area of a closed one.
func (c *Calc) OnPath(a Point, p Path) bool {
	if p.Closed {
		return c.inside(a, p.Points) != outside
	}
	for s := range p.segments() {
		if c.stopped(1) {
			return false
		}
		if same(c.add(c.Distance(a, s[0]), c.Distance(a, s[1])), c.Length(s)) {
			return true
		}
	}
	return false
}

// MapPoints returns points of which each was changed by f with q.
func (c *Calc) MapPoints(points []Point, q Point, f func(c *Calc, p, q Point) Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		if c.stopped(1) {
			break
		}
		out[i] = f(c, p, q)
	}
	return out
}
