package exec

import (
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/sql/plan"
)

// Many ranges and keys are read with one request, and the rows of many index
// entries with another, whatever their order and however small the pages.
func TestBatchedReads(t *testing.T) {
	w := newWorld(t)
	w.table("s", "a int4; b int4; c text; primary (a); index (b)")
	for a := 1; a <= 40; a++ {
		w.must(fmt.Sprintf("insert into s values (%d, %d, 'c%d')", 41-a, a%5, a))
	}
	lists := []plan.Span{{Eq: []plan.KeyMatch{eq(num(3), num(1), num(7), num(1))}}}
	want := "5|c36 10|c31 15|c26 20|c21 25|c16 30|c11 35|c6 40|c1 " +
		"3|c38 8|c33 13|c28 18|c23 23|c18 28|c13 33|c8 38|c3"
	for _, page := range []int{0, 1, 3, 100} {
		w.store.pageRows, w.store.gets, w.store.scans = page, 0, 0
		if got := w.through(1, nil, "select a, c from s", lists...); got != want {
			t.Errorf("pages of %d: got %q, want %q", page, got, want)
		}
		if page == 0 && (w.store.gets != 0 || w.store.scans != 2) {
			t.Errorf("%d gets and %d scans for two ranges of an index and their rows", w.store.gets, w.store.scans)
		}
	}
	w.store.pageRows, w.store.gets, w.store.scans = 0, 0, 0
	points := plan.Span{Eq: []plan.KeyMatch{eq(num(30), num(2), num(99), num(17))}}
	if got := w.through(0, nil, "select c from s", points); got != "c39 c24 c11" {
		t.Errorf("several keys: got %q", got)
	}
	if w.store.gets != 0 || w.store.scans != 1 {
		t.Errorf("%d gets and %d scans for several keys", w.store.gets, w.store.scans)
	}
	// A statement that needs one row reads few.
	w.store.pageRows, w.store.gets, w.store.scans = 0, 0, 0
	if got := w.through(1, nil, "select a from s limit 1", lists...); got != "5" {
		t.Errorf("limit: got %q", got)
	}
	if w.store.gets != 1 || w.store.scans != 1 {
		t.Errorf("limit: %d gets and %d scans", w.store.gets, w.store.scans)
	}
}
