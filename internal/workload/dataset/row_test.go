package dataset

import (
	"testing"
	"time"
)

// sample is a table with a value of each kind.
func sample() Table {
	return Table{Name: "t", Rows: 10, Row: func(r *Row) {
		r.Int(r.N)
		r.Text("a\tb\\" + r.Pick([]string{"x", "y"}))
		r.Cents(r.Upto(100000))
		r.Time(r.Within(time.Unix(0, 0).UTC(), time.Hour))
		r.Null()
	}}
}

// TestSameRows checks that a row is the same in whatever piece it is generated.
func TestSameRows(t *testing.T) {
	tab := sample()
	whole := tab.text(7, 1, 10)
	if pieces := tab.text(7, 1, 4) + tab.text(7, 5, 6); pieces != whole {
		t.Errorf("in pieces:\n%s\nas a whole:\n%s", pieces, whole)
	}
	if tab.text(8, 1, 10) == whole {
		t.Error("another seed gives the same rows")
	}
}

func TestRowText(t *testing.T) {
	r := newRow(nil, 1, "t", 3)
	r.Int(r.N)
	r.Text("a\tb\\c\n")
	r.Cents(1205)
	r.Cents(7)
	r.Time(time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC))
	r.Date(time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC))
	r.Null()
	want := "3\ta\\tb\\\\c\\n\t12.05\t0.07\t2024-02-29 01:02:03\t2024-02-29\t\\N"
	if got := string(r.text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
