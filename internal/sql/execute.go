package sql

import (
	"context"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// maxAttempts bounds how often a statement is run again after a conflict before
	// the client hears of it, as does statement_timeout.
	maxAttempts = 64
	// promptAttempts is how many attempts follow one another at once, retryPause the
	// pause after them, which doubles up to maxRetryPause.
	promptAttempts = 8
	retryPause     = time.Millisecond
	maxRetryPause  = 100 * time.Millisecond
)

// execution is one statement on its way: planned, run, perhaps run again, and
// its results sent.
type execution struct {
	s        *Session
	prepared *Prepared
	params   []types.Datum
	res      Results
	maxRows  int
	// describe says that the columns are announced before the rows (simple query).
	describe bool
	// commit says that the implicit transaction ends with this statement.
	commit bool
	// alone says that nothing before it in its implicit transaction was answered.
	alone bool

	cached    *cachedPlan
	program   *exec.Program
	env       exec.Env
	rows      int64
	described bool
	suspended bool
	committed bool        // its implicit transaction was committed: it is not run again
	unplanned bool        // its plan was what failed
	snapshot  kv.Snapshot // of a suspended execution
}

func (x *execution) run(ctx context.Context) error {
	s, stmt := x.s, x.prepared.stmt.AST
	if s.txn.block == blockFailed && !endsBlock(stmt) {
		return errFailedBlock()
	}
	if tag, handled, err := s.execSessionStmt(ctx, x, stmt); handled {
		if err != nil {
			return err
		}
		if x.commit && s.txn.block == blockNone {
			if err := s.commit(ctx); err != nil {
				return err
			}
		}
		x.warn()
		return x.res.Complete(tag)
	}
	if ex, ok := stmt.(*ast.Execute); ok {
		if err := x.bindExecute(ctx, ex); err != nil {
			return err
		}
	}
	return x.runPlanned(ctx)
}

// runPlanned plans and runs the statement, again and again while it meets
// conflicts and nothing of it has been sent.
func (x *execution) runPlanned(ctx context.Context) error {
	s := x.s
	pending := len(s.rangeOps)
	x.res.Mark()
	for attempt := 1; ; attempt++ {
		if err := x.openTxn(ctx); err != nil {
			return err
		}
		txn := s.txn.txn
		txn.BeginStatement()
		sp := txn.Savepoint()
		err := x.attempt(ctx)
		if err == nil || !kv.IsRetryable(err) || x.committed || attempt == maxAttempts || ctx.Err() != nil || !x.takeBack() {
			x.finish(err)
			return err
		}
		x.close()
		if err := pauseBefore(ctx, attempt); err != nil {
			return err
		}
		s.rangeOps = s.rangeOps[:min(pending, len(s.rangeOps))]
		// The statement keeps its locks, and so its place in the queues, unless the
		// commit was what failed.
		if !txn.Finished() && !s.coll.Void() {
			err = txn.RetryStatement(ctx, sp, err)
		}
		switch {
		case err == nil:
		case s.txn.block != blockNone || !x.alone:
			return err
		default:
			s.rollback(ctx)
		}
	}
}

// takeBack takes back the rows of a failed attempt; false if they have been sent.
func (x *execution) takeBack() bool {
	if x.rows == 0 {
		return true // what was announced stands
	}
	if !x.res.Rewind() {
		return false
	}
	x.rows, x.described = 0, false
	return true
}

// pauseBefore waits before a statement is run again.
func pauseBefore(ctx context.Context, attempt int) error {
	if attempt < promptAttempts {
		return nil
	}
	pause := time.NewTimer(min(retryPause<<min(attempt-promptAttempts, 16), maxRetryPause))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openTxn opens the transaction that the statement needs.
func (x *execution) openTxn(ctx context.Context) error {
	s := x.s
	sel, ok := x.prepared.stmt.AST.(*ast.Select)
	if !ok || sel.AsOf == nil {
		s.ensureTxn()
		return nil
	}
	ts, err := s.asOf(ctx, sel.AsOf)
	if err != nil {
		return err
	}
	if !s.txn.open {
		s.startTxn(kv.TxnOptions{Isolation: s.vals.Fast.DefaultIsolation, ReadOnly: true, AsOf: ts})
		return nil
	}
	o := s.txn.txn.Options()
	o.AsOf, o.ReadOnly = ts, true
	if o != s.txn.txn.Options() && !s.txn.txn.SetOptions(o) {
		return pgerr.Unsupported("AS OF SYSTEM TIME must be set for the whole transaction").
			WithHint("Use BEGIN AS OF SYSTEM TIME, or put it on the first statement.")
	}
	return nil
}

func (x *execution) attempt(ctx context.Context) error {
	c, err := x.s.planFor(ctx, x.prepared)
	if x.unplanned = err != nil; err != nil {
		return err
	}
	if x.prepared.plan == nil || x.prepared.plan != c {
		x.prepared.plan = c
	}
	switch root := c.prep.Root.(type) {
	case *plan.DDL:
		return x.runDDL(ctx, root)
	case *plan.Copy:
		return x.runCopy(ctx, c.prep, root)
	case *plan.Explain:
		return x.runExplain(ctx, c.prep, root)
	case *plan.Utility:
		if placementColumns(root.Stmt) != nil {
			return x.runPlacement(ctx, root.Stmt)
		}
		if ddl.Handles(root.Stmt) {
			return x.runDDL(ctx, &plan.DDL{Stmt: root.Stmt})
		}
		return pgerr.Unsupported("%s is not supported", x.prepared.stmt.AST.Tag())
	}
	x.cached = c
	if x.program, err = c.program(); err != nil {
		x.program = nil
		return err
	}
	x.s.fillEnv(ctx, &x.env, x.params)
	if err := x.program.Open(&x.env); err != nil {
		return err
	}
	if c.prep.Modifies {
		return x.runHeld(ctx)
	}
	return x.stream(ctx)
}

// stream sends rows as they come, up to maxRows.
func (x *execution) stream(ctx context.Context) error {
	if err := x.announce(x.cached.prep.Columns); err != nil {
		return err
	}
	for sent := 0; ; {
		want := 0
		if x.maxRows > 0 {
			want = min(x.maxRows-sent, exec.BatchRows)
		}
		b, err := x.program.Next(want)
		if err != nil {
			return err
		}
		if b.Len() == 0 {
			break
		}
		for i := range b.Len() {
			if err := x.res.Row(b.Row(i)); err != nil {
				return err
			}
		}
		x.rows += int64(b.Len())
		if sent += b.Len(); x.maxRows > 0 && sent >= x.maxRows {
			x.suspended, x.snapshot = true, x.s.txn.txn.Snapshot()
			return nil
		}
	}
	return x.complete(ctx)
}

// runHeld runs a statement that writes or locks to its end, and its transaction
// too if that ends here, before anything is sent: until then it can be run again.
func (x *execution) runHeld(ctx context.Context) error {
	var held []exec.Row
	first, err := x.program.Next(exec.BatchRows)
	if err != nil {
		return err
	}
	more := first.Len() > 0
	if !x.program.Writes() && more {
		if held, err = x.program.Drain(first); err != nil {
			return err
		}
		more = false
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if err := x.announce(x.cached.prep.Columns); err != nil {
		return err
	}
	for _, row := range held {
		if err := x.res.Row(row); err != nil {
			return err
		}
	}
	x.rows += int64(len(held))
	for b := first; more; more = b.Len() > 0 {
		for i := range b.Len() {
			if err := x.res.Row(b.Row(i)); err != nil {
				return err
			}
		}
		x.rows += int64(b.Len())
		if b, err = x.program.Next(exec.BatchRows); err != nil {
			return err
		}
	}
	return x.res.Complete(x.tag())
}

func (x *execution) announce(cols []plan.Column) error {
	if !x.describe || x.described || cols == nil {
		return nil
	}
	x.described = true
	return x.res.Columns(cols)
}

// complete ends a statement that only read.
func (x *execution) complete(ctx context.Context) error {
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	return x.res.Complete(x.tag())
}

// tag is the command tag with its count.
func (x *execution) tag() string {
	switch x.prepared.stmt.AST.(type) {
	case *ast.Insert:
		return tagInsert.count(x.program.RowsAffected())
	case *ast.Update:
		return tagUpdate.count(x.program.RowsAffected())
	case *ast.Delete:
		return tagDelete.count(x.program.RowsAffected())
	}
	return tagSelect.count(x.rows)
}

// countTag prints a tag with a count; the tags of small counts are made once.
type countTag struct {
	prefix string
	small  [128]string
}

func newCountTag(prefix string) *countTag {
	t := &countTag{prefix: prefix}
	for i := range t.small {
		t.small[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return t
}

func (t *countTag) count(n int64) string {
	if n >= 0 && n < int64(len(t.small)) {
		return t.small[n]
	}
	return fmt.Sprintf("%s %d", t.prefix, n)
}

var (
	tagSelect = newCountTag("SELECT")
	tagInsert = newCountTag("INSERT 0")
	tagUpdate = newCountTag("UPDATE")
	tagDelete = newCountTag("DELETE")
)

// resume continues a suspended execution.
func (x *execution) resume(ctx context.Context) error {
	x.suspended = false
	x.env.Ctx, x.s.bctx.Ctx = ctx, ctx
	x.rows = 0
	present := x.s.txn.txn.Use(x.snapshot)
	err := x.stream(ctx)
	if x.s.txn.open {
		x.s.txn.txn.Use(present)
	}
	x.finish(err)
	return err
}

// finish gives the program back unless the execution goes on later.
func (x *execution) finish(err error) {
	if err != nil || !x.suspended {
		x.close()
	}
}

func (x *execution) close() {
	if x.program == nil {
		return
	}
	if t := writtenTable(x.cached.prep.Root); t != nil {
		x.s.srv.stats.note(t, x.program.RowsAffected())
	}
	x.program.Close()
	x.cached.release(x.program)
	x.program = nil
}

// fillEnv makes env ready for an execution in the open transaction.
func (s *Session) fillEnv(ctx context.Context, env *exec.Env, params []types.Datum) {
	s.prepareBuiltin(ctx)
	*env = exec.Env{
		Ctx: ctx, Txn: s.execTxn(), Builtin: s.bctx, Params: params, Mem: s.srv.cfg.Mem,
		Virtual: s.cats, Statements: s, ReadOnly: s.txn.txn.Options().ReadOnly,
	}
}

// writtenTable returns the table whose rows a plan writes, nil if none.
func writtenTable(n plan.Node) *catalog.Table {
	switch n := n.(type) {
	case *plan.Insert:
		return n.Table
	case *plan.Delete:
		return n.Table
	}
	return nil // an update leaves the number of rows as it is
}
