package rowcodec

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// TestVectorsLikeRows decodes entries of several rows into vectors and compares them with the rows.
func TestVectorsLikeRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		x, err := Compile(tab, &tab.Indexes[rapid.IntRange(0, 2).Draw(t, "index")])
		if err != nil {
			t.Fatal(err)
		}
		var ords []int
		for _, ord := range rapid.Permutation(indices(len(tab.Columns))).Draw(t, "ords") {
			if x.Has(tab.Columns[ord].ID) && rapid.Bool().Draw(t, "want") {
				ords = append(ords, ord)
			}
		}
		rows := make([][]types.Datum, rapid.IntRange(1, 5).Draw(t, "rows"))
		dec := x.NewVectorDecoder(ords)
		cols := make([]*vector.Vector, len(ords))
		for i := range cols {
			cols[i] = &vector.Vector{}
		}
		later := rapid.Bool().Draw(t, "later")
		for range 2 { // the second time with what the first has left
			dec.Reset(cols, len(rows))
			for i := range rows {
				rows[i] = drawRow(t, tab)
				key, err := x.AppendKey(nil, rows[i])
				if err != nil {
					t.Fatal(err)
				}
				value, err := x.AppendValue(nil, rows[i])
				if err != nil {
					t.Fatal(err)
				}
				decode := dec.Decode
				if later {
					decode = dec.DecodeLater
				}
				if err := decode(key, value, cols, uint16(i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := dec.Flush(cols); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				for slot, ord := range ords {
					if got := cols[slot].Datum(uint16(i)); !identical(got, rows[i][ord]) {
						t.Fatalf("row %d, column %d of type %s: %v became %v", i, ord, tab.Columns[ord].Type.Name, rows[i][ord], got)
					}
				}
			}
		}
	})
}

// TestVectorsOfDamage feeds damaged entries: an error, as of Decode, or none; never a panic.
func TestVectorsOfDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := drawTable(t)
		x, err := Compile(tab, &tab.Indexes[0])
		if err != nil {
			t.Fatal(err)
		}
		row := drawRow(t, tab)
		key, err := x.AppendKey(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		value, err := x.AppendValue(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		damage := func(b []byte) []byte {
			if len(b) == 0 || rapid.Bool().Draw(t, "whole") {
				return b
			}
			i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "cut") {
				return b[:i]
			}
			b[i] = rapid.Byte().Draw(t, "byte")
			return b
		}
		key, value = damage(key), damage(value)
		ords := indices(len(tab.Columns))
		cols := make([]*vector.Vector, len(ords))
		for i := range cols {
			cols[i] = &vector.Vector{}
		}
		dec := x.NewVectorDecoder(ords)
		dec.Reset(cols, 1)
		decode := dec.Decode
		if rapid.Bool().Draw(t, "later") {
			decode = func(key, value []byte, cols []*vector.Vector, i uint16) error {
				return errors.Join(dec.DecodeLater(key, value, cols, i), dec.Flush(cols))
			}
		}
		got, want := decode(key, value, cols, 0), x.NewDecoder(ords).Decode(key, value, row)
		if want != nil && got == nil {
			t.Fatalf("accepted what Decode refuses: %v", want)
		}
	})
}

// BenchmarkDecodeVector reads a few late columns of wide rows, as analytic scans do.
func BenchmarkDecodeVector(b *testing.B) {
	int4, num, date, text := types.Int4, types.Numeric, types.Date, types.Text
	var cols []catalog.Column
	for i, t := range []*types.T{int4, int4, int4, int4, num, num, num, num, text, text, date, date, date, text, text, text} {
		cols = append(cols, catalog.Column{ID: catalog.ColumnID(i + 1), Name: string(rune('a' + i)), Type: t})
	}
	tab := &catalog.Table{ID: 100, Name: "t", Columns: cols, Indexes: []catalog.Index{{ID: 1, Primary: true, Unique: true, Columns: []catalog.IndexColumn{{Column: 1}, {Column: 4}}}}}
	x, err := Compile(tab, &tab.Indexes[0])
	if err != nil {
		b.Fatal(err)
	}
	n := func(v int64) types.Datum { return types.NewDecimalInt(v, 2) }
	s := types.NewString
	row := types.Row{types.NewInt(60000), types.NewInt(31000), types.NewInt(700), types.NewInt(3), n(1700), n(3307894), n(4), n(2), s("N"), s("O"),
		types.NewOf(types.DateFamily, -1390), types.NewOf(types.DateFamily, -1400), types.NewOf(types.DateFamily, -1380), s("DELIVER IN PERSON"), s("TRUCK"), s("egular courts above the")}
	key, _ := x.AppendKey(nil, row)
	value, err := x.AppendValue(nil, row)
	if err != nil {
		b.Fatal(err)
	}
	ords := []int{5, 6, 10}
	vecs := []*vector.Vector{{}, {}, {}}
	dec := x.NewVectorDecoder(ords)
	dec.Reset(vecs, vector.BatchRows)
	for i := 0; b.Loop(); i++ {
		if err := dec.DecodeLater(key, value, vecs, uint16(i%vector.BatchRows)); err != nil {
			b.Fatal(err)
		}
	}
}
