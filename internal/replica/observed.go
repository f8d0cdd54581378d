package replica

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
)

// Observed timestamps shorten a transaction's uncertainty interval. If the transaction has observed this
// node's clock, a version above that reading which was committed under this node's leadership is newer
// than the observation, since the leader's clock passes a commit timestamp before anybody learns of the
// commit. This does not hold for versions of earlier leaders, nor for intents whose timestamp another
// range chose under another leader: certainFrom lies above those (invariant 6).

// raiseCertain is called before versions from outside of this leadership become readable. The clock has
// passed their timestamps. Reads in progress run again (whileCertain).
func (r *Replica) raiseCertain() { r.certainFrom.Store(r.deps.Clock.Reading().WallTime) }

// uncertaintyLimit is the end of a read's uncertainty interval: versions up to it may have been committed
// before the transaction began.
type uncertaintyLimit struct {
	ts       hlc.Timestamp // empty if no version above the read timestamp is uncertain
	node     kvpb.NodeID   // this node
	observed kvpb.Observation
}

// mayBeUncertain reports whether versions above a transaction's snapshot may have been committed before it
// began.
func mayBeUncertain(t *kvpb.TxnMeta) bool {
	return t.ReadTS.Less(t.UncertainTS) && !plant.On(plant.IgnoreUncertainty)
}

// uncertain returns the limit of a transaction's uncertainty on this node. Versions above the clock's
// present reading were committed after this request had arrived, and versions above an earlier observation
// after that observation.
func (r *Replica) uncertain(t *kvpb.TxnMeta, seen []kvpb.Observation) (l uncertaintyLimit) {
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

// whileCertain repeats a read until certainFrom does not change during the read.
func (r *Replica) whileCertain(read func() error) error {
	for {
		from := r.certainFrom.Load()
		err := read()
		if r.certainFrom.Load() == from {
			return err
		}
	}
}
