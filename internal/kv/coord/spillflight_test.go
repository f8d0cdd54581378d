package coord

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Spilled returns what was answered of the point.
func (s *slowSpills) Spilled(_ context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written[string(req.Span.Key)] > 0 {
		resp.Writes = []kvpb.SpilledWrite{{Key: req.Span.Key, Value: []byte("spilled")}}
	}
	return resp, nil
}

func (s *slowSpills) Get(_ context.Context, _ *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	resp.Found = false
	return nil
}

// spillSome returns a transaction with a spill under way of the keys from k000 on, and how many they are.
func spillSome(t *testing.T, s *slowSpills) (txn *Txn, n int) {
	env := NewEnv(s, hlc.NewSystem(0), 1)
	env.SpillBytes = 16 << 10
	txn = New(env)
	txn.Reset(Options{})
	txn.BeginStatement()
	for ; txn.spill.flight == nil; n++ {
		if err := txn.Put(fmt.Appendf(nil, "k%03d", n), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	return txn, n
}

// A transaction goes on writing while a spill is under way, and waits for it before it reads one of its keys.
func TestSpillUnderWay(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &slowSpills{written: map[string]int{}}
		txn, n := spillSome(t, s)
		if err := txn.Put([]byte("l"), []byte("later")); err != nil {
			t.Fatal(err)
		}
		if _, found, err := txn.Get(ctx, []byte("m")); found || err != nil {
			t.Fatal(found, err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("writes of other keys took %v", d)
		}
		txn.BeginStatement()
		for _, key := range []string{"k000", fmt.Sprintf("k%03d", n-1)} {
			if v, found, err := txn.Get(ctx, []byte(key)); !found || err != nil || string(v) != "spilled" {
				t.Errorf("%s: %q %v %v", key, v, found, err)
			}
		}
		if v, _, err := txn.Get(ctx, []byte("l")); err != nil || string(v) != "later" {
			t.Errorf("%q %v", v, err)
		}
	})
}

// A spill that fails leaves all writes in the buffer, older ones and those since, with their positions.
func TestSpillUnderWayFails(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		s := &slowSpills{written: map[string]int{}, fail: fmt.Errorf("no disk")}
		txn, n := spillSome(t, s)
		sp := txn.StatementStart()
		txn.BeginStatement()
		for _, key := range []string{"k000", "l"} {
			if err := txn.Put([]byte(key), []byte("later")); err != nil {
				t.Fatal(err)
			}
		}
		if err := txn.SpillRest(ctx); err != s.fail {
			t.Fatalf("the spill returned %v", err)
		}
		if txn.buf.Len() != n+2 || txn.StatementStart().writes != n+2 {
			t.Errorf("%d writes at %d, of %d", txn.buf.Len(), txn.StatementStart().writes, n+2)
		}
		txn.buf.Truncate(sp.writes)
		for i := range n {
			if v, _, _, ok := txn.buf.Get(fmt.Appendf(nil, "k%03d", i), 99); !ok || len(v) != 100 {
				t.Errorf("write %d is lost", i)
			}
		}
	})
}

// A rollback waits for the requests of a spill that are sent, and no others are.
func TestSpillStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowSpills{written: map[string]int{}}
		txn, _ := spillSome(t, s)
		synctest.Wait() // the first request is sent, alone
		began := time.Now()
		txn.Rollback(context.Background())
		if d := time.Since(began); d != time.Second {
			t.Errorf("the rollback ended after %v", d)
		}
		checkUnspilled(t, s)
	})
}

// checkUnspilled checks that one rollback came after all requests of the spill.
func checkUnspilled(t *testing.T, s *slowSpills) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unspilled != 1 || s.under != 0 || s.unspilledUnder != 0 {
		t.Errorf("%d rollbacks, %d requests under way, %d then", s.unspilled, s.under, s.unspilledUnder)
	}
}

// A statement that waits for a spill ends when it is cancelled: a write, what a commit spills first, a
// commit, and a rollback to a savepoint. So does the rollback, which goes on behind the session, counts as active until it has ended, and keeps the memory of
// the spill charged. The session's next transaction does not wait for it.
func TestCancelledSpill(t *testing.T) {
	for name, statement := range map[string]func(*Txn, context.Context) error{
		"write": func(txn *Txn, _ context.Context) (err error) {
			for i := 0; err == nil; i++ {
				err = txn.Put(fmt.Appendf(nil, "l%03d", i), make([]byte, 100))
			}
			return err
		},
		"rest":   func(txn *Txn, ctx context.Context) error { return txn.SpillRest(ctx) },
		"commit": func(txn *Txn, ctx context.Context) error { return txn.Commit(ctx) },
		"undo":   func(txn *Txn, ctx context.Context) error { return txn.RollbackTo(ctx, Savepoint{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowSpills{written: map[string]int{}}
				txn, _ := spillSome(t, s)
				env := txn.env
				ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
				defer cancel()
				txn.SetSpillContext(ctx)
				began, id := time.Now(), txn.ID()
				if err := statement(txn, ctx); err != context.DeadlineExceeded {
					t.Errorf("the statement ended with %v", err)
				}
				txn.ClearSpillContext()
				txn.Rollback(context.Background())
				if d := time.Since(began); d != time.Second/2 {
					t.Errorf("statement and rollback ended after %v", d)
				}
				if env.Finalized(id) || env.Active() != 1 || s.unspilled != 0 {
					t.Errorf("over: %v; %d active; %d rollbacks", env.Finalized(id), env.Active(), s.unspilled)
				}
				txn.Reset(Options{Isolation: kvpb.RepeatableRead})
				txn.BeginStatement()
				txn.Rollback(context.Background())
				time.Sleep(time.Second/2 + 1)
				synctest.Wait()
				checkUnspilled(t, s)
				if !env.Finalized(id) || env.Active() != 0 || env.detached.Load() != 0 {
					t.Errorf("over: %v; %d active; %d behind their sessions", env.Finalized(id), env.Active(), env.detached.Load())
				}
			})
		})
	}
}

// Sessions wait for their rollbacks when too many go on behind others.
func TestDetachedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowSpills{written: map[string]int{}}
		txn, _ := spillSome(t, s)
		txn.env.detached.Store(maxDetached)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		synctest.Wait()
		began := time.Now()
		if err := txn.SpillRest(ctx); err != context.Canceled {
			t.Error(err)
		}
		txn.Rollback(context.Background())
		if d := time.Since(began); d != time.Second || txn.env.detached.Load() != maxDetached {
			t.Errorf("the rollback ended after %v; %d behind their sessions", d, txn.env.detached.Load())
		}
		checkUnspilled(t, s)
	})
}

// Unspill notes that the transaction is rolled back.
func (s *slowSpills) Unspill(context.Context, *kvpb.UnspillRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unspilled++
	s.unspilledUnder = s.under
	return nil
}

func (s *slowSpills) Release(context.Context, *kvpb.ReleaseRequest) error { return nil }

// slowScans reads for a second, in which nothing may be spilled there.
type slowScans struct {
	slowSpills
	reading kvpb.Span // guarded by mu, as is met
	met     bool
}

func (s *slowScans) Scan(_ context.Context, req *kvpb.ScanRequest, _ *kvpb.ScanResponse) error {
	s.note(func() { s.reading = kvpb.Span{Key: req.Start, EndKey: req.End} })
	time.Sleep(time.Second)
	s.note(func() { s.reading = kvpb.Span{} })
	return nil
}

func (s *slowScans) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	s.note(func() { s.met = s.met || s.reading.Contains(req.Writes[0].Key) })
	return s.slowSpills.Spill(ctx, req)
}

func (s *slowScans) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

// A statement reads ahead while it writes, but not what it has spilled or is about to. It
// does not read ahead if an earlier statement has written.
func TestSpillAwaitsReadAhead(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		s := &slowScans{slowSpills: slowSpills{written: map[string]int{}}}
		env := NewEnv(s, hlc.NewSystem(0), 1)
		env.SpillBytes = 16 << 10
		txn := New(env)
		txn.Reset(Options{Isolation: kvpb.RepeatableRead})
		txn.BeginStatement()
		put := func(key string) {
			t.Helper()
			if err := txn.Put([]byte(key), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		ahead := func(start, end string) *ReadAhead {
			return txn.ReadAhead(ctx, []kvpb.Span{{Key: []byte(start), EndKey: []byte(end)}}, ScanOptions{}, &kvpb.ScanResponse{}, nil)
		}
		if _, _, err := txn.Get(ctx, []byte("a")); err != nil {
			t.Fatal(err)
		}
		put("k")
		a := ahead("k", "m")
		if a == nil {
			t.Fatal("a statement that has written does not read ahead")
		}
		for i := 0; txn.spill.flight == nil; i++ {
			put(fmt.Sprintf("k%03d", i))
		}
		if err := a.Finish(ctx); err != nil {
			t.Fatal(err)
		}
		if ahead("a", "k001") != nil {
			t.Error("a statement reads ahead where it has spilled")
		}
		put("l")
		if a = ahead("m", "n"); a == nil {
			t.Fatal("a statement that has spilled does not read ahead elsewhere")
		}
		if err := txn.SpillRest(ctx); err != nil {
			t.Fatal(err)
		}
		a.Abandon()
		if len(txn.ahead) > 0 {
			t.Errorf("%d pages are still read ahead", len(txn.ahead))
		}
		put("z")
		txn.BeginStatement()
		if ahead("m", "n") != nil {
			t.Error("a statement reads ahead though one before it has written")
		}
		if s.met {
			t.Error("a spill began where something was read ahead")
		}
	})
}
