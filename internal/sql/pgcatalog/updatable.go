package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// updatable says what can be done with the rows of a relation, and which of its columns
// can be changed.
func (s *snapshot) updatable(t *catalog.Table) (events int, columns []bool) {
	return planner.Updatable(t, func(n ast.TableName) *catalog.Table {
		if r := s.stored(s.find(n.Schema, n.Table)); r != nil && r.Name == n.Table {
			return r
		}
		return nil
	})
}

// columnUpdatable is is_updatable of a column in information_schema.
func (s *snapshot) columnUpdatable(t *catalog.Table, c *catalog.Column) bool {
	if t.Kind != catalog.KindView {
		return t.Kind == catalog.KindTable
	}
	events, columns := s.updatable(t)
	const both = planner.CanUpdate | planner.CanDelete
	return events&both == both && columns[t.ColumnByID(c.ID)]
}

// RelationUpdatable implements call.Catalog.
func (c *Catalog) RelationUpdatable(oid uint32) (int, error) {
	t, ix := c.byOid(oid)
	if t == nil || ix != nil {
		return 0, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, err
	}
	events, _ := s.updatable(t)
	return events, nil
}

// ColumnUpdatable implements call.Catalog.
func (c *Catalog) ColumnUpdatable(oid uint32, attnum int16) (bool, error) {
	t, ix := c.byOid(oid)
	if t == nil || ix != nil || attnum <= 0 {
		return false, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return false, err
	}
	for i := range t.Columns {
		if t.Columns[i].Attnum == attnum {
			return !t.Materialized() && s.columnUpdatable(t, &t.Columns[i]), nil
		}
	}
	return t.Kind == catalog.KindTable && !t.Materialized(), nil
}

// viewUpdatable sets the columns of information_schema.views that say what is possible
// through the view.
func (s *snapshot) viewUpdatable(w *writer, t *catalog.Table) {
	option := "NONE"
	if o := t.View.CheckOption(); o != "" {
		option = strings.ToUpper(o)
	}
	w.str("check_option", option)
	events, _ := s.updatable(t)
	const both = planner.CanUpdate | planner.CanDelete
	w.str("is_updatable", yesNo(events&both == both))
	w.str("is_insertable_into", yesNo(events&planner.CanInsert != 0))
	for _, c := range [...]string{"is_trigger_updatable", "is_trigger_deletable", "is_trigger_insertable_into"} {
		w.str(c, "NO")
	}
}
