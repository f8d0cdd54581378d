package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/types"
)

// RelationRows implements call.Catalog.
func (c *Catalog) RelationRows(relation string) (columns []string, rows [][]types.Datum, err error) {
	t, err := c.h.Coll.ResolveTable(c.ctx(), "", namePgCatalog, relation)
	if err != nil {
		return nil, nil, err
	}
	for i := range t.Columns {
		columns = append(columns, t.Columns[i].Name)
	}
	err = c.VirtualRows(c.ctx(), &operator.VirtualRequest{Table: t}, func(r types.Row) error {
		rows = append(rows, slices.Clone(r))
		return nil
	})
	return columns, rows, err
}
