package sql

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CursorKey implements builtin.Session: the row that WHERE CURRENT OF means.
func (f *sessionFuncs) CursorKey(name string, table uint32) ([]types.Datum, error) {
	c := f.s.cursors[name]
	switch {
	case c == nil:
		return nil, pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", name)
	case c.held:
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor %q is held from a previous transaction", name)
	}
	if t := c.cached.prep.RowTable; t == nil || t.Oid != table || !reads(c.cached.prep.Root, t) {
		target := ""
		if t := f.s.coll.PeekByOid(f.s.bctx.Ctx, table); t != nil {
			target = t.Name
		}
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor %q is not a simply updatable scan of table %q", name, target)
	}
	if c.pos == 0 || c.keyPos != c.pos {
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor %q is not positioned on a row", name)
	}
	return c.key, nil
}

// reads reports whether a plan yields the rows of t as it finds them, without collecting
// them first.
func reads(n plan.Node, t *catalog.Table) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Table.ID == t.ID
	case *plan.With:
		return reads(n.Body, t)
	case *plan.IndexJoin, *plan.Project, *plan.Filter, *plan.Limit:
		return reads(n.Children()[0], t)
	}
	return false
}
