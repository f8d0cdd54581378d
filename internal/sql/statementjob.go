package sql

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// jobRows is how many rows a statement reads before it is a job.
const jobRows = 8192

// errTakenOver is for the client of a statement with which another node goes on, errGivenUp for that of one which others have ended,
// as no other node can go on with it.
var (
	errTakenOver = pgerr.New(pgerr.StatementCompletionUnknown, "another node has taken over this statement").
			WithDetail("This node had lost contact with its cluster.").WithHint("SHOW JOBS tells what becomes of it: look before running it again.")
	errGivenUp = pgerr.New(pgerr.SerializationFailure, "the statement was given up, as this node had lost contact with its cluster").
			WithDetail("What it had done was undone.").WithHint("Run it again.")
)

// unsure is for the client of a statement that failed with an error, if that could not be told to others: another node may go on with
// it.
func unsure(id int64, failed error) error {
	return pgerr.New(pgerr.StatementCompletionUnknown, "the statement has failed here, but another node may go on with it").
		WithDetail("The end of job %d could not be recorded. The error was: %s", id, failed.Error()).
		WithHint("SHOW JOBS tells what becomes of job %d: look before running the statement again.", id)
}

// statementJob is a statement that changes tables, and a job once it has read many rows, or is about to write beside its
// transaction. It implements statement.Job.
type statementJob struct {
	x    *execution
	env  *statement.Env
	job  *jobs.Job
	rows int64 // read before it was a job
	// again is what another node would run; nil: none can. It is made when the statement begins, as parts of it may run as
	// others.
	again *jobs.Again
}

// asJob runs what changes the catalog, ends its job with its transaction, and commits that with commit. It is a job if it is a
// transaction by itself: what becomes of others is decided later.
func (x *execution) asJob(ctx context.Context, env *statement.Env, run, commit func() error) error {
	if !env.Alone {
		if err := run(); err != nil {
			return err
		}
		return commit()
	}
	j := &statementJob{x: x, env: env, job: x.ex.goesOn, again: x.again()}
	env.Progress, env.StartJob, env.Resume = j.progress, j.survivor, &statement.Resume{}
	if j.job != nil {
		var err error
		if env.Resume.From, err = lastCheckpoint(j.job); err != nil {
			return err
		}
	}
	err := run()
	if err == nil {
		err = j.publish(ctx)
	}
	if err == nil {
		err = commit()
	}
	return j.end(ctx, err)
}

// lastCheckpoint is where a job is to go on; nil: it begins.
func lastCheckpoint(j *jobs.Job) (*statement.Checkpoint, error) {
	b := j.Noted()
	if b == nil {
		return nil, nil
	}
	c := &statement.Checkpoint{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "damaged checkpoint of job %d: %v", j.ID(), err)
	}
	return c, nil
}

// progress implements statement.Env.Progress.
func (j *statementJob) progress(ctx context.Context, more int64, shared bool) error {
	if j.rows += more; j.job != nil {
		return j.job.Progress(ctx, more, shared)
	}
	if j.rows < jobRows {
		return ctx.Err()
	}
	if err := j.start(ctx, shared); err != nil {
		return err
	}
	return j.job.Progress(ctx, 0, shared)
}

// survivor implements statement.Env.StartJob.
func (j *statementJob) survivor(ctx context.Context, shared bool) (statement.Job, error) {
	if j.job == nil {
		if err := j.start(ctx, shared); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// start makes the statement a job. Another node may go on with it if the statement shares the tables that it changes: one that locks
// them first keeps others from them, and is not made to begin again behind their backs.
func (j *statementJob) start(ctx context.Context, shared bool) (err error) {
	ex, now := j.x.ex, j.x.ex.current.Snapshot()
	r := jobs.Record{Statement: activity.Redacted(now.Query), User: ex.who.User(), Database: ex.conn.db.Name, Node: ex.srv.nodeID()}
	if shared {
		r.Again = j.again
	}
	var unwritten *jobs.UnsureError
	j.job, err = ex.srv.jobs().Start(ctx, r, func(lost bool) { ex.endJob(lost, r.Again != nil) })
	switch {
	case errors.As(err, &unwritten):
		return unsure(unwritten.ID, err)
	case err != nil:
		return err
	}
	return j.job.Progress(ctx, j.rows, false)
}

// endJob ends the statement of a job that was cancelled, or that another node goes on with, or has ended as it does not survive.
func (ex *executor) endJob(lost, survives bool) {
	if !lost {
		ex.current.Interrupt(activity.ErrUserCancel)
		return
	}
	ex.current.Interrupt(lostError(survives))
}

// takenOver makes an error of a job that survives its node one for clients.
func takenOver(err error) error {
	if errors.Is(err, jobs.ErrLost) {
		return errTakenOver
	}
	return err
}

func lostError(survives bool) *pgerr.Error {
	if survives {
		return errTakenOver
	}
	return errGivenUp
}

// again is what another node runs the statement with; nil if it can't: it changes more than rows of tables of all sessions, or depends
// on more of the session than its settings.
func (x *execution) again() *jobs.Again {
	ex := x.ex
	switch x.prepared.Stmt.AST.(type) {
	case *ast.CreateIndex, *ast.AlterTable:
	default:
		return nil
	}
	if ex.coll.TempSchemaName() != "" || ex.who.SessionRole() != ex.who.Login() || len(x.params) > 0 || x.prepared.Text == "" {
		return nil
	}
	a := &jobs.Again{Text: ownText(x.prepared), Settings: ex.vals.Chosen()}
	if ex.who.Role() != ex.who.Login() {
		a.Role = ex.who.CurrentUser()
	}
	if a.Size() > jobs.MaxAgain {
		return nil
	}
	return a
}

// Survives implements statement.Job.
func (j *statementJob) Survives() bool { return j.job.Survives() }

// ID implements statement.Job.
func (j *statementJob) ID() int64 { return j.job.ID() }

// Lease implements statement.Job.
func (j *statementJob) Lease(ctx context.Context) error { return j.lost(j.job.Lease(ctx)) }

// Until implements statement.Job.
func (j *statementJob) Until() hlc.Timestamp { return j.job.Until() }

// protectWait bounds how long a statement waits until rows are protected: on a busy cluster each attempt may take too long.
const protectWait = 2 * time.Second

// Protect implements statement.Job.
func (j *statementJob) Protect(ctx context.Context, span kvpb.Span, at hlc.Timestamp) (bool, error) {
	within, cancel := context.WithTimeout(ctx, protectWait)
	defer cancel()
	err := j.job.Protect(within, span, at)
	var old *kvpb.SnapshotTooOldError
	if errors.As(err, &old) || kv.IsRetryable(err) || within.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil, err
}

// Note implements statement.Job.
func (j *statementJob) Note(ctx context.Context, c *statement.Checkpoint) error {
	if c == nil {
		return j.lost(j.job.Note(ctx, nil))
	}
	b, err := json.Marshal(c)
	if err != nil {
		return pgerr.From(err)
	}
	return j.lost(j.job.Note(ctx, b))
}

// lost makes an error one for clients.
func (j *statementJob) lost(err error) error {
	if errors.Is(err, jobs.ErrLost) && !j.job.Survives() {
		return errGivenUp
	}
	return takenOver(err)
}

// publish has the statement's transaction end the job.
func (j *statementJob) publish(ctx context.Context) error {
	if j.job == nil || !j.env.Coll.CanFreshen() {
		return nil
	}
	if err := j.env.Coll.Freshen(ctx); err != nil { // the claim is younger than the snapshot may be
		return err
	}
	return j.lost(j.job.Publish(ctx, j.env.Txn))
}

// end ends the job as the statement has ended, unless another node, or another attempt, goes on with it.
func (j *statementJob) end(ctx context.Context, err error) error {
	ex := j.x.ex
	switch {
	case j.job == nil:
	case errors.Is(err, statement.ErrBeginAnew):
		if err := j.job.Note(context.WithoutCancel(ctx), nil); err != nil {
			return j.lost(err)
		}
		return &kvpb.RetryError{Reason: "the table has changed since another node worked on it"}
	case ex.goesOn != nil: // who has claimed it sees to its end
	case err != nil && ex.srv.stopping.Load() && j.job.Survives() && ex.current.Terminated():
		j.job.Leave(ctx, nil)
		return pgerr.New(pgerr.AdminShutdown, "%s", activity.ErrTerminated.Message).WithDetail("Job %d goes on with the statement.", j.job.ID())
	default:
		return j.endedWith(ctx, err)
	}
	return err
}

// endedWith ends the job, and returns what the client is told: the error of the statement, if no other node goes on with it.
func (j *statementJob) endedWith(ctx context.Context, failed error) error {
	var unwritten *jobs.UnsureError
	switch err := j.job.End(ctx, failed); {
	case errors.As(err, &unwritten):
		return unsure(j.job.ID(), failed)
	case err != nil:
		return j.lost(err)
	}
	return failed
}
