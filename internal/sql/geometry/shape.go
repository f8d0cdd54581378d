package geometry

// Point is a point of the plane.
type Point struct{ X, Y float64 }

// Segment is the part of a line between two points.
type Segment [2]Point

// Line is the set of points with A·x + B·y + C = 0.
type Line struct{ A, B, C float64 }

// Box is a rectangle by its upper right and its lower left corner.
type Box struct{ High, Low Point }

// Side names a side of a box.
type Side uint8

// The sides.
const (
	Left Side = iota
	Right
	Bottom
	Top
)

// Path is a sequence of connected points; a closed one also connects the last to the first.
type Path struct {
	Points []Point
	Closed bool
}

// Polygon is an area by the corners of its edge.
type Polygon []Point

// Circle is a circle.
type Circle struct {
	Center Point
	Radius float64
}
