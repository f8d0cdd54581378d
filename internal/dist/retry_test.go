package dist

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/sendertest"
	"github.com/lichendb/lichen/internal/lock"
)

// withRanges runs a test in virtual time.
func withRanges(t *testing.T, fn func(w *scriptedRanges, d *Router)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedRanges(t)
		fn(w, w.router())
	})
}

func get(d *Router, key string) error {
	return d.Get(context.Background(), &kvpb.GetRequest{Key: []byte(key)}, &kvpb.GetResponse{})
}

func mustGet(w *scriptedRanges, d *Router, key string) {
	w.t.Helper()
	if err := get(d, key); err != nil {
		w.t.Fatal(err)
	}
}

func commit(ctx context.Context, d *Router, txn uint64, kvs ...string) error {
	req := &kvpb.CommitRequest{Txn: &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: 1, Lo: txn}}}
	for _, k := range kvs {
		req.Writes = append(req.Writes, kvpb.Write{Key: []byte(k), Value: []byte("x")})
	}
	return d.Commit(ctx, req, &kvpb.CommitResponse{})
}

func TestLeaderElsewhere(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 3
		began := time.Now()
		mustGet(w, d, "b") // node 1 knows the leader
		mustGet(w, d, "b") // the router does now
		w.expect("n3 r1 get b-", "n3 r1 get b-")
		w.at("b").shy = true
		w.at("b").leader = 2
		mustGet(w, d, "c")
		w.expect("n2 r1 get c-")
		if time.Since(began) != 0 {
			t.Errorf("finding the leader paused for %s", time.Since(began))
		}
		if l := d.Cache().Cached([]byte("b")).Leader(); l == nil || l.Node != 2 {
			t.Errorf("the cache has leader %v", l)
		}
	})
}

func TestNodeDown(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 2
		mustGet(w, d, "b")
		w.down[2] = true
		time.AfterFunc(time.Second, func() {
			w.mu.Lock()
			w.at("b").leader = 3
			w.mu.Unlock()
		})
		began := time.Now()
		mustGet(w, d, "b")
		if took := time.Since(began); took < time.Second || took > time.Second+maxBackoff {
			t.Errorf("the new leader was found after %s", took)
		}
		w.expect("n2 r1 get b-", "n3 r1 get b-")
	})
}

func TestNoLeader(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 0
		began := time.Now()
		err := get(d, "b")
		var down *kvpb.UnavailableError
		if !errors.As(err, &down) || !strings.Contains(err.Error(), "range 1 ") || !strings.Contains(err.Error(), "no leader that this replica knows") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took < maxUnavailable-maxBackoff || took > maxUnavailable+maxBackoff {
			t.Errorf("gave up after %s", took)
		}
		if kvpb.Classify(commit(context.Background(), d, 1, "b")) != kvpb.ClassUser {
			t.Error("a commit that surely did not happen is not a plain error")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := d.Get(ctx, &kvpb.GetRequest{Key: []byte("b")}, &kvpb.GetResponse{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("when the context ends: %v", err)
		}
	})
}

// An error because of a missing leader names the missing nodes and says what to do.
func TestMissingNodes(t *testing.T) {
	desc := kvpb.RangeDescriptor{RangeID: 7}
	for n := kvpb.NodeID(1); n <= 3; n++ {
		desc.Replicas = append(desc.Replicas, kvpb.ReplicaDescriptor{Node: n})
	}
	desc.Replicas = append(desc.Replicas, kvpb.ReplicaDescriptor{Node: 4, Type: kvpb.Learner})
	for _, c := range []struct {
		live         []kvpb.NodeID
		detail, hint string
	}{
		{[]kvpb.NodeID{2, 3}, "All of them are there.", "run the statement again"},
		{[]kvpb.NodeID{3, 4}, "Nothing is heard from node 2.", "The others should elect"},
		{[]kvpb.NodeID{4}, "on nodes 1, 2 and 3, and 2 of them must answer. Nothing is heard from nodes 2 and 3.", "Start nodes 2 and 3 again"},
	} {
		d := NewRouter(Config{Node: 1, Live: func(n kvpb.NodeID) bool { return slices.Contains(c.live, n) }})
		r := retry{noProgress: maxUnavailable}
		var e *kvpb.UnavailableError
		if err := r.unavailable(d, target{desc: &desc}); !errors.As(err, &e) {
			t.Fatal(err)
		}
		if !strings.Contains(e.Reason, "range 7 ") || !strings.Contains(e.Detail, c.detail) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("with %v: %q; %q; %q", c.live, e.Reason, e.Detail, e.Hint)
		}
	}
}

// A request to replicas that name each other as the leader ends, and does not keep the processor busy.
func TestPingPong(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		asked := 0
		w.fail = func(_ string, n kvpb.NodeID, id kvpb.RangeID) error {
			asked++
			return &kvpb.NotLeaderError{Range: id, Leader: kvpb.ReplicaDescriptor{Node: n%3 + 1}}
		}
		var down *kvpb.UnavailableError
		if err := get(d, "b"); !errors.As(err, &down) {
			t.Errorf("got %v", err)
		}
		if asked > 300 {
			t.Errorf("%d questions in %s", asked, maxUnavailable)
		}
	})
}

func TestRangeMovedAway(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		mustGet(w, d, "b")
		w.took()
		w.move("b", 5, 6)
		time.AfterFunc(50*time.Millisecond, func() {
			w.mu.Lock()
			w.publish()
			w.mu.Unlock()
		})
		mustGet(w, d, "b") // none of the known replicas is left
		mustGet(w, d, "c")
		w.expect("n5 r1 get b-", "n5 r1 get c-")
	})
}

func TestSplitIsFollowed(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		mustGet(w, d, "f")
		w.took()
		w.split("d")
		w.at("d").leader = 2
		looked := w.looked
		mustGet(w, d, "f") // range 1 says where f is
		w.expect("n2 r4 get f-")
		if w.looked != looked {
			t.Error("looked up what the range has said")
		}
		w.merge("b")
		w.publish()
		mustGet(w, d, "f") // range 4 is gone, the meta records say where f is
		w.expect("n1 r1 get f-")
	})
}

func TestScanFollowsBoundaries(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		withRanges(t, func(w *scriptedRanges, d *Router) {
			for _, k := range []string{"b", "d", "f", "h", "k", "q"} {
				w.data[k] = "1"
			}
			if got := scan(t, d, "a", "z", reverse, nil); got != "b d f h k q" {
				t.Errorf("got %q", got)
			}
			w.split("e")
			w.split("j")
			w.took()
			got := scan(t, d, "c", "l", reverse, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.split([]string{"i", "g", "dd", "c"}[len(w.log)%4])
			})
			if got != "d f h k" {
				t.Errorf("reverse %t: got %q (%q)", reverse, got, w.took())
			}
		})
	}
}

// scan returns the keys of a span in ascending order, and calls between after each page.
func scan(t *testing.T, d *Router, start, end string, reverse bool, between func()) string {
	t.Helper()
	var found []string
	lo, hi := []byte(start), []byte(end)
	for range 50 {
		var resp kvpb.ScanResponse
		err := d.Scan(context.Background(), &kvpb.ScanRequest{Start: lo, End: hi, Reverse: reverse}, &resp)
		if err != nil {
			t.Fatal(err)
		}
		for i := range resp.Len() {
			found = append(found, string(resp.Key(i)))
		}
		if resp.Resume == nil {
			if reverse {
				slices.Reverse(found)
			}
			return strings.Join(found, " ")
		}
		if reverse {
			hi = resp.Resume
		} else {
			lo = resp.Resume
		}
		if between != nil {
			between()
			between = nil
		}
	}
	t.Fatal("the scan does not end")
	return ""
}

func TestCommitWithoutAnswer(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 2
		w.lost[2] = 1
		if err := commit(context.Background(), d, 1, "b"); err != nil {
			t.Fatal(err)
		}
		w.expect("n2 r1 commit b-", "n2 r1 recommit b-")
		if w.data["b"] != "x" {
			t.Errorf("the write happened as %q", w.data["b"])
		}
		if err := commit(context.Background(), d, 2, "b"); err != nil {
			t.Fatal(err)
		}
		w.expect("n2 r1 commit b-")
	})
}

// Invariant D3.
func TestCommitBecomesAmbiguous(t *testing.T) {
	ambiguous := func(t *testing.T, what string, err error) {
		t.Helper()
		if kvpb.Classify(err) != kvpb.ClassAmbiguous {
			t.Errorf("%s: got %v", what, err)
		}
	}
	withRanges(t, func(w *scriptedRanges, d *Router) {
		lose := func(key string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.at(key).leader = 2
			w.lost[2] = 1
			w.fail = func(op string, _ kvpb.NodeID, id kvpb.RangeID) error {
				if op == "recommit" {
					return &kvpb.NotLeaderError{Range: id}
				}
				return nil
			}
		}
		lose("b")
		ambiguous(t, "no leader afterwards", commit(context.Background(), d, 1, "b"))
		lose("b")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		ambiguous(t, "the context ends", commit(ctx, d, 2, "b"))
		lose("b")
		w.fail = func(op string, _ kvpb.NodeID, _ kvpb.RangeID) error {
			if op == "recommit" && w.at("b") == w.at("c") {
				w.split("c")
				return &kvpb.RangeMismatchError{Range: 1, Known: []kvpb.RangeDescriptor{w.at("b").desc, w.at("c").desc}}
			}
			return nil
		}
		ambiguous(t, "split before the answer", commit(context.Background(), d, 3, "b", "c"))
		// A leader that refuses it when it is sent again is believed.
		lose("b")
		w.fail = func(op string, _ kvpb.NodeID, _ kvpb.RangeID) error {
			if op == "recommit" {
				return &kvpb.RetryError{Reason: "not that one"}
			}
			return nil
		}
		if err := commit(context.Background(), d, 4, "b"); kvpb.Classify(err) != kvpb.ClassRetry {
			t.Errorf("got %v", err)
		}
	})
}

// A commit whose leader lost the leadership before it knew the outcome is sent again to another replica.
func TestAmbiguousReplicaIsAskedAgain(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.fail = func(op string, n kvpb.NodeID, _ kvpb.RangeID) error {
			if op == "commit" && n == 1 {
				w.at("b").leader = 3
				return &kvpb.AmbiguousCommitError{Cause: errors.New("leadership lost")}
			}
			return nil
		}
		if err := commit(context.Background(), d, 1, "b"); err != nil {
			t.Fatal(err)
		}
		w.expect("n3 r1 recommit b-")
	})
}

// Errors that are not about routing reach the caller at once.
func TestOtherErrorsAreFinal(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		for _, want := range []error{&kvpb.RetryError{Reason: "r"}, &kvpb.DeadlockError{}, &kvpb.DiskFullError{Cause: errors.New("full")}} {
			asked := 0
			w.fail = func(string, kvpb.NodeID, kvpb.RangeID) error { asked++; return want }
			if err := get(d, "b"); !errors.Is(err, want) || asked != 1 {
				t.Errorf("got %v after %d attempts, want %v", err, asked, want)
			}
		}
	})
}

// The cancellation of a request on another node that stops is not taken for the caller's own.
func TestCanceledElsewhere(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 2
		w.fail = func(_ string, n kvpb.NodeID, _ kvpb.RangeID) error {
			if n == 2 {
				w.at("b").leader = 3
				return context.Canceled
			}
			return nil
		}
		mustGet(w, d, "b")
		w.expect("n3 r1 get b-")
	})
}

// If the answer to a lock request was lost, nobody knows whether the transaction held the lock before. The response to
// the next attempt says so, since otherwise nobody would release the lock.
func TestLockWithoutAnswer(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.at("b").leader = 2
		txn := &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: 1, Lo: 1}}
		for i, lost := range []int{0, 1} {
			w.lost[2] = lost
			var resp kvpb.LockResponse
			key := []byte{"bc"[i]}
			if err := d.Lock(context.Background(), &kvpb.LockRequest{Txn: txn, Key: key, Strength: lock.Update}, &resp); err != nil || lost > 0 && !resp.Resent || !resp.Acquired && !resp.Resent {
				t.Errorf("%d answers lost: %+v, %v", lost, resp, err)
			}
		}
		var resp kvpb.LockResponse
		if err := d.Lock(context.Background(), &kvpb.LockRequest{Txn: txn, Key: []byte("b"), Strength: lock.Update}, &resp); err != nil || resp.Acquired || resp.Resent {
			t.Errorf("a lock that is held already: %+v, %v", resp, err)
		}
	})
}

// local is a Locator of one range. Its replica answers with errs, one after the other, and then without an error.
type local struct {
	desc kvpb.RangeDescriptor
	errs []error
}

func (l *local) Lookup([]byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	return sendertest.Script(func(context.Context, any, any) error {
		if len(l.errs) == 0 {
			return nil
		}
		err := l.errs[0]
		l.errs = l.errs[1:]
		return err
	}), &l.desc, nil
}

// A router with a Locator waits until this node leads. If the node stops, the error is final.
func TestLocatorRetries(t *testing.T) {
	withRanges(t, func(*scriptedRanges, *Router) {
		l := &local{errs: []error{&kvpb.NotLeaderError{}, &kvpb.RangeMismatchError{}, &kvpb.NotLeaderError{}}}
		if err := get(New(l, nil), "b"); err != nil {
			t.Error(err)
		}
		down := &kvpb.UnavailableError{Reason: "stopping"}
		l.errs = []error{down, nil}
		if err := get(New(l, nil), "b"); !errors.Is(err, down) {
			t.Errorf("got %v", err)
		}
	})
}

// A replica that is slow to say that it can't serve does not delay the failure of a request. A replica where the request
// waited for a lock does.
func TestSlowRefusals(t *testing.T) {
	for _, c := range []struct {
		err      func(kvpb.RangeID) error
		min, max time.Duration
	}{
		{func(kvpb.RangeID) error { return &kvpb.UnavailableError{Reason: "no quorum"} }, maxUnavailable, maxUnavailable + 8*time.Second},
		{func(id kvpb.RangeID) error { return &kvpb.NotLeaderError{Range: id} }, 20 * time.Second, 2 * time.Minute},
	} {
		withRanges(t, func(w *scriptedRanges, d *Router) {
			w.fail = func(_ string, _ kvpb.NodeID, id kvpb.RangeID) error {
				<-time.After(4 * time.Second)
				return c.err(id)
			}
			began := time.Now()
			var down *kvpb.UnavailableError
			if err := get(d, "b"); !errors.As(err, &down) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took < c.min || took > c.max {
				t.Errorf("%v: gave up after %s", c.err(1), took)
			}
		})
	}
}
