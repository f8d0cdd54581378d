package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// oneVersion is a range with one key, written once at a time that may be uncertain.
type oneVersion struct {
	kvpb.Sender
	ts        hlc.Timestamp
	refreshed int
	stale     bool
	moving    bool
}

func (v *oneVersion) read(t *kvpb.TxnMeta, key []byte, mayMove bool, moved *hlc.Timestamp) error {
	*moved = hlc.Timestamp{}
	if string(key) != "k" || !t.ReadTS.Less(v.ts) || t.UncertainTS.Less(v.ts) {
		return nil
	}
	if mayMove && v.moving {
		*moved = v.ts
		return nil
	}
	return &kvpb.UncertaintyError{Key: key, TS: v.ts}
}

func (v *oneVersion) Get(_ context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	return v.read(req.Txn, req.Key, req.MayMove, &resp.ReadTS)
}

func (v *oneVersion) Scan(_ context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	return v.read(req.Txn, req.Start, req.MayMove, &resp.ReadTS)
}

func (v *oneVersion) Refresh(context.Context, *kvpb.RefreshRequest) error {
	v.refreshed++
	if v.stale {
		return &kvpb.RetryError{Reason: "stale"}
	}
	return nil
}

// A version that may be from before the transaction moves its snapshot: without
// notice if nothing was read in it or all that was still holds.
func TestUncertainty(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		iso               kvpb.Isolation
		before            bool // something was read before, in the same snapshot
		statement         bool // before that, in an earlier statement
		stale, moving     bool
		retry             bool
		refreshed         int
		readOnly, tooLate bool
	}{
		{iso: kvpb.Serializable, moving: true},
		{iso: kvpb.Serializable},
		{iso: kvpb.Serializable, before: true, refreshed: 1},
		{iso: kvpb.Serializable, before: true, readOnly: true, refreshed: 1},
		{iso: kvpb.Serializable, before: true, stale: true, refreshed: 1, retry: true},
		{iso: kvpb.RepeatableRead, moving: true},
		{iso: kvpb.RepeatableRead, before: true, moving: true, refreshed: 1},
		{iso: kvpb.RepeatableRead, before: true, statement: true, moving: true, refreshed: 1},
		{iso: kvpb.RepeatableRead, before: true, stale: true, moving: true, refreshed: 1, retry: true},
		{iso: kvpb.ReadCommitted, before: true, moving: true, retry: true},
		{iso: kvpb.ReadCommitted, before: true, statement: true, moving: true},
		{iso: kvpb.Serializable, before: true, tooLate: true},
	} {
		for _, scan := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v/scan=%t", c, scan), func(t *testing.T) {
				v := &oneVersion{stale: c.stale, moving: c.moving}
				clock := hlc.NewSystem(0)
				env := NewEnv(v, clock, 1)
				env.MaxOffset = time.Second
				txn := New(env)
				txn.Reset(Options{Isolation: c.iso, ReadOnly: c.readOnly})
				txn.BeginStatement()
				if c.before {
					if _, _, err := txn.Get(ctx, []byte("other")); err != nil {
						t.Fatal(err)
					}
				}
				if c.statement {
					txn.BeginStatement()
				}
				ahead := int64(time.Second / 2)
				if c.tooLate {
					ahead = int64(2 * time.Second)
				}
				v.ts = hlc.Timestamp{WallTime: txn.ReadTimestamp().WallTime + ahead}
				var err error
				if scan {
					var res kvpb.ScanResponse
					err = txn.Scan(ctx, []byte("k"), []byte("l"), ScanOptions{}, &res)
				} else {
					_, _, err = txn.Get(ctx, []byte("k"))
				}
				var retry *kvpb.RetryError
				if errors.As(err, &retry) != c.retry || err != nil && !c.retry {
					t.Fatalf("the read returned %v", err)
				}
				if v.refreshed != c.refreshed {
					t.Errorf("%d refreshes", v.refreshed)
				}
				if err == nil && (txn.ReadTimestamp() == v.ts) == c.tooLate {
					t.Errorf("it reads at %s, the version is at %s", txn.ReadTimestamp(), v.ts)
				}
			})
		}
	}
}

// A version that may be from before the transaction, and that another node meets while it reads for it, moves the snapshot
// if all that was read still holds. All that others read in the snapshot before is read anew, and what they have found counts.
func TestDelegatedUncertainty(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		iso           kvpb.Isolation
		before, stale bool
		refreshed     int
		retry         bool
	}{
		{iso: kvpb.Serializable},
		{iso: kvpb.Serializable, before: true, refreshed: 1},
		{iso: kvpb.Serializable, before: true, stale: true, refreshed: 1, retry: true},
		{iso: kvpb.RepeatableRead, before: true, refreshed: 1},
		{iso: kvpb.ReadCommitted},
		{iso: kvpb.ReadCommitted, before: true, retry: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			v := &oneVersion{stale: c.stale}
			env := NewEnv(v, hlc.NewSystem(0), 1)
			env.MaxOffset = time.Second
			txn := New(env)
			txn.Reset(Options{Isolation: c.iso})
			txn.BeginStatement()
			read := func(start string) *Delegated {
				span := []kvpb.Span{{Key: []byte(start), EndKey: []byte(start + "z")}}
				return txn.Delegate(ctx, func(ctx context.Context, meta kvpb.TxnMeta, observed []kvpb.Observation) (DelegatedRead, error) {
					leaf := NewLeaf(env, meta, observed, 1)
					return DelegatedRead{Spans: span, Observed: leaf.Observed()}, leaf.ScanSpans(ctx, span, ScanOptions{}, new(kvpb.ScanResponse))
				})
			}
			if c.before {
				if ok, err := read("before").Finish(ctx, 0); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			v.ts = hlc.Timestamp{WallTime: txn.ReadTimestamp().WallTime + int64(time.Second/2)}
			other, uncertain := read("other"), read("k")
			ok, err := uncertain.Finish(ctx, 0)
			if retry := new(kvpb.RetryError); ok || errors.As(err, &retry) != c.retry || err != nil && !c.retry || v.refreshed != c.refreshed {
				t.Fatalf("%v, %v, %d refreshes", ok, err, v.refreshed)
			}
			if err != nil {
				other.Abandon()
				return
			}
			if ok, err := other.Finish(ctx, 0); ok || err != nil {
				t.Errorf("a read in the snapshot before counts: %v, %v", ok, err)
			}
			for _, start := range []string{"k", "other"} {
				if ok, err := read(start).Finish(ctx, 1); !ok || err != nil {
					t.Errorf("%s: %v, %v", start, ok, err)
				}
			}
			if txn.ReadTimestamp() != v.ts {
				t.Errorf("it reads at %s, the version is at %s", txn.ReadTimestamp(), v.ts)
			}
		})
	}
}

// After WaitOutUncertainty nothing is uncertain: either what was read holds at the new snapshot, or the
// statement is run again, which then reads in a certain snapshot.
func TestSettle(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		iso         kvpb.Isolation
		read, stale bool
		retry       bool // WaitOutUncertainty asks for that; the statement is certain then
	}{
		{iso: kvpb.Serializable},
		{iso: kvpb.Serializable, read: true},
		{iso: kvpb.Serializable, read: true, stale: true, retry: true},
		{iso: kvpb.RepeatableRead, read: true},
		{iso: kvpb.ReadCommitted},
		{iso: kvpb.ReadCommitted, read: true, retry: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := hlc.New(func() int64 { return time.Now().UnixNano() }, time.Second)
				v := &oneVersion{stale: c.stale}
				env := NewEnv(v, clock, 1)
				env.MaxOffset = time.Second
				txn := New(env)
				txn.Reset(Options{Isolation: c.iso})
				txn.BeginStatement()
				sp := txn.Savepoint()
				if c.read {
					if _, _, err := txn.Get(ctx, []byte("other")); err != nil {
						t.Fatal(err)
					}
				}
				if !txn.Uncertain() {
					t.Fatal("a new snapshot is certain")
				}
				began := time.Now()
				err := txn.WaitOutUncertainty(ctx)
				if took := time.Since(began); took < time.Second || took > time.Second+time.Millisecond {
					t.Errorf("it waited for %s", took)
				}
				if (err != nil) != c.retry || err != nil && kvpb.Classify(err) != kvpb.ClassRetry {
					t.Fatalf("WaitOutUncertainty returned %v", err)
				}
				if err == nil {
					if txn.Uncertain() {
						t.Error("it is uncertain still")
					}
					return
				}
				v.stale = false
				if err := txn.RetryStatement(ctx, sp, err); err != nil {
					t.Fatal(err)
				}
				txn.BeginStatement()
				if txn.Uncertain() {
					t.Error("run again, it is uncertain")
				}
				txn.BeginStatement()
				if c.iso == kvpb.ReadCommitted && !txn.Uncertain() {
					t.Error("the next statement is certain from the start")
				}
			})
		})
	}
}

// However often a statement is run again, what is uncertain to it is what may have been committed
// before its first attempt. So a long read at READ COMMITTED beside writers ends.
func TestRunAgainIsCertain(t *testing.T) {
	ctx := context.Background()
	for _, iso := range []kvpb.Isolation{kvpb.ReadCommitted, kvpb.RepeatableRead, kvpb.Serializable} {
		t.Run(iso.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := hlc.New(func() int64 { return time.Now().UnixNano() }, time.Second)
				v := &oneVersion{stale: true}
				env := NewEnv(v, clock, 1)
				env.MaxOffset = time.Second
				txn := New(env)
				txn.Reset(Options{Isolation: iso})
				attempts := 0
				for txn.BeginStatement(); ; txn.BeginStatement() {
					sp := txn.StatementStart()
					if _, _, err := txn.Get(ctx, []byte("other")); err != nil {
						t.Fatal(err)
					}
					time.Sleep(600 * time.Millisecond)
					v.ts = clock.Now() // a writer, of another node
					_, _, err := txn.Get(ctx, []byte("k"))
					if attempts++; err == nil || attempts > 5 {
						break
					}
					v.stale = false
					if err := txn.RetryStatement(ctx, sp, err); err != nil {
						t.Fatal(err)
					}
					v.stale = true
				}
				if attempts != 2 {
					t.Errorf("%d attempts", attempts)
				}
				if txn.BeginStatement(); !txn.Uncertain() {
					t.Error("the next statement is certain")
				}
			})
		})
	}
}

// A statement that fails for good leaves no limit to the next one.
func TestFailedIsUncertain(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, time.Second)
		env := NewEnv(&oneVersion{}, clock, 1)
		env.MaxOffset = time.Second
		txn := New(env)
		txn.Reset(Options{Isolation: kvpb.ReadCommitted})
		txn.BeginStatement()
		sp := txn.Savepoint()
		if err := txn.RetryStatement(ctx, sp, nil); err != nil {
			t.Fatal(err)
		}
		if err := txn.RollbackTo(ctx, sp); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		txn.BeginStatement()
		if !txn.Uncertain() {
			t.Error("a new statement is certain")
		}
	})
}

// crowded is a range whose clock is far above an uncertain version, and where what was read has
// changed in between.
type crowded struct {
	oneVersion
	asked []kvpb.Observation
}

func (v *crowded) Get(_ context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	*resp = kvpb.GetResponse{}
	v.asked = append(v.asked[:0], req.Observed...)
	resp.Observed = kvpb.Observation{Node: 7, TS: req.Txn.ReadTS.Next()}
	if string(req.Key) != "k" || !req.Txn.ReadTS.Less(v.ts) {
		return nil
	}
	limit := hlc.Timestamp{WallTime: v.ts.WallTime + 1000}
	return &kvpb.UncertaintyError{Key: req.Key, TS: limit, Least: v.ts, Node: 8}
}

func (v *crowded) Refresh(_ context.Context, req *kvpb.RefreshRequest) error {
	if v.refreshed++; v.ts.Less(req.To) {
		return &kvpb.RetryError{Reason: "stale"}
	}
	return nil
}

// If what was read holds up to the uncertain version and no further, the transaction reads
// there; and it names the clocks that it has seen, those of this snapshot only.
func TestUncertainLeast(t *testing.T) {
	ctx := context.Background()
	v := new(crowded)
	env := NewEnv(v, hlc.NewSystem(0), kvpb.GatewayIncarnation(3, 1))
	env.MaxOffset = time.Second
	txn := New(env)
	txn.Reset(Options{Isolation: kvpb.RepeatableRead})
	txn.BeginStatement()
	self := kvpb.Observation{Node: txn.ID().Gateway(), TS: txn.ReadTimestamp()}
	if self.Node == 0 {
		t.Fatal("the gateway has no node")
	}
	v.ts = hlc.Timestamp{WallTime: txn.ReadTimestamp().WallTime + int64(time.Second/2)}
	if _, _, err := txn.Get(ctx, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := txn.Get(ctx, []byte("k")); err != nil || txn.ReadTimestamp() != v.ts || v.refreshed != 2 {
		t.Errorf("%v; it reads at %s after %d refreshes, the version is at %s", err, txn.ReadTimestamp(), v.refreshed, v.ts)
	}
	want := []kvpb.Observation{self, {Node: 7, TS: self.TS.Next()}, {Node: 8, TS: hlc.Timestamp{WallTime: v.ts.WallTime + 1000}}}
	if fmt.Sprint(v.asked) != fmt.Sprint(want) {
		t.Errorf("it named %v, it has seen %v", v.asked, want)
	}
	txn.Rollback(ctx)
	txn.Reset(Options{})
	txn.BeginStatement()
	if _, _, err := txn.Get(ctx, []byte("other")); err != nil || len(v.asked) != 1 || v.asked[0].Node != self.Node {
		t.Errorf("%v; a new transaction named %v", err, v.asked)
	}
}

// A transaction asks for clocks before its first statement only, above READ COMMITTED, and
// names them in what it reads.
func TestObserveClocks(t *testing.T) {
	ctx := context.Background()
	v := new(crowded)
	env := NewEnv(v, hlc.NewSystem(0), kvpb.GatewayIncarnation(3, 1))
	env.MaxOffset = time.Second
	asked := 0
	env.Clocks = func(_ context.Context, dst []kvpb.Observation) []kvpb.Observation {
		asked++
		return append(dst, kvpb.Observation{Node: 9, TS: env.Clock.Now()})
	}
	for _, c := range []struct {
		o    Options
		asks bool
	}{
		{Options{Isolation: kvpb.Serializable}, true},
		{Options{Isolation: kvpb.RepeatableRead, ReadOnly: true}, true},
		{Options{Isolation: kvpb.ReadCommitted}, false},
		{Options{AsOf: env.Clock.Now(), ReadOnly: true}, false},
	} {
		asked = 0
		txn := New(env)
		txn.Reset(c.o)
		txn.ObserveClocks(ctx)
		txn.BeginStatement()
		if _, _, err := txn.Get(ctx, []byte("other")); err != nil {
			t.Fatal(err)
		}
		knows := slices.ContainsFunc(v.asked, func(o kvpb.Observation) bool {
			return o.Node == 9 && o.TS.Less(txn.ReadTimestamp())
		})
		txn.ObserveClocks(ctx)
		txn.BeginStatement()
		if want := map[bool]int{true: 1}[c.asks]; asked != want || knows != c.asks {
			t.Errorf("%+v: asked %d times; it names the clock, below its snapshot: %v", c.o, asked, knows)
		}
		txn.Rollback(ctx)
	}
}
