package advise_test

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// TestUnused: an index is to be dropped if nobody reads it for long, and nothing else needs it (3).
func TestUnused(t *testing.T) {
	table := &advise.Table{Schema: "public", Table: &catalog.Table{
		Name: "t", Indexes: []catalog.Index{{ID: 1, Name: "p", Unique: true}, {ID: 2, Name: "i", Columns: []catalog.IndexColumn{{Column: 2}}},
			{ID: 3, Name: "u", Unique: true, Columns: []catalog.IndexColumn{{Column: 2}}}, {ID: 4, Name: "f", Columns: []catalog.IndexColumn{{Column: 3}}}},
		ForeignKeys: []catalog.ForeignKey{{Columns: []catalog.ColumnID{3}}},
	}}
	const day = 24 * time.Hour
	for _, c := range []struct {
		index   int
		uses    int64
		counted time.Duration
		want    string
	}{
		{1, 0, 3 * day, "DROP INDEX public.i"}, {1, 1, 3 * day, ""}, {1, 0, day - 1, ""}, {0, 0, 3 * day, ""}, {2, 0, 3 * day, ""}, {3, 0, 3 * day, ""},
	} {
		got := ""
		if r := advise.Unused(table, &table.Indexes[c.index], c.uses, c.counted); r != nil {
			got = r.Statement
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
