package catalog

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog/membership"
)

// activate notes that the transaction is about to be announced to other gateways. It comes
// before reading who they are: a gateway that is not among those read asks for the
// active transactions afterwards.
func (g *gateway) activate(c *Collection, ids ...ID) {
	txn := c.txnID()
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.active[txn]
	if a == nil {
		a = &activeTxn{Txn: txn, Start: c.txn.ReadTimestamp()}
		g.active[txn] = a
		c.active = true
	}
	a.IDs = append(a.IDs, ids...)
}

// limited bounds a wait of c for a lock on other gateways. The cause says why it ended.
func (g *gateway) limited(ctx context.Context, c *Collection) (_ context.Context, done func()) {
	limit, timedOut := g.maxLock, error(&kvpb.DeadlockError{})
	if t := c.lockTimeout(); t > 0 && t < limit {
		limit, timedOut = t, &kvpb.LockNotAvailableError{Timeout: true}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(timedOut) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// awaitPeers waits until every other gateway answers or is registered no longer, and until no commit of
// one that has left can happen any more. It comes before the first lock of a transaction: who holds one
// already, and has to wait for a gateway that has died, holds up everybody who uses the object.
func (g *gateway) awaitPeers(ctx context.Context, c *Collection) error {
	ctx, done := g.limited(ctx, c)
	defer done()
	err := g.awaitMembers(ctx, c)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

func (g *gateway) awaitMembers(ctx context.Context, c *Collection) error {
	ms, err := g.member.Members(ctx)
	if err != nil {
		return err
	}
	var left atomic.Bool
	err = eachMember(ms.All, func(m membership.Member) error {
		answers, err := g.tell(ctx, m, &peerRequest{Kind: askActive})
		if !answers {
			left.Store(true)
		}
		return err
	})
	if err == nil && left.Load() {
		ms, err = g.member.Members(ctx)
	}
	if err == nil {
		err = c.store.awaitTime(ctx, ms.Left.WallTime-lastWriteGrain)
	}
	return err
}

// tell sends a request to one gateway until it is answered; answers is false if the gateway is
// registered no longer.
func (g *gateway) tell(ctx context.Context, m membership.Member, req *peerRequest) (answers bool, err error) {
	for {
		r := *req // call notes the sender in it
		if _, err := g.call(ctx, m.Node, &r); err == nil {
			return true, nil
		}
		if gone, _ := g.member.Gone(ctx, m); gone || g.halted() {
			return false, nil
		}
		if err := g.rest(ctx, g.backoff); err != nil {
			return false, err
		}
	}
}

// lockPeers locks an object on every other gateway. It returns a time before which
// no snapshot fits the object.
func (g *gateway) lockPeers(ctx context.Context, c *Collection, id ID) (hlc.Timestamp, error) {
	g.activate(c, id)
	ms, err := g.member.Members(ctx)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	ctx, done := g.limited(ctx, c)
	defer done()
	var mu sync.Mutex
	since := ms.Left
	if plant.On(plant.PeersUnlocked) {
		return since, nil
	}
	start, holds := c.txn.ReadTimestamp(), slices.Clone(c.stored)
	err = eachMember(ms.All, func(m membership.Member) error {
		defer g.peers.RemoteWait(kvpb.TxnID(c.txnID()), m.Node)()
		req := &peerRequest{Kind: askLock, Txn: c.txnID(), Start: start, IDs: []ID{id}, Holds: holds, NoWait: c.noWait, Attempt: c.attempt}
		got, err := g.lockAt(ctx, m, req)
		mu.Lock()
		since = since.Max(got)
		mu.Unlock()
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return since, err
}

// eachMember calls f for all at once and returns the first error.
func eachMember(all []membership.Member, f func(membership.Member) error) error {
	errs := make(chan error, len(all))
	for _, m := range all {
		go func() { errs <- f(m) }()
	}
	var err error
	for range all {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return err
}

// lockAt asks one gateway for a lock until it grants it or is registered no more.
func (g *gateway) lockAt(ctx context.Context, m membership.Member, req *peerRequest) (hlc.Timestamp, error) {
	for {
		a, err := g.call(ctx, m.Node, req)
		switch {
		case err == nil && a.Granted:
			return a.Since, nil
		case err == nil && a.Deadlock:
			return a.Since, &kvpb.DeadlockError{}
		case ctx.Err() != nil:
			return a.Since, context.Cause(ctx)
		case err == nil && req.NoWait:
			return a.Since, &kvpb.LockNotAvailableError{}
		case err == nil:
			continue // it waits for its sessions
		}
		if gone, _ := g.member.Gone(ctx, m); gone {
			ms, err := g.member.Members(ctx)
			if err != nil {
				return a.Since, err
			}
			if now, ok := ms.Find(m.Node); ok {
				m = now // it has inherited the lock, or will grant it
				continue
			}
			return ms.Left, nil
		}
		if err := g.rest(ctx, g.backoff); err != nil {
			return a.Since, context.Cause(ctx)
		}
	}
}

// announcement is what the other gateways receive at the end of a transaction.
type announcement struct {
	req peerRequest
	txn concurrency.TxnID
}

// announcementOf returns what others have to know of c's transaction, nil if nobody needs to
// know: reread says that its changes are, or may be, committed.
func (g *gateway) announcementOf(c *Collection, reread bool, commit hlc.Timestamp) *announcement {
	if !c.active && (c.changes == nil || !reread || !g.started()) {
		return nil
	}
	if !c.active {
		g.activate(c)
	}
	n := &announcement{txn: c.txnID()}
	n.req = peerRequest{Kind: askRelease, Txn: n.txn, Committed: reread && c.changes != nil, CommitTS: commit, Attempt: c.attempt}
	if n.req.Committed {
		for id := range c.changes.descs {
			n.req.IDs = append(n.req.IDs, id)
		}
		for k := range c.changes.names {
			n.req.Names = append(n.req.Names, k)
		}
		slices.Sort(n.req.IDs)
	}
	c.active = false
	return n
}

// withdraw notifies the other gateways that a transaction, which goes on, has given up its locks. It returns the error of
// ctx if that ends before all of them know.
func (g *gateway) withdraw(ctx context.Context, c *Collection) error {
	txn := c.txnID()
	g.notifyAll(ctx, &announcement{req: peerRequest{Kind: askRelease, Txn: txn, Attempt: c.attempt}, txn: txn})
	c.attempt++
	if err := ctx.Err(); err != nil {
		return err // the end of the transaction is announced to all
	}
	g.mu.Lock()
	delete(g.active, txn)
	g.mu.Unlock()
	c.active = false
	return nil
}

// started reports whether the node has been registered.
func (g *gateway) started() bool {
	select {
	case <-g.loaded:
		return true
	default:
		return false
	}
}

// announceEnd notifies the other gateways of the end of a transaction and waits, for
// some time, until all of them know it. What is left is done in the background.
func (g *gateway) announceEnd(n *announcement, wait bool) {
	all := make(chan struct{})
	g.notifying.Add(1)
	go func() {
		defer g.notifying.Done()
		defer close(all)
		g.notifyAll(context.Background(), n)
		g.mu.Lock()
		delete(g.active, n.txn)
		g.mu.Unlock()
	}()
	if !wait {
		return
	}
	t := time.NewTimer(g.release)
	defer t.Stop()
	select {
	case <-all:
	case <-t.C:
	}
}

// notifyAll notifies every gateway that is registered now; one that registers later
// reads the catalog as it is then. It goes on until the node stops.
func (g *gateway) notifyAll(ctx context.Context, n *announcement) {
	var ms membership.Members
	for {
		var err error
		if ms, err = g.member.Members(ctx); err == nil {
			break
		}
		if g.halted() || g.rest(ctx, g.backoff) != nil {
			return
		}
	}
	_ = eachMember(ms.All, func(m membership.Member) error {
		_, err := g.tell(ctx, m, &n.req)
		return err
	})
}

// halted reports whether the gateway has been stopped.
func (g *gateway) halted() bool { return g.stopped.Load() }

// forgetSequence notifies the other gateways that a sequence was set.
func (g *gateway) forgetSequence(ctx context.Context, id sequenceID) error {
	ms, err := g.member.Members(ctx)
	if err != nil {
		return err
	}
	return eachMember(ms.All, func(m membership.Member) error {
		_, err := g.tell(ctx, m, &peerRequest{Kind: askForget, IDs: []ID{id.id}, Storage: id.storage})
		return err
	})
}

// sessionsOf counts the sessions that other gateways have connected to a database,
// as far as they answer.
func (g *gateway) sessionsOf(db ID) int {
	ctx, cancel := context.WithTimeout(context.Background(), g.deadline)
	defer cancel()
	ms, err := g.member.Members(ctx)
	if err != nil {
		return 0
	}
	var mu sync.Mutex
	n := 0
	_ = eachMember(ms.All, func(m membership.Member) error {
		a, err := g.call(ctx, m.Node, &peerRequest{Kind: askSessions, IDs: []ID{db}})
		mu.Lock()
		n += a.Sessions
		mu.Unlock()
		return err
	})
	return n
}
