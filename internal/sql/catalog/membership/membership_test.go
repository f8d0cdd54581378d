package membership

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	testValidity = 9 * time.Second
	testOffset   = time.Second
)

// gateways are members over one map, whose clock the test sets.
type gateways struct {
	t   *testing.T
	db  *kv.DB
	now atomic.Int64
}

func openGateways(t *testing.T) *gateways {
	n := clustertest.Open(t, fs.NewMem())
	t.Cleanup(n.Close)
	g := &gateways{t: t, db: n.DB}
	g.now.Store(time.Now().UnixNano())
	return g
}

func (g *gateways) pass(d time.Duration) { g.now.Add(int64(d)) }

func (g *gateways) member(n kvpb.NodeID) *Membership {
	timing := DefaultTiming()
	timing.Validity = testValidity
	return New(Options{DB: g.db, Clock: hlc.New(g.now.Load, testOffset), Node: n, Incarnation: 1, Timing: timing})
}

// join registers a member, which has nothing to load.
func (g *gateways) join(m *Membership) *Membership {
	g.t.Helper()
	reg, err := m.Begin(g.t.Context())
	g.check(err)
	g.check(m.Complete(reg))
	g.check(m.Renew(g.t.Context()))
	return m
}

func (g *gateways) check(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// seen returns what m reads of another member.
func (g *gateways) seen(m *Membership, n kvpb.NodeID) (r Member, ok bool) {
	g.t.Helper()
	ms, err := m.Members(g.t.Context())
	g.check(err)
	return ms.Find(n)
}

// left returns what m reads of when gateways have left.
func (g *gateways) left(m *Membership) int64 {
	g.t.Helper()
	ms, err := m.Members(g.t.Context())
	g.check(err)
	return ms.Left.WallTime
}

// A member uses its cache for less than its lease, the offset of clocks being the difference. Another strikes
// it off once the lease has ended, and not before. One that leaves is gone at once.
func TestStruckOff(t *testing.T) {
	g := openGateways(t)
	a, b := g.join(g.member(1)), g.join(g.member(2))
	r, ok := g.seen(b, 1)
	if !ok || !a.Valid(0) {
		t.Fatalf("registered: %v, valid: %v", ok, a.Valid(0))
	}
	gone := func(want bool) {
		t.Helper()
		if got, err := b.Gone(t.Context(), r); err != nil || got != want || b.Expired(r) != want {
			t.Fatalf("gone: %v %v, expired: %v, want %v", got, err, b.Expired(r), want)
		}
	}
	gone(false)
	g.pass(testValidity - testOffset - 1)
	if !a.Valid(0) || a.Valid(time.Second) {
		t.Fatal("valid for another time than the lease less the offset of clocks")
	}
	g.pass(1)
	if a.Valid(0) {
		t.Fatal("valid up to the end of the lease, with another clock ahead")
	}
	g.pass(testOffset)
	gone(false)
	g.pass(1)
	gone(true)
	if err := a.Renew(t.Context()); !errors.Is(err, ErrStruckOff) {
		t.Fatalf("renewed after it was struck off: %v", err)
	}
	g.check(b.Leave(t.Context()))
	if _, ok := g.seen(a, 2); ok || b.Registration() != 0 {
		t.Fatal("a member that left is registered")
	}
}

// Who leaves or begins anew leaves the time until which its commits may happen.
func TestLeft(t *testing.T) {
	g := openGateways(t)
	a, b := g.join(g.member(1)), g.join(g.member(2))
	expires := g.now.Load() + int64(testValidity)
	g.join(g.member(1)) // the first process of the node has ended
	if left := g.left(b); left < expires {
		t.Fatalf("%d: commits up to %d may be on their way", left, expires)
	}
	a = g.join(a)
	until := expires + int64(time.Hour)
	a.NoteUnsettled(hlc.Timestamp{WallTime: until})
	a.NoteUnsettled(hlc.Timestamp{WallTime: 1})
	g.check(a.Leave(t.Context()))
	if left := g.left(b); left != until {
		t.Fatalf("left at %d, with a commit that may happen until %d", left, until)
	}
}

// What was used under a registration that ended is void, even when the node has registered again.
func TestVoid(t *testing.T) {
	g := openGateways(t)
	a := g.join(g.member(1))
	nth, err := a.Admit(t.Context(), 0, 0)
	g.check(err)
	if a.Void(nth) || a.Void(0) || a.CommitDeadline(nth) != g.now.Load()+int64(testValidity-testOffset) {
		t.Fatalf("void: %v, commits until %d", a.Void(nth), a.CommitDeadline(nth))
	}
	a.Distrust()
	if !a.Void(nth) || a.Valid(0) || a.CommitDeadline(nth) != 1 {
		t.Fatal("what was cached counts after it was distrusted")
	}
	if err := a.Renew(t.Context()); !errors.Is(err, ErrStruckOff) || a.Valid(0) {
		t.Fatalf("renewed: %v", err)
	}
	g.join(a)
	if _, err := a.Admit(t.Context(), nth, 0); !kv.IsRetryable(err) {
		t.Fatalf("a transaction of an earlier registration: %v", err)
	}
	if now, err := a.Admit(t.Context(), 0, 0); err != nil || now == nth {
		t.Fatalf("nth %d, then %d: %v", nth, now, err)
	}
}

// What a node loaded before it came to distrust it is not made the present by the registration under way.
func TestDistrustWhileRegistering(t *testing.T) {
	g := openGateways(t)
	a := g.member(1)
	reg, err := a.Begin(t.Context())
	g.check(err)
	a.Distrust()
	if err := a.Complete(reg); !errors.Is(err, ErrStruckOff) || a.Registration() != 0 {
		t.Fatalf("registered: %v", err)
	}
	g.join(a)
	if !a.Valid(0) {
		t.Fatal("not registered by the next attempt")
	}
}

// A registration is not deleted while a transaction that commits holds it, and can't be held afterwards.
func TestHeld(t *testing.T) {
	g := openGateways(t)
	a, b := g.join(g.member(1)), g.join(g.member(2))
	nth, err := a.Admit(t.Context(), 0, 0)
	g.check(err)
	begin := func() *kv.Txn {
		txn := g.db.Begin(kv.TxnOptions{})
		txn.BeginStatement()
		return txn
	}
	txn := begin()
	g.check(a.Hold(t.Context(), txn, nth))
	g.check(txn.Put(keys.SystemKey("test"), nil))
	r, _ := g.seen(b, 1)
	g.pass(testValidity + 1)
	b.Timing.Deadline = 20 * time.Millisecond
	if gone, err := b.Gone(t.Context(), r); gone || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("struck off beside a commit: %v %v", gone, err)
	}
	g.check(txn.Commit(t.Context()))
	b.Timing.Deadline = time.Minute
	if gone, err := b.Gone(t.Context(), r); err != nil || !gone {
		t.Fatalf("not struck off: %v", err)
	}
	txn = begin()
	defer txn.Rollback(t.Context())
	if err := a.Hold(t.Context(), txn, nth); !kv.IsRetryable(err) {
		t.Fatalf("held a registration that was deleted: %v", err)
	}
}

// One node has a role at a time, a registered one, and another after its time.
func TestRole(t *testing.T) {
	g := openGateways(t)
	a, b := g.join(g.member(1)), g.member(2)
	take := func(m *Membership, want bool) {
		t.Helper()
		if mine, err := m.TakeRole(t.Context(), "test/role", time.Minute); err != nil || mine != want {
			t.Fatalf("node %d has the role: %v %v, want %v", m.Node, mine, err, want)
		}
	}
	take(b, false) // it is not registered
	take(a, true)
	g.join(b)
	take(b, false)
	g.pass(time.Minute + testOffset)
	take(b, false)
	g.pass(1)
	take(b, true)
	take(a, false)
}
