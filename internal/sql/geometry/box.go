package geometry

// NewBox returns the box with two opposite corners.
func NewBox(p, q Point) Box {
	b := Box{High: q, Low: p}
	if below(q.X, p.X) {
		b.High.X, b.Low.X = p.X, q.X
	}
	if below(q.Y, p.Y) {
		b.High.Y, b.Low.Y = p.Y, q.Y
	}
	return b
}

// Side returns the coordinate of a side of b.
func (b Box) Side(s Side) float64 { return [...]float64{b.Low.X, b.High.X, b.Low.Y, b.High.Y}[s] }

// Same reports whether two boxes have the same corners.
func (b Box) Same(o Box) bool { return b.High.Same(o.High) && b.Low.Same(o.Low) }

// Overlaps reports whether two boxes have a point in common.
func (b Box) Overlaps(o Box) bool {
	return lessSame(b.Low.X, o.High.X) && lessSame(o.Low.X, b.High.X) &&
		lessSame(b.Low.Y, o.High.Y) && lessSame(o.Low.Y, b.High.Y)
}

// Contains reports whether a box contains another.
func (b Box) Contains(o Box) bool {
	return moreSame(b.High.X, o.High.X) && lessSame(b.Low.X, o.Low.X) &&
		moreSame(b.High.Y, o.High.Y) && lessSame(b.Low.Y, o.Low.Y)
}

// Holds reports whether a point is in a box, without tolerance.
func (b Box) Holds(p Point) bool {
	return b.High.X >= p.X && b.Low.X <= p.X && b.High.Y >= p.Y && b.Low.Y <= p.Y
}

// HoldsSegment reports whether both ends of a segment are in a box.
func (b Box) HoldsSegment(s Segment) bool { return b.Holds(s[0]) && b.Holds(s[1]) }

// Intersection returns what two boxes have in common; false if that is nothing.
func (b Box) Intersection(o Box) (Box, bool) {
	return Box{
		High: Point{lower(b.High.X, o.High.X), lower(b.High.Y, o.High.Y)},
		Low:  Point{higher(b.Low.X, o.Low.X), higher(b.Low.Y, o.Low.Y)},
	}, b.Overlaps(o)
}

// Bound returns the smallest box around two others.
func (b Box) Bound(o Box) Box {
	return Box{
		High: Point{higher(b.High.X, o.High.X), higher(b.High.Y, o.High.Y)},
		Low:  Point{lower(b.Low.X, o.Low.X), lower(b.Low.Y, o.Low.Y)},
	}
}

// bound returns the smallest box around points.
func (c *Calc) bound(points []Point) Box {
	b := Box{points[0], points[0]}
	for _, p := range points[1:] {
		if c.stopped(1) {
			return b
		}
		b = b.Bound(Box{p, p})
	}
	return b
}

// Width returns the width of a box.
func (c *Calc) Width(b Box) float64 { return c.sub(b.High.X, b.Low.X) }

// Height returns the height of a box.
func (c *Calc) Height(b Box) float64 { return c.sub(b.High.Y, b.Low.Y) }

// BoxArea returns the area of a box.
func (c *Calc) BoxArea(b Box) float64 { return c.mul(c.Width(b), c.Height(b)) }

// BoxCenter returns the center of a box.
func (c *Calc) BoxCenter(b Box) Point { return c.middle(b.High, b.Low) }

// BoxDistance returns the distance of the centers of two boxes.
func (c *Calc) BoxDistance(b, o Box) float64 { return c.Distance(c.BoxCenter(b), c.BoxCenter(o)) }

// corners returns the corners of a box clockwise from the lower left one.
func (b Box) corners() [4]Point {
	return [4]Point{b.Low, {b.Low.X, b.High.Y}, b.High, {b.High.X, b.Low.Y}}
}

// sides returns the sides of a box: left, top, bottom, right.
func (b Box) sides() [4]Segment {
	p := b.corners()
	return [4]Segment{{p[0], p[1]}, {p[2], p[1]}, {p[0], p[3]}, {p[2], p[3]}}
}

// Polygon returns a box as a polygon.
func (b Box) Polygon() Polygon {
	p := b.corners()
	return p[:]
}

// BoxCircle returns the circle through the corners of a box.
func (c *Calc) BoxCircle(b Box) Circle {
	center := c.BoxCenter(b)
	return Circle{center, c.Distance(center, b.High)}
}

// BoxMeetsSegment reports whether a box and a segment have a point in common.
func (c *Calc) BoxMeetsSegment(b Box, s Segment) bool {
	around := Box{
		High: Point{higher(s[0].X, s[1].X), higher(s[0].Y, s[1].Y)},
		Low:  Point{lower(s[0].X, s[1].X), lower(s[0].Y, s[1].Y)},
	}
	if !around.Overlaps(b) {
		return false
	}
	if b.Holds(s[0]) || b.Holds(s[1]) {
		return true
	}
	for _, side := range b.sides() {
		if _, ok := c.SegmentCrossing(side, s); ok {
			return true
		}
	}
	return false
}

// BoxMeetsLine reports whether a line meets the edge of a box.
func (c *Calc) BoxMeetsLine(b Box, l Line) bool {
	p := b.corners()
	for i := range p {
		if _, ok := c.LineCrossing(Segment{p[i], p[(i+1)%len(p)]}, l); ok {
			return true
		}
	}
	return false
}
