package geometry

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Same reports whether two circles have the same center and radius.
func (c Circle) Same(o Circle) bool {
	radius := math.IsNaN(c.Radius) && math.IsNaN(o.Radius) || same(c.Radius, o.Radius)
	return radius && c.Center.Same(o.Center)
}

// CircleArea returns the area of a circle.
func (c *Calc) CircleArea(k Circle) float64 { return c.mul(c.mul(k.Radius, k.Radius), math.Pi) }

// Diameter returns the diameter of a circle.
func (c *Calc) Diameter(k Circle) float64 { return c.mul(k.Radius, 2) }

// CirclesOverlap reports whether two circles have a point in common.
func (c *Calc) CirclesOverlap(k, o Circle) bool {
	return lessSame(c.Distance(k.Center, o.Center), c.add(k.Radius, o.Radius))
}

// CircleContains reports whether k contains o.
func (c *Calc) CircleContains(k, o Circle) bool {
	return lessSame(c.Distance(k.Center, o.Center), c.sub(k.Radius, o.Radius))
}

// CircleHolds reports whether a point is in a circle, without tolerance.
func (c *Calc) CircleHolds(k Circle, p Point) bool { return c.Distance(k.Center, p) <= k.Radius }

// CircleDistance returns the distance of the edges of two circles, 0 if they overlap.
func (c *Calc) CircleDistance(k, o Circle) float64 {
	return positive(c.sub(c.Distance(k.Center, o.Center), c.add(k.Radius, o.Radius)))
}

// PointToCircle returns the distance of a point from a circle, 0 if it is within.
func (c *Calc) PointToCircle(p Point, k Circle) float64 {
	return positive(c.sub(c.Distance(p, k.Center), k.Radius))
}

// CircleToPolygon returns the distance of a circle from a polygon, 0 if they overlap.
func (c *Calc) CircleToPolygon(k Circle, p Polygon) float64 {
	return positive(c.sub(c.PointToPolygon(k.Center, p), k.Radius))
}

// CircleAdd moves a circle by p.
func (c *Calc) CircleAdd(k Circle, p Point) Circle { return Circle{c.Add(k.Center, p), k.Radius} }

// CircleSub moves a circle back by p.
func (c *Calc) CircleSub(k Circle, p Point) Circle { return Circle{c.Sub(k.Center, p), k.Radius} }

// CircleMul turns and scales a circle around the origin.
func (c *Calc) CircleMul(k Circle, p Point) Circle {
	return Circle{c.Mul(k.Center, p), c.mul(k.Radius, c.Norm(p))}
}

// CircleDiv is the inverse of CircleMul.
func (c *Calc) CircleDiv(k Circle, p Point) Circle {
	return Circle{c.Div(k.Center, p), c.div(k.Radius, c.Norm(p))}
}

// CircleSide returns a coordinate of a side of the smallest box around a circle.
func (c *Calc) CircleSide(k Circle, s Side) float64 {
	switch s {
	case Left:
		return c.sub(k.Center.X, k.Radius)
	case Right:
		return c.add(k.Center.X, k.Radius)
	case Bottom:
		return c.sub(k.Center.Y, k.Radius)
	}
	return c.add(k.Center.Y, k.Radius)
}

// CircleBox returns the box whose corners are on a circle.
func (c *Calc) CircleBox(k Circle) Box {
	side := c.div(k.Radius, math.Sqrt2)
	d := Point{side, side}
	return Box{c.Add(k.Center, d), c.Sub(k.Center, d)}
}

// MaxPoints bounds the points of a path or polygon, so that it takes less than 1 GB.
const MaxPoints = 1<<26 - 8

// CirclePolygon returns a polygon of n points on a circle.
func (c *Calc) CirclePolygon(n int, k Circle) Polygon {
	switch {
	case isZero(k.Radius):
		c.fail(pgerr.New(pgerr.FeatureNotSupported, "cannot convert circle with radius zero to polygon"))
	case n < 2:
		c.fail(pgerr.New(pgerr.InvalidParameterValue, "must request at least 2 points"))
	case n > MaxPoints:
		c.fail(TooManyPoints())
	}
	if c.err != nil {
		return nil
	}
	points := make(Polygon, n)
	step := c.div(2*math.Pi, float64(n))
	for i := range points {
		if c.stopped(1) {
			return nil
		}
		angle := c.mul(step, float64(i))
		points[i] = Point{
			c.sub(k.Center.X, c.mul(k.Radius, math.Cos(angle))),
			c.add(k.Center.Y, c.mul(k.Radius, math.Sin(angle))),
		}
	}
	return points
}

// TooManyPoints says that a path or polygon has more than MaxPoints.
func TooManyPoints() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "too many points requested")
}
