package sql

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CursorKey implements call.Session: the row that WHERE CURRENT OF means.
func (f *sessionFuncs) CursorKey(name string, table uint32) ([]types.Datum, error) {
	p, err := f.ex.portals.Named(name)
	if err != nil {
		return nil, err
	}
	c := p.Cursor()
	if c != nil && c.Held() {
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor \"%s\" is held from a previous transaction", name)
	}
	if c == nil || !c.Reads(table) {
		target := ""
		if t := f.ex.coll.PeekByOid(f.ex.eval.functions.Ctx, table); t != nil {
			target = t.Name
		}
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor \"%s\" is not a simply updatable scan of table \"%s\"", name, target)
	}
	key, ok := c.Key()
	if !ok {
		return nil, pgerr.New(pgerr.InvalidCursorState, "cursor \"%s\" is not positioned on a row", name)
	}
	return key, nil
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
	what := st.Query.Locking[0].String()
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
