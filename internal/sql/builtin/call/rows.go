package call

import "github.com/lichendb/lichen/internal/sql/types"

// sliceRows yields the values of a slice as rows of one column.
type sliceRows struct {
	values []types.Datum
	at     int
}

// NewColumn returns an iterator over values as rows of one column.
func NewColumn(values []types.Datum) RowIterator { return &sliceRows{values: values} }

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

// NewRows returns an iterator over rows that are already there.
func NewRows(rows [][]types.Datum) RowIterator { return &tableRows{rows: rows} }

// Next implements RowIterator.
func (r *tableRows) Next() ([]types.Datum, bool, error) {
	if r.at >= len(r.rows) {
		return nil, false, nil
	}
	r.at++
	return r.rows[r.at-1], true, nil
}

// NoRows is a set-returning function that returns none.
func NoRows(*Context, []types.Datum) (RowIterator, error) { return NewColumn(nil), nil }
