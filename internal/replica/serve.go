package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/eval"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// A transaction that waits for a lock looks for a deadlock after deadlockFirst, and then every
// deadlockAgain.
const (
	deadlockFirst = 10 * time.Millisecond
	deadlockAgain = 100 * time.Millisecond
)

func txnID(t *kvpb.TxnMeta) concurrency.TxnID { return concurrency.TxnID(t.ID) }

// awaitKey waits for commits in flight that a read of key must see. The read is already in the timestamp
// cache, so a commit that is not in flight yet lands above it (invariant 2).
func (r *Replica) awaitKey(ctx context.Context, t *kvpb.TxnMeta, key []byte) error {
	for {
		c := r.commits.BlockingRead(txnID(t), key, t.ReadTS)
		if c == nil {
			return nil
		}
		if err := r.awaitChange(ctx, c, t.ReadTS); err != nil {
			return err
		}
	}
}

// awaitChange waits until a read at ts should look at a commit again. It checks the lease, as leaveRead does
// at the end: a commit that ended with the leadership may still be applied.
func (r *Replica) awaitChange(ctx context.Context, c *concurrency.Commit, ts hlc.Timestamp) (err error) {
	end := waiting(ctx, "wait for a commit", nil)
	defer func() { end(err) }()
	select {
	case <-c.Changed():
		return r.admit(ts)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Get implements kvpb.Sender.
func (r *Replica) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	r.stats.Gets.Add(1)
	if !mayBeUncertain(req.Txn) {
		return r.get(ctx, req, resp)
	}
	return r.whileCertain(func() error { return r.get(ctx, req, resp) })
}

// Scan implements kvpb.Sender.
func (r *Replica) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	r.stats.Scans.Add(1)
	if !mayBeUncertain(req.Txn) {
		return r.scan(ctx, req, resp)
	}
	return r.whileCertain(func() error { return r.scan(ctx, req, resp) })
}

func (r *Replica) get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	resp.ReadTS, resp.Observed = hlc.Timestamp{}, kvpb.Observation{}
	fence, err := r.enterRead(ctx, req.Txn.ReadTS, kvpb.Span{Key: req.Key})
	if err != nil {
		return r.getClosed(req, resp, err)
	}
	ts := req.Txn.ReadTS
	limit := r.uncertain(req.Txn, req.Observed)
	resp.Observed = limit.observed
	if err := r.getAt(ctx, req, limit.ts, resp); err != nil {
		return err
	}
	if !limit.ts.IsEmpty() && ts.Less(resp.TS) {
		// The version is uncertain: the transaction's first read moves to the limit.
		if !req.MayMove {
			return &kvpb.UncertaintyError{Key: bytes.Clone(req.Key), TS: limit.ts, Node: limit.node, Least: resp.TS}
		}
		ts, resp.ReadTS = limit.ts, limit.ts
	}
	fence.upTo = limit.ts
	return r.leaveRead(ts, fence)
}

// getAt reads a key at the read timestamp, or at limit above it if limit is set.
func (r *Replica) getAt(ctx context.Context, req *kvpb.GetRequest, limit hlc.Timestamp, resp *kvpb.GetResponse) error {
	if !limit.IsEmpty() {
		moved := *req
		t := *req.Txn
		t.ReadTS = limit
		moved.Txn = &t
		req = &moved
	}
	t := req.Txn
	if !plant.On(plant.ReadsUnnoted) {
		r.reads.AddKey(req.Key, t.ReadTS, txnID(t))
	}
	if err := r.awaitKey(ctx, t, req.Key); err != nil {
		return err
	}
	for {
		spills := r.intents.Spills()
		v, err := r.visibleIntents(ctx, t.ID, req.Key, nil, t.ReadTS)
		switch {
		case err != nil:
		case v != nil:
			err = eval.GetVisible(r.deps.Engine, req, v.Hidden, resp)
		default:
			err = eval.Get(r.deps.Engine, req, resp)
		}
		if err != nil || !r.intents.SpilledSince(spills, req.Key, nil, t.ReadTS) {
			return err
		}
	}
}

func (r *Replica) scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	resp.Reset() // it may hold rows of another replica's failed attempt
	fence, err := r.enterRead(ctx, req.Txn.ReadTS, kvpb.Span{Key: req.Start, EndKey: req.End})
	if err != nil {
		if !req.ChangedSince.IsEmpty() {
			return err // only the leader knows which intents were resolved
		}
		return r.scanClosed(ctx, req, resp, err)
	}
	limit := r.uncertain(req.Txn, req.Observed)
	if !limit.ts.IsEmpty() {
		if !req.MayMove {
			fence.upTo = limit.ts
			if err := r.checkUncertainty(ctx, req, limit); err != nil {
				return err
			}
		} else {
			// The transaction has read nothing yet: its snapshot moves to the limit, and no version
			// above that is uncertain.
			moved := *req
			t := *req.Txn
			t.ReadTS, resp.ReadTS = limit.ts, limit.ts
			moved.Txn = &t
			req = &moved
		}
	}
	if err := r.scanAt(ctx, req, resp); err != nil {
		return err
	}
	resp.Observed = limit.observed
	if !req.ChangedSince.IsEmpty() {
		if err := r.checkThreshold(req.ChangedSince); err != nil { // a tombstone may have been collected
			return err
		}
	}
	return r.leaveRead(req.Txn.ReadTS, fence)
}

// checkUncertainty returns an UncertaintyError if the scanned keys have uncertain versions.
func (r *Replica) checkUncertainty(ctx context.Context, req *kvpb.ScanRequest, limit uncertaintyLimit) error {
	t := *req.Txn
	t.ReadTS = limit.ts
	spans := []kvpb.Span{{Key: req.Start, EndKey: req.End}}
	if len(req.Spans) > 0 {
		spans = clipped(req)
	}
	for _, s := range spans {
		if err := r.await(ctx, &t, s); err != nil {
			return err
		}
	}
	err := eval.Refresh(ctx, r.deps.Engine, spans, req.Txn.ReadTS, limit.ts, r.hiddenIntents())
	var changed *kvpb.RetryError
	if errors.As(err, &changed) {
		return &kvpb.UncertaintyError{Key: changed.Key, TS: limit.ts, Node: limit.node}
	}
	return err
}

// clipped returns the spans of a request, clipped to its bounds.
func clipped(req *kvpb.ScanRequest) []kvpb.Span {
	spans := make([]kvpb.Span, 0, len(req.Spans))
	for _, s := range req.Spans {
		if s, ok := s.Clip(req.Start, req.End); ok {
			spans = append(spans, s)
		}
	}
	return spans
}

// await is awaitKey for a key or a span.
func (r *Replica) await(ctx context.Context, t *kvpb.TxnMeta, s kvpb.Span) error {
	if len(s.EndKey) == 0 {
		return r.awaitKey(ctx, t, s.Key)
	}
	return r.awaitSpan(ctx, t, s.Key, s.EndKey)
}

func (r *Replica) awaitSpan(ctx context.Context, t *kvpb.TxnMeta, start, end []byte) error {
	for {
		c := r.commits.BlockingScan(txnID(t), start, end, t.ReadTS)
		if c == nil {
			return nil
		}
		if err := r.awaitChange(ctx, c, t.ReadTS); err != nil {
			return err
		}
	}
}

func (r *Replica) scanAt(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	t := req.Txn
	if len(req.Spans) > 0 {
		if err := r.enterSpans(ctx, req); err != nil {
			return err
		}
	} else {
		r.reads.AddSpan(req.Start, req.End, t.ReadTS, txnID(t))
		if err := r.awaitSpan(ctx, t, req.Start, req.End); err != nil {
			return err
		}
	}
	for readTS := resp.ReadTS; ; resp.ReadTS = readTS {
		spills := r.intents.Spills()
		v, err := r.visibleIntents(ctx, t.ID, req.Start, req.End, t.ReadTS)
		req := r.changesOf(req)
		switch {
		case err != nil:
		case v != nil:
			err = eval.ScanVisible(ctx, r.deps.Engine, req, v.Hidden, resp)
		default:
			err = eval.Scan(ctx, r.deps.Engine, req, resp)
		}
		if err != nil || !r.intents.SpilledSince(spills, req.Start, req.End, t.ReadTS) {
			return err
		}
		resp.Reset()
	}
}

// changesOf returns the request to evaluate for a scan. Intents that were committed after ChangedSince may have
// versions at earlier timestamps, until they are resolved: it looks at those too.
func (r *Replica) changesOf(req *kvpb.ScanRequest) *kvpb.ScanRequest {
	if req.ChangedSince.IsEmpty() {
		return req
	}
	from := r.intents.ChangesFrom(req.Txn.ID, kvpb.Span{Key: req.Start, EndKey: req.End}, req.ChangedSince, req.Txn.ReadTS)
	if from == req.ChangedSince {
		return req
	}
	earlier := *req
	earlier.ChangedSince = from
	return &earlier
}

// enterSpans adds a read of several spans to the timestamp cache and waits for the commits in flight that
// it must see.
func (r *Replica) enterSpans(ctx context.Context, req *kvpb.ScanRequest) error {
	t := req.Txn
	for _, s := range req.Spans {
		s, ok := s.Clip(req.Start, req.End)
		switch {
		case !ok:
		case len(s.EndKey) == 0:
			r.reads.AddKey(s.Key, t.ReadTS, txnID(t))
		default:
			r.reads.AddSpan(s.Key, s.EndKey, t.ReadTS, txnID(t))
		}
	}
	if r.commits.Len() == 0 {
		return nil // later commits find the reads in the timestamp cache
	}
	for _, s := range req.Spans {
		if s, ok := s.Clip(req.Start, req.End); ok {
			if err := r.await(ctx, t, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFence is the lease and the bounds under which a read was admitted. leaveRead checks at the end of
// the read that they still hold.
type readFence struct {
	desc *kvpb.RangeDescriptor
	term uint64
	// upTo is the highest timestamp that the read looked at. It is empty if that is the read's own.
	upTo hlc.Timestamp
}

// enterRead returns the fence of a read of the span at ts, or an error if the replica may not serve it.
func (r *Replica) enterRead(ctx context.Context, ts hlc.Timestamp, s kvpb.Span) (readFence, error) {
	d := r.Desc()
	if d.Into != 0 {
		if err := r.awaitUnfreeze(ctx); err != nil {
			return readFence{}, err
		}
		d = r.Desc()
	}
	l := r.lease.Load()
	if l == nil || !r.covers(l, ts) {
		return readFence{}, r.notLeader()
	}
	if !d.ContainsKey(s.Key) || len(s.EndKey) > 0 && bytes.Compare(s.EndKey, d.EndKey) > 0 {
		return readFence{}, r.mismatch()
	}
	return readFence{desc: d, term: l.Term}, nil
}

// leaveRead ends a read. The leadership that admitted the read must still stand and cover it (invariant 1):
// then the commits, the intents and the engine's state that the read saw all belong to this leadership. The
// range must still hold the span, and the read must not lie below the collection threshold.
func (r *Replica) leaveRead(ts hlc.Timestamp, fence readFence) error {
	if l := r.lease.Load(); l == nil || l.Term != fence.term || !r.covers(l, ts.Max(fence.upTo)) {
		return r.notLeader()
	}
	if d := r.Desc(); d != fence.desc && d.BoundsGen != fence.desc.BoundsGen {
		return r.mismatch()
	}
	return r.checkThreshold(ts)
}

// checkThreshold fails a read that may have missed a collected version (invariant 3): the threshold rises
// before a version is collected, so such a read lies below it.
func (r *Replica) checkThreshold(ts hlc.Timestamp) error {
	if th := r.Threshold(); ts.Less(th) && !plant.On(plant.IgnoreThreshold) {
		return &kvpb.SnapshotTooOldError{ReadTS: ts, Threshold: th}
	}
	return nil
}

// Lock implements kvpb.Sender.
func (r *Replica) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	var s lockSection
	fence, err := s.admit(ctx, r, req.Key)
	if err != nil {
		return err
	}
	defer s.leave()
	return r.lock(ctx, req, resp, fence)
}

// LockMany implements kvpb.Sender.
func (r *Replica) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	var s lockSection
	fence, err := s.admit(ctx, r, req.Keys...)
	if err != nil {
		return err
	}
	defer s.leave()
	resp.Locks = make([]kvpb.LockResponse, len(req.Keys))
	one := kvpb.LockRequest{Txn: req.Txn, Strength: req.Strength, Wait: lock.WaitSkip, HoldsLocks: req.HoldsLocks}
	if !r.takeRun(req, resp.Locks) {
		if err := r.takeEach(ctx, &one, req.Keys, resp.Locks); err != nil {
			return err
		}
	}
	read, err := r.latestOfAll(ctx, &one, req, resp.Locks)
	if err == nil {
		r.skipFrom(read, &one, req.Keys, resp.Locks)
		err = r.checkFence(fence)
	}
	if err != nil {
		r.releaseNew(txnID(req.Txn), req.Keys, resp.Locks)
	}
	return err
}

// takeRun takes all locks of a LockMany at once, if nobody has or reserves one of them. Otherwise it takes none and
// reports false.
func (r *Replica) takeRun(req *kvpb.LockManyRequest, got []kvpb.LockResponse) bool {
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	if !r.reserved.Empty() || !slices.IsSortedFunc(req.Keys, bytes.Compare) || !r.locks.TryAcquireRun(req.Keys, h, req.Strength) {
		return false
	}
	r.stats.Locks.Add(int64(len(req.Keys)))
	table := r.lockTableID.Load()
	for i := range got {
		got[i].Acquired, got[i].LockTableID = true, table
	}
	return true
}

// takeEach takes those locks of a LockMany that are free.
func (r *Replica) takeEach(ctx context.Context, one *kvpb.LockRequest, keys [][]byte, got []kvpb.LockResponse) error {
	for i, k := range keys {
		one.Key = k
		if !r.reserved.Empty() && r.isReserved(one) {
			got[i].Skipped = true
			continue
		}
		if err := r.takeLock(ctx, one, &got[i]); err != nil {
			r.releaseNew(txnID(one.Txn), keys[:i], got)
			return err
		}
	}
	return nil
}

// releaseNew releases the locks that LockMany has acquired.
func (r *Replica) releaseNew(id concurrency.TxnID, keys [][]byte, got []kvpb.LockResponse) {
	for i := range keys {
		if got[i].Acquired {
			r.releaseAll(id, keys[i:i+1])
		}
	}
}

// lock takes one lock in a lock section, and reads the key.
func (r *Replica) lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse, fence raftgroup.Fence) error {
	if !r.reserved.Empty() && req.Wait == lock.WaitBlock && req.Strength.Writes() {
		if err := r.awaitReserved(ctx, req); err != nil {
			return err
		}
	}
	if err := r.takeLock(ctx, req, resp); err != nil || resp.Skipped {
		return err
	}
	err := r.latest(ctx, req, resp)
	if err == nil {
		err = r.checkFence(fence)
	}
	return r.keepOrSkip(req, resp, err)
}

// takeLock takes one lock, or skips it.
func (r *Replica) takeLock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	r.stats.Locks.Add(1)
	resp.Value, resp.TS, resp.Found, resp.Skipped, resp.Acquired = resp.Value[:0], hlc.Timestamp{}, false, false, false
	resp.Resent = false
	held, err := r.acquire(ctx, req)
	switch {
	case errors.Is(err, errSkipLocked):
		resp.Skipped = true
		return nil
	case err != nil:
		return err
	}
	resp.Acquired = held == lock.None || !req.HoldsLocks // else an earlier copy of the request acquired it
	resp.LockTableID = r.lockTableID.Load()
	return nil
}

// keepOrSkip releases a lock that was just acquired if its key could not be read.
func (r *Replica) keepOrSkip(req *kvpb.LockRequest, resp *kvpb.LockResponse, err error) error {
	if err != nil && resp.Acquired {
		r.releaseAll(txnID(req.Txn), [][]byte{req.Key})
		resp.Acquired = false
	}
	if errors.Is(err, errSkipLocked) {
		resp.Skipped = true
		return nil
	}
	return err
}

// skipFrom skips the keys from position n on, whose values do not fit into the response: it releases their
// locks that were just acquired.
func (r *Replica) skipFrom(n int, one *kvpb.LockRequest, keys [][]byte, got []kvpb.LockResponse) {
	r.releaseNew(txnID(one.Txn), keys[n:], got[n:])
	for i := n; i < len(got); i++ {
		got[i] = kvpb.LockResponse{Skipped: true}
	}
}

// maxAheadBytes bounds the values of one LockMany.
const maxAheadBytes = 8 << 20

// latestOfAll reads the keys that LockMany has locked, until their values reach maxAheadBytes, and returns
// how many it has read. It opens one iterator for all keys, after the last lock was acquired.
func (r *Replica) latestOfAll(ctx context.Context, one *kvpb.LockRequest, req *kvpb.LockManyRequest, got []kvpb.LockResponse) (n int, err error) {
	if len(req.Keys) > fewKeys && !req.Seen {
		if vacant, err := r.vacant(req.Keys[0], req.Keys[len(req.Keys)-1]); vacant || err != nil {
			return len(req.Keys), err
		}
	}
	read := func(i int) error {
		one.Key = req.Keys[i]
		return r.keepOrSkip(one, &got[i], r.latest(ctx, one, &got[i]))
	}
	if l, ok := r.latestAmong(one, req.Keys); ok {
		if req.Seen && len(l.Moved) == 0 && r.unwrittenSince(req.Txn, req.Keys) {
			for i := range got {
				got[i].Found = !got[i].Skipped // the transaction has seen the row
			}
			return len(got), nil
		}
		rd := mvcc.NewReader(r.deps.Engine)
		defer rd.Close()
		if read, err = l.Reader(&rd, req, got); err != nil {
			return 0, err
		}
	}
	bytes := 0
	for ; n < len(req.Keys) && bytes < maxAheadBytes; n++ {
		if got[n].Skipped {
			continue
		}
		if err := read(n); err != nil {
			return n, err
		}
		bytes += len(got[n].Value)
	}
	return n, nil
}

// vacant reports whether no key from first to last has a version. Then none has an intent either.
func (r *Replica) vacant(first, last []byte) (bool, error) {
	it, err := r.deps.Engine.AcquireScan()
	if err != nil {
		return false, err
	}
	defer it.Release()
	it.SetSpan(first, keys.Next(last))
	found := it.First()
	return !found, r.deps.Engine.ReadError(it.Error())
}

// latestAmong returns how to read the newest committed versions of sorted keys that are locked. ok is false
// if an undecided transaction may have intents among them.
func (r *Replica) latestAmong(one *kvpb.LockRequest, keys [][]byte) (l eval.Committed, ok bool) {
	if r.intents.Empty() || len(keys) == 0 {
		return eval.Committed{Hidden: txnintent.View(nil).Hidden}, true
	}
	hidden, moved, e, ok := r.intents.LatestOf(one.Txn.ID, keys)
	if e.Has(txnintent.Flush) {
		r.group.Flush()
	}
	return eval.Committed{Hidden: hidden.Hidden, Moved: moved}, ok
}

// unwrittenSince reports whether nobody but a transaction itself has written where some sorted keys are, at or above its read
// timestamp (invariant 13). The keys are locked, and the caller has looked for the intents of others.
func (r *Replica) unwrittenSince(t *kvpb.TxnMeta, sorted [][]byte) bool {
	if len(sorted) == 0 || plant.On(plant.SeenUnchanged) {
		return true
	}
	area := keys.AreaOf(sorted[0])
	return r.certainFrom.Load() < t.ReadTS.WallTime && area == keys.AreaOf(sorted[len(sorted)-1]) &&
		r.written.AllBelow(t.ReadTS, txnID(t), area)
}

// latest reads the newest committed version of a locked key. It first waits for intents, which lock the key
// too.
func (r *Replica) latest(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	if r.intents.Empty() {
		rd := mvcc.NewReader(r.deps.Engine)
		defer rd.Close()
		return eval.Latest(&rd, req.Key, hlc.MaxTimestamp, resp)
	}
	if err := r.awaitUndecided(ctx, req); err != nil {
		return err
	}
	return r.latestVisible(req, resp)
}

var errSkipLocked = errors.New("replica: lock skipped")

// acquire takes a lock, or waits for it, as the request says. held is what the transaction held before.
func (r *Replica) acquire(ctx context.Context, req *kvpb.LockRequest) (held lock.Strength, err error) {
	h := concurrency.Holder{ID: txnID(req.Txn), Start: req.Txn.StartTS}
	if req.Wait != lock.WaitBlock {
		return r.tryAcquire(req, h)
	}
	if req.HoldsLocks {
		held = r.locks.Holds(req.Key, h.ID)
	}
	w, err := r.locks.Acquire(req.Key, h, req.Strength)
	if err != nil {
		return held, lockError(err)
	}
	if w == nil {
		return held, nil
	}
	r.stats.LockWaits.Add(1)
	return held, r.wait(ctx, req, h, held, w)
}

// tryAcquire is acquire for a request that does not wait.
func (r *Replica) tryAcquire(req *kvpb.LockRequest, h concurrency.Holder) (held lock.Strength, err error) {
	held, blocker, err := r.locks.TryAcquire(req.Key, h, req.Strength)
	if !blocker.IsZero() && r.dropDead(req.Key, blocker) {
		held, blocker, err = r.locks.TryAcquire(req.Key, h, req.Strength)
	}
	if err != nil || blocker.IsZero() {
		return held, lockError(err)
	}
	if req.Wait == lock.WaitSkip {
		return held, errSkipLocked
	}
	return held, &kvpb.LockNotAvailableError{}
}

func lockError(err error) error {
	if full, ok := err.(*concurrency.LimitError); ok { // errors.As would allocate for each lock
		return &kvpb.TooManyLocksError{Limit: int(full.Limit)}
	}
	return err
}

// Refresh implements kvpb.Sender.
func (r *Replica) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	r.stats.Refreshes.Add(1)
	var fence readFence
	for _, s := range req.Spans {
		now, err := r.enterRead(ctx, req.To, s)
		if err != nil {
			return err
		}
		if fence.desc == nil {
			fence = now
		}
	}
	if fence.desc == nil {
		return nil
	}
	if err := r.refresh(ctx, req.Txn, req.Spans, req.From, req.To); err != nil {
		r.stats.RefreshFailures.Add(1)
		return err
	}
	return r.leaveRead(req.To, fence)
}

// refresh moves reads from one timestamp to another, if nothing has changed in between. A commit in flight
// over the spans counts as a change unless it is certain to be later: if refreshes waited, two commits could
// wait for each other.
func (r *Replica) refresh(ctx context.Context, t *kvpb.TxnMeta, spans []kvpb.Span, from, to hlc.Timestamp) error {
	if plant.On(plant.SkipRefresh) { // as if nothing that was read had changed
		return nil
	}
	id := txnID(t)
	for _, s := range spans {
		var c *concurrency.Commit
		if len(s.EndKey) == 0 {
			r.reads.AddKey(s.Key, to, id)
			c = r.commits.BlockingRead(id, s.Key, to)
		} else {
			r.reads.AddSpan(s.Key, s.EndKey, to, id)
			c = r.commits.BlockingScan(id, s.Key, s.EndKey, to)
		}
		changed := r.intents.Changed(t.ID, s, from, to)
		if (c != nil || changed) && from.Less(to) { // if they are equal, only the timestamp cache changes
			return &kvpb.RetryError{Reason: "could not serialize access due to read/write dependencies among transactions", Key: s.Key}
		}
	}
	for {
		spills := r.intents.Spills()
		err := eval.Refresh(ctx, r.deps.Engine, spans, from, to, r.hiddenIntents())
		if err == nil {
			break
		}
		// The versions of a spill that was registered meanwhile will be committed above to.
		if !slices.ContainsFunc(spans, func(s kvpb.Span) bool { return r.intents.SpilledSince(spills, s.Key, s.EndKey, to) }) {
			return err
		}
	}
	if th := r.Threshold(); from.Less(th) {
		return &kvpb.RetryError{Reason: fmt.Sprintf("what changed between %v and %v has been garbage-collected", from, th)}
	}
	return nil
}
