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
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/catalog/membership"
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

// The waits of those who depend on a gateway's registration.
const (
	// commitMargin is how long a record must be valid when a commit is sent.
	commitMargin = 1500 * time.Millisecond
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
	margin, deadline, poll, backoff, watch, maxLock, release time.Duration
}

func defaultTiming() timing {
	return timing{
		commitMargin, peerDeadline, lockPoll, peerBackoff, watchEvery, maxLockWait, releaseWait,
	}
}

// gateway is what a Store has beyond its cache when other nodes change the
// catalog too.
type gateway struct {
	s      *Store
	member *membership.Membership // the node's own
	peers  Peers
	timing

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
		s: s, peers: o.Peers, timing: defaultTiming(),
		active: map[concurrency.TxnID]*activeTxn{}, remote: map[concurrency.TxnID]*remoteTxn{},
		known: map[kvpb.NodeID]int64{}, rereads: sleep.NewMutex(), loaded: make(chan struct{}),
	}
	clock := o.Clock
	if clock == nil {
		clock = o.DB.Clock()
	}
	g.member = membership.New(membership.Options{
		DB: o.DB, Clock: clock, Node: o.Node, Incarnation: o.Incarnation, Timing: membership.DefaultTiming(),
	})
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
		if !errors.Is(err, membership.ErrStruckOff) || ctx.Err() != nil {
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
	return g.member.Leave(ctx)
}

// halt stops the goroutines and the use of cached descriptors.
func (g *gateway) halt() {
	g.stopped.Store(true)
	g.member.ValidUntil.Store(0)
	g.mu.Lock()
	cancel := g.cancel
	g.cancel = nil
	g.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	g.done.Wait()
	g.notifying.Wait()
	g.member.ValidUntil.Store(0)
}

// register makes the node a gateway: others know of it, it learns the locks that they hold, and
// loads the catalog. It returns when the node may serve.
func (g *gateway) register(ctx context.Context) error {
	reg, err := g.member.Begin(ctx)
	if err != nil {
		return err
	}
	if err := g.inherit(ctx); err != nil {
		return err
	}
	if err := g.loadAll(ctx); err != nil {
		return err
	}
	if err := g.member.Complete(reg); err != nil {
		return err
	}
	g.once.Do(func() { close(g.loaded) })
	return g.member.Renew(ctx)
}

func (g *gateway) keepAlive(ctx context.Context) {
	defer g.done.Done()
	g.member.KeepAlive(ctx, g.register)
}

// knows waits until what the node has cached is what the cluster has, if there are others.
func (g *gateway) knows(ctx context.Context) error {
	switch {
	case g == nil:
		return nil
	case g.halted():
		return pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down")
	}
	return g.member.AwaitValid(ctx, 0)
}

// enter makes sure that the node's descriptors are those of the cluster, and that
// what the transaction has pinned still counts.
func (c *Collection) enter(ctx context.Context) error {
	if c.store.gw == nil {
		return nil
	}
	return c.enterFor(ctx, 0)
}

func (c *Collection) enterFor(ctx context.Context, margin time.Duration) (err error) {
	c.registration, err = c.store.gw.member.Admit(ctx, c.registration, margin)
	return err
}

// Void reports whether what the transaction has pinned counts no more: it can only
// begin anew.
func (c *Collection) Void() bool {
	g := c.store.gw
	return g != nil && g.member.Void(c.registration)
}

// fence makes sure that the transaction commits only while the node is registered
// as it was when the transaction first used the catalog. A change of the catalog
// also locks the registration, so that nobody takes it away before the commit.
func (c *Collection) fence(ctx context.Context) error {
	g := c.store.gw
	if g == nil || c.registration == 0 || !c.txn.HasWrites() {
		return nil
	}
	if err := c.enterFor(ctx, g.margin); err != nil {
		return err
	}
	if c.changes == nil {
		return nil
	}
	return g.member.Hold(ctx, c.txn, c.registration)
}

// CommitDeadline returns the highest timestamp at which writes of the transaction
// may commit: its descriptors are good until then. It rises as the registration is
// renewed. There is none on a node by itself. If the registration has ended no commit is in
// time.
func (c *Collection) CommitDeadline() hlc.Timestamp {
	g := c.store.gw
	if g == nil || c.registration == 0 {
		return hlc.Timestamp{}
	}
	until := hlc.Timestamp{WallTime: g.member.CommitDeadline(c.registration)}
	c.deadline = c.deadline.Max(until)
	return until
}
