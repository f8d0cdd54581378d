package geometry

import "math"

func (p Point) isNaN() bool { return math.IsNaN(p.X) || math.IsNaN(p.Y) }

// Same reports whether two points are the same. NaN are compared as they are.
func (p Point) Same(q Point) bool {
	if p.isNaN() || q.isNaN() {
		return exactly(p.X, q.X) && exactly(p.Y, q.Y)
	}
	return same(p.X, q.X) && same(p.Y, q.Y)
}

// Add moves p by q.
func (c *Calc) Add(p, q Point) Point { return Point{c.add(p.X, q.X), c.add(p.Y, q.Y)} }

// Sub moves p back by q.
func (c *Calc) Sub(p, q Point) Point { return Point{c.sub(p.X, q.X), c.sub(p.Y, q.Y)} }

// Mul multiplies points as complex numbers: it turns and scales.
func (c *Calc) Mul(p, q Point) Point {
	return Point{
		c.sub(c.mul(p.X, q.X), c.mul(p.Y, q.Y)),
		c.add(c.mul(p.X, q.Y), c.mul(p.Y, q.X)),
	}
}

// Div divides points as complex numbers.
func (c *Calc) Div(p, q Point) Point {
	norm := c.add(c.mul(q.X, q.X), c.mul(q.Y, q.Y))
	return Point{
		c.div(c.add(c.mul(p.X, q.X), c.mul(p.Y, q.Y)), norm),
		c.div(c.sub(c.mul(p.Y, q.X), c.mul(p.X, q.Y)), norm),
	}
}

// Distance returns the distance of two points.
func (c *Calc) Distance(p, q Point) float64 { return c.hypot(c.sub(p.X, q.X), c.sub(p.Y, q.Y)) }

// Norm returns the distance of p from the origin.
func (c *Calc) Norm(p Point) float64 { return c.hypot(p.X, p.Y) }

// Slope returns the slope of the line through two points, infinite if it is vertical.
func (c *Calc) Slope(p, q Point) float64 {
	switch {
	case same(p.X, q.X):
		return math.Inf(1)
	case same(p.Y, q.Y):
		return 0
	}
	return c.div(c.sub(p.Y, q.Y), c.sub(p.X, q.X))
}

// normal returns the slope of the lines perpendicular to that through two points.
func (c *Calc) normal(p, q Point) float64 {
	switch {
	case same(p.X, q.X):
		return 0
	case same(p.Y, q.Y):
		return math.Inf(1)
	}
	return c.div(c.sub(p.X, q.X), c.sub(q.Y, p.Y))
}

// middle returns the point in the middle between two others.
func (c *Calc) middle(p, q Point) Point { return Point{c.half(p.X, q.X), c.half(p.Y, q.Y)} }
