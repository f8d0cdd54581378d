package jobs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// How a job keeps its record.
const (
	// beatEvery is how often a job writes its record and looks for wishes.
	beatEvery = 500 * time.Millisecond
	// endWait bounds how long the end of a statement waits for its record to say so.
	endWait = 2 * time.Second
)

// Job is a statement that runs.
type Job struct {
	store  *Store
	id     int64
	cancel func()
	rows   atomic.Int64
	stop   context.CancelFunc
	done   chan struct{} // beat has ended

	mu       sync.Mutex
	resumed  chan struct{} // open while the job is to pause
	pausing  bool          // it does
	canceled bool
}

// Start makes a job. cancel ends its statement.
func (s *Store) Start(ctx context.Context, statement, user, database string, node kvpb.NodeID, cancel func()) (*Job, error) {
	now := s.now()
	r := &Record{
		ID: now / int64(time.Microsecond), Statement: clip(statement), User: user, Database: database, Node: node,
		State: Running, Created: now, Modified: now,
	}
	if err := s.add(ctx, r); err != nil {
		return nil, err
	}
	beatCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	j := &Job{store: s, id: r.ID, cancel: cancel, stop: stop, done: make(chan struct{})}
	go j.beatAll(beatCtx)
	return j, nil
}

func clip(text string) string {
	if len(text) > maxText {
		return text[:maxText]
	}
	return text
}

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
			_, _ = j.store.change(ctx, j.id, j.beat) // what fails is tried again
		}
	}
}

// beat brings the record and the job up to date with each other.
func (j *Job) beat(r *Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case r.Wish == Canceled && !j.canceled:
		j.canceled = true
		j.cancel()
	case r.Wish == Paused && j.resumed == nil:
		j.resumed = make(chan struct{})
	case r.Wish == Running && j.resumed != nil:
		close(j.resumed)
		j.resumed = nil
	}
	r.State, r.Rows, r.Modified = Running, j.rows.Load(), j.store.now()
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

// End says in the record how the statement ended.
func (j *Job) End(ctx context.Context, failed error) {
	j.stop()
	<-j.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	_, _ = j.store.change(ctx, j.id, func(r *Record) error { // else it falls silent
		r.State, r.Wish, r.Rows, r.Modified = Succeeded, "", j.rows.Load(), j.store.now()
		r.Finished = r.Modified
		if failed != nil {
			r.State, r.Error = Failed, clip(failed.Error())
			if j.canceled {
				r.State = Canceled
			}
		}
		return nil
	})
}
