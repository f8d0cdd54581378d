package storepool

import (
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// Nodes has the infos of the cluster's nodes, with this one.
type Nodes interface {
	Nodes() []liveness.NodeInfo
	Live(kvpb.NodeID) bool
	LastContact(kvpb.NodeID) time.Time
}

// Pool is a node's knowledge of all stores of the cluster. It implements balance.Stores.
type Pool struct {
	nodes Nodes
	self  func() kvpb.NodeID

	mu      sync.Mutex
	history map[kvpb.NodeID]*history
	named   namedStores
}

// New returns a Pool of a node that is called self.
func New(nodes Nodes, self func() kvpb.NodeID) *Pool {
	return &Pool{nodes: nodes, self: self, history: map[kvpb.NodeID]*history{}}
}

// Stores implements balance.Stores.
func (p *Pool) Stores() []placement.Store {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []placement.Store
	removed := map[kvpb.NodeID]bool{}
	for _, i := range p.nodes.Nodes() {
		live, contact := true, now
		if i.ID != p.self() {
			live, contact = p.nodes.Live(i.ID), p.nodes.LastContact(i.ID)
		}
		h := p.observe(&i, live, contact, now)
		removed[i.ID] = i.Removed
		for _, st := range i.Stores {
			out = append(out, h.store(&i, &st, now))
		}
	}
	return p.named.appendLost(out, removed, now)
}

// observe adds a node's present info to its history. The caller holds p.mu.
func (p *Pool) observe(i *liveness.NodeInfo, live bool, contact, now time.Time) *history {
	h := p.history[i.ID]
	if h == nil {
		h = &history{live: live, since: now}
		p.history[i.ID] = h
	}
	h.observe(i, live, contact, now)
	return h
}

// NoteDescriptor remembers the stores that a descriptor names.
func (p *Pool) NoteDescriptor(d *kvpb.RangeDescriptor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named.note(d)
}

// store returns a store as placement sees it.
func (h *history) store(i *liveness.NodeInfo, st *liveness.StoreInfo, now time.Time) placement.Store {
	return placement.Store{
		ID: st.ID, Node: i.ID, Locality: tiers(i.Locality), Draining: i.Draining || st.Stalled || st.Full, Decommissioning: i.Decommissioning, Slow: st.Slow,
		State: h.state(i.Removed, now), Since: h.since, Measured: h.measured,
		Capacity: placement.Capacity{
			Total: st.CapacityBytes, Used: st.UsedBytes, Ranges: st.Ranges, Leaders: st.Leaders,
			QPS: st.QPS, WriteBytes: st.WriteBytesPerSec,
		},
	}
}

// tiers reads a locality for placement.
func tiers(locality string) []placement.Tier {
	var out []placement.Tier
	for k, v := range zone.Tiers(locality) {
		out = append(out, placement.Tier{Key: k, Value: v})
	}
	return out
}
