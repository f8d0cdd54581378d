package dist

import (
	"github.com/lichendb/lichen/internal/dist/rangecache"
	"github.com/lichendb/lichen/internal/kvpb"
)

// historical reports whether a transaction reads at a timestamp that is probably closed, so that any replica
// can serve it. The replica checks that the timestamp is closed.
func (d *Router) historical(t *kvpb.TxnMeta) bool {
	return d.cfg.Caller != nil && d.cfg.Now != nil && t != nil && t.UncertainTS.IsEmpty() && t.ReadTS.WallTime <= d.cfg.Now().WallTime-int64(d.cfg.ClosedLag)
}

// reading returns the retry of a read. A historical read goes to the nearest replica first and only
// then to the leader.
func (d *Router) reading(t *kvpb.TxnMeta) retry { return retry{nearest: d.historical(t)} }

// chooseNearest picks the nearest replica of a range: one on this node, or the one with the least
// Config.Distance.
func (d *Router) chooseNearest(e *rangecache.Entry) (target, bool) {
	if s, ok := d.cfg.Local.Replica(e.Desc().RangeID); ok {
		return target{Sender: s, desc: e.Desc(), entry: e, node: d.self()}, true
	}
	if d.cfg.Distance == nil {
		return target{}, false
	}
	var best kvpb.NodeID
	var least int64
	for _, rep := range e.Desc().Replicas {
		if far, ok := d.cfg.Distance(rep.Node); ok && rep.Node != d.self() && (best == 0 || far < least) {
			best, least = rep.Node, far
		}
	}
	if best == 0 {
		return target{}, false
	}
	return d.remote(e, best), true
}
