package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// loads lets the INSERT that is the statement itself load its table; it implements operator.Loads.
type loads struct {
	x     *execution
	table catalog.ID
}

// mayLoad lets a plan load the table into which it inserts.
func (x *execution) mayLoad(root plan.Node) {
	x.loaded = false
	if ins, ok := root.(*plan.Insert); ok && !x.ex.txn.ReadOnly() {
		x.env.Loads = loads{x, ins.Table.ID}
	}
}

// Begin implements operator.Loads. Nobody else must use the table: it is new, or was emptied, in this transaction.
// Or the statement is a transaction by itself, so that the lock on the table lasts for a moment only.
func (l loads) Begin(ctx context.Context, t *catalog.Table) (operator.Load, error) {
	ex := l.x.ex
	alone := l.x.alone && l.x.commit && !ex.txn.InBlock() && !ex.coll.UsedElsewhere(t.ID)
	if t.ID != l.table || t.Kind != catalog.KindTable || len(t.References) > 0 || !alone && !ex.coll.EmptiedSince(catalog.Savepoint{}, t) {
		return nil, nil
	}
	env := l.x.ddlEnv(nil)
	env.Filled = func(t *catalog.Table, rows int64, primary bool) {
		l.x.loaded = true
		ex.contents.NoteFilled(t, rows, primary)
	}
	load, err := ddl.BeginLoad(ctx, env, t)
	if load == nil || err != nil {
		return nil, err
	}
	return load, nil
}
