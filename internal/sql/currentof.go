package sql

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CursorKey implements builtin.Session: the row that WHERE CURRENT OF means.
func (f *sessionFuncs) CursorKey(name string, table uint32) ([]types.Datum, error) {
	p, err := f.s.namedPortal(ast.Name(name))
	if err != nil {
		return nil, err
	}
	c := p.cursor
	if c != nil && c.held {
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor %q is held from a previous transaction", name)
	}
	if c == nil || !c.reads(table) {
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

// reads reports whether the rows of the cursor are those of a table.
func (c *cursor) reads(table uint32) bool {
	if c.cached == nil {
		return false
	}
	t := c.cached.Prep.RowTable
	return t != nil && t.Oid == table && reads(c.cached.Prep.Root, t, false)
}

// reads reports whether a plan yields the rows of t as it finds them. A sort, which
// collects them first, is fine if they are locked when they come out of it.
func reads(n plan.Node, t *catalog.Table, locked bool) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Table.ID == t.ID
	case *plan.With:
		return reads(n.Body, t, locked)
	case *plan.LockRows:
		return reads(n.Input, t, true)
	case *plan.Sort:
		return locked && reads(n.Input, t, locked)
	case *plan.IndexJoin, *plan.Project, *plan.Filter, *plan.Limit:
		return reads(plan.Children(n)[0], t, locked)
	}
	return false
}

// checkLocking refuses the cursors that can't lock the rows that are fetched from them,
// and those that write.
func checkLocking(st *ast.DeclareCursor) error {
	if planner.ChangesRows(st.Query) {
		return pgerr.Unsupported("DECLARE CURSOR must not contain data-modifying statements in WITH")
	}
	if len(st.Query.Locking) == 0 {
		return nil
	}
	what := st.Query.Locking[0].Strength.String()
	switch {
	case st.Hold:
		return pgerr.Unsupported("DECLARE CURSOR WITH HOLD ... %s is not supported", what).WithDetail("Holdable cursors must be READ ONLY.")
	case st.Scroll == ast.Yes:
		return pgerr.Unsupported("DECLARE SCROLL CURSOR ... %s is not supported", what).WithDetail("Scrollable cursors must be READ ONLY.")
	case st.Insensitive == ast.Yes:
		return pgerr.New(pgerr.InvalidCursorDefinition, "DECLARE INSENSITIVE CURSOR ... %s is not valid", what).
			WithDetail("Insensitive cursors must be READ ONLY.")
	}
	return nil
}
