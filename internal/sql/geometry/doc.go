// Package geometry calculates with the shapes of a plane, as PostgreSQL's geometric types do: points,
// line segments, lines, boxes, paths, polygons and circles.
//
// Most comparisons tolerate differences up to Tolerance; which ones do is PostgreSQL's choice, and so
// is the order of each calculation, on which the last digits of a result depend. Reading order: the
// shapes (shape.go), Calc (calc.go), the comparisons (tolerance.go), then a file per shape; closest.go
// has the closest points and with them the distances, inside.go what lies within a polygon.
//
// Invariants:
//
//  1. A coordinate that a calculation makes is in the range of float8, or the calculation has an error:
//     what overflows or underflows never goes on as an infinity or a zero (Calc.add and its like;
//     TestCalcErrors).
//  2. Loops over the points of a shape count their steps (Calc.stopped).
//
// A Calc is used by one goroutine, for one call. Shapes are values; their points are never changed.
//
// How shapes are written and stored is not known here: see types and typeio.
package geometry
