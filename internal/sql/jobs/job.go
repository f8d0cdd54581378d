package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sleep"
)

// How a job keeps its record.
const (
	// beatEvery is how often a job writes its record and looks for wishes.
	beatEvery = 500 * time.Millisecond
	// maxEndWait bounds how long the end of a statement waits for its record to say so.
	maxEndWait = 2 * time.Second
	// leaseMargin is for how long a runner must be allowed to write before it begins to, leasePoll how often one looks that
	// waits for that.
	leaseMargin = time.Second
	leasePoll   = 20 * time.Millisecond
)

// ErrLost says that the runner of the job was taken for dead: another node goes on with it, or has ended it.
var ErrLost = errors.New("jobs: another node has taken the job over")

// UnsureError says that a job could not be ended: another node goes on with it, unless that has reached its record after all.
type UnsureError struct {
	ID    int64
	Cause error
}

// Error implements error.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("jobs: the end of job %d could not be written: %v", e.ID, e.Cause)
}

// Unwrap returns the cause.
func (e *UnsureError) Unwrap() error { return e.Cause }

// Job is a statement that runs.
type Job struct {
	store  *Store
	record Record // as it was when the job began here
	cancel func(lost bool)
	rows   atomic.Int64
	until  atomic.Int64 // Record.Until as it is known to be stored
	lost   atomic.Bool
	stop   context.CancelFunc
	done   chan struct{} // beat has ended

	mu       sync.Mutex
	resumed  chan struct{} // open while the job is to pause
	pausing  bool          // it does
	canceled bool
	noted    json.RawMessage // what was noted last
}

// run begins to keep the record of a job that this node runs.
func (s *Store) run(ctx context.Context, r *Record, cancel func(lost bool)) *Job {
	beatCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	j := &Job{store: s, record: *r, cancel: cancel, stop: stop, done: make(chan struct{}), noted: r.Progress}
	j.rows.Store(r.Rows)
	j.until.Store(r.Until)
	go j.beatAll(beatCtx)
	return j
}

// Record returns the record as it was when this node began to run the job.
func (j *Job) Record() *Record { return &j.record }

// ID returns the id of the job.
func (j *Job) ID() int64 { return j.record.ID }

// Survives reports whether another node goes on with the job if this one dies.
func (j *Job) Survives() bool { return j.record.Again != nil }

// beatAll writes the record until ctx ends.
func (j *Job) beatAll(ctx context.Context) {
	defer close(j.done)
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := j.change(ctx, j.beat); errors.Is(err, ErrLost) { // what else fails is tried again
				return
			}
		}
	}
}

// change has f change the record, and prolongs the time for which the runner may write. It returns ErrLost, and ends the
// statement, if another node has taken the job over.
func (j *Job) change(ctx context.Context, f func(*Record) error) error {
	until := int64(0)
	found, err := j.store.change(ctx, j.record.ID, func(_ context.Context, _ *kv.Txn, r *Record) error {
		if !j.mine(r) {
			return ErrLost
		}
		r.Modified = j.store.now()
		until = r.Modified + int64(Validity)
		r.Until = until
		return f(r)
	})
	switch {
	case err == nil && found:
		j.until.Store(until)
		return nil
	case err == nil, errors.Is(err, ErrLost):
		if !j.lost.Swap(true) {
			j.cancel(true)
		}
		return ErrLost
	}
	return err
}

// mine reports whether the record is that of a job that this node runs.
func (j *Job) mine(r *Record) bool { return r.Epoch == j.record.Epoch && !r.Ended() }

// beat brings the record and the job up to date with each other.
func (j *Job) beat(r *Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case r.Wish == Canceled && !j.canceled:
		j.canceled = true
		j.cancel(false)
	case r.Wish == Paused && j.resumed == nil:
		j.resumed = make(chan struct{})
	case r.Wish == Running && j.resumed != nil:
		close(j.resumed)
		j.resumed = nil
	}
	r.State, r.Rows = Running, j.rows.Load()
	if j.pausing {
		r.State = Paused
	}
	return nil
}

// Progress notes that the statement has read more rows. Where mayPause is set it waits, if the job is to pause, until it
// is resumed.
func (j *Job) Progress(ctx context.Context, rows int64, mayPause bool) error {
	j.rows.Add(rows)
	if !mayPause {
		return nil
	}
	j.mu.Lock()
	resumed := j.resumed
	j.pausing = resumed != nil
	j.mu.Unlock()
	if resumed == nil {
		return nil
	}
	defer func() {
		j.mu.Lock()
		j.pausing = false
		j.mu.Unlock()
	}()
	select {
	case <-resumed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lease waits until this node may write for the job for a while. It returns ErrLost if another node has taken it over.
func (j *Job) Lease(ctx context.Context) error {
	for {
		switch {
		case j.lost.Load():
			return ErrLost
		case j.until.Load()-j.store.now() > int64(leaseMargin):
			return nil
		}
		if err := sleep.For(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// Until returns the highest timestamp at which what is written for the job may be committed.
func (j *Job) Until() hlc.Timestamp { return hlc.Timestamp{WallTime: j.until.Load()} }

// Protect keeps what can be read of a span at a time, and later, until the job has ended.
func (j *Job) Protect(ctx context.Context, span kvpb.Span, at hlc.Timestamp) error {
	return j.store.DB.Protect(ctx, kv.Protection{
		Name: protection(j.record.ID), Spans: []kvpb.Span{span}, TS: at, Why: "a job may have to go on from there",
	}, 0)
}

// Note stores what the statement wants to have noted for whoever goes on with it, in place of what it has noted before.
func (j *Job) Note(ctx context.Context, progress json.RawMessage) error {
	err := j.change(ctx, func(r *Record) error {
		r.Progress = progress
		return nil
	})
	if err == nil {
		j.mu.Lock()
		j.noted = progress
		j.mu.Unlock()
	}
	return err
}

// Noted returns what was noted last, here or by another runner; nil if nothing was.
func (j *Job) Noted() json.RawMessage {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.noted
}

// Publish has the transaction of the statement end the job with its commit. It returns ErrLost if another node has taken the
// job over. The transaction's snapshot must be no older than the call.
func (j *Job) Publish(ctx context.Context, t *kv.Txn) error {
	switch mine, err := j.claimed(ctx, t); {
	case err != nil:
		return err
	case !mine && !plant.On(plant.ClaimUnheeded):
		return ErrLost
	}
	return t.Delete(claimKey(j.record.ID))
}

// claimed locks the claim and reports whether it is that of this runner.
func (j *Job) claimed(ctx context.Context, t *kv.Txn) (bool, error) {
	res, err := t.Lock(ctx, claimKey(j.record.ID), lock.Update, lock.WaitBlock)
	if err != nil || !res.Found {
		return false, err
	}
	c, err := decodeClaim(res.Value)
	return c.Epoch == j.record.Epoch, err
}

// End says in the record how the statement ended. If its change was made the job has succeeded, whatever the statement was told.
// Of a statement that failed it returns ErrLost, or an UnsureError, if another node goes on with it, or may do so.
func (j *Job) End(ctx context.Context, failed error) error {
	j.halt()
	ctx, cancel := j.store.ending(ctx)
	defer cancel()
	err := j.writeEnd(ctx, failed)
	_ = j.store.DB.Unprotect(ctx, protection(j.record.ID)) // else Sweep does
	switch {
	case err == nil, failed == nil, !j.Survives(): // what is not written another node writes, by the claim
		return nil
	case errors.Is(err, ErrLost):
		return ErrLost
	}
	return &UnsureError{ID: j.record.ID, Cause: err}
}

// writeEnd writes how the statement ended.
func (j *Job) writeEnd(ctx context.Context, failed error) error {
	_, err := j.store.change(ctx, j.record.ID, func(ctx context.Context, t *kv.Txn, r *Record) error {
		switch {
		case r.Epoch != j.record.Epoch:
			return ErrLost
		case r.Ended(): // another node has seen that its change was made, or that it is cancelled
			return nil
		}
		state, reason := Succeeded, ""
		claimed, err := j.claimed(ctx, t)
		if err != nil {
			return err
		}
		made := !claimed || failed == nil
		if claimed {
			if err := t.Delete(claimKey(r.ID)); err != nil {
				return err
			}
		}
		if r.Rows = j.rows.Load(); !made {
			state, reason = Failed, "the change was not made"
			if failed != nil {
				reason = failed.Error()
			}
			if j.canceled {
				state = Canceled
			}
		}
		r.finish(state, reason, j.store.now())
		return nil
	})
	return err
}

// Leave stops running the job without ending it: another node goes on with it. why is what kept this one from that, nil if it
// is being stopped in order.
func (j *Job) Leave(ctx context.Context, why error) {
	j.halt()
	ctx, cancel := j.store.ending(ctx)
	defer cancel()
	_, _ = j.store.change(ctx, j.record.ID, func(_ context.Context, _ *kv.Txn, r *Record) error { // it says no more than Until then
		if !j.mine(r) {
			return ErrLost
		}
		if why != nil {
			r.Error = clip(why.Error())
		} else {
			r.Runs--
		}
		return nil
	})
}

// halt stops writing the record.
func (j *Job) halt() {
	j.stop()
	<-j.done
}
