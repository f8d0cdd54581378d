package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// A transaction that has seen this node's clock knows that what is committed above that time
// under this node's leadership came later: before anybody learns of a commit, the clock of
// the leader has passed it. That does not hold for what other leaders have committed before,
// nor for versions whose time another range has decided under another leader: certainFrom
// lies above those (invariant 6).

// raiseCertain notes that the range has what did not come about under this leadership, all of
// it at times that the clock has passed. Readers that began before look again (settled).
func (r *Replica) raiseCertain() { r.certainFrom.Store(r.deps.Clock.Reading().WallTime) }

// limit is up to where a read must take versions for ones from before its transaction.
type limit struct {
	ts       hlc.Timestamp // empty: no version above the read timestamp may be
	node     kvpb.NodeID   // this one
	observed kvpb.Observation
}

// mayBeUncertain reports whether versions above a transaction's snapshot may have been
// committed before it began.
func mayBeUncertain(t *kvpb.TxnMeta) bool {
	return t.ReadTS.Less(t.UncertainTS) && !plant.On(plant.IgnoreUncertainty)
}

// uncertain returns the limit up to which versions may have been committed before the
// transaction began. What is above this clock's present time was committed after the request
// came, what is above its time in an earlier request after that one came.
func (r *Replica) uncertain(t *kvpb.TxnMeta, seen []kvpb.Observation) (l limit) {
	if !mayBeUncertain(t) {
		return l
	}
	self, _ := r.Desc().ReplicaByID(r.replicaID)
	l.node, l.ts = self.Node, hlc.Timestamp{WallTime: r.certainFrom.Load()}
	if plant.On(plant.ObservedForAll) {
		l.ts = hlc.Timestamp{}
	}
	known := false
	for _, o := range seen {
		if o.Node == self.Node {
			l.ts, known = l.ts.Max(o.TS), true
		}
	}
	if !known {
		l.ts = r.deps.Clock.Now()
		l.observed = kvpb.Observation{Node: self.Node, TS: l.ts}
	}
	if l.ts = l.ts.Min(t.UncertainTS); l.ts.LessEq(t.ReadTS) {
		l.ts = hlc.Timestamp{}
	}
	return l
}

// settled has a read look again while what it may take for certain changes under it.
func (r *Replica) settled(read func() error) error {
	for {
		from := r.certainFrom.Load()
		err := read()
		if r.certainFrom.Load() == from {
			return err
		}
	}
}

// Get implements kvpb.Sender.
func (r *Replica) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	r.stats.Gets.Add(1)
	if !mayBeUncertain(req.Txn) {
		return r.get(ctx, req, resp)
	}
	return r.settled(func() error { return r.get(ctx, req, resp) })
}

// Scan implements kvpb.Sender.
func (r *Replica) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	r.stats.Scans.Add(1)
	if !mayBeUncertain(req.Txn) {
		return r.scan(ctx, req, resp)
	}
	return r.settled(func() error { return r.scan(ctx, req, resp) })
}
