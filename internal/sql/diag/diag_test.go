package diag_test

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/diag"
)

// TestStore: the last bundles are kept, within bounds (1).
func TestStore(t *testing.T) {
	var s diag.Store
	last := ""
	for range 2 * diag.MaxBundles {
		id, err := s.Add(3, diag.Bundle{At: time.Unix(1000, 0), Zip: make([]byte, 10)})
		if err != nil || id == last {
			t.Fatal(id, err)
		}
		last = id
	}
	if l := s.List(); len(l) != diag.MaxBundles || l[0].ID != last {
		t.Errorf("%d bundles", len(l))
	}
	if _, err := s.Add(3, diag.Bundle{Zip: make([]byte, diag.MaxBytes)}); err != nil || len(s.List()) != 1 {
		t.Errorf("%d bundles beside a large one: %v", len(s.List())-1, err)
	}
	if _, err := s.Add(3, diag.Bundle{Zip: make([]byte, diag.MaxBytes+1)}); err == nil {
		t.Error("a bundle that is too large is kept")
	}
}
