package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var ctx = context.Background()

func open(t *testing.T) *Store {
	n := clustertest.Open(t, fs.NewMem())
	t.Cleanup(func() {
		if err := n.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Store{DB: n.DB}
}

func anybody(*Record) error { return nil }

// job makes a job whose record the test writes, with Store.change.
func job(t *testing.T, s *Store, id int64, cancel func()) *Job {
	t.Helper()
	if err := s.add(ctx, &Record{ID: id, Statement: "x", State: Running, Created: s.now(), Modified: s.now()}); err != nil {
		t.Fatal(err)
	}
	j := &Job{store: s, id: id, cancel: cancel, stop: func() {}, done: make(chan struct{})}
	close(j.done)
	return j
}

func (j *Job) see(t *testing.T) {
	t.Helper()
	if found, err := j.store.change(ctx, j.id, j.beat); err != nil || !found {
		t.Fatal(found, err)
	}
}

func state(t *testing.T, s *Store, id int64) string {
	t.Helper()
	list, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.ID == id {
			return r.State
		}
	}
	return ""
}

// A job heeds wishes once it has seen them, and pauses only where that holds up nobody.
func TestWishes(t *testing.T) {
	s := open(t)
	canceled := false
	j := job(t, s, 7, func() { canceled = true })
	wish := func(state string) {
		t.Helper()
		if found, err := s.Wish(ctx, 7, state, anybody); err != nil || !found {
			t.Fatal(found, err)
		}
		j.see(t)
	}
	wish(Paused)
	if err := j.Progress(ctx, 10, false); err != nil {
		t.Fatal(err)
	}
	paused := make(chan error)
	go func() { paused <- j.Progress(ctx, 10, true) }()
	for state(t, s, 7) != Paused {
		j.see(t)
	}
	wish(Running)
	if err := <-paused; err != nil {
		t.Fatal(err)
	}
	j.see(t)
	if got := state(t, s, 7); got != Running {
		t.Errorf("resumed: %s", got)
	}
	wish(Paused)
	ended, end := context.WithCancel(ctx)
	end()
	if err := j.Progress(ended, 1, true); err == nil {
		t.Error("a statement that has ended goes on")
	}
	wish(Canceled)
	if !canceled {
		t.Error("not cancelled")
	}
	j.End(ctx, context.Canceled)
	if got := state(t, s, 7); got != Canceled {
		t.Errorf("cancelled: %s", got)
	}
	if _, err := s.Wish(ctx, 7, Running, anybody); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Errorf("a wish of a job that has ended: %v", err)
	}
	if found, err := s.Wish(ctx, 8, Running, anybody); found || err != nil {
		t.Errorf("a wish of no job: %v, %v", found, err)
	}
}

// A job whose node has died has failed.
func TestSilent(t *testing.T) {
	s := open(t)
	old := s.now() - int64(Silence) - int64(time.Second)
	if err := s.add(ctx, &Record{ID: 1, Node: 3, State: Paused, Modified: old}); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 1 || list[0].State != Failed || list[0].Finished != old || list[0].Error == "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// Of jobs that have ended the newest are kept, of others all.
func TestPrune(t *testing.T) {
	s := open(t)
	job(t, s, 1, nil)
	err := s.DB.Run(ctx, func(_ context.Context, t *kv.Txn) error {
		for id := int64(2); id < maxKept+5; id++ {
			b, err := encode(&Record{ID: id, State: Succeeded})
			if err == nil {
				err = t.Put(key(id), b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	job(t, s, maxKept+5, nil)
	list, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list); n != 1+maxKept || list[0].ID != 1 || list[1].ID != 6 {
		t.Errorf("%d jobs are kept, among them %d and %d", n, list[0].ID, list[1].ID)
	}
}
