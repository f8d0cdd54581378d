package replica

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// A transaction that outgrows its gateway's buffer spills: its writes become
// versions at one provisional timestamp, with a durable lock and a record that
// says what became of the transaction. spills is what the leader knows of them.
//
// Everyone else passes over versions whose timestamp belongs to a spill that is
// not committed. A spill commits at its provisional timestamp if no other read
// at or above it has passed over one of its keys; then its locks are all that is
// left to remove. Otherwise it commits at a later timestamp: readers take its
// versions to be there, while a background run moves them (settle).
type spills struct {
	active atomic.Int32 // entries; 0 is what the hot paths look at

	mu  sync.Mutex
	all map[kvpb.TxnID]*spill
	wg  sync.WaitGroup
}

// maxSpills bounds the transactions that have spilled in one range.
const maxSpills = 1024

type spillState uint8

const (
	spillPending    spillState = iota
	spillCommitting            // being made durable: what becomes of it is unknown
	spillCommitted
	spillAborted
)

type spill struct {
	id     kvpb.TxnID
	ts     hlc.Timestamp // provisional
	anchor []byte

	// Guarded by spills.mu.
	state    spillState
	commitTS hlc.Timestamp
	lo, hi   []byte        // bounds of the keys, hi inclusive
	maxRead  hlc.Timestamp // highest read by others over the keys
	decided  chan struct{} // closed when committing ends
	done     chan struct{} // closed when nothing of it is left but versions
	blockers *concurrency.Blockers
}

func (s *spill) overlaps(start, end []byte) bool {
	if len(end) == 0 {
		return bytes.Compare(start, s.lo) >= 0 && bytes.Compare(start, s.hi) <= 0
	}
	return bytes.Compare(start, s.hi) <= 0 && bytes.Compare(s.lo, end) < 0
}

// view is what one read must know of the spills over its keys.
type view struct {
	pending []hlc.Timestamp // versions to pass over
}

func (v *view) hidden(ts hlc.Timestamp) bool {
	for _, p := range v.pending {
		if p == ts {
			return true
		}
	}
	return false
}

// spillView returns what a read of [start, end) at ts, or of the key start, must
// pass over; nil if nothing. It waits for commits whose outcome is not known.
func (r *Replica) spillView(ctx context.Context, self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (*view, error) {
	if r.spills.active.Load() == 0 {
		return nil, nil
	}
	for {
		v, wait := r.spills.view(self, start, end, ts)
		if wait == nil {
			return v, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (sp *spills) view(self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (v *view, wait <-chan struct{}) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, s := range sp.all {
		if ts.Less(s.ts) || !s.overlaps(start, end) {
			continue
		}
		if s.id != self {
			s.maxRead = s.maxRead.Max(ts)
		}
		switch {
		case s.state == spillCommitting && s.id != self:
			return nil, s.decided
		case s.state == spillCommitted && s.commitTS.LessEq(ts):
			continue
		}
		if v == nil {
			v = new(view)
		}
		v.pending = append(v.pending, s.ts)
	}
	return v, nil
}

// changed reports whether a spill over the span committed in (from, to] at
// a timestamp that its versions do not carry yet.
func (sp *spills) changed(self kvpb.TxnID, s kvpb.Span, from, to hlc.Timestamp) bool {
	if sp.active.Load() == 0 {
		return false
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, e := range sp.all {
		if e.id == self || !e.overlaps(s.Key, s.EndKey) {
			continue
		}
		if e.state == spillCommitting ||
			e.state == spillCommitted && from.Less(e.commitTS) && e.commitTS.LessEq(to) {
			return true
		}
	}
	return false
}

// undecided returns what hides the versions that are not, or not as they stand,
// part of the committed state; nil if there are none.
func (sp *spills) undecided() mvcc.Hidden {
	if sp.active.Load() == 0 {
		return nil
	}
	v := new(view)
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, e := range sp.all {
		if e.state != spillCommitted || e.commitTS != e.ts {
			v.pending = append(v.pending, e.ts)
		}
	}
	return v.hidden
}

// Spill implements kvpb.Spiller.
func (r *Replica) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	if err := r.deps.AdmitWrite(); err != nil {
		return err
	}
	s, err := r.enterSpill(req)
	if err != nil {
		return err
	}
	b := builders.Get().(*apply.Builder)
	defer builders.Put(b)
	b.Reset(kvpb.TxnID{}, s.ts)
	b.SetRaw(keys.TxnRecord(s.anchor, recordID(s.id)), r.spills.record(s))
	for i, w := range req.Writes {
		rec := lockRecord{txn: s.id, ts: s.ts, position: req.Positions[i], deleted: w.Value == nil}
		if err := r.previous(s, w.Key, &rec); err != nil {
			return err
		}
		b.SetRaw(keys.Lock(w.Key), rec.encode())
		if w.Value == nil {
			b.Tombstone(w.Key)
		} else {
			b.Put(w.Key, w.Value)
		}
	}
	if err := r.group.propose(b.Bytes()); err != nil {
		return err
	}
	r.releaseAll(txnID(req.Txn), req.Locks)
	return nil
}

// enterSpill registers the keys of a spill before their versions exist, and
// notes who has read them.
func (r *Replica) enterSpill(req *kvpb.SpillRequest) (*spill, error) {
	sp := &r.spills
	lo, hi := req.Writes[0].Key, req.Writes[len(req.Writes)-1].Key
	sp.mu.Lock()
	s := sp.all[req.Txn.ID]
	if s == nil {
		if len(sp.all) >= maxSpills {
			sp.mu.Unlock()
			return nil, &kvpb.TooManyLocksError{Limit: maxSpills}
		}
		s = &spill{
			id: req.Txn.ID, ts: r.deps.Clock.Now(), anchor: bytes.Clone(lo), lo: bytes.Clone(lo), hi: bytes.Clone(hi),
			decided: make(chan struct{}), done: make(chan struct{}), blockers: concurrency.NewBlockers(txnID(req.Txn)),
		}
		sp.all[s.id] = s
		sp.active.Add(1)
	}
	if bytes.Compare(lo, s.lo) < 0 {
		s.lo = bytes.Clone(lo)
	}
	if bytes.Compare(hi, s.hi) > 0 {
		s.hi = bytes.Clone(hi)
	}
	sp.mu.Unlock()
	// Reads from now on pass view; those before are in the cache.
	var read hlc.Timestamp
	for _, w := range req.Writes {
		read = read.Max(r.reads.GetKey(w.Key, txnID(req.Txn)))
	}
	sp.mu.Lock()
	s.maxRead = s.maxRead.Max(read)
	sp.mu.Unlock()
	return s, nil
}

// previous fills in what an earlier spilled write of the same key was, so that a
// rollback to a savepoint can bring it back.
func (r *Replica) previous(s *spill, key []byte, rec *lockRecord) error {
	old, ok, err := r.lockOf(key)
	if err != nil || !ok || old.txn != s.id {
		return err
	}
	rec.hasPrev, rec.prevPosition, rec.prevDeleted = true, old.position, old.deleted
	if !old.deleted {
		v, _, err := mvcc.Get(r.deps.Engine, key, s.ts, nil)
		if err != nil {
			return err
		}
		rec.prevValue = v.Data
	}
	return nil
}

// lockOf reads the durable lock on a key.
func (r *Replica) lockOf(key []byte) (rec lockRecord, ok bool, err error) {
	p, ok, err := r.deps.Engine.GetUnversioned(keys.Lock(key), nil)
	if err != nil || !ok {
		return rec, false, err
	}
	rec, err = decodeLock(p)
	return rec, err == nil, err
}

// Spilled implements kvpb.Spiller.
func (r *Replica) Spilled(ctx context.Context, req *kvpb.SpilledRequest) ([]kvpb.SpilledWrite, error) {
	r.spills.mu.Lock()
	s := r.spills.all[req.Txn.ID]
	r.spills.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	var out []kvpb.SpilledWrite
	add := func(key []byte, rec lockRecord) error {
		w := kvpb.SpilledWrite{Key: bytes.Clone(key), Position: rec.position, Deleted: rec.deleted}
		switch {
		case rec.position < req.Below && !rec.deleted:
			v, _, err := mvcc.Get(r.deps.Engine, key, s.ts, nil)
			if err != nil {
				return err
			}
			w.Value = v.Data
		case rec.position < req.Below:
		case rec.hasPrev && rec.prevPosition < req.Below:
			w.Value, w.Deleted, w.Position = rec.prevValue, rec.prevDeleted, rec.prevPosition
		default:
			return nil
		}
		out = append(out, w)
		return nil
	}
	if len(req.Span.EndKey) > 0 {
		err := r.eachLock(ctx, s, req.Span, add)
		return out, err
	}
	rec, ok, err := r.lockOf(req.Span.Key)
	if err == nil && ok && rec.txn == s.id {
		err = add(req.Span.Key, rec)
	}
	return out, err
}

// Unspill implements kvpb.Spiller.
func (r *Replica) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	sp := &r.spills
	sp.mu.Lock()
	s := sp.all[req.Txn.ID]
	if s == nil {
		sp.mu.Unlock()
		return nil
	}
	if req.Abort {
		pending := s.state == spillPending
		sp.mu.Unlock()
		if pending {
			r.decide(s, spillAborted, hlc.Timestamp{})
		}
		return nil
	}
	span := kvpb.Span{Key: s.lo, EndKey: append(bytes.Clone(s.hi), 0)}
	sp.mu.Unlock()
	return r.undo(ctx, s, span, req.From)
}

// commitSpill decides at which timestamp a spilled transaction commits, marks it
// undecided for readers, and adds its record to the commit. finish tells the
// outcome.
func (r *Replica) commitSpill(ctx context.Context, req *kvpb.CommitRequest) (ts hlc.Timestamp, s *spill, err error) {
	sp := &r.spills
	sp.mu.Lock()
	s = sp.all[req.Txn.ID]
	if s == nil {
		sp.mu.Unlock()
		return ts, nil, &kvpb.RetryError{Reason: "the transaction's spilled writes are gone"}
	}
	s.state = spillCommitting
	read := s.maxRead
	sp.mu.Unlock()
	ts = s.ts
	for i := range req.Writes {
		read = read.Max(r.reads.GetKey(req.Writes[i].Key, txnID(req.Txn)))
	}
	if ts.LessEq(read) || ts.LessEq(req.MinTS) || ts.Less(req.Txn.ReadTS) {
		ts = r.deps.Clock.Now()
	}
	if req.Txn.Isolation == kvpb.Serializable && len(req.Reads) > 0 {
		err = r.refresh(ctx, req.Txn, req.Reads, req.Txn.ReadTS, ts)
	}
	return ts, s, err
}

// decide ends the committing state.
func (r *Replica) decide(s *spill, state spillState, ts hlc.Timestamp) {
	sp := &r.spills
	sp.mu.Lock()
	s.state, s.commitTS = state, ts
	close(s.decided)
	sp.mu.Unlock()
	r.settleLater(s)
}

// settleLater removes what is left of a decided spill, in the background.
func (r *Replica) settleLater(s *spill) {
	r.spills.wg.Go(func() {
		if err := r.settle(context.Background(), s); err != nil {
			r.deps.Logger.Error("clean up after a large transaction; the next start goes on with it",
				"range", r.desc.RangeID, "err", err)
			return
		}
		sp := &r.spills
		sp.mu.Lock()
		delete(sp.all, s.id)
		sp.mu.Unlock()
		sp.active.Add(-1)
		close(s.done)
	})
}
