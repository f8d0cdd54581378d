package generate

import (
	"reflect"
	"testing"
)

func TestSeed(t *testing.T) {
	draw := func() (list []Case) {
		g := New(7)
		for range 200 {
			list = append(list, g.Case())
		}
		return list
	}
	if a, b := draw(), draw(); !reflect.DeepEqual(a, b) {
		t.Error("a seed gives different statements")
	}
}

// TestCoverage draws statements and requires that nearly every nesting has come up.
func TestCoverage(t *testing.T) {
	all := NewCoverage()
	for seed := range uint64(80) {
		g := New(seed)
		for range 500 {
			g.Case()
		}
		all.Merge(g.Coverage)
	}
	never, possible := all.Never()
	if len(never)*40 > possible {
		t.Errorf("%d of %d nestings never came up: %q", len(never), possible, never)
	}
}
