package sim

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// stepTime is how long a step of a history may take that nothing blocks.
const stepTime = 2 * time.Second

// history is transactions at different nodes over keys of ranges that different nodes
// lead: x, y and z, and those that begin with p for predicates.
type history struct {
	*cluster
	level kv.Isolation
	turn  int // of the nodes
	txns  []*histTxn
}

// histTxn is one transaction of a history: its steps run one after the other, beside the
// others if they block.
type histTxn struct {
	h    *history
	txn  *kv.Txn
	err  error
	busy chan struct{} // closed when the last step has ended
}

func histKey(name string) []byte { return []byte("\x10" + name) }

// begin begins the next transaction, at the next node.
func (h *history) begin() *histTxn {
	inc := h.nodes[(h.turn+len(h.txns))%len(h.nodes)].current()
	x := &histTxn{h: h, txn: inc.db.Begin(kv.TxnOptions{Isolation: h.level}), busy: make(chan struct{})}
	close(x.busy)
	h.txns = append(h.txns, x)
	return x
}

// step runs fn as the transaction's next statement; it goes on alone if it blocks.
func (x *histTxn) step(fn func(ctx context.Context) error) {
	before, done := x.busy, make(chan struct{})
	x.busy = done
	go func() {
		defer close(done)
		<-before
		if x.err == nil {
			x.txn.BeginStatement()
			x.err = fn(context.Background())
		}
		if x.err != nil {
			x.txn.Rollback(context.Background())
		}
	}()
	select {
	case <-done:
	case <-time.After(stepTime):
	}
}

// read returns a key's value, "" after an error.
func (x *histTxn) read(name string) (value string) {
	x.step(func(ctx context.Context) error {
		v, _, err := x.txn.Get(ctx, histKey(name))
		value = string(v)
		return err
	})
	<-x.busy
	return value
}

// scan returns the values of the keys that begin with prefix.
func (x *histTxn) scan(prefix string) string {
	var values []string
	x.step(func(ctx context.Context) error {
		var res kv.ScanResult
		end := histKey(prefix + "\xff")
		for start := histKey(prefix); start != nil; start = res.Resume {
			if err := x.txn.Scan(ctx, start, end, kv.ScanOptions{}, &res); err != nil {
				return err
			}
			for i := range res.Len() {
				values = append(values, string(res.Value(i)))
			}
		}
		return nil
	})
	<-x.busy
	return strings.Join(values, " ")
}

// write locks and writes a key, as UPDATE and INSERT do.
func (x *histTxn) write(name, value string) {
	x.step(func(ctx context.Context) error {
		if _, err := x.txn.Lock(ctx, histKey(name), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		return x.txn.Put(histKey(name), []byte(value))
	})
}

// commit reports whether the transaction committed.
func (x *histTxn) commit() bool {
	<-x.busy
	if x.err == nil {
		x.err = x.txn.Commit(context.Background())
	}
	if x.err != nil && !kv.IsRetryable(x.err) {
		x.h.t.Errorf("%v: a transaction ended with %v", x.h.level, x.err)
	}
	return x.err == nil
}

func (x *histTxn) rollback() {
	<-x.busy
	x.txn.Rollback(context.Background())
}

// after returns what is there in the end.
func (h *history) after(name string) string {
	x := h.begin()
	defer x.rollback()
	return x.read(name)
}

// anomalies are histories; each reports whether what it is named after was to be seen.
var anomalies = []struct {
	name    string
	allowed map[kv.Isolation]bool
	run     func(h *history) bool
}{
	{"dirty write", nil, func(h *history) bool { // G0
		a, b := h.begin(), h.begin()
		a.write("x", "a")
		b.write("x", "b") // waits
		a.write("y", "a")
		a.commit()
		b.write("y", "b")
		b.commit()
		return h.after("x") != h.after("y")
	}},
	{"aborted read", nil, func(h *history) bool { // G1a
		a, b := h.begin(), h.begin()
		a.write("x", "a")
		first := b.read("x")
		a.rollback()
		return first == "a" || b.read("x") == "a"
	}},
	{"intermediate read", nil, func(h *history) bool { // G1b
		a, b := h.begin(), h.begin()
		a.write("x", "half")
		first := b.read("x")
		a.write("x", "whole")
		a.commit()
		return first == "half" || b.read("x") == "half"
	}},
	{"circular information flow", nil, func(h *history) bool { // G1c
		a, b := h.begin(), h.begin()
		a.write("x", "a")
		b.write("y", "b")
		seen := a.read("y") == "b" && b.read("x") == "a"
		a.commit()
		b.commit()
		return seen
	}},
	{"observed transaction vanishes", nil, func(h *history) bool { // OTV
		a, b, c := h.begin(), h.begin(), h.begin()
		a.write("x", "a")
		a.write("y", "a")
		b.write("x", "b") // waits
		a.commit()
		before := c.read("x")
		b.write("y", "b")
		between := c.read("y")
		b.commit()
		return before == "a" && between == "0" || before == "b" && c.read("y") == "a"
	}},
	{"lost update", rcOnly, func(h *history) bool { // P4
		a, b := h.begin(), h.begin()
		va, vb := a.read("x"), b.read("x")
		a.write("x", va+"a")
		b.write("x", vb+"b") // waits
		okA := a.commit()
		return b.commit() && okA
	}},
	{"read skew", rcOnly, func(h *history) bool { // G-single
		a, b := h.begin(), h.begin()
		before := a.read("x")
		b.write("x", "b")
		b.write("y", "b")
		b.commit()
		after := a.read("y")
		return a.commit() && before == "0" && after == "b"
	}},
	{"read skew by predicate", rcOnly, func(h *history) bool {
		a, b := h.begin(), h.begin()
		before := a.scan("p")
		b.write("pz", "b")
		b.write("y", "b")
		b.commit()
		after := a.read("y")
		return a.commit() && before == "0" && after == "b"
	}},
	{"phantom", rcOnly, func(h *history) bool { // PMP
		a, b := h.begin(), h.begin()
		before := a.scan("p")
		b.write("pb", "new")
		b.commit()
		after := a.scan("p")
		return a.commit() && before != after
	}},
	{"write skew", belowSerializable, func(h *history) bool { // G2-item
		a, b := h.begin(), h.begin()
		seen := a.read("x") + a.read("y") + b.read("x") + b.read("y")
		a.write("x", "a")
		b.write("y", "b")
		okA := a.commit()
		return b.commit() && okA && seen == "0000"
	}},
	{"write skew by predicate", belowSerializable, func(h *history) bool { // G2
		a, b := h.begin(), h.begin()
		seen := a.scan("p") + b.scan("p")
		a.write("pa", "a")
		b.write("pz", "b")
		okA := a.commit()
		return b.commit() && okA && seen == "00"
	}},
	{"read-only transaction sees what no order explains", belowSerializable, func(h *history) bool {
		a, b := h.begin(), h.begin()
		seen := a.read("x") + a.read("y") // a will write x from what it saw
		b.write("y", "b")
		okB := b.commit()
		c := h.begin()
		looked := c.read("x") + c.read("y")
		okC := c.commit()
		a.write("x", "a")
		return a.commit() && okB && okC && seen == "00" && looked == "0b"
	}},
	{"cycle of three", belowSerializable, func(h *history) bool {
		a, b, c := h.begin(), h.begin(), h.begin()
		seen := a.read("x") + b.read("y") + c.read("z")
		a.write("y", "a")
		b.write("z", "b")
		c.write("x", "c")
		okA, okB := a.commit(), b.commit()
		return c.commit() && okA && okB && seen == "000"
	}},
}

var (
	rcOnly            = map[kv.Isolation]bool{kv.ReadCommitted: true}
	belowSerializable = map[kv.Isolation]bool{kv.ReadCommitted: true, kv.RepeatableRead: true}
)

// reset gives every key its first value.
func (h *history) reset() {
	h.t.Helper()
	err := h.nodes[0].current().db.Run(context.Background(), func(_ context.Context, t *kv.Txn) error {
		for _, k := range []string{"x", "y", "z", "pm"} {
			if err := t.Put(histKey(k), []byte("0")); err != nil {
				return err
			}
		}
		return errFirst(t.Delete(histKey("pa")), t.Delete(histKey("pb")), t.Delete(histKey("pz")))
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func errFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// spread has each node lead one of the ranges that hold the keys; "" leaves a node out.
func (c *cluster) spread(keys ...string) {
	for i, k := range keys {
		want := c.nodes[i%len(c.nodes)]
		for k != "" && c.leaderOf([]byte(k)).inc.node != want {
			r := c.leaderOf([]byte(k))
			if to, ok := r.Desc().Replica(kvpb.StoreID(want.id)); ok {
				r.TransferLeader(to.Replica)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
}

// TestIsolation runs the known anomalies as histories of transactions at three nodes, over
// ranges that are led by three: each level shows those that it allows, and no others.
func TestIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 21, 3)
		c.found("\x10pk", "\x10x", "\x10y", "\x10z")
		c.spread("\x10pa", "\x10pz", "\x10x", "\x10y", "\x10z")
		for _, level := range []kv.Isolation{kv.ReadCommitted, kv.RepeatableRead, kv.Serializable} {
			for _, a := range anomalies {
				for turn := range 3 {
					h := &history{cluster: c, level: level, turn: turn}
					h.reset()
					if seen := a.run(h); seen != a.allowed[level] {
						t.Errorf("%v, first at node %d: %s seen: %v", level, turn+1, a.name, seen)
					}
					for _, x := range h.txns {
						x.rollback()
					}
				}
			}
		}
		c.close()
	})
}

// A transaction that rests for an hour, with a lock, keeps both its snapshot and what it
// has locked, whoever waits; one whose gateway went away meanwhile does not.
func TestIdleForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, 22, 3)
		c.found("\x10x", "\x10y")
		c.spread("\x10x", "", "\x10y")
		h := &history{cluster: c, level: kv.Serializable}
		h.reset()
		idle, gone := h.begin(), h.begin()
		seen := idle.read("y")
		idle.write("x", "idle")
		gone.write("pm", "gone")
		c.stop(2)
		<-time.After(time.Hour)
		waits := h.nodes[2].current().db.Begin(kv.TxnOptions{})
		waits.LockTimeout = time.Second
		waits.BeginStatement()
		if _, err := waits.Lock(ctx, histKey("pm"), lock.Update, lock.WaitBlock); err != nil {
			t.Errorf("the lock of a transaction whose node is gone: %v", err)
		}
		if _, err := waits.Lock(ctx, histKey("x"), lock.Update, lock.WaitBlock); err == nil || kvpb.Classify(err) != kvpb.ClassUser {
			t.Errorf("the lock of an idle transaction: %v", err)
		}
		waits.Rollback(ctx)
		if again := idle.read("y"); again != seen || !idle.commit() {
			t.Errorf("the idle transaction reads %q, then %q, and ends with %v", seen, again, idle.err)
		}
		if got := h.nodes[2].current(); got == nil {
			t.Fatal("node 3 is down")
		}
		last := h.nodes[2].current().db.Begin(kv.TxnOptions{})
		last.BeginStatement()
		if v, _, err := last.Get(ctx, histKey("x")); string(v) != "idle" || err != nil {
			t.Errorf("after it there is %q, %v", v, err)
		}
		last.Rollback(ctx)
		c.close()
	})
}
