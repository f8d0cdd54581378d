package rowcodec

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// RowCheck finds rows that are about to be written and could not be read again.
type RowCheck struct {
	table   *catalog.Table
	columns []columnCheck
}

// columnCheck is what types.T.Fits says, for most values without asking it.
type columnCheck struct {
	family types.Family
	ask    bool  // the family does not decide
	lo, hi int64 // what integers are between
}

// NewRowCheck returns the check of rows of t.
func NewRowCheck(t *catalog.Table) *RowCheck {
	c := &RowCheck{table: t, columns: make([]columnCheck, len(t.Columns))}
	for i := range t.Columns {
		typ := t.Columns[i].Type
		lo, hi, ask := typ.Width()
		c.columns[i] = columnCheck{family: typ.Family, ask: ask, lo: lo, hi: hi}
	}
	return c
}

// Check returns an internal error, which names the column, if a datum of a row is not a
// value of its column. It counts the steps of large ones.
func (c *RowCheck) Check(row []types.Datum, fc *types.FormatContext) error {
	for i := range c.columns {
		k, d := &c.columns[i], &row[i]
		if d.Family() == k.family && !k.ask && d.Int() >= k.lo && d.Int() <= k.hi || d.IsNull() {
			continue
		}
		if typ := c.table.Columns[i].Type; !typ.Fits(*d, fc) && !plant.On(plant.WriteUnchecked) {
			if err := fc.CountSteps(0); err != nil {
				return err
			}
			return errUnfit(c.table, i, *d)
		}
	}
	return nil
}

func errUnfit(t *catalog.Table, ord int, d types.Datum) error {
	c := &t.Columns[ord]
	return pgerr.Assertion("a value for column \"%s\" of relation \"%s\" is not one of type %s: it was not written",
		c.Name, t.Name, c.Type.SQLName).WithDetail("The value is of family %d; the statement made it of another type.", d.Family())
}
