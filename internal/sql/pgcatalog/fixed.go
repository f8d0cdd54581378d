package pgcatalog

import (
	"slices"
	"sort"
	"sync"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fixedRows are rows of a virtual table that never change: they are made once, as many as
// there are built-in functions or types.
type fixedRows struct {
	once sync.Once
	rows []types.Row
	// indexes maps, for each index of the table, the keys to the rows that have them.
	indexes map[catalog.IndexID]map[string][]types.Row
	// sorted has the rows by the column of each index that is in order.
	sorted map[catalog.IndexID][]types.Row
}

// allFixed has the fixed rows of the tables that have some.
var allFixed = sync.OnceValue(func() map[catalog.ID]*fixedRows {
	m := map[catalog.ID]*fixedRows{}
	for _, v := range Schemas() {
		for _, t := range v.Tables {
			if fixedGenerators()[qualifiedName(t)] != nil {
				m[t.ID] = &fixedRows{}
			}
		}
	}
	return m
})

// fixedOf returns the fixed rows of a table, nil if it has none.
func fixedOf(t *catalog.Table) *fixedRows {
	f := allFixed()[t.ID]
	if f != nil {
		f.once.Do(func() { f.make(t) })
	}
	return f
}

func (f *fixedRows) make(t *catalog.Table) {
	w := newWriter(&operator.VirtualRequest{Table: t}, func(r types.Row) error {
		f.rows = append(f.rows, slices.Clone(r))
		return nil
	})
	err := fixedGenerators()[qualifiedName(t)](nil, w)
	must.True(err == nil, "fixed rows of %s: %v", t.Name, err)
	f.indexes, f.sorted = map[catalog.IndexID]map[string][]types.Row{}, map[catalog.IndexID][]types.Row{}
	var buf []byte
	for i := range t.Indexes[1:] {
		ix := &t.Indexes[i+1]
		m := map[string][]types.Row{}
		for _, r := range f.rows {
			buf = buf[:0]
			for _, c := range ix.Columns {
				buf = types.AppendEncoded(buf, r[t.ColumnByID(c.Column)])
			}
			m[string(buf)] = append(m[string(buf)], r)
		}
		f.indexes[ix.ID] = m
		if ix.HashColumns == 0 {
			ord := t.ColumnByID(ix.Columns[0].Column)
			rows := slices.Clone(f.rows)
			slices.SortStableFunc(rows, func(a, b types.Row) int { return types.Compare(a[ord], b[ord]) })
			f.sorted[ix.ID] = rows
		}
	}
}

// with returns the rows that have a key.
func (f *fixedRows) with(ix *catalog.Index, key types.Row) []types.Row {
	var buf []byte
	for _, d := range key {
		buf = types.AppendEncoded(buf, d)
	}
	return f.indexes[ix.ID][string(buf)]
}

// between returns the rows that have a value in a range in the column of an index that is in order, and
// perhaps those with the values at its ends.
func (f *fixedRows) between(ix *catalog.Index, ord int, r *operator.ValueRange) []types.Row {
	rows := f.sorted[ix.ID]
	if !r.Hi.IsNull() {
		rows = rows[:sort.Search(len(rows), func(i int) bool { return types.Compare(rows[i][ord], r.Hi) > 0 })]
	}
	if !r.Lo.IsNull() {
		rows = rows[sort.Search(len(rows), func(i int) bool { return types.Compare(rows[i][ord], r.Lo) >= 0 }):]
	}
	return rows
}
