package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// Someone else's later read makes the commit begin anew at a later timestamp; at
// SERIALIZABLE only if what was read still holds.
func TestReadForcesRestage(t *testing.T) {
	for _, stale := range []bool{false, true} {
		t.Run(fmt.Sprint("stale=", stale), func(t *testing.T) {
			c := newRanges(t, fs.NewMem(), "h", "p")
			defer c.close()
			ctx := context.Background()
			other := c.gateway()
			other.mustSet("old", "a", "i", "q", "x")
			other.router.Wait()
			g := c.gateway()
			stages := map[string]int{}
			g.set(func(op string, _ []byte, after bool) error {
				g.mu.Lock()
				defer g.mu.Unlock()
				if !after {
					stages[op]++
				}
				return nil
			})
			txn := g.begin(kv.TxnOptions{})
			if _, _, err := txn.Get(ctx, key("x")); err != nil {
				t.Fatal(err)
			}
			if err := setAll(ctx, txn, "new", "a", "i"); err != nil {
				t.Fatal(err)
			}
			if stale {
				other.mustSet("changed", "x")
			}
			if got := other.get("i"); got != "[old]" {
				t.Fatal(got)
			}
			err := txn.Commit(ctx)
			g.router.Wait()
			if stale != kv.IsRetryable(err) || !stale && err != nil {
				t.Fatalf("the commit returned %v", err)
			}
			want := map[bool]string{false: "[new new old]", true: "[old old changed]"}[stale]
			if got := other.get("a", "i", "x"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if !stale && (stages["stage"] != 4 || stages["refresh"] != 1) {
				t.Errorf("messages: %v", stages)
			}
			c.clean()
		})
	}
}

// What a coordinator of an earlier incarnation of the only node left is decided when the
// node starts again.
func TestStoppedCoordinatorAndRestart(t *testing.T) {
	var wg sync.WaitGroup
	for n := 1; n <= steps; n++ {
		wg.Go(func() { stopAndRestart(t, n) })
	}
	wg.Wait()
}

func stopAndRestart(t *testing.T, n int) {
	mem := fs.NewMem()
	c := newRanges(t, mem, "h", "p")
	c.gateway().mustSet("old", "a", "i", "q")
	ctx := context.Background()
	victim := c.gateway()
	txn := victim.begin(kv.TxnOptions{})
	if err := setAll(ctx, txn, "new", "a", "i", "q"); err != nil {
		c.fatal(err)
	}
	victim.dieAt(n, true)
	err := txn.Commit(ctx)
	victim.router.Wait()
	c.close()

	c = newRanges(t, mem, "h", "p")
	for _, r := range c.store.Replicas() {
		r.Sweep()
	}
	got := c.gateway().get("q", "i", "a")
	if got != "[old old old]" && got != "[new new new]" || err == nil && got != "[new new new]" {
		t.Errorf("stopped at %d, the commit returned %v: %s", n, err, got)
	}
	c.close()
}

// What a recovery has counted as staged is not replaced by a later attempt at another
// timestamp, neither in the next leadership nor by the leader of a half of the range: the
// recovery may commit the first attempt. It no longer may when the record has heard of the later one.
func TestCountedPartStays(t *testing.T) {
	ctx := context.Background()
	for _, then := range []string{"nothing", "restart", "split"} {
		mem := fs.NewMem()
		c := newRanges(t, mem, "h", "p")
		c.gateway().mustSet("old", "a", "i", "q")
		id := kvpb.TxnID{Hi: c.gateway().incarnation, Lo: 1}
		first := c.clock.Now()
		stage := func(ts hlc.Timestamp, attempt uint32, recorded bool) (resp kvpb.StageResponse) {
			s, _, err := c.store.Lookup(key("i"))
			if err != nil {
				t.Fatal(err)
			}
			req := kvpb.StageRequest{
				Txn: &kvpb.TxnMeta{ID: id, ReadTS: first}, TS: ts, Attempt: attempt, Anchor: key("a"),
				Writes: []kvpb.Write{{Key: key("i"), Value: []byte("new")}}, Recorded: recorded,
			}
			if err := s.Stage(ctx, &req, &resp); err != nil || !resp.Lowest.IsEmpty() {
				t.Fatalf("not below %v: %v", resp.Lowest, err)
			}
			return resp
		}
		stage(first, 1, false)
		query := kvpb.QueryStagedRequest{Txn: id, Keys: [][]byte{key("i")}, TS: first, Attempt: 1}
		var counted kvpb.QueryStagedResponse
		if err := c.peers.router.QueryStaged(ctx, &query, &counted); err != nil || !counted.Present {
			t.Fatalf("the key is staged: %t, %v", counted.Present, err)
		}
		switch then {
		case "restart":
			c.close()
			c = newRanges(t, mem, "h", "p")
		case "split":
			_, d, err := c.store.Lookup(key("i"))
			if err != nil {
				t.Fatal(err)
			}
			r, _ := c.store.Replica(d.RangeID)
			if err := r.Split(ctx, key("i"), 9); err != nil {
				t.Fatal(err)
			}
			c.waitFor("i")
			c.connect()
		}
		query.Peek = true
		stays := func() bool {
			if err := c.peers.router.QueryStaged(ctx, &query, &counted); err != nil {
				t.Fatal(err)
			}
			return counted.Present
		}
		if !stage(c.clock.Now(), 2, false).Queried || !stays() {
			t.Errorf("%s: a later attempt has replaced what was counted", then)
		}
		if stage(c.clock.Now(), 3, true).Queried || stays() {
			t.Errorf("%s: an attempt that the record has heard of did not replace what was counted", then)
		}
		if stage(c.clock.Now(), 4, false).Queried {
			t.Errorf("%s: nobody has counted the third attempt's keys", then)
		}
		c.close()
	}
}

// replaceCounted has a later attempt of a commit come to a range just when a recovery, which
// goes on to commit the earlier one, has counted its keys there. What a transaction has written
// must be there from its commit timestamp on, all of it.
func replaceCounted(t *testing.T) error {
	ctx := context.Background()
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	other := c.gateway()
	other.mustSet("old", "a", "i")
	incarnation := c.gateway().incarnation
	first := c.clock.Now()
	stage := func(name string, ts hlc.Timestamp, attempt uint32) error {
		req := kvpb.StageRequest{
			Txn: &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: incarnation, Lo: 1}, ReadTS: first}, TS: ts, Attempt: attempt, Anchor: key("a"),
			Writes: []kvpb.Write{{Key: key(name), Value: []byte("new")}},
		}
		if name == "a" {
			req.Record, req.Keys = true, [][]byte{key("a"), key("i")}
		}
		s, _, err := c.store.Lookup(key(name))
		if err != nil {
			return err
		}
		return s.Stage(ctx, &req, new(kvpb.StageResponse))
	}
	if err := errors.Join(stage("a", first, 1), stage("i", first, 1)); err != nil {
		t.Fatal(err)
	}
	var later sync.Once
	c.peers.set(func(op string, k []byte, after bool) (err error) {
		if op == "query" && after && bytes.Equal(k, key("i")) {
			later.Do(func() {
				c.alive.Store(incarnation, true) // it was sent before its gateway died
				err = stage("i", c.clock.Now(), 2)
				c.alive.Store(incarnation, false)
			})
		}
		return err
	})
	c.alive.Store(incarnation, false)
	if got := other.get("a", "i"); got != "[new new]" {
		return fmt.Errorf("after the recovery: %s", got)
	}
	past := other.db.Begin(kv.TxnOptions{ReadOnly: true, AsOf: first})
	defer past.Rollback(ctx)
	past.BeginStatement()
	for _, name := range []string{"a", "i"} {
		if v, _, err := past.Get(ctx, key(name)); err != nil || string(v) != "new" {
			return fmt.Errorf("at the time of the commit %s is %q, %v", name, v, err)
		}
	}
	return nil
}

func TestCountedIsNotReplaced(t *testing.T) {
	if err := replaceCounted(t); err != nil {
		t.Error(err)
	}
}

// A gateway that asks so late what became of its commit that the range of the record may
// have forgotten it learns that nobody knows, not that the commit was aborted.
func TestForgottenEnd(t *testing.T) {
	ctx := context.Background()
	mem := fs.NewMem()
	c := newRanges(t, mem, "h", "p")
	defer c.close()
	g, other := c.gateway(), c.gateway()
	txn := g.writing(kv.TxnOptions{}, "new", "a", "i", "q")
	var staged atomic.Int32
	g.set(func(op string, _ []byte, after bool) error {
		if op != "stage" || !after {
			return nil
		}
		if staged.Add(1) == 3 { // others commit it, and a restart is the end of all memory
			c.alive.Store(g.incarnation, false)
			var resp kvpb.PushResponse
			err := other.router.Push(ctx, &kvpb.PushRequest{Txn: txn.ID(), Anchor: key("a")}, &resp)
			if err != nil || resp.Status != kvpb.TxnCommitted {
				t.Errorf("recovery: %s, %v", resp.Status, err)
			}
			for _, r := range c.store.Replicas() {
				r.Sweep()
			}
			c.alive.Store(g.incarnation, true)
			c.clean()
			c.restart(mem, "h", "p")
		}
		return errLost
	})
	var ambiguous *kvpb.AmbiguousCommitError
	if err := txn.Commit(ctx); !errors.As(err, &ambiguous) {
		t.Errorf("the commit returned %v", err)
	}
	if got := other.get("a", "i", "q"); got != "[new new new]" {
		t.Errorf("the values are %s", got)
	}
}

// A transaction larger than its gateway's buffer is atomic over several ranges,
// and undone in all of them.
func TestSpillSeveralRanges(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	ctx := context.Background()
	g, other := c.gateway(), c.gateway()
	val := make([]byte, 4000)
	const rows = 2000 // in each of three ranges: more than one buffer
	fill := func(txn *kv.Txn, suffix string) {
		t.Helper()
		txn.BeginStatement()
		for i := range rows {
			for _, p := range []string{"a", "i", "q"} {
				if err := txn.Put(key(fmt.Sprintf("%s%s%06d", p, suffix, i)), val); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	txn := g.db.Begin(kv.TxnOptions{})
	fill(txn, "")
	if n := count(t, other.db); n != 0 {
		t.Fatalf("another gateway sees %d rows of an open transaction", n)
	}
	txn.BeginStatement()
	if n := countIn(t, txn); n != 3*rows {
		t.Fatalf("the transaction sees %d of its %d rows", n, 3*rows)
	}
	sp := txn.Savepoint()
	fill(txn, "u")
	if err := txn.RollbackTo(ctx, sp); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := count(t, other.db); n != 3*rows {
		t.Fatalf("after the commit there are %d rows", n)
	}
	aborted := g.db.Begin(kv.TxnOptions{})
	fill(aborted, "x")
	aborted.Rollback(ctx)
	if n := count(t, other.db); n != 3*rows {
		t.Fatalf("after a rollback there are %d rows", n)
	}
	g.router.Wait()
	other.router.Wait() // its reads may resolve intents too
	for _, r := range c.store.Replicas() {
		r.Sweep()
	}
	c.clean()
}

// message is a request that was sent, to be sent again.
type message struct {
	op   string
	send func() error
}

// Messages that come twice, and messages that come long after, change nothing.
// Cases wait for others' timeouts, so many run at once.
func TestLateMessages(t *testing.T) {
	var wg sync.WaitGroup
	for seed := range uint64(48) {
		wg.Go(func() { lateMessages(t, rand.New(rand.NewPCG(seed, 1))) })
	}
	wg.Wait()
}

func lateMessages(t *testing.T, rnd *rand.Rand) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	ctx := context.Background()
	other := c.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	g := c.gateway()
	var mu sync.Mutex
	var sent []message
	g.record = func(op string, send func() error) {
		mu.Lock()
		sent = append(sent, message{op, send})
		mu.Unlock()
	}
	lose := []string{"", "stage i", "stage q", "end a"}[rnd.IntN(4)]
	g.set(func(op string, k []byte, after bool) error {
		if !after && lose != "" && op == lose[:len(lose)-2] && k[len(k)-1] == lose[len(lose)-1] {
			return errLost
		}
		return nil
	})
	txn := g.begin(kv.TxnOptions{})
	if err := setAll(ctx, txn, "new", "a", "i", "q"); err != nil {
		c.fatal(err)
	}
	err := txn.Commit(ctx)
	g.router.Wait()
	want := "[new new new]"
	if err != nil {
		want = "[old old old]"
		c.dropLocks(txn.ID(), key("a"), key("i"), key("q"))
	}
	if rnd.IntN(2) == 0 {
		other.mustSet("later", "a", "i", "q")
		other.router.Wait()
		want = "[later later later]"
	}
	c.name = fmt.Sprintf("lost %q, the commit returned %v, then", lose, err)
	for range 1 + rnd.IntN(6) {
		m := sent[rnd.IntN(len(sent))]
		c.name += " " + m.op
		_ = m.send()
	}
	c.name += ": "
	if got := other.get("a", "i", "q"); got != want {
		c.fatal(fmt.Errorf("got %s, want %s", got, want))
	}
	other.mustSet("end", "q", "i", "a")
}

// A leader that takes the coordinator for dead decides the transaction, at any
// moment; the coordinator and everyone else come to the same end.
func TestRecoveryRacesCoordinator(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newRanges(t, fs.NewMem(), "h", "p")
		defer c.close()
		ctx := context.Background()
		other := c.gateway()
		other.mustSet("old", "a", "i", "q")
		other.router.Wait()
		g := c.gateway()
		at := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}), 40, 40).Draw(rt, "at")
		txn := g.begin(kv.TxnOptions{})
		if err := setAll(ctx, txn, "new", "a", "i", "q"); err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "read since") {
			other.get("i")
		}
		n := 0
		var wg sync.WaitGroup
		push := func() {
			c.alive.Store(g.incarnation, false)
			var resp kvpb.PushResponse
			_ = other.router.Push(ctx, &kvpb.PushRequest{Txn: txn.ID(), Anchor: key("a")}, &resp)
			c.alive.Store(g.incarnation, true)
		}
		g.set(func(op string, _ []byte, after bool) error {
			g.mu.Lock()
			n++
			what := at[n%len(at)]
			g.mu.Unlock()
			switch what {
			case 1:
				push()
			case 2:
				wg.Go(push)
			case 3:
				if after && op != "release" {
					return &kvpb.AmbiguousCommitError{Cause: errLost}
				}
			}
			return nil
		})
		err := txn.Commit(ctx)
		g.router.Wait()
		wg.Wait()
		g.set(nil)
		got := other.get("a", "i", "q")
		switch {
		case err == nil && got != "[new new new]",
			kv.IsRetryable(err) && got != "[old old old]",
			got != "[new new new]" && got != "[old old old]":
			rt.Fatalf("the commit returned %v, the values are %s", err, got)
		}
		other.mustSet("end", "q", "i", "a")
		other.router.Wait()
	})
}

// A commit that got no answer is sent again and answered with what happened.
func TestLostAnswer(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	ctx := context.Background()
	g := c.gateway()
	var last *kvpb.CommitRequest
	var first kvpb.CommitResponse
	g.onCommit = func(s kvpb.Sender, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
		last = cloneCommit(req)
		if err := s.Commit(ctx, req, &first); err != nil {
			return err
		}
		again := cloneCommit(last)
		again.Resent = true
		return s.Commit(ctx, again, resp)
	}
	g.mustSet("1", "a", "b")
	txn := g.db.Begin(kv.TxnOptions{})
	g.onCommit = nil
	s, _, err := g.Lookup(key("a"))
	if err != nil {
		t.Fatal(err)
	}
	var resp kvpb.CommitResponse
	if err := s.Commit(ctx, last, &resp); err != nil || resp.CommitTS != first.CommitTS || resp.CommitTS.IsEmpty() {
		t.Errorf("sent once more: %v at %v, the first was at %v", err, resp.CommitTS, first.CommitTS)
	}
	// One that never came happens now, one that may be forgotten is ambiguous.
	never := cloneCommit(last)
	never.Txn.ID = kvpb.TxnID{Hi: 77, Lo: 1}
	never.Locks, never.Resent, never.MinTS = nil, true, first.CommitTS // its locks have shown it that version
	if err := s.Commit(ctx, never, &resp); err != nil || resp.CommitTS == first.CommitTS {
		t.Errorf("one that never came: %v", err)
	}
	old := cloneCommit(never)
	old.Txn.ID.Lo++
	old.Txn.ReadTS.WallTime = 1
	var ambiguous *kvpb.AmbiguousCommitError
	if err := s.Commit(ctx, old, &resp); !errors.As(err, &ambiguous) {
		t.Errorf("one from before all memory: %v", err)
	}
	txn.Rollback(ctx)
}

// What a transaction has locked and not written stays as it was up to its commit timestamp. The timestamp cache says so,
// which knows nothing of the keys that it wrote: their versions say so.
func TestLockedReadsStay(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	ctx := context.Background()
	g := c.gateway()
	var last *kvpb.CommitRequest
	var first kvpb.CommitResponse
	g.onCommit = func(s kvpb.Sender, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
		last = cloneCommit(req)
		err := s.Commit(ctx, req, resp)
		first = *resp
		return err
	}
	txn := g.db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	for _, k := range []string{"a", "b", "c"} {
		if _, err := txn.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil {
			t.Fatal(err)
		}
	}
	if err := txn.Put(key("b"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	g.onCommit = nil
	s, _, err := g.Lookup(key("a"))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range []string{"a", "b", "c"} { // written at the same snapshot by one who holds no lock
		other := cloneCommit(last)
		other.Txn.ID = kvpb.TxnID{Hi: 77, Lo: uint64(i + 1)}
		other.Locks, other.Writes = nil, []kvpb.Write{{Key: key(k), Value: []byte("2")}}
		var resp kvpb.CommitResponse
		if err := s.Commit(ctx, other, &resp); err != nil {
			t.Fatal(err)
		}
		if locked := k != "b"; locked != first.CommitTS.Less(resp.CommitTS) {
			t.Errorf("%s is written at %v, the transaction committed at %v", k, resp.CommitTS, first.CommitTS)
		}
	}
}

func cloneCommit(req *kvpb.CommitRequest) *kvpb.CommitRequest {
	out := *req
	meta := *req.Txn
	out.Txn = &meta
	out.Writes = append([]kvpb.Write(nil), req.Writes...)
	out.Locks = append([][]byte(nil), req.Locks...)
	return &out
}
