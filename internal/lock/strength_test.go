package lock

import (
	"strings"
	"testing"
)

// TestConflictMatrix compares with the table in PostgreSQL's manual
// ("Conflicting Row-Level Locks") and checks invariant 1.
func TestConflictMatrix(t *testing.T) {
	order := []Strength{KeyShare, Share, NoKeyUpdate, Update}
	if len(order) != int(NumStrengths)-1 {
		t.Fatalf("there are %d strengths besides none; want %d", NumStrengths-1, len(order))
	}
	manual := strings.Fields(`
		. . . X
		. . X X
		. X X X
		X X X X`)
	for i, a := range order {
		for j, b := range order {
			want := manual[i*len(order)+j] == "X"
			if got := a.Conflicts(b); got != want {
				t.Errorf("%v conflicts with %v: got %v, want %v", a, b, got, want)
			}
		}
		if None.Conflicts(a) || a.Conflicts(None) {
			t.Errorf("none conflicts with %v", a)
		}
		if i > 0 {
			if weaker := order[i-1].Conflicting(); a.Conflicting()&weaker != weaker {
				t.Errorf("%v does not conflict with all that %v conflicts with", a, order[i-1])
			}
		}
	}
}
