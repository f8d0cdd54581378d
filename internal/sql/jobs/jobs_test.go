package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
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

// job makes a job whose record the test writes, with Job.change.
func job(t *testing.T, s *Store, id int64, cancel func(bool)) *Job {
	t.Helper()
	r := &Record{ID: id, Statement: "x", State: Running, Created: s.now(), Modified: s.now(), Until: s.now() + int64(Validity), Epoch: 1, Runs: 1}
	if err := s.add(ctx, r); err != nil {
		t.Fatal(err)
	}
	return still(s, r, cancel)
}

// still is a job that writes its record only when the test has it do so.
func still(s *Store, r *Record, cancel func(bool)) *Job {
	j := s.run(ctx, r, cancel)
	j.halt()
	return j
}

func (j *Job) see(t *testing.T) {
	t.Helper()
	if err := j.change(ctx, j.beat); err != nil {
		t.Fatal(err)
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
	j := job(t, s, 7, func(bool) { canceled = true })
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
	if err := j.End(ctx, context.Canceled); err != nil {
		t.Error(err)
	}
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

// survivor makes a job with which another node may go on.
func survivor(t *testing.T, s *Store, until int64) *Record {
	t.Helper()
	r := &Record{ID: 5, Statement: "x", State: Running, Created: s.now(), Modified: s.now(), Until: until, Epoch: 1, Runs: 1, Node: 1, Again: &Again{Text: "x"}}
	if err := s.add(ctx, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Who has taken a job over is the only one who writes its record and makes its change; the former runner learns of that.
func TestTakenOver(t *testing.T) {
	s := open(t)
	lost := false
	former := still(s, survivor(t, s, s.past()-1), func(l bool) { lost = l })
	if err := former.Note(ctx, []byte(`"here"`)); err != nil {
		t.Fatal(err)
	}
	if j, err := s.Claim(ctx, 5, 2, nil); j != nil || err != nil {
		t.Fatalf("claimed while its runner lives: %v", err)
	}
	expire(t, s, 5)
	if ids, err := s.Unattended(ctx); err != nil || len(ids) != 1 || ids[0] != 5 {
		t.Fatal(ids, err)
	}
	j, err := s.Claim(ctx, 5, 2, func(bool) {})
	if err != nil || j == nil {
		t.Fatal(err)
	}
	defer j.halt()
	if string(j.Noted()) != `"here"` || j.Record().Node != 2 || j.Record().Runs != 2 {
		t.Errorf("claimed: %+v", j.Record())
	}
	if err := former.change(ctx, former.beat); !errors.Is(err, ErrLost) || !lost {
		t.Errorf("the former runner writes the record: %v", err)
	}
	if err := former.Lease(ctx); !errors.Is(err, ErrLost) {
		t.Errorf("the former runner may write: %v", err)
	}
	publish := func(j *Job) error {
		return s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error { return j.Publish(ctx, t) })
	}
	if err := publish(former); !errors.Is(err, ErrLost) {
		t.Errorf("the former runner makes the change: %v", err)
	}
	if err := former.End(ctx, errors.New("too late")); !errors.Is(err, ErrLost) {
		t.Errorf("the end of the former runner: %v", err)
	}
	if got := state(t, s, 5); got != Running {
		t.Errorf("after the end of the former runner: %s", got)
	}
	if err := publish(j); err != nil {
		t.Fatal(err)
	}
	if err := publish(j); !errors.Is(err, ErrLost) {
		t.Errorf("the change is made twice: %v", err)
	}
	if err := j.End(ctx, errors.New("the answer was lost")); err != nil {
		t.Errorf("the end of a job whose change was made: %v", err)
	}
	if got := state(t, s, 5); got != Succeeded {
		t.Errorf("a job whose change was made: %s", got)
	}
}

// The runner of a job that nobody can go on with makes its change unless others have ended the job.
func TestGivenUp(t *testing.T) {
	s := open(t)
	j := job(t, s, 7, func(bool) {})
	publish := func() error {
		return s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error { return j.Publish(ctx, t) })
	}
	expire(t, s, 7)
	if other, err := s.Claim(ctx, 7, 2, nil); other != nil || err != nil {
		t.Fatal(other, err)
	}
	if got := state(t, s, 7); got != Failed {
		t.Errorf("without its runner: %s", got)
	}
	if err := publish(); !errors.Is(err, ErrLost) {
		t.Errorf("what was given up is made: %v", err)
	}
	j = job(t, s, 8, func(bool) {})
	if err := publish(); err != nil {
		t.Fatal(err)
	}
	if got := state(t, s, 8); got != Succeeded { // nobody has written its end
		t.Errorf("made: %s", got)
	}
}

// A statement that failed and can't say so may be gone on with; one that succeeded, or that nobody else can run, is what it is.
func TestUnwrittenEnd(t *testing.T) {
	s := open(t)
	s.endWait = time.Millisecond
	alone, other := job(t, s, 7, func(bool) {}), still(s, survivor(t, s, s.now()+int64(Validity)), func(bool) {})
	holder := s.DB.Begin(kv.TxnOptions{})
	holder.BeginStatement()
	for _, id := range []int64{5, 7} {
		if _, err := holder.Lock(ctx, key(id), lock.Update, lock.WaitBlock); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("failed")
	var unsure *UnsureError
	if err := other.End(ctx, failed); !errors.As(err, &unsure) || unsure.ID != 5 {
		t.Errorf("a statement that others may go on with: %v", err)
	}
	if err := other.End(ctx, nil); err != nil {
		t.Errorf("one that has succeeded: %v", err)
	}
	if err := alone.End(ctx, failed); err != nil {
		t.Errorf("one that nobody else can run: %v", err)
	}
	holder.Rollback(ctx)
	expire(t, s, 5)
	if j, err := s.Claim(ctx, 5, 2, func(bool) {}); err != nil || j == nil {
		t.Errorf("nobody goes on: %v", err)
	} else {
		j.halt()
	}
}

// expire ends the time for which the runner of a job may write.
func expire(t *testing.T, s *Store, id int64) {
	t.Helper()
	_, err := s.change(ctx, id, func(_ context.Context, _ *kv.Txn, r *Record) error {
		r.Until = s.past() - 1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a job protects from being collected is given up at its end, and if a former runner protects it later, soon after.
func TestProtected(t *testing.T) {
	s := open(t)
	j := still(s, survivor(t, s, s.now()), func(bool) {})
	span := kvpb.Span{Key: keys.TablePrefix(1, 100), EndKey: keys.TablePrefix(1, 101)}
	protected := func(want int) {
		t.Helper()
		if err := s.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		err := s.DB.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
			all, err := kv.Protections(ctx, txn)
			if len(all) != want {
				t.Errorf("%d protections, not %d", len(all), want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	at := s.DB.Clock().Now()
	if err := j.Protect(ctx, span, at); err != nil {
		t.Fatal(err)
	}
	protected(1)
	if err := j.End(ctx, errors.New("no")); err != nil {
		t.Error(err)
	}
	protected(0)
	if err := j.Protect(ctx, span, s.DB.Clock().Now()); err != nil {
		t.Fatal(err)
	}
	protected(0)
}

// Wishes hold for a job that nobody runs.
func TestWishesOfOrphans(t *testing.T) {
	s := open(t)
	survivor(t, s, s.past()-1)
	wish := func(want string) {
		t.Helper()
		if found, err := s.Wish(ctx, 5, want, anybody); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	claim := func(taken bool, want string) *Job {
		t.Helper()
		j, err := s.Claim(ctx, 5, 2, func(bool) {})
		if err != nil || (j != nil) != taken {
			t.Fatalf("claimed: %v, %v", j != nil, err)
		}
		if got := state(t, s, 5); got != want {
			t.Errorf("claimed: %s, not %s", got, want)
		}
		return j
	}
	wish(Paused)
	claim(false, Paused)
	claim(false, Paused)
	wish(Running)
	claim(true, Running).Leave(ctx, errors.New("no room"))
	expire(t, s, 5)
	wish(Canceled)
	if ids, err := s.Unattended(ctx); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	claim(false, Canceled)
	if ids, err := s.Unattended(ctx); err != nil || len(ids) != 0 {
		t.Fatal(ids, err)
	}
}

// TestNext runs testdata/next: what becomes of jobs without a runner.
func TestNext(t *testing.T) {
	datadriven.RunTest(t, "testdata/next", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for _, line := range strings.Split(d.Input, "\n") {
			r, claimed := Record{Node: 3, State: Running, Runs: 1, Until: int64(10 * time.Second)}, true
			now := int64(0)
			for _, word := range strings.Fields(line) {
				name, value, _ := strings.Cut(word, "=")
				switch name {
				case "state":
					r.State = value
				case "wish":
					r.Wish = value
				case "survives":
					r.Again = &Again{Text: "x"}
				case "claims":
					r.Claims = true
				case "unclaimed":
					claimed = false
				case "old":
					r.old, r.Until = true, 0
				case "runs":
					r.Runs, _ = strconv.Atoi(value)
				case "now":
					n, _ := strconv.Atoi(value)
					now = int64(n) * int64(time.Second)
				default:
					t.Fatalf("unknown word %q", word)
				}
			}
			do, state, reason := r.next(claimed, now)
			fmt.Fprintln(&out, strings.TrimSpace(strings.Join([]string{[]string{"wait", "finish", "park", "take over"}[do], state, reason}, " ")))
		}
		return out.String()
	})
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
