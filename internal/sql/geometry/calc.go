package geometry

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Calc calculates. It keeps the first error, with which all results lose their meaning: a number
// out of range, a division by zero, or that of Step.
type Calc struct {
	// Step counts the steps of loops and fails once the statement is cancelled; nil: it can't be.
	Step func(n int) error
	err  error
}

// Err returns the first error.
func (c *Calc) Err() error { return c.err }

func (c *Calc) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// stopped counts n steps and reports whether the calculation has failed.
func (c *Calc) stopped(n int) bool {
	if c.Step != nil && c.err == nil {
		c.err = c.Step(n)
	}
	return c.err != nil
}

func (c *Calc) overflow() {
	c.fail(pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow"))
}

func (c *Calc) underflow() {
	c.fail(pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow"))
}

// sum checks the sum, or difference, of a and b.
func (c *Calc) sum(v, a, b float64) float64 {
	if math.IsInf(v, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		c.overflow()
	}
	return v
}

func (c *Calc) add(a, b float64) float64 { return c.sum(a+b, a, b) }

func (c *Calc) sub(a, b float64) float64 { return c.sum(a-b, a, b) }

func (c *Calc) mul(a, b float64) float64 {
	v := float64(a * b)
	if v == 0 && a != 0 && b != 0 {
		c.underflow()
	}
	return c.sum(v, a, b)
}

func (c *Calc) div(a, b float64) float64 {
	if b == 0 && !math.IsNaN(a) {
		c.fail(pgerr.New(pgerr.DivisionByZero, "division by zero"))
		return math.NaN()
	}
	v := a / b
	switch {
	case math.IsInf(v, 0) && !math.IsInf(a, 0):
		c.overflow()
	case v == 0 && a != 0 && !math.IsInf(b, 0):
		c.underflow()
	}
	return v
}

// half returns the middle between a and b.
func (c *Calc) half(a, b float64) float64 { return c.div(c.add(a, b), 2) }

// hypot returns the length of the hypotenuse over x and y.
func (c *Calc) hypot(x, y float64) float64 {
	switch {
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return math.Inf(1)
	case math.IsNaN(x) || math.IsNaN(y):
		return math.NaN()
	}
	x, y = math.Abs(x), math.Abs(y)
	if x < y {
		x, y = y, x
	}
	if y == 0 {
		return x
	}
	ratio := y / x
	v := float64(x * math.Sqrt(1+float64(ratio*ratio)))
	switch {
	case math.IsInf(v, 0):
		c.overflow()
	case v == 0:
		c.underflow()
	}
	return v
}

// positive replaces negative distances by none.
func positive(v float64) float64 {
	if v < 0 {
		return 0
	}
	return v
}

// plain turns -0 into 0.
func plain(v float64) float64 {
	if v == 0 {
		return 0
	}
	return v
}
