package rowcodec

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pairs encodes the pairs of a row that there are, by family.
func pairs(t testing.TB, x *Index, row []types.Datum) map[int][]byte {
	out := map[int][]byte{}
	for i := range x.Families() {
		value, there, err := x.AppendPair(nil, i, row)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			out[i] = value
		}
	}
	return out
}

// TestFamilies covers invariants 6 and 7: any order of its pairs gives the row back, and
// those of the families to read give the columns they were asked for.
func TestFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		row := drawRow(t, tab)
		for i := range tab.Columns {
			tab.Columns[i].NotNull = !row[i].IsNull() && rapid.Bool().Draw(t, "not null")
		}
		x, err := Compile(tab, tab.Primary())
		if err != nil {
			t.Fatal(err)
		}
		if !x.HasFamilies() {
			return
		}
		key, err := x.AppendKey(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		all := pairs(nil, x, row)
		var ords []int
		for _, ord := range rapid.Permutation(indices(len(row))).Draw(t, "ords") {
			if rapid.Bool().Draw(t, "want") {
				ords = append(ords, ord)
			}
		}
		var value []byte
		for _, i := range rapid.Permutation(x.ReadFamilies(ords)).Draw(t, "order") {
			part, there := all[i]
			if there != x.Holds(i, row) {
				t.Fatalf("pair %d is there: %v", i, there)
			}
			switch {
			case !there:
			case value == nil:
				value = slices.Clone(part)
			default:
				if value, err = x.AppendPart(value, part); err != nil {
					t.Fatal(err)
				}
			}
		}
		if value == nil {
			t.Fatal("no pair of the row was read")
		}
		got := make([]types.Datum, len(ords))
		if err := x.NewDecoder(ords).Decode(key, value, got); err != nil {
			t.Fatal(err)
		}
		for slot, ord := range ords {
			if !identical(got[slot], row[ord]) {
				t.Fatalf("column %d: %v became %v", ord, row[ord], got[slot])
			}
		}
	})
}

// TestFamilyKeys covers invariant 8: the keys of a row's pairs lie together, the first
// family's first.
func TestFamilyKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		x, err := Compile(tab, tab.Primary())
		if err != nil {
			t.Fatal(err)
		}
		if !x.HasFamilies() {
			return
		}
		a, errA := x.AppendKey(nil, drawRow(t, tab))
		b, errB := x.AppendKey(nil, drawRow(t, tab))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for i := range x.Families() {
			k := slices.Clone(a)
			if x.SetFamily(k, i); !SameRow(a, k) || i > 0 && bytes.Compare(a, k) >= 0 {
				t.Fatalf("%x, %x", a, k)
			}
			if c := bytes.Compare(a, b); c != 0 && (SameRow(k, b) || bytes.Compare(k, b) != c) {
				t.Fatalf("%x is not on the side of %x where %x is", k, b, a)
			}
		}
	})
}

// TestLostColumns: a family that lost columns may have a pair whatever the others are.
func TestLostColumns(t *testing.T) {
	tab := sysbenchTable()
	tab.Families = []catalog.Family{
		{ID: 0, Columns: []catalog.ColumnID{1, 2}}, {ID: 2, Columns: []catalog.ColumnID{3}, Lost: true}, {ID: 5, Lost: true}, {ID: 6, Columns: []catalog.ColumnID{4}},
	}
	x, err := Compile(tab, tab.Primary())
	if err != nil {
		t.Fatal(err)
	}
	row := []types.Datum{types.NewInt(1), types.Null, types.Null, types.Null}
	for i, want := range []bool{true, true, true, false} {
		if x.Holds(i, row) != want {
			t.Errorf("family %d may have a pair: %v", i, !want)
		}
	}
	if all := pairs(t, x, row); len(all) != 1 || !bytes.Equal(all[0], []byte{valueVersion, 0}) {
		t.Errorf("%x", all)
	}
	if _, err := x.AppendPart([]byte{valueVersion, 0}, []byte{valueVersion + 1, 0}); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Errorf("a pair of an unknown version: %v", err)
	}
}
