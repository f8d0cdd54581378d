package sql

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// lookForJobs is how often a node looks for jobs whose node has died, sweepForJobs after how many looks it gives up what was
	// protected for jobs that have ended.
	lookForJobs  = 2 * time.Second
	sweepForJobs = 30
	// maxTakenOver is how many such jobs a node runs at once.
	maxTakenOver = 2
	// takenOverName is the application_name of their sessions.
	takenOverName = "lichen job"
)

// takeovers counts what this node has done about jobs of nodes that died.
type takeovers struct {
	running sync.WaitGroup
	now     atomic.Int64 // jobs that run
	count   atomic.Int64 // jobs taken over since the start
}

// JobsTakenOver returns how many jobs of other nodes, or of earlier processes of this one, the node has gone on with.
func (s *Server) JobsTakenOver() int64 { return s.takeovers.count.Load() }

// LeaveJobs leaves the jobs that this node runs to the others: it is about to stop.
func (s *Server) LeaveJobs() { s.stopping.Store(true) }

// TakeOverJobs goes on with jobs whose nodes have died, until ctx ends.
func (s *Server) TakeOverJobs(ctx context.Context) {
	tick := time.NewTicker(lookForJobs)
	defer tick.Stop()
	defer s.takeovers.running.Wait()
	for look := 1; ; look++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.takeOver(ctx)
			if look%lookForExpired == 0 {
				s.DeleteExpired(ctx)
			}
			if look%sweepForJobs == 0 {
				_ = s.jobs().Sweep(ctx) // what fails is tried again
				_ = s.jobs().KeepSlots(ctx, s.expiringIDs())
			}
		}
	}
}

// takeOver is one look.
func (s *Server) takeOver(ctx context.Context) {
	ids, err := s.jobs().Unattended(ctx)
	if err != nil {
		return // tried again at the next tick
	}
	for _, id := range ids {
		if s.stopping.Load() || s.takeovers.now.Load() >= maxTakenOver {
			return
		}
		runner := &jobRunner{}
		job, err := s.jobs().Claim(ctx, id, s.nodeID(), runner.end)
		if err != nil || job == nil {
			continue
		}
		s.takeovers.now.Add(1)
		s.takeovers.count.Add(1)
		s.takeovers.running.Go(func() {
			defer s.takeovers.now.Add(-1)
			s.goOn(ctx, job, runner)
		})
	}
}

// jobRunner ends the statement of a job that was taken over.
type jobRunner struct {
	mu      sync.Mutex
	session *Session
	ended   bool
	lost    bool
}

func (r *jobRunner) end(lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended, r.lost = true, r.lost || lost; r.session != nil {
		r.session.ex.endJob(lost, true)
	}
}

// use says which session runs the statement. It reports whether the statement is to run.
func (r *jobRunner) use(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = s
	return !r.ended
}

// stopped is the error of a job whose statements are to end.
func (r *jobRunner) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.lost:
		return errTakenOver
	case r.ended:
		return activity.ErrUserCancel
	}
	return nil
}

// goOn runs the statement of a job that this node has claimed.
func (s *Server) goOn(ctx context.Context, job *jobs.Job, runner *jobRunner) {
	r := job.Record()
	s.cfg.Logger.Info("going on with a job whose node has stopped", "job", r.ID, "attempt", r.Runs, "checkpoint", r.Progress != nil)
	run := s.runAgain
	if r.Again.Expired != nil {
		run = s.deleteExpired
	}
	err := run(ctx, job, runner)
	switch {
	case err != nil && (s.stopping.Load() || ctx.Err() != nil):
		job.Leave(ctx, nil)
	case err != nil && transient(err):
		s.cfg.Logger.Warn("a job that was taken over has failed, and is tried again", "job", r.ID, "err", err)
		job.Leave(ctx, err)
	default:
		_ = job.End(ctx, err) // what could not be written another node finds out
	}
}

// transient reports whether a statement may succeed later, or on another node, by the class of its error: connections, resources,
// conflicts, interventions, the system, what is wrong within.
func transient(err error) bool {
	code := pgerr.CodeOf(err)
	if code == pgerr.QueryCanceled || len(code) < 2 {
		return false
	}
	switch code[:2] {
	case "08", "40", "53", "55", "57", "58", "72", "XX":
		return true
	}
	return false
}

// runAgain runs the statement of a job in a session like that in which it began.
func (s *Server) runAgain(ctx context.Context, job *jobs.Job, runner *jobRunner) error {
	r := job.Record()
	ses, err := s.NewSession(ctx, SessionArgs{User: r.User, Database: r.Database, Internal: true})
	if err != nil {
		return err
	}
	defer ses.Close()
	defer context.AfterFunc(ctx, ses.Terminate)()
	chosen := maps.Clone(r.Again.Settings)
	if chosen == nil {
		chosen = map[string]string{}
	}
	chosen["application_name"], chosen["statement_timeout"], chosen["lock_timeout"] = takenOverName, "0", "0" // no client waits
	for name, value := range chosen {
		if err := ses.ex.vals.SetDefault(name, value, "client"); err != nil {
			return err
		}
	}
	if r.Again.Role != "" {
		if err := ses.Query(ctx, "SET ROLE "+ast.QuoteIdent(r.Again.Role), &lineResults{format: ses.Format()}); err != nil {
			return err
		}
	}
	ses.ex.goesOn = job
	defer runner.use(nil)
	if !runner.use(ses) {
		return runner.stopped()
	}
	return ses.Query(ctx, r.Again.Text, &lineResults{format: ses.Format()})
}
