package geometry

import "math"

// Tolerance is how much coordinates may differ that count as equal.
const Tolerance = 1.0e-06

// Comparisons with tolerance. Those with NaN are false.

func isZero(a float64) bool      { return math.Abs(a) <= Tolerance }
func same(a, b float64) bool     { return a == b || math.Abs(a-b) <= Tolerance }
func less(a, b float64) bool     { return a+Tolerance < b }
func lessSame(a, b float64) bool { return a <= b+Tolerance }
func more(a, b float64) bool     { return a > b+Tolerance }
func moreSame(a, b float64) bool { return a+Tolerance >= b }

// Comparison is an operator on numbers that tolerates small differences.
type Comparison func(a, b float64) bool

// The comparisons with tolerance. Different is false for a NaN, as the others are.
var (
	Same      Comparison = same
	Different Comparison = func(a, b float64) bool { return a != b && math.Abs(a-b) > Tolerance }
	Less      Comparison = less
	LessSame  Comparison = lessSame
	More      Comparison = more
	MoreSame  Comparison = moreSame
)

// Comparisons in the order of float8: a NaN equals itself and is above all numbers.

func exactly(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func below(a, b float64) bool { return a < b || math.IsNaN(b) && !math.IsNaN(a) }

func lower(a, b float64) float64 {
	if below(a, b) {
		return a
	}
	return b
}

func higher(a, b float64) float64 {
	if below(b, a) {
		return a
	}
	return b
}
