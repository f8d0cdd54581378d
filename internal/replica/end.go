package replica

import (
	"context"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
)

// want notes that somebody waits to know what a transaction's record will say; false if
// there is none.
func (sp *spills) want(id kvpb.TxnID) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	rec := sp.records[id]
	if rec == nil {
		return false
	}
	rec.wanted = true
	return true
}

func (sp *spills) isWanted(rec *record) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return rec.wanted
}

// hasteOf says whether the removal of what is provisional of a part may wait.
func (r *Replica) hasteOf(p *part) haste {
	h := haste{seen: r.group.hurries()}
	r.spills.mu.Lock()
	defer r.spills.mu.Unlock()
	h.patient = p.patient && !p.met
	return h
}

// commitRecord makes a record say that its transaction has committed at ts. If this range's
// part of it is as the last attempt staged it, the same command removes its locks.
func (r *Replica) commitRecord(ctx context.Context, rec *record, under raftgroup.Fence, ts hlc.Timestamp, h haste) error {
	p, err := r.enterStaged(ctx, rec)
	if err != nil {
		return err
	}
	if p == nil {
		return r.setRecord(rec, under, kvpb.TxnCommitted, ts)
	}
	defer r.spills.leave(p)
	defer func() { <-p.settling }()
	r.spills.makeSure(p) // before its locks go
	next := rec.txnRecord
	next.status, next.ts = kvpb.TxnCommitted, ts
	var b apply.Builder
	b.Reset(rec.id, ts)
	b.SetRaw(keys.TxnRecord(rec.anchor, recordID(rec.id)), next.encode())
	for _, k := range r.spills.staged(p) {
		b.DeleteRaw(keys.Lock(k))
	}
	if err := r.group.proposeWith(h, under, b.Bytes()); err != nil {
		rec.unknown = kvpb.Classify(err) == kvpb.ClassAmbiguous
		return err
	}
	rec.stored(next)
	r.spills.settled(p, ts)
	return nil
}

// enterStaged returns this range's part of the transaction of a record, latched and not
// being settled by anybody else, if it is staged as the record says with a durable lock for
// each key; otherwise nil.
func (r *Replica) enterStaged(ctx context.Context, rec *record) (*part, error) {
	sp := &r.spills
	sp.mu.Lock()
	p := sp.all[rec.id]
	sp.mu.Unlock()
	if p == nil || len(rec.keys) == 0 {
		return nil, nil
	}
	if err := sp.latch(ctx, p); err != nil {
		return nil, err
	}
	ok, err := r.asStaged(p, rec)
	if ok && err == nil {
		select {
		case p.settling <- struct{}{}:
			return p, nil
		default:
		}
	}
	sp.leave(p)
	return nil, err
}

// asStaged reports whether a latched part is staged as its record says.
func (r *Replica) asStaged(p *part, rec *record) (bool, error) {
	sp := &r.spills
	sp.mu.Lock()
	staged := sp.all[p.id] == p && p.state == partStaging && !p.spilled && p.keys != nil && p.ts == rec.ts && p.epoch == rec.epoch
	all, exact := p.keys, p.exact
	sp.mu.Unlock()
	if !staged || exact {
		return staged, nil
	}
	return r.staged(p.id, all, rec.ts, rec.epoch)
}

// makeSure notes that a staged part's transaction has committed. Requests that meet the part
// need not wait for its record.
func (sp *spills) makeSure(p *part) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if !p.sure {
		p.sure = true
		p.tell()
	}
}

// settled notes that a command has removed what was provisional of a part that committed.
func (sp *spills) settled(p *part, ts hlc.Timestamp) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.all[p.id] == p {
		p.state, p.commitTS = partCommitted, ts
		sp.removeLocked(p)
	}
}
