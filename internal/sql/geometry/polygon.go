package geometry

// Bound returns the smallest box around a polygon.
func (c *Calc) Bound(p Polygon) Box { return c.bound(p) }

// closed returns the edge of a polygon.
func (p Polygon) closed() Path { return Path{p, true} }

// PolygonCircle returns the circle around the mean of a polygon's points whose radius is their mean
// distance.
func (c *Calc) PolygonCircle(p Polygon) Circle {
	var k Circle
	for _, a := range p {
		if c.stopped(1) {
			return k
		}
		k.Center = c.Add(k.Center, a)
	}
	n := float64(len(p))
	k.Center = Point{c.div(k.Center.X, n), c.div(k.Center.Y, n)}
	for _, a := range p {
		if c.stopped(1) {
			return k
		}
		k.Radius = c.add(k.Radius, c.Distance(a, k.Center))
	}
	k.Radius = c.div(k.Radius, n)
	return k
}

// SamePolygon reports whether two polygons have the same points, from any one on in either
// direction.
func (c *Calc) SamePolygon(p, q Polygon) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range q {
		if c.stopped(1) {
			return false
		}
		if q[i].Same(p[0]) && (c.sameFrom(p, q, i, 1) || c.sameFrom(p, q, i, len(q)-1)) {
			return true
		}
	}
	return false
}

// sameFrom reports whether the points of p are those of q from i on, in steps around q.
func (c *Calc) sameFrom(p, q Polygon, i, step int) bool {
	for k := range p {
		if c.stopped(1) || !q[i].Same(p[k]) {
			return false
		}
		i = (i + step) % len(q)
	}
	return true
}

// PolygonsOverlap reports whether two polygons have a point in common.
func (c *Calc) PolygonsOverlap(p, q Polygon) bool {
	if !c.bound(p).Overlaps(c.bound(q)) {
		return false
	}
	for s := range p.closed().segments() {
		for t := range q.closed().segments() {
			if c.stopped(1) {
				return false
			}
			if _, ok := c.SegmentCrossing(s, t); ok {
				return true
			}
		}
	}
	return c.inside(p[0], q) != outside || c.inside(q[0], p) != outside
}

// PolygonDistance returns the distance of two polygons, 0 if they overlap.
func (c *Calc) PolygonDistance(p, q Polygon) float64 {
	if c.PolygonsOverlap(p, q) {
		return 0
	}
	d, _ := c.PathDistance(p.closed(), q.closed())
	return d
}

// PointToPolygon returns the distance of a point from a polygon, 0 if it is within.
func (c *Calc) PointToPolygon(a Point, p Polygon) float64 {
	if c.PolygonHolds(p, a) {
		return 0
	}
	var least nearest
	least.add(c.PointToSegment(a, Segment{p[0], p[len(p)-1]}))
	for i := 1; i < len(p) && !c.stopped(1); i++ {
		least.add(c.PointToSegment(a, Segment{p[i-1], p[i]}))
	}
	return least.distance
}

// PolygonHolds reports whether a point is in a polygon or on its edge.
func (c *Calc) PolygonHolds(p Polygon, a Point) bool { return c.inside(a, p) != outside }

// PolygonContains reports whether p contains q.
func (c *Calc) PolygonContains(p, q Polygon) bool {
	if !c.bound(p).Contains(c.bound(q)) {
		return false
	}
	for s := range q.closed().segments() {
		if !c.segmentInside(s, p, 0, 0) {
			return false
		}
	}
	return true
}
