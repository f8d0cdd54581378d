package ddl

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// lockTables is LOCK TABLE. There are two strengths: the weak modes let others
// read and write, the strong ones keep everybody out.
func lockTables(ctx context.Context, e *statement.Env, st *ast.LockTable) error {
	for i := range st.Tables {
		n := st.Tables[i].Name
		lock := func() error { return lockNamed(ctx, e, n, st.Mode) }
		err := error(nil)
		if st.NoWait {
			err = e.Coll.NoWait(lock)
		} else {
			err = lock()
		}
		var busy *kvpb.LockNotAvailableError
		if errors.As(err, &busy) && !busy.Timeout {
			err = pgerr.New(pgerr.LockNotAvailable, "could not obtain lock on relation \"%s\"", n.Table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lockNamed locks a table, or a view and what it reads.
func lockNamed(ctx context.Context, e *statement.Env, n ast.TableName, mode ast.LockMode) error {
	t, index, err := e.Coll.FindRelation(ctx, n.Catalog, n.Schema, n.Table)
	if err == nil && t != nil && !index && mode > ast.RowExclusive {
		t, index, err = e.LockRelationTo(ctx, n, e.Has(mayLock(mode)))
	}
	switch {
	case err != nil:
		return err
	case t == nil:
		return catalog.UndefinedTable(n.Schema, n.Table)
	}
	if err := e.Has(mayLock(mode))(t); err != nil {
		return err
	}
	kinds := ""
	switch {
	case index:
		kinds = "indexes"
	case t.Materialized():
		kinds = "materialized views"
	case t.Kind == catalog.KindSequence:
		kinds = "sequences"
	case t.IsComposite():
		kinds = "composite types"
	}
	if kinds != "" {
		return pgerr.New(pgerr.WrongObjectType, "cannot lock relation \"%s\"", n.Table).
			WithDetail("This operation is not supported for %s.", kinds)
	}
	return lockViewed(ctx, e, t, mode, map[catalog.ID]bool{t.ID: true})
}

// mayLock returns the privileges of which one is needed to lock a table in a mode.
func mayLock(mode ast.LockMode) privilege.Bits {
	changes := privilege.Update | privilege.Delete | privilege.Truncate
	switch mode {
	case ast.AccessShare:
		return privilege.Select
	case ast.RowExclusive:
		return changes | privilege.Insert
	}
	return changes
}

// lockViewed locks what a view reads, and what the views among that read; done are those
// that are locked. Weak locks are pins, which reading the descriptor takes.
func lockViewed(ctx context.Context, e *statement.Env, t *catalog.Table, mode ast.LockMode, done map[catalog.ID]bool) error {
	if t.Kind != catalog.KindView {
		return nil
	}
	for _, id := range t.View.Uses {
		if done[id] {
			continue
		}
		done[id] = true
		if mode > ast.RowExclusive {
			if err := e.Coll.LockExclusive(ctx, id); err != nil {
				return err
			}
		}
		u, err := e.Coll.TableByID(ctx, id)
		if err != nil {
			return err
		}
		if err := lockViewed(ctx, e, u, mode, done); err != nil {
			return err
		}
	}
	return nil
}
