package distribution

import (
	"math"
	"testing"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestShare estimates equalities of three columns, of which a determines b in four of five rows.
func TestShare(t *testing.T) {
	table := &catalog.Table{Columns: []catalog.Column{{ID: 1}, {ID: 2}, {ID: 3}}, Extended: []catalog.Extended{{Oid: 7, Columns: []catalog.ColumnID{1, 2}}}}
	data := &catalog.ExtendedData{
		Distinct:     []catalog.Combinations{{Columns: []catalog.ColumnID{1, 2}, Distinct: 120}},
		Dependencies: []catalog.Dependency{{From: []catalog.ColumnID{1}, To: 2, Degree: 0.8}},
	}
	k := Combined{table, map[uint32]*catalog.ExtendedData{7: data}}
	eq := func(ord int, sel float64, v int64) Equality { return Equality{ord, types.NewInt(v), true, sel} }
	check := func(want float64, eqs ...Equality) {
		t.Helper()
		if got := k.Share(eqs); math.Abs(got-want) > 1e-9 {
			t.Errorf("a share of %v, not %v", got, want)
		}
	}
	check(0.01*(0.8+0.2*0.1), eq(0, 0.01, 1), eq(1, 0.1, 2))
	check(0.01*(0.8+0.2*0.1)*0.5, eq(2, 0.5, 3), eq(1, 0.1, 2), eq(0, 0.01, 1))
	check(0.05, eq(1, 0.1, 2), eq(2, 0.5, 3))
	check(0.2*(0.8*0.1/0.2+0.2*0.1), eq(0, 0.2, 1), eq(1, 0.1, 2)) // no more than have the value of b
	data.Common = []catalog.CommonCombination{
		{Values: []types.Datum{types.NewInt(1), types.NewInt(2)}, Share: 0.3, Base: 0.1},
		{Values: []types.Datum{types.NewInt(1), types.Null}, Share: 0.2, Base: 0.05},
	}
	check(0.3, eq(0, 0.2, 1), eq(1, 0.1, 2))
	check(0.02, eq(0, 0.2, 1), eq(1, 0.1, 5))
	check(0.5*0.3, eq(0, 0.2, 1), eq(2, 0.5, 3), eq(1, 0.1, 2))
	if c := k.Largest([]int{0, 2, 1}); c == nil || c.Distinct != 120 {
		t.Errorf("combinations %v", c)
	}
	if c := k.Largest([]int{0, 2}); c != nil {
		t.Errorf("combinations %v of columns that were not looked at together", c)
	}
}
