package dist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/rpc"
)

// lockNodes are nodes that have only lock tables and a search for deadlocks.
type lockNodes struct {
	t     *testing.T
	nodes []*lockNode

	mu      sync.Mutex
	rnd     *rand.Rand
	lose    float64 // of the messages
	down    map[kvpb.NodeID]bool
	waiting map[concurrency.TxnID]*concurrency.Waiter
	// ended are the transactions whose wait ended without the lock.
	ended  map[concurrency.TxnID]bool
	killed int
}

type lockNode struct {
	w     *lockNodes
	id    kvpb.NodeID
	table *concurrency.LockTable
	waits *concurrency.WaitGraph
	dl    *Deadlocks
}

func newLockNodes(t *testing.T, n int, seed uint64) *lockNodes {
	w := &lockNodes{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), down: map[kvpb.NodeID]bool{},
		waiting: map[concurrency.TxnID]*concurrency.Waiter{}, ended: map[concurrency.TxnID]bool{},
	}
	for i := range n {
		nd := &lockNode{w: w, id: kvpb.NodeID(i + 1), table: concurrency.NewLockTable(0), waits: concurrency.NewWaitGraph()}
		nd.dl = NewDeadlocks(func() kvpb.NodeID { return nd.id }, nd.waits, nd)
		nd.dl.found = w.judge
		w.nodes = append(w.nodes, nd)
	}
	return w
}

func (w *lockNodes) close() {
	for _, nd := range w.nodes {
		nd.dl.Close()
	}
}

// Call implements Caller. A message takes a millisecond or two, or gets lost.
func (nd *lockNode) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	w := nd.w
	w.mu.Lock()
	lost, delay := w.rnd.Float64() < w.lose || w.down[to] || w.down[nd.id], time.Duration(w.rnd.IntN(1000))*time.Microsecond
	w.mu.Unlock()
	if lost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(delay)
	if m != MethodWaits || int(to) > len(w.nodes) {
		return nil, rpc.ErrNotSent
	}
	answer, err := w.nodes[to-1].dl.Serve(req)
	time.Sleep(delay)
	return answer, err
}

// judge checks each deadlock before its victim is aborted: all its waits must exist, except those that have ended
// without the lock.
func (w *lockNodes) judge(dead concurrency.Deadlock) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed++
	for i := range dead {
		id, next := dead[i].Txn, dead[(i+1)%len(dead)].Txn
		if w.ended[id] || w.ended[next] {
			continue
		}
		wait := w.waiting[id]
		if wait == nil {
			w.t.Errorf("transaction %s does not wait, in the deadlock %v", id, dead)
			continue
		}
		if !slices.Contains(wait.Blockers(), next) {
			w.t.Errorf("transaction %s does not wait for %s, in the deadlock %v", id, next, dead)
		}
	}
}

type lockTxn struct {
	w       *lockNodes
	id      kvpb.TxnID
	h       concurrency.Holder
	held    map[*lockNode][][]byte
	timeout time.Duration
	victim  bool
}

func (w *lockNodes) txn(gateway kvpb.NodeID, n uint64) *lockTxn {
	id := kvpb.TxnID{Hi: kvpb.GatewayIncarnation(gateway, 7), Lo: n}
	return &lockTxn{
		w: w, id: id, h: concurrency.Holder{ID: concurrency.TxnID(id), Start: hlc.Timestamp{WallTime: int64(n)}},
		held: map[*lockNode][][]byte{},
	}
}

// lock takes a lock as a gateway and a leader do. It returns false if the transaction must end.
func (x *lockTxn) lock(at *lockNode, key string, s lock.Strength) bool {
	if gw := x.id.Gateway(); gw != at.id {
		remote := &x.w.nodes[gw-1].dl.remote
		remote.begin(x.id, at.id)
		defer remote.end(x.id, at.id)
	}
	wait, err := at.table.Acquire([]byte(key), x.h, s)
	if err != nil {
		x.w.t.Error(err)
		return false
	}
	if wait != nil && !x.await(at, key, wait) {
		return false
	}
	x.held[at] = append(x.held[at], []byte(key))
	return true
}

func (x *lockTxn) await(at *lockNode, key string, wait *concurrency.Waiter) bool {
	w := x.w
	w.mu.Lock()
	w.waiting[x.h.ID] = wait
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, x.h.ID)
		w.mu.Unlock()
	}()
	edge := at.waits.Add(x.h, wait)
	defer at.waits.Remove(edge)
	check := time.NewTimer(10 * time.Millisecond)
	var timeout <-chan time.Time
	if x.timeout > 0 {
		timeout = time.After(x.timeout)
	}
	for {
		select {
		case <-wait.Done():
			return true
		case <-check.C:
			at.waits.Check(edge)
			check.Reset(100 * time.Millisecond)
			continue
		case <-edge.Victim():
			x.victim = true
			if c := edge.Cycle(); len(c) < 2 || c[0] != x.h.ID {
				w.t.Errorf("cycle %v of the victim %s", c, x.h.ID)
			}
		case <-timeout:
		}
		w.mu.Lock()
		w.ended[x.h.ID] = true
		w.mu.Unlock()
		if wait.Cancel() { // granted at the last moment: end releases it
			x.held[at] = append(x.held[at], []byte(key))
		}
		return false
	}
}

func (x *lockTxn) end() {
	for at, keys := range x.held {
		at.table.ReleaseAll(x.h.ID, keys...)
	}
}

// Cycles of two to six transactions on as many nodes, with gateways on other nodes: one transaction of each cycle is
// aborted soon, and the others continue.
func TestDeadlockAcrossNodes(t *testing.T) {
	for n := 2; n <= 6; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := newLockNodes(t, n, uint64(n))
			defer w.close()
			var wg sync.WaitGroup
			txns := make([]*lockTxn, n)
			for i := range n {
				txns[i] = w.txn(kvpb.NodeID((i+n/2)%n+1), uint64(i+1))
				txns[i].lock(w.nodes[i], "k", lock.Update)
			}
			began := time.Now()
			for i, x := range txns {
				wg.Go(func() {
					x.lock(w.nodes[(i+1)%n], "k", lock.Update)
					x.end()
				})
			}
			wg.Wait()
			if took := time.Since(began); took > 200*time.Millisecond {
				t.Errorf("%d nodes: it took %v", n, took)
			}
			for i, x := range txns {
				if x.victim != (i == n-1) { // the youngest
					t.Errorf("%d nodes: transaction %d: victim=%t", n, i+1, x.victim)
				}
			}
		})
	}
}

// Random transactions on random nodes: every deadlock is broken, whichever messages get lost, and no transaction is
// aborted without one.
func TestDeadlocksAtRandom(t *testing.T) {
	killed := 0
	for seed := range uint64(25) {
		synctest.Test(t, func(t *testing.T) {
			killed += randomLocks(t, seed)
		})
	}
	if killed < 20 {
		t.Errorf("%d deadlocks across nodes in all", killed)
	}
}

func randomLocks(t *testing.T, seed uint64) int {
	rnd := rand.New(rand.NewPCG(seed, 2))
	w := newLockNodes(t, 2+rnd.IntN(3), seed)
	defer w.close()
	if seed%3 == 1 {
		w.lose = 0.05
	}
	rows, txns := 2+rnd.IntN(6), 3+rnd.IntN(30)
	var wg sync.WaitGroup
	for n := range txns {
		x := w.txn(kvpb.NodeID(1+rnd.IntN(len(w.nodes))), uint64(n+1))
		if seed%4 == 2 && rnd.IntN(4) == 0 {
			x.timeout = time.Duration(rnd.IntN(300)) * time.Millisecond
		}
		type want struct {
			at  int
			key string
			s   lock.Strength
		}
		var wants []want
		for range 1 + rnd.IntN(5) {
			r := rnd.IntN(rows)
			wants = append(wants, want{r % len(w.nodes), fmt.Sprint(r), lock.Strength(1 + rnd.IntN(4))})
		}
		start, think := time.Duration(rnd.IntN(100))*time.Millisecond, time.Duration(rnd.IntN(20))*time.Millisecond
		wg.Go(func() {
			defer x.end()
			time.Sleep(start)
			for _, l := range wants {
				if !x.lock(w.nodes[l.at], l.key, l.s) {
					return
				}
				time.Sleep(think)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		w.mu.Lock()
		t.Errorf("seed %d: %d transactions wait for ever", seed, len(w.waiting))
		w.mu.Unlock()
		for _, nd := range w.nodes {
			reports := nd.waits.Exact(allWaiting(w), 100)
			t.Logf("node %d: %+v", nd.id, reports)
		}
		t.FailNow()
	}
	return w.killed
}

func allWaiting(w *lockNodes) (ids []concurrency.TxnID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.waiting {
		ids = append(ids, id)
	}
	return ids
}

// While the gateway of a transaction does not answer, nobody knows that the transaction still waits, and no victim is
// aborted. When the gateway answers again, the deadlock is broken.
func TestDeadlockAndDeadGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLockNodes(t, 3, 1)
		defer w.close()
		a, b := w.txn(3, 1), w.txn(2, 2)
		a.lock(w.nodes[0], "k", lock.Update)
		b.lock(w.nodes[1], "k", lock.Update)
		w.down[3] = true
		var wg sync.WaitGroup
		wg.Go(func() { a.lock(w.nodes[1], "k", lock.Update); a.end() })
		wg.Go(func() { b.lock(w.nodes[0], "k", lock.Update); b.end() })
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		if len(w.waiting) != 2 || w.killed != 0 {
			t.Errorf("%d wait, %d were killed", len(w.waiting), w.killed)
		}
		delete(w.down, 3)
		w.mu.Unlock()
		began := time.Now()
		wg.Wait()
		if took := time.Since(began); took > maxNodeBackoff+time.Second || !b.victim {
			t.Errorf("it took %v; victim %t", took, b.victim)
		}
	})
}

// Transactions that no longer wait leave nothing running.
func TestSearchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLockNodes(t, 2, 1)
		defer w.close()
		a, b := w.txn(1, 1), w.txn(2, 2)
		a.lock(w.nodes[0], "k", lock.Update)
		done := make(chan bool)
		go func() { done <- b.lock(w.nodes[0], "k", lock.Update) }()
		time.Sleep(time.Second)
		a.end()
		if !<-done {
			t.Error("the lock was not granted")
		}
		b.end()
		time.Sleep(time.Second)
		for _, nd := range w.nodes {
			nd.dl.mu.Lock()
			if nd.dl.running {
				t.Errorf("node %d goes on searching", nd.id)
			}
			nd.dl.mu.Unlock()
		}
	})
}
