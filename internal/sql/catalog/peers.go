package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// peerKind is what a request to another node's catalog asks for.
type peerKind uint8

const (
	askLock     peerKind = iota + 1 // lock objects for a transaction of the sender
	askRelease                      // the transaction has ended
	askActive                       // which of these transactions still run
	askList                         // all that run
	askForget                       // a sequence was set: drop reserved values
	askSessions                     // how many sessions are connected to a database
)

// peerRequest is a request; the fields it uses depend on its kind.
type peerRequest struct {
	Kind         peerKind
	Registration int64 `json:"Incarnation,omitempty"` // of the sender
	Txn          concurrency.TxnID
	Start        hlc.Timestamp
	IDs          []ID `json:",omitempty"`
	Holds        []ID `json:",omitempty"` // descriptors whose stored form is locked
	NoWait       bool `json:",omitempty"` // grant the lock at once or not
	// Attempt is how often the transaction has given up its locks before it asked for this one; that of a release is
	// the last one that ends.
	Attempt int       `json:",omitempty"`
	Names   []NameKey `json:",omitempty"`
	// Committed asks to read IDs and Names again.
	Committed bool                `json:",omitempty"`
	CommitTS  hlc.Timestamp       //
	Txns      []concurrency.TxnID `json:",omitempty"`
	Storage   IndexID             `json:",omitempty"`
}

// peerAnswer is an answer.
type peerAnswer struct {
	Granted  bool `json:",omitempty"`
	Deadlock bool `json:",omitempty"`
	// Since is a time before which no snapshot fits the locked objects.
	Since    hlc.Timestamp
	Active   []activeTxn `json:",omitempty"`
	Sessions int         `json:",omitempty"`
}

// maxPeerObjects bounds the objects that one request names.
const maxPeerObjects = 1 << 20

// remoteTxn is a transaction of another node with locks here.
type remoteTxn struct {
	node kvpb.NodeID
	reg  int64
	// c owns the locks; it belongs to no session.
	c *Collection

	// serve is held while a request of the transaction is served, also while that waits for a lock.
	serve sleep.Mutex

	mu   sync.Mutex
	ids  []ID // asked for
	held map[*object]*exclusive
	over bool // released

	attempt int // the highest that was asked in; gateway.mu guards it
}

// HandlePeer answers a request of another node's catalog.
func (s *Store) HandlePeer(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
	g := s.gw
	if g == nil {
		return nil, errors.New("catalog: this node has no peers")
	}
	var r peerRequest
	if err := json.Unmarshal(req, &r); err != nil {
		return nil, err
	}
	if max(len(r.IDs), len(r.Holds)) > maxPeerObjects || len(r.Names) > maxPeerObjects {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "too many objects in one request")
	}
	var a peerAnswer
	var err error
	switch r.Kind {
	case askActive, askList:
		a.Active = g.activeTxns(&r)
	case askSessions:
		for _, id := range r.IDs {
			a.Sessions += s.localSessions(id, nil)
		}
	case askForget:
		for _, id := range r.IDs {
			s.sequences.forget(sequenceID{id, r.Storage})
		}
	case askLock, askRelease:
		select {
		case <-g.loaded:
		case <-time.After(g.poll):
			return nil, errors.New("catalog: not loaded yet")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r.Kind == askLock {
			err = g.lockFor(ctx, from, &r, &a)
		} else {
			err = g.releaseFor(ctx, &r)
		}
	default:
		err = pgerr.Unsupported("request %d of another node is not known to this version", r.Kind)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

func (g *gateway) activeTxns(r *peerRequest) (out []activeTxn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Kind == askActive {
		for _, id := range r.Txns {
			if a := g.active[id]; a != nil {
				out = append(out, activeTxn{Txn: id})
			}
		}
		return out
	}
	for _, a := range g.active {
		out = append(out, activeTxn{Txn: a.Txn, Start: a.Start, IDs: slices.Clone(a.IDs)})
	}
	return out
}

// remoteFor returns what the node knows of a transaction of another, which it
// makes if need be.
func (g *gateway) remoteFor(from kvpb.NodeID, reg int64, txn concurrency.TxnID, start hlc.Timestamp, attempt int) *remoteTxn {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.remote[txn]
	if r == nil {
		c := &Collection{store: g.s, start: start}
		c.txnHi.Store(txn.Hi)
		c.txnLo.Store(txn.Lo)
		r = &remoteTxn{node: from, reg: reg, c: c, serve: sleep.NewMutex(), held: map[*object]*exclusive{}}
		g.remote[txn] = r
	}
	r.attempt = max(r.attempt, attempt)
	return r
}

// lockFor locks objects for a transaction of another node, and waits a little
// while for those that use them.
func (g *gateway) lockFor(ctx context.Context, from kvpb.NodeID, req *peerRequest, a *peerAnswer) error {
	ctx, cancel := context.WithTimeout(ctx, g.poll)
	defer cancel()
	for _, id := range req.IDs {
		if g.s.object(id) != nil {
			continue
		}
		// Created by a transaction whose release has not arrived.
		if err := g.reread(ctx, []ID{id}, nil, hlc.Timestamp{}); err != nil {
			return err
		}
	}
	r := g.remoteFor(from, req.Registration, req.Txn, req.Start, req.Attempt)
	if r.serve.LockContext(ctx) != nil {
		return nil
	}
	defer r.serve.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errRemoteOver
	}
	r.c.stored, r.c.noWait = req.Holds, req.NoWait
	ids := slices.Clone(req.IDs)
	slices.Sort(ids)
	for _, id := range ids {
		if !slices.Contains(r.ids, id) {
			r.ids = append(r.ids, id)
		}
		since, err := g.lockOne(ctx, r, id)
		var dead *kvpb.DeadlockError
		var busy *kvpb.LockNotAvailableError
		switch {
		case errors.As(err, &busy):
			return nil
		case errors.As(err, &dead):
			a.Deadlock = true
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			return nil // not granted yet
		case err != nil:
			return err
		}
		a.Since = a.Since.Max(since)
	}
	a.Granted = true
	return nil
}

var errRemoteOver = errors.New("catalog: the transaction has ended")

// await waits on behalf of a transaction whose mu the caller holds, without it: a release
// does not wait for what it ends, nor a load.
func (r *remoteTxn) await(ctx context.Context, event <-chan struct{}, on concurrency.BlockerSource) error {
	r.mu.Unlock()
	err := r.c.await(ctx, event, on)
	r.mu.Lock()
	if err == nil && r.over {
		err = errRemoteOver
	}
	return err
}

// lockOne locks an object for r, whose mu the caller holds.
func (g *gateway) lockOne(ctx context.Context, r *remoteTxn, id ID) (since hlc.Timestamp, err error) {
	s := g.s
	for {
		o := s.object(id)
		if o == nil {
			return since, nil // dropped
		}
		x := r.held[o]
		if x == nil {
			if x = r.c.announce(o); x == nil {
				if other := o.excl.Load(); other != nil {
					if err := r.await(ctx, other.done, changer{other}); err != nil {
						return since, err
					}
				}
				continue
			}
			r.held[o] = x
		}
		for r.held[o] == x && r.c.pinnedElsewhere(o) {
			if err := r.await(ctx, x.wake, pinHolders{o, r.c}); err != nil {
				return since, err
			}
		}
		if s.object(id) == o && r.held[o] == x { // no load has made new objects meanwhile
			return o.newest(), nil
		}
	}
}

// replace puts the locks on the objects that a load has made. The caller holds mu.
func (r *remoteTxn) replace(objects map[ID]*object) {
	old := r.held
	r.held = map[*object]*exclusive{}
	if !r.over {
		for _, id := range r.ids {
			if o := objects[id]; o != nil {
				if x := r.c.announce(o); x != nil {
					r.held[o] = x
				}
			}
		}
	}
	for o, x := range old {
		r.c.store.unlock(o, x)
	}
}

// end releases the locks.
func (r *remoteTxn) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for o, x := range r.held {
		r.c.store.unlock(o, x)
	}
	clear(r.held)
}

// releaseFor learns what a transaction of another node has changed and releases
// its locks.
func (g *gateway) releaseFor(ctx context.Context, req *peerRequest) error {
	if req.Committed {
		if !req.CommitTS.IsEmpty() {
			g.s.db.Clock().Forward(req.CommitTS)
		}
		if err := g.reread(ctx, req.IDs, req.Names, req.CommitTS); err != nil {
			return err
		}
	}
	g.drop(req.Txn, req.Attempt)
	return nil
}

// drop ends what a transaction of another node has here, unless it has asked again since that attempt.
func (g *gateway) drop(txn concurrency.TxnID, attempt int) {
	g.mu.Lock()
	r := g.remote[txn]
	if r != nil && r.attempt > attempt { // a late copy of a release
		g.mu.Unlock()
		return
	}
	delete(g.remote, txn)
	g.mu.Unlock()
	if r != nil {
		r.end()
	}
}

// call asks another node.
func (g *gateway) call(ctx context.Context, to kvpb.NodeID, r *peerRequest) (a peerAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.deadline)
	defer cancel()
	r.Registration = g.member.Registration()
	req, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	p, err := g.peers.Call(ctx, to, req)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(p, &a)
}

// inherit learns the locks that transactions of other nodes hold everywhere. It is
// called when the node's registration is written: whoever locks an object from
// then on finds it.
func (g *gateway) inherit(ctx context.Context) error {
	ms, err := g.member.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms.All {
		for {
			a, err := g.call(ctx, m.Node, &peerRequest{Kind: askList})
			if err == nil {
				for _, t := range a.Active {
					r := g.remoteFor(m.Node, m.Registration, t.Txn, t.Start, 0)
					r.mu.Lock()
					r.ids = append(r.ids, t.IDs...)
					r.mu.Unlock()
				}
				break
			}
			if gone, _ := g.member.Gone(ctx, m); gone {
				break
			}
			if err := g.rest(ctx, g.backoff); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *gateway) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
