package exec

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// unfitRow is a row for the table of unfitTable with a value of another type in a column.
type unfitRow struct {
	column string
	row    types.Row
}

func unfitTable(t testing.TB) (*catalog.Table, []unfitRow) {
	tab := newWorld(t).table("t", "a int4; b text; c _int4; d int2; primary (a); index (b); unique (d)")
	good := types.Row{types.NewInt(1), types.NewString("x"), types.NewArray([]types.Datum{types.NewInt(1)}), types.NewInt(2)}
	with := func(ord int, d types.Datum) unfitRow {
		row := append(types.Row(nil), good...)
		row[ord] = d
		return unfitRow{tab.Columns[ord].Name, row}
	}
	return tab, []unfitRow{
		with(0, types.NewString("1")), with(0, types.NewInt(1<<31)), with(1, types.NewInt(1)),
		with(1, types.NewRecord([]*types.T{types.Text}, []types.Datum{types.NewString("x")})),
		with(2, types.NewArray([]types.Datum{types.NewString("1")})), with(3, types.NewInt(1<<15)),
		{row: good},
	}
}

// writeUnfit calls a way to write each of the rows, and reports those that were written
// though they do not fit.
func writeUnfit(t testing.TB, write func(w *tableaccess.Writer, txn tableaccess.Txn, row types.Row) error) (written int) {
	tab, rows := unfitTable(t)
	for _, r := range rows {
		tw, err := tableaccess.NewWriter(tab)
		if err != nil {
			t.Fatal(err)
		}
		err = write(tw, newFakeStore().begin(kvpb.ReadCommitted), r.row)
		switch {
		case r.column == "" && err != nil:
			t.Errorf("a row that fits: %v", err)
		case r.column == "":
		case err == nil:
			written++
		case pgerr.CodeOf(err) != pgerr.InternalError:
			t.Errorf("column %s: %v", r.column, err)
		}
	}
	return written
}

var writings = map[string]func(w *tableaccess.Writer, txn tableaccess.Txn, row types.Row) error{
	"insert": func(w *tableaccess.Writer, txn tableaccess.Txn, row types.Row) error {
		return w.Insert(context.Background(), txn, row)
	},
	"upsert": func(w *tableaccess.Writer, txn tableaccess.Txn, row types.Row) error {
		_, err := w.Upsert(context.Background(), txn, row)
		return err
	},
	"update": func(w *tableaccess.Writer, txn tableaccess.Txn, row types.Row) error {
		old := append(types.Row(nil), row...)
		old[1], old[2] = types.Null, types.Null
		return w.Update(context.Background(), txn, old, row)
	},
}

// TestWriteUnfit checks that no way to write rows takes one that could not be read.
func TestWriteUnfit(t *testing.T) {
	for name, write := range writings {
		if n := writeUnfit(t, write); n > 0 {
			t.Errorf("%s: %d rows were written that do not fit", name, n)
		}
	}
}
