package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/copyio"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/trace"
)

const (
	// maxAttempts bounds how often a statement of a transaction block, or one of several of
	// an implicit transaction, is run again after a conflict before the client learns of it.
	maxAttempts = 64
	// maxRetryTime bounds it for a statement that is a transaction by itself, as does
	// statement_timeout: for each of its conflicts another transaction goes on.
	maxRetryTime = 2 * time.Minute
	// promptAttempts is how many attempts follow one another at once, minRetryBackoff the
	// wait after them, which doubles up to maxRetryBackoff.
	promptAttempts  = 8
	minRetryBackoff = time.Millisecond
	maxRetryBackoff = 100 * time.Millisecond
)

// execution is one statement on its way: planned, run, perhaps run again, and
// its results sent.
type execution struct {
	ex       *executor
	prepared *prepared.Statement
	params   []types.Datum
	cols     []plan.Column // of the portal
	res      Results
	maxRows  int
	// describe says that the columns are announced before the rows (simple query).
	describe bool
	// commit says that the implicit transaction ends with this statement.
	commit bool
	// alone says that nothing before it in its implicit transaction was answered.
	alone bool

	cached      *prepared.Plan
	program     *exec.Program
	env         operator.Env
	rows        int64
	affected    int64 // rows that it has changed, once it has ended
	retries     int64 // attempts beyond the first
	described   bool
	suspended   bool
	committed   bool          // its implicit transaction was committed: it is not run again
	unplanned   bool          // its plan was what failed
	copying     bool          // COPY TO has begun to send
	input       *copyio.Input // of COPY FROM, once the client was asked for it
	met         time.Time     // when it met its first conflict
	reservation reservation
	snapshot    kv.Snapshot // of a suspended execution
	loaded      bool        // it has filled its table anew: see loads
	// within is the context of functions of the routine whose body the statement is of, nil for a client's.
	within   *call.Context
	auditing auditing
	traced   traced
}

// run executes the statement, tells the audit log of it, and notes what it came to for the statistics.
func (x *execution) run(ctx context.Context) error {
	told, before, waited := x.audit(), x.ex.recorder.entriesRead(), trace.WaitedOf(ctx)
	waitedBefore := waited.Total()
	ctx = x.beginTrace(ctx)
	err := x.execute(ctx)
	x.traced.end(err)
	told.tell(x, err)
	x.note(err, x.ex.recorder.entriesRead()-before, waited.Total()-waitedBefore)
	return err
}

func (x *execution) execute(ctx context.Context) error {
	ex, stmt := x.ex, x.prepared.Stmt.AST
	ex.running.out = x.res
	if ex.txn.Failed() && !endsBlock(stmt) {
		return errFailedBlock()
	}
	if err := ex.who.MayRun(stmt); err != nil {
		return err
	}
	if tag, handled, err := x.runUnplanned(ctx, stmt); handled {
		if err != nil {
			return err
		}
		if x.commit && !ex.txn.InBlock() {
			if err := ex.commit(ctx); err != nil {
				return err
			}
		}
		x.warn()
		return x.answer(tag)
	}
	if err := x.bindNamed(ctx, stmt); err != nil {
		return err
	}
	if _, ok := stmt.(*ast.Execute); ok && !x.describe {
		if err := x.checkColumns(x.prepared.Columns()); err != nil {
			return err
		}
	}
	return x.runPlanned(ctx)
}

// runPlanned plans and runs the statement, again and again while it meets
// conflicts, or is refused memory that others hold, and nothing of it has been sent.
func (x *execution) runPlanned(ctx context.Context) error {
	ex := x.ex
	var refused refusal
	defer ex.srv.memory.leave(&refused)
	pending := ex.pending.mark()
	ex.advisory.BeginStatement()
	deferred := ex.deferral.Waiting()
	x.res.Mark()
	ex.running.noticed = false
	coll := ex.coll.Savepoint()
	for attempt := 1; ; attempt++ {
		x.retries = int64(attempt - 1)
		if err := x.openTxn(ctx); err != nil {
			return err
		}
		txn := ex.txn.KV()
		if err := ex.beginStatement(ctx, x.prepared); err != nil {
			return err
		}
		if err := x.reservation.reserve(ctx, txn, ex.srv); err != nil {
			return err
		}
		sp, began := txn.StatementStart(), time.Now()
		txn.SetSpillContext(ctx)
		err := x.attempt(ctx)
		txn.ClearSpillContext()
		next := x.decide(ctx, err, attempt, &refused)
		if next.action == finish {
			x.finish(err)
			return err
		}
		x.traced.root.Note("attempt %d is followed by another", attempt)
		x.reservation.note(ex.srv, err, time.Since(began))
		x.Close()
		ex.advisory.RetryStatement(ctx)
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
		ex.pending.rollbackTo(pending)
		ex.deferral.Restore(deferred)
		if err := x.goBack(ctx, txn, next.action, sp, coll, err); err != nil {
			return err
		}
		if next.memory && !ex.srv.memory.await(ctx, &refused) {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// retryAction is what follows an attempt at a statement.
type retryAction uint8

const (
	finish         retryAction = iota // its outcome stands
	retryStatement                    // it is run again with the locks that it has, and so with its place in the queues
	undoStatement                     // it is undone, its locks too, and run again in its transaction
	restart                           // its transaction, which is the statement alone, begins anew and gives up all that it holds
)

// retryDecision is what follows an attempt at a statement.
type retryDecision struct {
	action retryAction
	memory bool // the next attempt waits until others have given back memory
}

// decide returns what follows an attempt at the statement that ended with err. The rows of a failed attempt are
// taken back unless it finishes.
func (x *execution) decide(ctx context.Context, err error, attempt int, refused *refusal) retryDecision {
	memory := x.mayWait(err, refused)
	victim := x.victimAlone(err)
	switch {
	case err == nil || !memory && !victim && !kv.IsRetryable(err) || x.committed || x.hadEnough(attempt) || ctx.Err() != nil || !x.takeBack():
		return retryDecision{}
	case memory && x.follows():
		return retryDecision{undoStatement, true}
	case memory || victim:
		return retryDecision{restart, memory}
	}
	return retryDecision{action: retryStatement}
}

// goBack brings the transaction back to the beginning of the statement, whose attempt failed with cause. If that
// can't be, it gives the transaction up, or returns the error if the transaction has more than this statement.
func (x *execution) goBack(ctx context.Context, txn *kv.Txn, action retryAction, sp kv.Savepoint, coll catalog.Savepoint, cause error) error {
	ex, err := x.ex, cause
	switch {
	case txn.Finished() || ex.coll.Void(): // the commit was what failed, or what the catalog has said counts no more
	case action == undoStatement:
		ex.coll.RollbackTo(coll)
		err = txn.UndoStatement(ctx, sp)
	case action == retryStatement:
		ex.coll.RollbackTo(coll)
		err = txn.RetryStatement(ctx, sp, cause)
	}
	if err != nil && x.follows() {
		return err
	}
	if err != nil {
		ex.txn.Rollback(ctx)
	}
	return nil
}

// victimAlone reports whether err chose a statement that is a transaction by itself to
// break a deadlock: all that it holds is given up, and it begins again. Advisory locks
// of the session are not, so that the deadlock would be there again.
func (x *execution) victimAlone(err error) bool {
	if err == nil {
		return false
	}
	var dead *kvpb.DeadlockError
	return x.alone && x.commit && !x.ex.txn.InBlock() && !x.ex.advisory.Any() && errors.As(err, &dead)
}

// follows reports whether the transaction has more than this statement, so that it can't begin
// anew as a whole.
func (x *execution) follows() bool { return x.ex.txn.InBlock() || !x.alone }

// hadEnough reports whether a statement has met so many conflicts that its client is to
// hear of it.
func (x *execution) hadEnough(attempt int) bool {
	if x.follows() {
		return attempt >= maxAttempts
	}
	if attempt == 1 {
		x.met = time.Now()
	}
	return time.Since(x.met) > maxRetryTime
}

// takeBack takes back the rows of a failed attempt; false if they have been sent.
func (x *execution) takeBack() bool {
	if x.input != nil {
		return !x.input.Over() // nothing was sent since the client was asked for data
	}
	sent := x.rows > 0 || x.copying
	if !sent && !x.ex.running.noticed {
		return true // what was announced stands
	}
	if !x.res.Rewind() {
		return !sent // of notices the client may hear twice
	}
	x.ex.running.noticed = false
	x.rows, x.described, x.copying = 0, false, false
	return true
}

// backOff waits before a statement is run again, never as long as another that met
// it.
func backOff(ctx context.Context, attempt int) error {
	if attempt < promptAttempts {
		return nil
	}
	most := min(minRetryBackoff<<min(attempt-promptAttempts, 16), maxRetryBackoff)
	return sleep.For(ctx, most/2+rand.N(most/2))
}

// openTxn opens the transaction that the statement needs.
func (x *execution) openTxn(ctx context.Context) error {
	ex := x.ex
	sel, ok := x.prepared.Stmt.AST.(*ast.Select)
	if !ok || sel.AsOf == nil {
		ex.txn.Ensure()
		return nil
	}
	ts, err := ex.eval.asOf(ctx, sel.AsOf)
	if err != nil {
		return err
	}
	return ex.txn.ReadAsOf(ts)
}

func (x *execution) attempt(ctx context.Context) error {
	planning := trace.Begin(ctx, "plan")
	c, err := x.ex.planner.For(ctx, x.prepared, x.params)
	planning.End(err)
	if x.unplanned = err != nil; err != nil {
		return err
	}
	if !c.Once && x.prepared.Plan() != c {
		x.ex.statements.KeepPlan(x.prepared, c)
	}
	if _, explain := c.Prep.Root.(*plan.Explain); !explain {
		x.auditing.planned = c.Prep
	}
	switch root := c.Prep.Root.(type) {
	case *plan.DDL:
		return x.runDDL(ctx, root)
	case *plan.Copy:
		return x.runCopy(ctx, c.Prep, root)
	case *plan.Explain:
		return x.runExplain(ctx, c.Prep, root)
	case *plan.Utility:
		if v, ok := root.Stmt.(*ast.Vacuum); ok {
			return x.runVacuum(ctx, v)
		}
		if do, ok := root.Stmt.(*ast.Do); ok {
			return x.runDo(ctx, do)
		}
		if computedColumns(root.Stmt) != nil {
			return x.runComputed(ctx, root.Stmt)
		}
		if set, ok := root.Stmt.(*ast.SetClusterSetting); ok {
			return x.setClusterSetting(ctx, set)
		}
		if ddl.Handles(root.Stmt) {
			return x.runDDL(ctx, &plan.DDL{Stmt: root.Stmt})
		}
		return pgerr.Unsupported("%s is not supported", x.prepared.Stmt.AST.Tag())
	}
	if c.Prep.Procedure != nil {
		return x.runCall(ctx, c.Prep)
	}
	x.cached = c
	if x.program, err = c.Program(); err != nil {
		x.program = nil
		return err
	}
	x.fillEnv(ctx)
	x.mayLoad(c.Prep.Root)
	if err := x.program.Open(&x.env); err != nil {
		return err
	}
	if c.Prep.Modifies {
		return x.runHeld(ctx)
	}
	return x.stream(ctx)
}

// stream sends rows as they come, up to maxRows.
func (x *execution) stream(ctx context.Context) error {
	if err := x.announce(x.cached.Prep.Columns); err != nil {
		return err
	}
	h := x.hold()
	for sent := 0; ; {
		want := 0
		if x.maxRows > 0 {
			want = min(x.maxRows-sent, rowcontainer.BatchRows)
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
			x.rows++
			if x.ex.running.endedItself {
				return ctx.Err()
			}
			if h, err = x.holdOn(ctx, h, maxHeld); err != nil {
				return err
			}
		}
		if sent += b.Len(); x.maxRows > 0 && sent >= x.maxRows {
			if _, err = x.holdOn(ctx, h, 0); err != nil {
				return err
			}
			x.suspended, x.snapshot = true, x.ex.txn.KV().Snapshot()
			return nil
		}
	}
	return x.complete(ctx)
}

// maxHeld is how much of the result of a statement that is a transaction by itself is held
// back while the clocks' uncertainty may make the statement begin anew. Before more of it
// goes out it is made certain.
const maxHeld = 1 << 20

// hold buffers the output of a statement whose reads are still uncertain, so that it can be retried unseen; nil if
// no retry is possible, or none could be hidden from the client.
func (x *execution) hold() Holder {
	h, ok := x.res.(Holder)
	if !ok || !x.alone || x.ex.txn.InBlock() || !x.ex.txn.KV().Uncertain() {
		return nil
	}
	h.Hold(math.MaxInt) // holdOn looks in time
	return h
}

// holdOn looks, after each row, whether so much is held back that it must go out, and then
// sees that nothing makes the statement begin anew from then on.
func (x *execution) holdOn(ctx context.Context, h Holder, limit int) (Holder, error) {
	if h == nil || h.Held() < limit {
		return h, nil
	}
	if err := x.ex.txn.KV().WaitOutUncertainty(ctx); err != nil {
		return h, err
	}
	h.Hold(0)
	return nil, nil
}

// runHeld runs a statement that writes or locks to its end, and its transaction
// too if that ends here, before anything is sent: until then it can be run again.
func (x *execution) runHeld(ctx context.Context) error {
	var held []types.Row
	first, err := x.program.Next(rowcontainer.BatchRows)
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
	failed := x.endImplicit(ctx)
	if failed != nil && !violation(failed) {
		return failed
	}
	if err := x.announce(x.cached.Prep.Columns); err != nil {
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
		if b, err = x.program.Next(rowcontainer.BatchRows); err != nil {
			return err
		}
	}
	if failed != nil && x.describe { // the commit is part of a simple query
		return failed
	}
	if err := x.answer(x.tag()); err != nil {
		return err
	}
	return failed
}

// violation reports whether err, with which a commit has failed, is that of a deferred
// constraint: the statement itself has succeeded, and its answer comes first.
func violation(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && strings.HasPrefix(string(e.Code), "23")
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
	if len(x.ex.running.warnings) > 0 {
		x.warn()
	}
	return x.answer(x.tag())
}

// tag is the command tag with its count.
func (x *execution) tag() string {
	switch x.prepared.Stmt.AST.(type) {
	case *ast.Insert:
		return tagInsert.count(x.program.RowsAffected())
	case *ast.Update:
		return tagUpdate.count(x.program.RowsAffected())
	case *ast.Delete:
		return tagDelete.count(x.program.RowsAffected())
	case *ast.Merge:
		return tagMerge.count(x.program.RowsAffected())
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
	tagMerge  = newCountTag("MERGE")
	tagSelect = newCountTag("SELECT")
	tagInsert = newCountTag("INSERT 0")
	tagUpdate = newCountTag("UPDATE")
	tagDelete = newCountTag("DELETE")
)

// resume continues a suspended execution.
func (x *execution) resume(ctx context.Context) error {
	x.suspended = false
	x.program.Continue(ctx)
	x.ex.eval.functions.Start(ctx)
	x.rows = 0
	present := x.ex.txn.KV().Use(x.snapshot)
	err := x.stream(ctx)
	if x.ex.txn.Open() {
		x.ex.txn.KV().Use(present)
	}
	x.finish(err)
	return err
}

// finish gives the program back unless the execution goes on later.
func (x *execution) finish(err error) {
	if x.input != nil {
		x.input.Drop()
	}
	if err != nil || !x.suspended {
		x.Close()
	}
}

// Close implements portal.Execution.
func (x *execution) Close() {
	if x.program == nil {
		return
	}
	x.affected = x.program.RowsAffected()
	if !x.loaded {
		x.ex.contents.NoteWritten(x.cached.Prep.Root, x.affected)
	}
	x.program.Close()
	x.cached.Release(x.program)
	x.program = nil
}

// Run implements portal.Execution.
func (x *execution) Run() portal.Run {
	return portal.Run{Plan: x.cached, Program: x.program, Env: &x.env, Snapshot: x.snapshot}
}

// fillEnv makes the environment of the execution ready.
func (x *execution) fillEnv(ctx context.Context) {
	if x.within == nil {
		x.ex.eval.fill(ctx, &x.env, x.params)
		return
	}
	x.ex.eval.fillWith(ctx, &x.env, x.params, x.within)
	x.env.ParallelWorkers, x.env.Workers, x.env.Fragments = 0, nil, nil
}
