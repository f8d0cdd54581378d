package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/sessionvar"
)

// runUnplanned executes the statements that are not planned: those that act on the session alone, and those
// without effect. It also refuses what may not run here. handled is false for all others.
func (x *execution) runUnplanned(ctx context.Context, stmt ast.Statement) (tag string, handled bool, err error) {
	ex := x.ex
	switch st := stmt.(type) {
	case *ast.Begin, *ast.Commit, *ast.Rollback, *ast.Savepoint, *ast.Release, *ast.RollbackTo:
		tag, err = x.txnControl(ctx, stmt)
	case *ast.SetVar:
		tag, err = ex.vars.Set(ctx, st, x.res.Notice)
	case *ast.Use:
		tag, err = "SET", ex.use(ctx, string(st.Database))
	case *ast.SetTransaction:
		tag, err = "SET", x.setTransaction(ctx, st)
	case *ast.SetConstraints:
		tag, err = "SET CONSTRAINTS", x.setConstraints(ctx, st)
	case *ast.Show:
		tag, err = "SHOW", x.show(st)
	case *ast.Prepare:
		tag, err = "PREPARE", x.prepare(ctx, st)
	case *ast.Deallocate:
		tag, err = x.deallocate(st)
	case *ast.Discard:
		if st.Kind == ast.DiscardTemp {
			return "", false, nil // changes the catalog
		}
		tag, err = x.discard(ctx, st)
	case *ast.DeclareCursor:
		tag, err = "DECLARE CURSOR", x.declareCursor(ctx, st)
	case *ast.Fetch:
		tag, err = x.fetch(ctx, st)
	case *ast.Cancel:
		tag, err = x.cancel(ctx, st)
	case *ast.CloseCursor:
		tag, err = st.Tag(), x.closeCursor(st)
	case *ast.Listen, *ast.Unlisten, *ast.Notify:
		tag, err = stmt.Tag(), x.notification(stmt)
	default:
		if err := x.checkBlock(stmt); err != nil {
			return "", true, err
		}
		return x.runWithoutEffect(stmt)
	}
	return tag, true, err
}

// checkBlock refuses statements that can't run within a block or a function, or run in blocks only.
func (x *execution) checkBlock(stmt ast.Statement) error {
	switch what := outsideBlocks(stmt); {
	case what != "" && x.within != nil:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot be executed from a function", what)
	case what != "" && x.ex.txn.InBlock():
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	}
	if _, ok := stmt.(*ast.LockTable); ok && !x.ex.txn.InAnyBlock() {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
	}
	return nil
}

// runWithoutEffect answers statements that are accepted without effect, with a notice; handled is false for all others.
func (x *execution) runWithoutEffect(stmt ast.Statement) (tag string, handled bool, err error) {
	if ddl.Handles(stmt) {
		return "", false, nil
	}
	n, ok := ddl.NothingToDrop(stmt)
	if !ok {
		n, ok = noeffect.Statement(stmt)
	}
	if !ok {
		return "", false, nil
	}
	x.res.Notice("NOTICE", n)
	return stmt.Tag(), true, nil
}

func (x *execution) deallocate(st *ast.Deallocate) (string, error) {
	ex := x.ex
	if st.All {
		ex.statements.CloseAll()
		return "DEALLOCATE ALL", nil
	}
	if _, err := ex.statements.Find(string(st.Name)); err != nil {
		return "", err
	}
	ex.statements.Close(string(st.Name))
	return "DEALLOCATE", nil
}

// setConstraints executes SET CONSTRAINTS.
func (x *execution) setConstraints(ctx context.Context, st *ast.SetConstraints) error {
	inBlock := x.ex.txn.InAnyBlock()
	if inBlock {
		x.ex.txn.Ensure()
	} else {
		x.res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks"))
	}
	return x.ex.deferral.Set(ctx, st, x.ex.coll, inBlock)
}

// show executes SHOW of a parameter, and SHOW ALL.
func (x *execution) show(st *ast.Show) error {
	rows, err := x.ex.vars.Rows(st.Name)
	if err != nil {
		return err
	}
	if err := x.announce(sessionvar.Columns(st.Name)); err != nil {
		return err
	}
	for _, row := range rows {
		if err := x.res.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// use is USE database.
func (ex *executor) use(ctx context.Context, name string) error {
	if ex.txn.InBlock() {
		return pgerr.New(pgerr.ActiveSQLTransaction, "the database cannot be changed inside a transaction block")
	}
	db, err := ex.srv.cfg.Catalog.DatabaseByName(ctx, name)
	if err != nil {
		return err
	}
	if err := ex.who.MayConnect(db); err != nil {
		return err
	}
	ex.conn.db = db
	ex.current.SetDatabase(db.Name)
	ex.coll.SetSession(db, ex)
	ex.pending.notify.UnlistenNow() // channels belong to a database
	ex.planner.SetDatabase(db.ID)
	return nil
}

// varOwner is the session as its parameters reach it. It implements sessionvar.Session.
type varOwner struct {
	*identity.Session
	ex *executor
}

// Database implements sessionvar.Session.
func (o varOwner) Database() string { return o.ex.conn.db.Name }

// UseDatabase implements sessionvar.Session.
func (o varOwner) UseDatabase(ctx context.Context, name string) error { return o.ex.use(ctx, name) }

// SeedRandom implements sessionvar.Session.
func (o varOwner) SeedRandom(seed float64) {
	if o.ex.eval.functions == nil {
		o.ex.eval.start(context.Background())
	}
	o.ex.eval.functions.SeedRandom(seed)
}

// outsideBlocks returns what errors call a statement that runs in no transaction block, "" for
// others.
func outsideBlocks(stmt ast.Statement) string {
	switch st := stmt.(type) {
	case *ast.Vacuum:
		if !st.AnalyzeOnly {
			return "VACUUM"
		}
	case *ast.CreateIndex:
		if st.Concurrently {
			return "CREATE INDEX CONCURRENTLY"
		}
	case *ast.Drop:
		if st.Concurrently {
			return "DROP INDEX CONCURRENTLY"
		}
	case *ast.Reindex:
		switch {
		case st.Concurrently:
			return "REINDEX CONCURRENTLY"
		case st.Kind == ast.ObjDatabase || st.Kind == ast.ObjSchema || st.System:
			return st.Tag() + " " + reindexed(st)
		}
	case *ast.Cluster:
		if st.Table == nil {
			return "CLUSTER"
		}
	}
	return ""
}

// reindexed is the word for what REINDEX is of.
func reindexed(st *ast.Reindex) string {
	if st.System {
		return "SYSTEM"
	}
	return st.Kind.String()
}

func (x *execution) discard(ctx context.Context, st *ast.Discard) (string, error) {
	ex := x.ex
	switch st.Kind {
	case ast.DiscardAll:
		if ex.txn.InBlock() {
			return "", pgerr.New(pgerr.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		ex.portals.CloseNamed()
		ex.advisory.UnlockAll(ctx)
		ex.statements.CloseAll()
		ex.vals.ResetAll()
		if err := ex.pending.notify.UnlistenAll(); err != nil {
			return "", err
		}
		if !ex.txn.Open() {
			ex.pending.notify.Committed(ctx, nil)
		}
		ex.sequences.reset()
		if name := ex.coll.TempSchemaName(); name != "" {
			if ex.txn.Open() {
				return "DISCARD ALL", ex.dropTempHere(ctx, name)
			}
			return "DISCARD ALL", ex.dropTempSchema(ctx, name)
		}
		return "DISCARD ALL", nil
	case ast.DiscardPlans:
		return "DISCARD PLANS", nil
	case ast.DiscardSequences:
		ex.sequences.reset()
		return "DISCARD SEQUENCES", nil
	}
	return "", pgerr.Assertion("DISCARD of an unknown kind")
}
