package builtin

import "github.com/lichendb/lichen/internal/sql/types"

// sliceRows yields the values of a slice as rows of one column.
type sliceRows struct {
	values []types.Datum
	at     int
}

func newSliceRows(values []types.Datum) RowIterator { return &sliceRows{values: values} }

// Next implements RowIterator.
func (r *sliceRows) Next() ([]types.Datum, bool, error) {
	if r.at >= len(r.values) {
		return nil, false, nil
	}
	r.at++
	return r.values[r.at-1 : r.at], true, nil
}

// tableRows yields rows that are already there.
type tableRows struct {
	rows [][]types.Datum
	at   int
}

// Next implements RowIterator.
func (r *tableRows) Next() ([]types.Datum, bool, error) {
	if r.at >= len(r.rows) {
		return nil, false, nil
	}
	r.at++
	return r.rows[r.at-1], true, nil
}

func noRows(*Context, []types.Datum) (RowIterator, error) { return newSliceRows(nil), nil }
