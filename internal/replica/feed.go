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
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
	"github.com/lichendb/lichen/internal/txnintent"
)

// Limits of feeds.
const (
	// maxFeeds bounds the feeds of one replica.
	maxFeeds = 64
	// maxFeedBytes bounds what waits in one feed; a reader that is further behind begins
	// again from what it has.
	maxFeedBytes = 4 << 20
	// feedPage is about how much one answer brings.
	feedPage = 512 << 10
	// feedIdle is after how long without a request a feed ends.
	feedIdle = 20 * time.Second
	// feedWait is how long a request waits for news.
	feedWait = time.Second
	// maxFeedLocks bounds the durable locks that are looked at to find up to where
	// everything is resolved; with more it waits for some to go.
	maxFeedLocks = 4096
)

// feedOverhead is what an event is charged beside its key and value.
const feedOverhead = 96

// errFeedEnded says that a feed is over and may be begun anew.
var errFeedEnded = &kvpb.UnavailableError{Reason: "the feed of the range has ended"}

// feeds are the feeds of one replica.
type feeds struct {
	n       atomic.Int32 // of all; 0 is what applying looks at
	mu      sync.Mutex
	all     map[uint64]*feed
	lastID  uint64
	stopped bool

	// pending are events of entries that are being applied; they belong to the processing
	// goroutine, as took, which says which commands of an entry had an effect.
	pending []pendingEvent
	took    []bool
}

// pendingEvent is an event whose value may be in the engine only.
type pendingEvent struct {
	kvpb.FeedEvent
	stored bool
}

// feed is one reader's view of a span.
type feed struct {
	id   uint64
	span kvpb.Span
	from hlc.Timestamp
	use  chan struct{} // held (full) by the request that reads it
	news chan struct{}

	// The rest but scan is guarded by feeds.mu.
	events   []kvpb.FeedEvent
	bytes    int
	resolved hlc.Timestamp
	sent     hlc.Timestamp // the last resolved timestamp delivered
	err      error
	used     time.Time

	// scan is the state in which the feed began, until all of it was delivered; it belongs to
	// the holder of use. locked are the versions in it that were provisional.
	scan   *storage.Iterator
	locked map[string]hlc.Timestamp
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
		return errStopped
	}
	select {
	case err := <-done:
		return err
	case <-r.group.Queue.Halted():
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginFeed begins a feed with the state of the engine between two entries: what is
// committed in it will be scanned, what is provisional in it and all that comes later are
// told when they are applied (invariant 11).
func (r *Replica) beginFeed(ctx context.Context, req *kvpb.FeedRequest) (*feed, error) {
	f := &feed{
		span: kvpb.Span{Key: bytes.Clone(req.Span.Key), EndKey: bytes.Clone(req.Span.EndKey)}, from: req.From,
		use: make(chan struct{}, 1), news: make(chan struct{}, 1), locked: map[string]hlc.Timestamp{}, used: time.Now(),
	}
	err := r.betweenEntries(ctx, func() error { return r.openFeed(f) })
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r *Replica) openFeed(f *feed) error {
	fs, d := &r.feeds, r.Desc()
	if !r.Initialized() || !d.ContainsKey(f.span.Key) || bytes.Compare(f.span.EndKey, d.EndKey) > 0 || d.Into != 0 {
		return r.mismatch()
	}
	th, err := apply.LoadThreshold(r.deps.Engine, r.id)
	if err != nil {
		return err
	}
	if f.from.Less(th) {
		return &kvpb.SnapshotTooOldError{ReadTS: f.from, Threshold: th}
	}
	all, err := r.feedLocks(f.span, func(key []byte, in txnintent.Intent) { f.locked[string(key)] = in.TS })
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
		Lower: f.span.Key, Upper: f.span.EndKey, MinWall: f.from.WallTime, MaxWall: hlc.MaxTimestamp.WallTime,
	})
	if err != nil {
		return err
	}
	f.scan.First()
	if fs.all == nil {
		fs.all = map[uint64]*feed{}
	}
	fs.lastID++
	// Ids of an earlier life must not be taken for these.
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

// Fed reports whether somebody reads a feed of the replica.
func (r *Replica) Fed() bool { return r.feeds.n.Load() > 0 }

// expire ends the feeds that nobody has asked for lately.
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

// endLocked ends a feed. mu is held.
func (fs *feeds) endLocked(f *feed, err error) {
	if fs.all[f.id] != f {
		return
	}
	delete(fs.all, f.id)
	fs.n.Add(-1)
	f.err = err
	f.tell()
	go f.drop()
}

// drop gives the feed's state of the engine up as soon as nobody reads it.
func (f *feed) drop() {
	f.use <- struct{}{}
	if f.scan != nil {
		_ = f.scan.Close() // its reader begins again
		f.scan = nil
	}
	<-f.use
}

func (f *feed) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// endFeeds ends all feeds: their readers begin again, elsewhere if err says so.
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
		f.tell()
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

// catchUp delivers a page of what was there when the feed began.
func (fs *feeds) catchUp(r *Replica, f *feed, resp *kvpb.FeedResponse) error {
	size, first := 0, 0 // first: of the events of the present key
	for ; f.scan.Valid(); f.scan.Next() {
		key, ts, err := storage.DecodeEngineKey(f.scan.Key())
		if err != nil {
			return err
		}
		if n := len(resp.Events); n > first && !bytes.Equal(resp.Events[first].Key, key) {
			slices.Reverse(resp.Events[first:]) // the oldest goes first
			if first = n; size > feedPage {
				break
			}
		}
		if ts.LessEq(f.from) || f.locked[string(key)] == ts {
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
		size += len(e.Key) + len(e.Value) + feedOverhead
	}
	slices.Reverse(resp.Events[first:])
	if f.scan.Valid() {
		return nil
	}
	err := r.deps.Engine.ReadError(f.scan.Error())
	_ = f.scan.Close() // whose error this is
	f.scan, f.locked = nil, nil
	return err
}

// awaitFeed waits for events, or for more to be resolved.
func (r *Replica) awaitFeed(ctx context.Context, f *feed, noWait bool, resp *kvpb.FeedResponse) error {
	late := time.NewTimer(feedWait)
	defer late.Stop()
	look := time.NewTicker(kvpb.ClosedEvery)
	defer look.Stop()
	for {
		if err := r.betweenEntries(ctx, func() error { return r.resolveFeed(f) }); err != nil {
			return err
		}
		if ready, err := r.feeds.take(f, resp); ready || noWait || err != nil {
			return err
		}
		select {
		case <-f.news:
		case <-look.C:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take moves events into a response; it reports whether there is anything to say.
func (fs *feeds) take(f *feed, resp *kvpb.FeedResponse) (ready bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.err != nil {
		return false, f.err // what is left comes again
	}
	size, n := 0, 0
	for n < len(f.events) && size <= feedPage {
		e := &f.events[n]
		size += len(e.Key) + len(e.Value) + feedOverhead
		n++
	}
	resp.Events = append(resp.Events, f.events[:n]...)
	f.bytes -= size
	f.events = slices.Delete(f.events, 0, n)
	if len(f.events) == 0 {
		f.events = nil
		if f.sent.Less(f.resolved) {
			f.sent, resp.Resolved = f.resolved, f.resolved
		}
	}
	return n > 0 || !resp.Resolved.IsEmpty(), nil
}

// resolveFeed finds up to where everything is in the feed. Nothing is applied meanwhile:
// what is closed and not locked by a durable lock was applied, and told.
func (r *Replica) resolveFeed(f *feed) error {
	ts := r.ClosedHere()
	all, err := r.feedLocks(f.span, func(_ []byte, in txnintent.Intent) { ts = ts.Min(in.TS.Prev()) })
	if err != nil || !all {
		return err
	}
	r.feeds.mu.Lock()
	f.resolved = f.resolved.Max(ts)
	r.feeds.mu.Unlock()
	return nil
}

// watches reports whether a key lies in the span of a feed. mu is held.
func (fs *feeds) watches(key []byte) bool {
	for _, f := range fs.all {
		if f.span.Contains(key) {
			return true
		}
	}
	return false
}

// stage notes what an entry that is being applied has made part of the committed state of
// the feeds' spans: versions without a durable lock, and those whose locks are gone while
// they stay.
func (fs *feeds) stage(entry []byte) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var wrote []pendingEvent
	locked, dropped, gone := map[string]bool{}, map[string]bool{}, []apply.Change(nil)
	took := fs.took
	fs.took = fs.took[:0]
	return apply.Changes(entry, took, func(c apply.Change) {
		if !fs.watches(c.Key) {
			return
		}
		switch c.Kind {
		case apply.Wrote, apply.Deleted:
			wrote = append(wrote, pendingEvent{FeedEvent: kvpb.FeedEvent{
				Key: bytes.Clone(c.Key), Value: bytes.Clone(c.Value), Deleted: c.Kind == apply.Deleted, TS: c.TS,
			}})
		case apply.Locked:
			locked[string(c.Key)] = true
		case apply.Dropped:
			dropped[string(c.Key)] = true
		case apply.Unlocked:
			gone = append(gone, c)
		}
	}, func() error {
		for _, e := range wrote {
			if !locked[string(e.Key)] {
				fs.pending = append(fs.pending, e)
			}
		}
		for _, c := range gone {
			if !dropped[string(c.Key)] && c.TS.WallTime > 0 { // else it was moved, or aborted (endedAt)
				fs.pending = append(fs.pending, pendingEvent{
					FeedEvent: kvpb.FeedEvent{Key: bytes.Clone(c.Key), TS: c.TS}, stored: true,
				})
			}
		}
		wrote, gone = wrote[:0], gone[:0]
		clear(locked)
		clear(dropped)
		return nil
	})
}

// publish gives the readers what was applied.
func (fs *feeds) publish(r *Replica) {
	if len(fs.pending) == 0 {
		return
	}
	pending := fs.pending
	fs.pending = nil
	var failed error
	for i := range pending {
		e := &pending[i]
		if !e.stored {
			continue
		}
		v, found, err := mvcc.Get(r.deps.Engine, e.Key, e.TS, nil)
		if err == nil && v.TS != e.TS {
			err = fmt.Errorf("replica: no version of %x at %v, whose lock is gone", e.Key, e.TS)
		}
		if e.Value, e.Deleted = v.Data, !found; err != nil {
			failed = err
		}
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all {
		fs.deliver(f, pending)
		if failed != nil || f.bytes > maxFeedBytes {
			if failed != nil {
				r.deps.Logger.Error("feed", "range", r.id, "err", failed)
			}
			fs.endLocked(f, errFeedEnded)
		}
	}
}

func (fs *feeds) deliver(f *feed, events []pendingEvent) {
	n := len(f.events)
	for i := range events {
		if e := &events[i].FeedEvent; f.span.Contains(e.Key) && f.from.Less(e.TS) {
			f.events = append(f.events, *e)
			f.bytes += len(e.Key) + len(e.Value) + feedOverhead
		}
	}
	if len(f.events) > n {
		f.tell()
	}
}
