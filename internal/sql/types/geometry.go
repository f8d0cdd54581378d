package types

import (
	"encoding/binary"
	"math"

	"github.com/lichendb/lichen/internal/sql/geometry"
)

// A geometric value is held as the shape that it has, then its coordinates as eight bytes each.
const (
	shapePoint = iota + 1
	shapeSegment
	shapeLine
	shapeBox
	shapeOpenPath
	shapeClosedPath
	shapePolygon
	shapeCircle
)

const (
	coordBytes = 8
	pointBytes = 2 * coordBytes
)

// shapeBytes are the bytes of the coordinates of the shapes that have a fixed number of them.
var shapeBytes = [...]int{shapePoint: 2 * coordBytes, shapeSegment: 4 * coordBytes, shapeLine: 3 * coordBytes, shapeBox: 4 * coordBytes, shapeCircle: 3 * coordBytes}

// validGeometry reports whether s holds a shape.
func validGeometry(s string) bool {
	if s == "" {
		return false
	}
	switch n := len(s) - 1; s[0] {
	case shapePoint, shapeSegment, shapeLine, shapeBox, shapeCircle:
		return n == shapeBytes[s[0]]
	case shapeOpenPath, shapeClosedPath, shapePolygon:
		return n > 0 && n%pointBytes == 0
	}
	return false
}

// hasShape reports whether s, a valid geometric value, is one of type t.
func (t *T) hasShape(s string) bool {
	switch s[0] {
	case shapePoint:
		return t.Is(Point)
	case shapeSegment:
		return t.Is(LSeg)
	case shapeLine:
		return t.Is(Line)
	case shapeBox:
		return t.Is(Box)
	case shapePolygon:
		return t.Is(Polygon)
	case shapeCircle:
		return t.Is(Circle)
	}
	return t.Is(Path)
}

func newGeometry(b []byte) Datum { return Datum{fam: GeometryFamily, s: string(b)} }

// geometryBuffer holds the shapes of a fixed number of coordinates while they are made.
type geometryBuffer [1 + 4*coordBytes]byte

func appendCoord(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

func appendPoint(b []byte, p geometry.Point) []byte { return appendCoord(appendCoord(b, p.X), p.Y) }

// coord returns the i-th coordinate of a geometric value.
func (d Datum) coord(i int) float64 {
	return math.Float64frombits(beUint64(d.s[1+i*coordBytes:]))
}

// pointAt returns the point whose coordinates stand in the i-th place and behind it.
func (d Datum) pointAt(i int) geometry.Point { return geometry.Point{X: d.coord(i), Y: d.coord(i + 1)} }

// NewPoint returns a point.
func NewPoint(p geometry.Point) Datum {
	var b geometryBuffer
	return newGeometry(appendPoint(append(b[:0], shapePoint), p))
}

// Point returns the value of a point.
func (d Datum) Point() geometry.Point { return d.pointAt(0) }

// NewLSeg returns an lseg.
func NewLSeg(s geometry.Segment) Datum {
	var b geometryBuffer
	return newGeometry(appendPoint(appendPoint(append(b[:0], shapeSegment), s[0]), s[1]))
}

// LSeg returns the value of an lseg.
func (d Datum) LSeg() geometry.Segment { return geometry.Segment{d.pointAt(0), d.pointAt(2)} }

// NewLine returns a line.
func NewLine(l geometry.Line) Datum {
	var b geometryBuffer
	return newGeometry(appendCoord(appendCoord(appendCoord(append(b[:0], shapeLine), l.A), l.B), l.C))
}

// Line returns the value of a line.
func (d Datum) Line() geometry.Line {
	return geometry.Line{A: d.coord(0), B: d.coord(1), C: d.coord(2)}
}

// NewBox returns a box.
func NewBox(x geometry.Box) Datum {
	var b geometryBuffer
	return newGeometry(appendPoint(appendPoint(append(b[:0], shapeBox), x.High), x.Low))
}

// Box returns the value of a box.
func (d Datum) Box() geometry.Box { return geometry.Box{High: d.pointAt(0), Low: d.pointAt(2)} }

// NewCircle returns a circle.
func NewCircle(c geometry.Circle) Datum {
	var b geometryBuffer
	return newGeometry(appendCoord(appendPoint(append(b[:0], shapeCircle), c.Center), c.Radius))
}

// Circle returns the value of a circle.
func (d Datum) Circle() geometry.Circle {
	return geometry.Circle{Center: d.pointAt(0), Radius: d.coord(2)}
}

// NewPath returns a path, which has a point.
func NewPath(p geometry.Path) Datum {
	if p.Closed {
		return newPoints(shapeClosedPath, p.Points)
	}
	return newPoints(shapeOpenPath, p.Points)
}

// Path returns the value of a path.
func (d Datum) Path() geometry.Path {
	return geometry.Path{Points: d.points(), Closed: d.s[0] == shapeClosedPath}
}

// NewPolygon returns a polygon, which has a point.
func NewPolygon(p geometry.Polygon) Datum { return newPoints(shapePolygon, p) }

// Polygon returns the value of a polygon.
func (d Datum) Polygon() geometry.Polygon { return d.points() }

func newPoints(shape byte, points []geometry.Point) Datum {
	b := make([]byte, 1, 1+len(points)*pointBytes)
	b[0] = shape
	for _, p := range points {
		b = appendPoint(b, p)
	}
	return newGeometry(b)
}

func (d Datum) points() []geometry.Point {
	points := make([]geometry.Point, d.PointCount())
	for i := range points {
		points[i] = d.pointAt(2 * i)
	}
	return points
}

// PointCount returns the number of points of a path or polygon.
func (d Datum) PointCount() int { return len(d.s) / pointBytes }

// Coordinates returns the type of what subscripts of a value of t yield, and how many of them there
// are; nil if t is no geometric type with subscripts. They count from 0.
func (t *T) Coordinates() (elem *T, n int) {
	switch t.BaseType().Oid {
	case Point.Oid:
		return Float8, 2
	case Line.Oid:
		return Float8, 3
	case LSeg.Oid, Box.Oid:
		return Point, 2
	}
	return nil, 0
}

// Subscripted returns the type of the elements of an array, or of what subscripts of a geometric
// value yield; nil for types without subscripts.
func (t *T) Subscripted() *T {
	if t.Elem != nil {
		return t.Elem.WithTypmod(t.Typmod)
	}
	elem, _ := t.Coordinates()
	return elem
}

// CoordinateArray returns the values that the subscripts of a geometric value yield.
func (d Datum) CoordinateArray() Array {
	var elems []Datum
	switch d.s[0] {
	case shapePoint:
		elems = []Datum{NewFloat(d.coord(0)), NewFloat(d.coord(1))}
	case shapeLine:
		elems = []Datum{NewFloat(d.coord(0)), NewFloat(d.coord(1)), NewFloat(d.coord(2))}
	default:
		elems = []Datum{NewPoint(d.pointAt(0)), NewPoint(d.pointAt(2))}
	}
	return Array{Dims: []ArrayDim{{Len: int32(len(elems))}}, Elems: elems}
}

// WithCoordinate returns d with v in the place of what subscript i yields.
func (d Datum) WithCoordinate(i int, v Datum) Datum {
	b := []byte(d.s)
	if v.fam == FloatFamily {
		appendCoord(b[:1+i*coordBytes], v.Float())
	} else {
		appendPoint(b[:1+i*pointBytes], v.Point())
	}
	return newGeometry(b)
}
