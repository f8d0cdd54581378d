package replica

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// latestVisible reads the newest committed version of a key over which there are
// parts, all of them decided but the transaction's own.
func (r *Replica) latestVisible(req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	var v view
	moved := map[hlc.Timestamp]hlc.Timestamp{}
	sp := &r.spills
	sp.mu.Lock()
	for _, p := range sp.all {
		switch {
		case !p.overlaps(req.Key, nil):
		case p.state == partCommitted:
			moved[p.ts] = p.commitTS
		case p.sure: // its versions are where it has committed
		case p.state != partNew:
			v.pending = append(v.pending, p.ts)
		}
	}
	sp.mu.Unlock()
	val, found, err := mvcc.GetVisible(r.deps.Engine, req.Key, hlc.MaxTimestamp, v.hidden, resp.Value[:0])
	resp.Found, resp.TS = found, val.TS
	if found {
		resp.Value = val.Data
	}
	if ts, ok := moved[val.TS]; ok {
		resp.TS = ts
	}
	return err
}
