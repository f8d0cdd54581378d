package replica

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rangefeed"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// Limits of feeds.
const (
	// maxFeeds bounds the feeds of one replica.
	maxFeeds = 64
	// feedIdle is the time without a request after which a feed ends.
	feedIdle = 20 * time.Second
	// feedWait bounds the wait of a request for events.
	feedWait = time.Second
	// maxFeedLocks bounds the durable locks that are read to compute a resolved timestamp. While a
	// span has more, its resolved timestamp does not rise.
	maxFeedLocks = 4096
)

// errFeedEnded says that a feed has ended; its reader may begin another.
var errFeedEnded = &kvpb.UnavailableError{Reason: "the feed of the range has ended"}

// feeds are the feeds of one replica. Package rangefeed decides what they deliver.
type feeds struct {
	n       atomic.Int32 // of all; while it is 0, applying does nothing for feeds
	mu      sync.Mutex
	all     map[uint64]*feed
	lastID  uint64
	stopped bool

	// pending are the events of the entries being applied; took says which commands of the present
	// entry had an effect; unlocked are the spans whose locks the entries removed as one. All belong to
	// the processing goroutine, as does commits.
	pending  []rangefeed.Event
	took     []bool
	unlocked []kvpb.Span
	commits  rangefeed.Commits
}

// feed is one reader of a span.
type feed struct {
	id     uint64
	use    chan struct{} // full while a request reads the feed
	notify chan struct{}

	// The following are guarded by feeds.mu, but for the buffer's Span and From, which are fixed.
	// closed is the timestamp that CloseFeeds closed for the span, as of the applied index closedAt.
	closed   hlc.Timestamp
	closedAt uint64
	buffer   rangefeed.Buffer
	err      error
	used     time.Time

	// scan iterates over the state in which the feed began; nil once all of it is delivered. It
	// belongs to the holder of use, as does initial.
	scan    *storage.Iterator
	initial rangefeed.Initial
}

// Feed implements kvpb.Feeder.
func (r *Replica) Feed(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	*resp = kvpb.FeedResponse{}
	f, err := r.feedFor(ctx, req)
	if err != nil {
		return err
	}
	select {
	case f.use <- struct{}{}:
		defer func() { <-f.use }()
	case <-ctx.Done():
		return ctx.Err()
	}
	resp.ID = f.id
	if f.scan != nil {
		return r.feeds.catchUp(r, f, resp)
	}
	return r.awaitFeed(ctx, f, req.NoWait, resp)
}

func (r *Replica) feedFor(ctx context.Context, req *kvpb.FeedRequest) (*feed, error) {
	fs := &r.feeds
	if req.ID == 0 {
		return r.beginFeed(ctx, req)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.all[req.ID]
	if f == nil {
		return nil, errFeedEnded
	}
	f.used = time.Now()
	return f, nil
}

// betweenEntries runs fn while nothing is applied.
func (r *Replica) betweenEntries(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	if !r.group.Do(func() { done <- fn() }) {
		return kvpb.ErrStopping
	}
	select {
	case err := <-done:
		return err
	case <-r.group.Queue.Halted():
		return kvpb.ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginFeed begins a feed with the state of the engine between two entries. A scan of that state delivers
// its committed versions. The outcomes of its intents and all later commits are delivered as they are
// applied (invariant 11).
func (r *Replica) beginFeed(ctx context.Context, req *kvpb.FeedRequest) (*feed, error) {
	f := &feed{
		buffer: rangefeed.Buffer{
			Span: kvpb.Span{Key: bytes.Clone(req.Span.Key), EndKey: bytes.Clone(req.Span.EndKey)}, From: req.From,
		},
		initial: rangefeed.Initial{From: req.From},
		use:     make(chan struct{}, 1), notify: make(chan struct{}, 1), used: time.Now(),
	}
	err := r.betweenEntries(ctx, func() error { return r.openFeed(f) })
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r *Replica) openFeed(f *feed) error {
	fs, d := &r.feeds, r.Desc()
	span, from := f.buffer.Span, f.buffer.From
	if !r.Initialized() || !d.ContainsKey(span.Key) || bytes.Compare(span.EndKey, d.EndKey) > 0 || d.Into != 0 {
		return r.mismatch()
	}
	th, err := apply.LoadThreshold(r.deps.Engine, r.id)
	if err != nil {
		return err
	}
	if from.Less(th) {
		return &kvpb.SnapshotTooOldError{ReadTS: from, Threshold: th}
	}
	all, err := r.feedLocks(span, func(key []byte, in txnintent.Intent) { f.initial.Lock(key, in.TS) })
	if err != nil {
		return err
	}
	if !all {
		return &kvpb.UnavailableError{Reason: "too many provisional writes to begin a feed"}
	}
	fs.expire()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.stopped || len(fs.all) >= maxFeeds {
		return &kvpb.UnavailableError{Reason: fmt.Sprintf("the range has %d feeds already", len(fs.all))}
	}
	f.scan, err = r.deps.Engine.NewIter(storage.IterOptions{
		Lower: span.Key, Upper: span.EndKey, MinWall: from.WallTime, MaxWall: hlc.MaxTimestamp.WallTime,
	})
	if err != nil {
		return err
	}
	f.scan.First()
	if fs.all == nil {
		fs.all = map[uint64]*feed{}
	}
	fs.lastID++
	// The wall time keeps ids apart from those before a restart.
	f.id = uint64(r.deps.Clock.PhysicalNow())<<8 | fs.lastID&0xff
	fs.all[f.id] = f
	fs.n.Add(1)
	return nil
}

// feedLocks calls fn for the durable locks of a span; all is false if there are too many.
func (r *Replica) feedLocks(span kvpb.Span, fn func(key []byte, in txnintent.Intent)) (all bool, err error) {
	n := 0
	errMany := fmt.Errorf("more than %d locks", maxFeedLocks)
	err = r.eachIntent(context.Background(), kvpb.TxnID{}, span, func(key []byte, in txnintent.Intent) error {
		if n++; n > maxFeedLocks {
			return errMany
		}
		fn(key, in)
		return nil
	})
	if err == errMany {
		return false, nil
	}
	return err == nil, err
}

// Fed reports whether the replica has a feed.
func (r *Replica) Fed() bool { return r.feeds.n.Load() > 0 }

// expire ends the feeds without a request for feedIdle.
func (fs *feeds) expire() {
	if fs.n.Load() == 0 {
		return
	}
	now := time.Now()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all {
		if now.Sub(f.used) > feedIdle {
			fs.endLocked(f, errFeedEnded)
		}
	}
}

// endLocked ends a feed. The caller holds mu.
func (fs *feeds) endLocked(f *feed, err error) {
	if fs.all[f.id] != f {
		return
	}
	delete(fs.all, f.id)
	fs.n.Add(-1)
	f.err = err
	f.wake()
	go f.drop()
}

// drop closes the iterator of the feed as soon as no request uses it.
func (f *feed) drop() {
	f.use <- struct{}{}
	if f.scan != nil {
		_ = f.scan.Close() // its reader begins again
		f.scan = nil
	}
	<-f.use
}

// wake notifies the request that waits for the feed.
func (f *feed) wake() {
	select {
	case f.notify <- struct{}{}:
	default:
	}
}

// endFeeds ends all feeds with err. Their readers begin new ones, here or at another replica.
func (r *Replica) endFeeds(err error, stop bool) {
	fs := &r.feeds
	if fs.n.Load() == 0 && !stop {
		return
	}
	fs.mu.Lock()
	var all []*feed
	fs.stopped = fs.stopped || stop
	for _, f := range fs.all {
		delete(fs.all, f.id)
		fs.n.Add(-1)
		f.err = err
		f.wake()
		all = append(all, f)
	}
	fs.mu.Unlock()
	for _, f := range all {
		if stop {
			f.drop() // before the engine is closed
		} else {
			go f.drop()
		}
	}
}

// catchUp delivers a page of the state in which the feed began.
func (fs *feeds) catchUp(r *Replica, f *feed, resp *kvpb.FeedResponse) error {
	size, first := 0, 0 // first: index of the present key's first event
	for ; f.scan.Valid(); f.scan.Next() {
		key, ts, err := storage.DecodeEngineKey(f.scan.Key())
		if err != nil {
			return err
		}
		if n := len(resp.Events); n > first && !bytes.Equal(resp.Events[first].Key, key) {
			slices.Reverse(resp.Events[first:]) // the oldest goes first
			if first = n; size > rangefeed.PageBytes {
				break
			}
		}
		if !f.initial.Committed(key, ts) {
			continue
		}
		e := kvpb.FeedEvent{Key: bytes.Clone(key), TS: ts}
		stored, err := f.scan.ValueAndErr()
		if err != nil {
			return err
		}
		value, deleted, err := mvcc.Payload(stored)
		if err != nil {
			return err
		}
		e.Value, e.Deleted = bytes.Clone(value), deleted
		resp.Events = append(resp.Events, e)
		size += rangefeed.Size(&e)
	}
	slices.Reverse(resp.Events[first:])
	if f.scan.Valid() {
		return nil
	}
	err := r.deps.Engine.ReadError(f.scan.Error())
	_ = f.scan.Close() // repeats err
	f.scan, f.initial = nil, rangefeed.Initial{}
	return err
}

// awaitFeed waits for events or a later resolved timestamp.
func (r *Replica) awaitFeed(ctx context.Context, f *feed, noWait bool, resp *kvpb.FeedResponse) error {
	timeout := time.NewTimer(feedWait)
	defer timeout.Stop()
	poll := time.NewTicker(kvpb.ClosedEvery)
	defer poll.Stop()
	for {
		if err := r.betweenEntries(ctx, func() error { return r.resolveFeed(f) }); err != nil {
			return err
		}
		if ready, err := r.feeds.take(f, resp); ready || noWait || err != nil {
			return err
		}
		select {
		case <-f.notify:
		case <-poll.C:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take moves the buffered events into a response; ready is false if there are none.
func (fs *feeds) take(f *feed, resp *kvpb.FeedResponse) (ready bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.err != nil {
		return false, f.err // the next feed delivers the rest again
	}
	return f.buffer.Take(resp), nil
}

// resolveFeed raises the feed's resolved timestamp. It runs between entries: every commit up to the
// closed timestamp, and below the lowest durable lock, is applied and in the buffer.
func (r *Replica) resolveFeed(f *feed) error {
	closed, locked := r.ClosedHere(), hlc.Timestamp{}
	all, err := r.feedLocks(f.buffer.Span, func(_ []byte, in txnintent.Intent) {
		if locked.IsEmpty() || in.TS.Less(locked) {
			locked = in.TS
		}
	})
	if err != nil || !all {
		return err
	}
	r.feeds.mu.Lock()
	defer r.feeds.mu.Unlock()
	if f.closedAt <= r.applied.Load() {
		closed = closed.Max(f.closed)
	}
	f.buffer.Resolve(closed, locked)
	return nil
}

// spans returns the spans of the feeds by their numbers.
func (fs *feeds) spans() map[uint64]kvpb.Span {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	spans := make(map[uint64]kvpb.Span, len(fs.all))
	for id, f := range fs.all {
		spans[id] = f.buffer.Span
	}
	return spans
}

// close notes that a timestamp is closed for the spans of feeds, as of an applied index.
func (fs *feeds) close(spans map[uint64]kvpb.Span, closed hlc.Timestamp, index uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for id := range spans {
		if f := fs.all[id]; f != nil && f.closed.Less(closed) {
			f.closed, f.closedAt = closed, index
		}
	}
}

// watches reports whether a key lies in the span of a feed. The caller holds mu.
func (fs *feeds) watches(key []byte) bool {
	for _, f := range fs.all {
		if f.buffer.Span.Contains(key) {
			return true
		}
	}
	return false
}

// stage collects the commits of the entry being applied that lie in the spans of feeds.
func (fs *feeds) stage(entry []byte) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	took := fs.took
	fs.took = fs.took[:0]
	return apply.Changes(entry, took, func(c apply.Change) {
		switch {
		case c.Kind == apply.UnlockedSpan:
			fs.unlocked = append(fs.unlocked, kvpb.Span{Key: bytes.Clone(c.Key), EndKey: bytes.Clone(c.Value)})
		case fs.watches(c.Key):
			fs.commits.Add(c)
		}
	}, func() error {
		fs.pending = fs.commits.End(fs.pending)
		return nil
	})
}

// publish delivers the collected events to the feeds after their entries were applied.
func (fs *feeds) publish(r *Replica) {
	if len(fs.unlocked) > 0 {
		fs.endUnlocked()
	}
	if len(fs.pending) == 0 {
		return
	}
	pending := fs.pending
	fs.pending = nil
	err := r.loadStored(pending)
	if err != nil {
		r.deps.Logger.Error("feed", "range", r.id, "err", err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all {
		if f.buffer.Deliver(pending) {
			f.wake()
		}
		if err != nil || f.buffer.Full() {
			fs.endLocked(f, errFeedEnded)
		}
	}
}

// endUnlocked ends the feeds that wait for the outcome of intents whose locks were removed as a span:
// the entry does not list the keys. Their next feeds find the versions in the engine, since a feed
// resolves no timestamp above a lock.
func (fs *feeds) endUnlocked() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, span := range fs.unlocked {
		for _, f := range fs.all {
			if _, ok := f.buffer.Span.Clip(span.Key, span.EndKey); ok {
				fs.endLocked(f, errFeedEnded)
			}
		}
	}
	fs.unlocked = fs.unlocked[:0]
}

// loadStored reads the values of events that the entry does not contain from the engine.
func (r *Replica) loadStored(events []rangefeed.Event) error {
	for i := range events {
		e := &events[i]
		if !e.Stored {
			continue
		}
		v, found, err := mvcc.GetOwn(r.deps.Engine, e.Key, e.TS)
		if err != nil {
			return err
		}
		if v.TS != e.TS {
			return fmt.Errorf("replica: no version of %x at %v, whose lock is gone", e.Key, e.TS)
		}
		e.Value, e.Deleted = v.Data, !found
	}
	return nil
}
