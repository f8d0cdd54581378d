package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Peers reaches the catalogs of the cluster's other nodes.
type Peers interface {
	// Call sends a request to the catalog of another node and waits for the answer.
	Call(ctx context.Context, to kvpb.NodeID, req []byte) ([]byte, error)
	// RemoteWait is called when a transaction of this node may wait for a lock on another one, until
	// back is called: what looks for deadlocks follows it there.
	RemoteWait(txn kvpb.TxnID, to kvpb.NodeID) (done func())
}

// How long a gateway's record is valid, how often it is renewed, and the waits
// of those who depend on it.
const (
	gatewayValidity = 9 * time.Second
	gatewayRenew    = 3 * time.Second
	// gatewayWait is how long a statement waits for a renewal.
	gatewayWait = 5 * time.Second
	// commitMargin is how long a record must be valid when a commit is sent.
	commitMargin = 2 * time.Second
	// peerDeadline bounds one call, lockPoll the part of it that a peer may spend
	// waiting for a lock; then the coordinator asks again.
	peerDeadline = 3 * time.Second
	lockPoll     = 500 * time.Millisecond
	// peerBackoff lies between attempts.
	peerBackoff = 50 * time.Millisecond
	// watchEvery is how often a node asks whether the transactions whose locks it
	// holds for others still run.
	watchEvery = time.Second
	// maxLockWait ends waits across nodes that may be deadlocks which nobody finds: the
	// search follows a transaction to other nodes (Peers.RemoteWait), but not to one that does
	// not answer.
	maxLockWait = 2 * time.Minute
	// releaseWait is how long a statement waits for its change to be known
	// everywhere; the rest happens in the background.
	releaseWait = 30 * time.Second
)

// timing are the constants above; tests set others.
type timing struct {
	validity, renew, wait, margin, deadline, poll, backoff, watch, maxLock, release time.Duration
}

func defaultTiming() timing {
	return timing{
		gatewayValidity, gatewayRenew, gatewayWait, commitMargin, peerDeadline, lockPoll, peerBackoff, watchEvery,
		maxLockWait, releaseWait,
	}
}

// gateway is what a Store has beyond its cache when other nodes change the
// catalog too.
type gateway struct {
	s           *Store
	node        kvpb.NodeID
	incarnation int64
	peers       Peers
	clock       *hlc.Clock
	timing

	// validUntil is the physical time, by this node's clock, up to which cached
	// descriptors may be used; 0: they may not.
	validUntil atomic.Int64
	// epoch counts the registrations. What a transaction has pinned under another
	// one than the present is void.
	epoch        atomic.Uint64
	registration atomic.Int64 // the present one; 0: none
	// unsettled is until when commits of this node whose outcome is unknown may happen.
	unsettled atomic.Int64

	// rereads orders reading the catalog back and publishing what was read.
	rereads sleep.Mutex

	mu sync.Mutex
	// active are the transactions of this node whose changes or locks other nodes
	// know of; remote those of other nodes with locks here.
	active map[concurrency.TxnID]*activeTxn
	remote map[concurrency.TxnID]*remoteTxn
	known  map[kvpb.NodeID]int64 // registrations seen by the last watch

	once   sync.Once
	loaded chan struct{} // closed when the catalog has been loaded once
	cancel context.CancelFunc
	// stopped ends what goes on in the background.
	stopped   atomic.Bool
	done      sync.WaitGroup
	notifying sync.WaitGroup
}

// activeTxn is a transaction of this node as it is announced to other gateways.
type activeTxn struct {
	Txn   concurrency.TxnID
	Start hlc.Timestamp
	IDs   []ID
}

func newGateway(s *Store, o Options) *gateway {
	g := &gateway{
		s: s, node: o.Node, incarnation: o.Incarnation, peers: o.Peers, clock: o.Clock, timing: defaultTiming(),
		active: map[concurrency.TxnID]*activeTxn{}, remote: map[concurrency.TxnID]*remoteTxn{},
		known: map[kvpb.NodeID]int64{}, rereads: sleep.NewMutex(), loaded: make(chan struct{}),
	}
	if g.clock == nil {
		g.clock = o.DB.Clock()
	}
	return g
}

// StartGateway makes the node one of those that serve SQL: it registers the
// node, loads the catalog and keeps the registration alive. Without Peers it does
// nothing.
func (s *Store) StartGateway(ctx context.Context) error {
	g := s.gw
	if g == nil {
		return nil
	}
	if err := s.Bootstrap(ctx); err != nil {
		return err
	}
	for {
		err := g.register(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, errStruckOff) || ctx.Err() != nil {
			return err
		}
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.mu.Lock()
	g.cancel = cancel
	g.mu.Unlock()
	g.done.Add(2)
	go g.keepAlive(run)
	go g.watchPeers(run)
	return nil
}

// StopGateway ends the registration at a graceful stop, after the sessions have
// ended, so that nobody waits for it to expire.
func (s *Store) StopGateway(ctx context.Context) error {
	g := s.gw
	if g == nil {
		return nil
	}
	g.halt()
	reg := g.registration.Swap(0)
	if reg == 0 {
		return nil
	}
	return g.deregister(ctx, g.node, reg, false)
}

// halt stops the goroutines and the use of cached descriptors.
func (g *gateway) halt() {
	g.stopped.Store(true)
	g.validUntil.Store(0)
	g.mu.Lock()
	cancel := g.cancel
	g.cancel = nil
	g.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	g.done.Wait()
	g.notifying.Wait()
	g.validUntil.Store(0)
}

// valid reports whether cached descriptors may be used for margin from now.
func (g *gateway) valid(margin time.Duration) bool {
	return g.clock.PhysicalNow()+int64(margin) < g.validUntil.Load()
}

// lose makes everything that transactions have pinned so far void.
func (g *gateway) lose() {
	g.validUntil.Store(0)
	g.epoch.Add(1)
}

// knows waits until what the node has cached is what the cluster has, if there are others.
func (g *gateway) knows(ctx context.Context) error {
	switch {
	case g == nil:
		return nil
	case g.halted():
		return pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down")
	}
	return g.awaitValid(ctx, 0)
}

// awaitValid waits for the renewal of the node's registration.
func (g *gateway) awaitValid(ctx context.Context, margin time.Duration) error {
	deadline := time.NewTimer(g.wait)
	defer deadline.Stop()
	for !g.valid(margin) {
		select {
		case <-time.After(g.backoff):
		case <-deadline.C:
			return pgerr.New(pgerr.CannotConnectNow, "this node has lost contact with its cluster").
				WithHint("Try again, or connect to another node.")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// enter makes sure that the node's descriptors are those of the cluster, and that
// what the transaction has pinned still counts.
func (c *Collection) enter(ctx context.Context) error {
	if c.store.gw == nil {
		return nil
	}
	return c.enterFor(ctx, 0)
}

func (c *Collection) enterFor(ctx context.Context, margin time.Duration) error {
	g := c.store.gw
	for {
		// In this order: lose ends the validity before it raises the epoch.
		epoch := g.epoch.Load()
		if g.valid(margin) {
			if c.epoch == 0 {
				c.epoch = epoch
			}
			if c.epoch != epoch {
				return errLost()
			}
			return nil
		}
		if err := g.awaitValid(ctx, margin); err != nil {
			return err
		}
	}
}

// Void reports whether what the transaction has pinned counts no more: it can only
// begin anew.
func (c *Collection) Void() bool {
	g := c.store.gw
	return g != nil && c.epoch != 0 && g.epoch.Load() != c.epoch
}

func errLost() error {
	return &kvpb.RetryError{Reason: "this node had lost contact with its cluster while the transaction ran"}
}

// fence makes sure that the transaction commits only while the node is registered
// as it was when the transaction first used the catalog. A change of the catalog
// also locks the registration, so that nobody takes it away before the commit.
func (c *Collection) fence(ctx context.Context) error {
	g := c.store.gw
	if g == nil || c.epoch == 0 || !c.txn.HasWrites() {
		return nil
	}
	if err := c.enterFor(ctx, g.margin); err != nil {
		return err
	}
	if c.changes == nil {
		return nil
	}
	reg := g.registration.Load()
	if g.epoch.Load() != c.epoch {
		return errLost()
	}
	res, err := c.txn.Lock(ctx, memberKey(g.node), lock.Share, lock.WaitBlock)
	if err != nil {
		return err
	}
	m, err := decodeMember(res.Value, res.Found)
	if err != nil {
		return err
	}
	if m.Registration != reg {
		return errLost()
	}
	return nil
}

// CommitDeadline returns the highest timestamp at which writes of the transaction
// may commit: its descriptors are good until then. It rises as the registration is
// renewed. There is none on a node by itself. If the registration has ended no commit is in
// time.
func (c *Collection) CommitDeadline() hlc.Timestamp {
	g := c.store.gw
	if g == nil || c.epoch == 0 {
		return hlc.Timestamp{}
	}
	// In this order: lose ends the validity before it raises the epoch, so what is read
	// here is not that of a later registration.
	until := max(g.validUntil.Load(), 1)
	if g.epoch.Load() != c.epoch {
		until = 1
	}
	c.deadline = c.deadline.Max(hlc.Timestamp{WallTime: until})
	return hlc.Timestamp{WallTime: until}
}

// noteUnsettled notes that a commit whose outcome is unknown may happen until a time.
func (g *gateway) noteUnsettled(until hlc.Timestamp) {
	for {
		old := g.unsettled.Load()
		if old >= until.WallTime || g.unsettled.CompareAndSwap(old, until.WallTime) {
			return
		}
	}
}

// distrust has everything read again: the node does not know what it has
// committed. Nobody uses the cache until then.
func (g *gateway) distrust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registration.Store(0)
	g.lose()
}
