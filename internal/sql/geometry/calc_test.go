package geometry

import (
	"errors"
	"math"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Results out of range and divisions by zero are errors; infinities and NaN that were there before
// are not.
func TestCalcErrors(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name string
		f    func(c *Calc) float64
		want pgerr.Code
	}{
		{"sum", func(c *Calc) float64 { return c.add(math.MaxFloat64, math.MaxFloat64) }, pgerr.NumericValueOutOfRange},
		{"difference", func(c *Calc) float64 { return c.sub(-math.MaxFloat64, math.MaxFloat64) }, pgerr.NumericValueOutOfRange},
		{"large product", func(c *Calc) float64 { return c.mul(1e200, 1e200) }, pgerr.NumericValueOutOfRange},
		{"small product", func(c *Calc) float64 { return c.mul(1e-200, 1e-200) }, pgerr.NumericValueOutOfRange},
		{"large quotient", func(c *Calc) float64 { return c.div(1e200, 1e-200) }, pgerr.NumericValueOutOfRange},
		{"small quotient", func(c *Calc) float64 { return c.div(1e-200, 1e200) }, pgerr.NumericValueOutOfRange},
		{"division by zero", func(c *Calc) float64 { return c.div(1, 0) }, pgerr.DivisionByZero},
		{"hypotenuse", func(c *Calc) float64 { return c.hypot(math.MaxFloat64, math.MaxFloat64) }, pgerr.NumericValueOutOfRange},
		{"infinite sum", func(c *Calc) float64 { return c.add(inf, 1) }, ""},
		{"infinite product", func(c *Calc) float64 { return c.mul(inf, 2) }, ""},
		{"infinite quotient", func(c *Calc) float64 { return c.div(inf, 2) }, ""},
		{"divided by infinity", func(c *Calc) float64 { return c.div(1, inf) }, ""},
		{"NaN", func(c *Calc) float64 { return c.div(math.NaN(), 0) }, ""},
		{"infinite hypotenuse", func(c *Calc) float64 { return c.hypot(inf, math.NaN()) }, ""},
	} {
		var calc Calc
		c.f(&calc)
		if calc.Err() == nil && c.want != "" || calc.Err() != nil && pgerr.CodeOf(calc.Err()) != c.want {
			t.Errorf("%s: %v, want %q", c.name, calc.Err(), c.want)
		}
	}
}

// The first error stays, and Step ends loops.
func TestCalcStops(t *testing.T) {
	cancelled, steps := errors.New("cancelled"), 0
	c := Calc{Step: func(n int) error {
		if steps += n; steps > 3 {
			return cancelled
		}
		return nil
	}}
	c.PathLength(Path{Points: make([]Point, 100)})
	c.div(1, 0)
	if !errors.Is(c.Err(), cancelled) || steps != 4 {
		t.Errorf("%v after %d steps", c.Err(), steps)
	}
}

// A segment that meets the edge of a polygon more often than maxCuts ends with an error.
func TestCutsAreBounded(t *testing.T) {
	var c Calc
	if c.segmentInside(Segment{{0, 0}, {1, 1}}, Polygon{{0, 0}, {2, 0}, {2, 2}}, 0, maxCuts+1) || pgerr.CodeOf(c.Err()) != pgerr.StatementTooComplex {
		t.Errorf("no error beyond the limit: %v", c.Err())
	}
}
