package crosstabfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// value is a value as text, as which the functions hand everything on.
type value struct {
	text string
	null bool
}

func textOf(c *call.Context, t *types.T, d types.Datum) value {
	if d.IsNull() {
		return value{null: true}
	}
	return value{text: typeio.FormatDatum(t, d, c.Format)}
}

// result collects rows, whose memory it reserves.
type result struct {
	c       *call.Context
	columns []types.FieldDef
	rows    [][]types.Datum
	bytes   int64
}

// valueBytes is what a value takes beside its text.
const valueBytes = 64

// add adds a row of texts; columns that are missing are NULL.
func (r *result) add(values []value) error {
	row := make([]types.Datum, len(r.columns))
	for i, v := range values {
		if v.null {
			continue
		}
		var err error
		if row[i], err = typeio.ParseText(r.columns[i].Type, v.text, r.c.Format); err != nil {
			return err
		}
		r.bytes += int64(len(v.text))
	}
	r.bytes += int64(len(row)) * valueBytes
	r.rows = append(r.rows, row)
	return r.c.Reserved(r.bytes)
}

// query runs the query of a function and hands over its rows as texts. columns may refuse what it returns: it is told with the first
// row, since PostgreSQL does not look at the columns of no rows.
func query(c *call.Context, text string, columns func([]*types.T) error, row func([]value) error) error {
	s, err := c.NeedSession()
	if err != nil {
		return err
	}
	var ts []*types.T
	told := false
	return s.Query(text, func(have []*types.T) error {
		ts = have
		return nil
	}, func(r []types.Datum) error {
		if !told {
			told = true
			if err := columns(ts); err != nil {
				return err
			}
		}
		if err := c.Step(1); err != nil {
			return err
		}
		values := make([]value, len(r))
		for i := range r {
			values[i] = textOf(c, ts[i], r[i])
		}
		return row(values)
	})
}

func invalidReturn(detail string, args ...any) error {
	return pgerr.New(pgerr.DatatypeMismatch, "invalid return type").WithDetail(detail, args...)
}
