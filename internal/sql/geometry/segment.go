package geometry

// Same reports whether two segments have the same first and the same last point.
func (s Segment) Same(t Segment) bool { return s[0].Same(t[0]) && s[1].Same(t[1]) }

// Vertical reports whether a segment is vertical.
func (s Segment) Vertical() bool { return same(s[0].X, s[1].X) }

// Horizontal reports whether a segment is horizontal.
func (s Segment) Horizontal() bool { return same(s[0].Y, s[1].Y) }

// Length returns the length of a segment.
func (c *Calc) Length(s Segment) float64 { return c.Distance(s[0], s[1]) }

// Middle returns the middle of a segment.
func (c *Calc) Middle(s Segment) Point { return c.middle(s[0], s[1]) }

func (c *Calc) slope(s Segment) float64 { return c.Slope(s[0], s[1]) }

// ParallelSegments reports whether two segments have the same slope.
func (c *Calc) ParallelSegments(s, t Segment) bool { return same(c.slope(s), c.slope(t)) }

// PerpendicularSegments reports whether two segments are perpendicular.
func (c *Calc) PerpendicularSegments(s, t Segment) bool {
	return same(c.slope(s), c.normal(t[0], t[1]))
}

// OnSegment reports whether a point is on a segment: the ways to both ends are as long as it.
func (c *Calc) OnSegment(p Point, s Segment) bool {
	return same(c.Distance(p, s[0])+c.Distance(p, s[1]), c.Distance(s[0], s[1]))
}

// SegmentCrossing returns the point that two segments have in common; false if there is none, or
// if they are parallel.
func (c *Calc) SegmentCrossing(s, t Segment) (Point, bool) {
	p, ok := c.LineCrossing(s, c.line(t))
	return p, ok && c.OnSegment(p, t)
}

// LineCrossing returns the point that a segment and a line have in common; false if there is none,
// or if they are parallel.
func (c *Calc) LineCrossing(s Segment, l Line) (Point, bool) {
	p, ok := c.Crossing(c.line(s), l)
	switch {
	case !ok || !c.OnSegment(p, s):
		return p, false
	case s[0].Same(p):
		return s[0], true
	case s[1].Same(p):
		return s[1], true
	}
	return p, true
}
