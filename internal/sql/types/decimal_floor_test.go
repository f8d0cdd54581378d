package types

import (
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"
)

// TestFloorDecimal checks that d is between the multiple of 10^-scale that is returned and the next one.
func TestFloorDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := new(apd.Decimal)
		digits := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,25})?`).Draw(t, "d")
		if _, _, err := x.SetString(digits); err != nil {
			t.Fatal(err)
		}
		d := NewDecimal(x)
		scale := rapid.Int32Range(0, 6).Draw(t, "scale")
		floor, exact, ok := d.FloorDecimal(scale)
		if !ok {
			t.Fatalf("%s has no floor of scale %d", digits, scale)
		}
		lower, upper := NewDecimalInt(floor, scale), NewDecimalInt(floor+1, scale)
		c := Compare(lower, d)
		if c > 0 || exact != (c == 0) || Compare(d, upper) >= 0 {
			t.Fatalf("%s with scale %d: %v, exact %v", digits, scale, lower, exact)
		}
	})
}

// TestFloorDecimalRefuses has what is no multiple of anything, or would take long.
func TestFloorDecimalRefuses(t *testing.T) {
	for _, d := range []Datum{DecimalNaN, NewInt(3), NewDecimalInt(1, 100), NewDecimalInt(1<<62, 0)} {
		if _, _, ok := d.FloorDecimal(2); ok {
			t.Errorf("%v has a floor", d)
		}
	}
}
