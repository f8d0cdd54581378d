package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// How long those who meet an undecided part wait before the leader of its
// transaction's record is asked, and how often it is asked again.
const (
	pushFirst = 20 * time.Millisecond
	pushMost  = time.Second
	// pushTimeout bounds one question.
	pushTimeout = 5 * time.Second
)

// TxnPeers reach the ranges where the other parts of a transaction are.
type TxnPeers interface {
	Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error
	Resolve(ctx context.Context, req *kvpb.ResolveRequest) error
	QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error
}

// TxnDeps is what a replica needs for transactions in several ranges.
type TxnDeps struct {
	// Peers send requests to other ranges; nil if there is no other range.
	Peers TxnPeers
	// GatewayAlive answers whether a transaction's gateway still lives its life. nil
	// stands for a node by itself: what is left from before the replica's start is
	// abandoned, everything else alive.
	GatewayAlive func(kvpb.TxnID) bool
	// GatewayHeard answers whether a living gateway was heard of just now, so that it is
	// probably still at its commits; nil: all are.
	GatewayHeard func(kvpb.TxnID) bool
	// Over asks a transaction's gateway whether it has ended, or reports that it can't
	// be reached: its locks then go to who waits for them. It may block for a while; nil:
	// nobody knows.
	Over func(kvpb.TxnID) bool
}

// ConnectTxns replaces what the replica was given for transactions in several ranges.
func (r *Replica) ConnectTxns(d TxnDeps) { r.txns.Store(&d) }

func (r *Replica) txnDeps() *TxnDeps {
	if d := r.txns.Load(); d != nil {
		return d
	}
	return &r.deps.TxnDeps
}

// gatewayAlive answers whether a transaction may go on; loaded tells that it is
// from before this leadership.
func (r *Replica) gatewayAlive(id kvpb.TxnID, loaded bool) bool {
	if r.txnDeps().GatewayAlive == nil {
		return !loaded
	}
	return r.txnDeps().GatewayAlive(id)
}

// commitPatience is how long the commit of a transaction may take until others abort it.
func (r *Replica) commitPatience(id kvpb.TxnID, loaded bool) time.Duration {
	switch d := r.txnDeps(); {
	case !r.gatewayAlive(id, loaded):
		return 0
	case d.GatewayHeard != nil && !d.GatewayHeard(id):
		return recoverAfter
	}
	return abandonAfter
}

// awaitReadable waits until a read at ts may look at the part again.
func (r *Replica) awaitReadable(ctx context.Context, p *part, ts hlc.Timestamp) error {
	sp := &r.spills
	sp.mu.Lock()
	event := p.event
	if p.state == partAborted {
		event = p.done
	}
	p.wanted = p.wanted.Max(ts)
	sp.mu.Unlock()
	defer r.watch(p)()
	lost := time.NewTicker(pushMost)
	defer lost.Stop()
	for {
		select {
		case <-event:
			return nil
		case <-p.done:
			return nil
		case <-lost.C:
			if r.lease.Load() == nil {
				return r.notLeader()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch sees to it that somebody asks what becomes of the part while the caller
// waits for it, until it calls the function returned.
func (r *Replica) watch(p *part) (unwatch func()) {
	sp := &r.spills
	sp.mu.Lock()
	p.watchers++
	p.call()
	first := !p.met
	p.met = true
	start := !p.watched && !sp.closed && p.state <= partStaging
	if start {
		p.watched = true
		stopping := sp.lifetime().Done()
		sp.goLocked(func() { r.pushUntilDecided(p, stopping) })
	}
	sp.mu.Unlock()
	if first {
		r.group.hurry()
	}
	return func() {
		sp.mu.Lock()
		p.watchers--
		sp.mu.Unlock()
	}
}

func (r *Replica) pushUntilDecided(p *part, stopping <-chan struct{}) {
	sp := &r.spills
	sp.mu.Lock()
	staged := p.state == partStaging && !p.spilled
	sp.mu.Unlock()
	if staged {
		r.pushOnce(p, hlc.Timestamp{}) // its commit may be complete, and its end in no hurry
	}
	delay := pushFirst
	timer := time.NewTimer(delay)
	defer timer.Stop()
	decided := p.decided
	for {
		select {
		case <-decided:
			sp.mu.Lock()
			over := p.state > partStaging
			sp.mu.Unlock()
			if over {
				return
			}
			decided = nil // its record is still to say so (sure)
			continue
		case <-p.done:
			return
		case <-stopping:
			return
		case <-timer.C:
		}
		sp.mu.Lock()
		idle := p.watchers == 0 || sp.all[p.id] != p
		p.watched = !idle
		wanted := p.wanted
		sp.mu.Unlock()
		if idle {
			return
		}
		r.pushOnce(p, wanted)
		delay = min(2*delay, pushMost)
		timer.Reset(delay)
	}
}

// pushOnce asks the leader of the record what became of the part's transaction, for a
// reader at ts if that is set.
func (r *Replica) pushOnce(p *part, ts hlc.Timestamp) {
	sp := &r.spills
	ctx, cancel := sp.background(pushTimeout)
	defer cancel()
	sp.mu.Lock()
	req := kvpb.PushRequest{Txn: p.id, Anchor: p.anchor, TS: ts, Waited: time.Since(p.since)}
	sp.mu.Unlock()
	var resp kvpb.PushResponse
	if err := r.peerPush(ctx, &req, &resp); err != nil {
		return // asked again later
	}
	switch {
	case resp.Status >= kvpb.TxnCommitted:
		_ = r.decideLatched(ctx, p, resp.Status, resp.CommitTS)
	case resp.Above:
		sp.mu.Lock()
		if p.passed.Less(req.TS) {
			p.passed = req.TS
			close(p.event)
			p.event = make(chan struct{})
		}
		sp.mu.Unlock()
	}
}

func (r *Replica) peerPush(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	if r.Desc().ContainsKey(req.Anchor) {
		return r.Push(ctx, req, resp)
	}
	if r.txnDeps().Peers == nil {
		return &kvpb.UnavailableError{Reason: "the record of the transaction is in a range out of reach"}
	}
	return r.txnDeps().Peers.Push(ctx, req, resp)
}

// awaitSpill waits until no other transaction holds a durable lock on the key.
func (r *Replica) awaitSpill(ctx context.Context, req *kvpb.LockRequest) error {
	for {
		p, err := r.partHolding(req.Txn.ID, req.Key, true)
		if p == nil || err != nil {
			return err
		}
		switch req.Wait {
		case kvpb.WaitError:
			return &kvpb.LockNotAvailableError{}
		case kvpb.WaitSkip:
			return errSkipLocked
		}
		if err := r.awaitDecided(ctx, p, req); err != nil {
			return err
		}
	}
}

// awaitDecided waits on behalf of a lock request, as long as the replica leads.
func (r *Replica) awaitDecided(ctx context.Context, p *part, req *kvpb.LockRequest) error {
	defer r.watch(p)()
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		tick := time.NewTicker(pushMost)
		defer tick.Stop()
		for r.lease.Load() != nil {
			select {
			case <-tick.C:
			case <-leading.Done():
				return
			}
		}
		cancel()
	}()
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	err := r.waitUntil(leading, p.decided, req, h, p.blockers)
	if err != nil && ctx.Err() == nil && leading.Err() != nil {
		return r.notLeader()
	}
	return err
}

// awaitForeign waits until nothing provisional of another transaction is left on
// the keys: what is written over it would be taken for it. While it waits, locks may
// be handed over to another leader, where the request must go then.
func (r *Replica) awaitForeign(ctx context.Context, self kvpb.TxnID, written [][]byte) error {
	for i, key := range written {
		for {
			p, err := r.partHolding(self, key, false)
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			r.handing.leave()
			err = r.awaitFree(ctx, p, written[i:])
			if !r.handing.reenter() && err == nil {
				err = r.notLeader()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitFree waits until the part may have left the keys, as long as the replica leads.
func (r *Replica) awaitFree(ctx context.Context, p *part, written [][]byte) error {
	defer r.watch(p)()
	event := r.spills.meet(p, written)
	tick := time.NewTicker(pushMost)
	defer tick.Stop()
	for {
		select {
		case <-event:
			return nil
		case <-p.done:
			return nil
		case <-tick.C:
			if r.lease.Load() == nil {
				return r.notLeader()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// partHolding returns the part of another transaction that holds the key by a
// durable lock, nil if there is none; with undecided only one that is undecided.
func (r *Replica) partHolding(self kvpb.TxnID, key []byte, undecided bool) (*part, error) {
	sp := &r.spills
	var over []*part
	hurry := false
	sp.mu.Lock()
	for _, p := range sp.all {
		if p.id == self || !p.overlaps(key, nil) {
			continue
		}
		if !p.undecided() { // who takes the lock now writes soon
			hurry = hurry || p.patient && !p.met
			p.met = true
			if len(p.asked) < settleKeys {
				p.asked = append(p.asked, bytes.Clone(key))
				p.call()
			}
		}
		if !undecided || p.undecided() {
			over = append(over, p)
		}
	}
	sp.mu.Unlock()
	if hurry {
		r.group.hurry()
	}
	if len(over) == 0 {
		return nil, nil
	}
	rec, ok, err := r.lockOf(key)
	if err != nil || !ok {
		return nil, err
	}
	for _, p := range over {
		if p.id == rec.txn {
			return p, nil
		}
	}
	return nil, nil
}
