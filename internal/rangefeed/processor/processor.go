package processor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
)

// Limits of feeds.
const (
	// maxFeeds bounds the feeds of one replica.
	maxFeeds = 64
	// feedIdle is the time without a request after which a feed ends.
	feedIdle = 20 * time.Second
	// feedWait bounds the wait of a request for events.
	feedWait = time.Second
	// minOwed is the first pause between two attempts of a prompt feed to resolve the timestamps of its events, while
	// transactions that may commit below them are under way. The pause doubles up to maxOwed.
	minOwed = time.Millisecond
	maxOwed = 50 * time.Millisecond
	// maxFeedLocks bounds the durable locks that are read to compute a resolved timestamp. While a
	// span has more, its resolved timestamp does not rise.
	maxFeedLocks = 4096
)

// ErrEnded says that a feed has ended. Its reader may begin another.
var ErrEnded = &kvpb.UnavailableError{Reason: "the feed of the range has ended"}

// Host is the replica whose changes the feeds deliver.
type Host interface {
	// BetweenEntries runs fn while no entry is applied.
	BetweenEntries(ctx context.Context, fn func() error) error
	// CheckFed returns an error if the replica has no complete history of a span. It is called between
	// entries.
	CheckFed(span kvpb.Span) error
	// EachIntent calls fn for the intents in a span until fn returns an error.
	EachIntent(span kvpb.Span, fn func(key []byte, ts hlc.Timestamp) error) error
	// ClosedHere returns the closed timestamp of the replica.
	ClosedHere() hlc.Timestamp
	// AppliedIndex returns the index of the last entry applied.
	AppliedIndex() uint64
	// CloseNow closes a span up to ts, or a lower timestamp, as of the entries applied so far. It is called between
	// entries, and fails unless the replica leads its range.
	CloseNow(span kvpb.Span, ts hlc.Timestamp) (closed hlc.Timestamp, err error)
	// FlushDeferred proposes the deferred proposals at once: they may remove intents.
	FlushDeferred()
}

// Options are what a Processor needs beside its host.
type Options struct {
	Range  kvpb.RangeID
	Engine *storage.Engine
	Clock  *hlc.Clock
	Logger *slog.Logger
}

// Processor owns the feeds of one replica. Package rangefeed decides what they deliver.
type Processor struct {
	host Host
	o    Options

	n       atomic.Int32 // number of feeds; while it is 0, an applied entry costs nothing here
	mu      sync.Mutex
	all     map[uint64]*feed
	lastID  uint64
	stopped bool

	// pending are the events of the entries being applied; took says which commands of the present
	// entry had an effect; unlocked are the spans whose locks the entries removed as one. All belong to
	// the goroutine that applies entries, as does commits.
	pending  []rangefeed.Event
	took     []bool
	unlocked []kvpb.Span
	commits  rangefeed.Commits
	// locked says that the entries left intents in the spans of feeds.
	locked bool
}

// errMany ends the search for intents.
var errMany = errors.New("too many intents")

// feed is one reader of a span.
type feed struct {
	id     uint64
	prompt bool
	use    chan struct{} // full while a request reads the feed
	notify chan struct{}

	// The following are guarded by Processor.mu, but for the buffer's Span and From, which are fixed.
	// closed is the timestamp that Close closed for the span, as of the applied index closedAt.
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

// New returns a processor without feeds.
func New(host Host, o Options) *Processor { return &Processor{host: host, o: o} }

// Feed serves a request: it begins a feed, or waits for what the feed delivers next.
func (p *Processor) Feed(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	*resp = kvpb.FeedResponse{}
	f, err := p.feedFor(ctx, req)
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
		return p.catchUp(f, resp)
	}
	return p.await(ctx, f, req.NoWait, resp)
}

func (p *Processor) feedFor(ctx context.Context, req *kvpb.FeedRequest) (*feed, error) {
	if req.ID == 0 {
		return p.begin(ctx, req)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.all[req.ID]
	if f == nil {
		return nil, ErrEnded
	}
	f.used = time.Now()
	return f, nil
}

// begin begins a feed with the state of the engine between two entries. A scan of that state delivers
// its committed versions. The outcomes of its intents and all later commits are delivered as they are
// applied (invariant 1).
func (p *Processor) begin(ctx context.Context, req *kvpb.FeedRequest) (*feed, error) {
	f := &feed{
		buffer: rangefeed.Buffer{
			Span: kvpb.Span{Key: bytes.Clone(req.Span.Key), EndKey: bytes.Clone(req.Span.EndKey)}, From: req.From,
		},
		initial: rangefeed.Initial{From: req.From}, prompt: req.Prompt,
		use: make(chan struct{}, 1), notify: make(chan struct{}, 1), used: time.Now(),
	}
	err := p.host.BetweenEntries(ctx, func() error { return p.open(f) })
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (p *Processor) open(f *feed) error {
	span, from := f.buffer.Span, f.buffer.From
	if err := p.host.CheckFed(span); err != nil {
		return err
	}
	th, err := apply.LoadThreshold(p.o.Engine, p.o.Range)
	if err != nil {
		return err
	}
	if from.Less(th) {
		return &kvpb.SnapshotTooOldError{ReadTS: from, Threshold: th}
	}
	all, err := p.intents(span, f.initial.Lock)
	if err != nil {
		return err
	}
	if !all {
		return &kvpb.UnavailableError{Reason: "too many provisional writes to begin a feed"}
	}
	p.Expire()
	return p.register(f)
}

// register gives a feed its id and its iterator over the engine's present state.
func (p *Processor) register(f *feed) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || len(p.all) >= maxFeeds {
		return &kvpb.UnavailableError{Reason: fmt.Sprintf("the range has %d feeds already", len(p.all))}
	}
	f.scan, err = p.o.Engine.NewIter(storage.IterOptions{
		Lower: f.buffer.Span.Key, Upper: f.buffer.Span.EndKey, MinWall: f.buffer.From.WallTime, MaxWall: hlc.MaxTimestamp.WallTime,
	})
	if err != nil {
		return err
	}
	f.scan.First()
	if p.all == nil {
		p.all = map[uint64]*feed{}
	}
	p.lastID++
	// The wall time keeps ids apart from those before a restart.
	f.id = uint64(p.o.Clock.PhysicalNow())<<8 | p.lastID&0xff
	p.all[f.id] = f
	p.n.Add(1)
	return nil
}

// intents calls fn for the intents in a span; all is false if there are too many.
func (p *Processor) intents(span kvpb.Span, fn func(key []byte, ts hlc.Timestamp)) (all bool, err error) {
	n := 0
	err = p.host.EachIntent(span, func(key []byte, ts hlc.Timestamp) error {
		if n++; n > maxFeedLocks {
			return errMany
		}
		fn(key, ts)
		return nil
	})
	if errors.Is(err, errMany) {
		return false, nil
	}
	return err == nil, err
}

// Active reports whether there is a feed.
func (p *Processor) Active() bool { return p.n.Load() > 0 }

// Expire ends the feeds without a request for feedIdle.
func (p *Processor) Expire() {
	if p.n.Load() == 0 {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.all {
		if now.Sub(f.used) > feedIdle {
			p.endLocked(f, ErrEnded)
		}
	}
}

// endLocked ends a feed. The caller holds mu.
func (p *Processor) endLocked(f *feed, err error) {
	if p.all[f.id] != f {
		return
	}
	delete(p.all, f.id)
	p.n.Add(-1)
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

// End ends all feeds with err. Their readers begin new ones, here or at another replica.
func (p *Processor) End(err error) {
	if !p.Active() {
		return
	}
	for _, f := range p.takeAll(err, false) {
		go f.drop()
	}
}

// Stop ends all feeds, refuses new ones, and returns when no feed reads the engine any more.
func (p *Processor) Stop() {
	for _, f := range p.takeAll(kvpb.ErrStopping, true) {
		f.drop()
	}
}

// takeAll removes all feeds, which end with err.
func (p *Processor) takeAll(err error, stop bool) (all []*feed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = p.stopped || stop
	for _, f := range p.all {
		delete(p.all, f.id)
		p.n.Add(-1)
		f.err = err
		f.wake()
		all = append(all, f)
	}
	return all
}

// catchUp delivers a page of the state in which the feed began.
func (p *Processor) catchUp(f *feed, resp *kvpb.FeedResponse) error {
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
		p.noteStored(f, ts)
	}
	slices.Reverse(resp.Events[first:])
	if f.scan.Valid() {
		return nil
	}
	err := p.o.Engine.ReadError(f.scan.Error())
	_ = f.scan.Close() // repeats err
	f.scan, f.initial = nil, rangefeed.Initial{}
	return err
}

// noteStored notes the timestamp of an event that catchUp delivers.
func (p *Processor) noteStored(f *feed, ts hlc.Timestamp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.buffer.Note(ts)
}

// await waits for events or a later resolved timestamp.
func (p *Processor) await(ctx context.Context, f *feed, noWait bool, resp *kvpb.FeedResponse) error {
	timeout := time.NewTimer(feedWait)
	defer timeout.Stop()
	poll := time.NewTicker(kvpb.ClosedEvery)
	defer poll.Stop()
	pause := minOwed
	for {
		soon := false
		if err := p.host.BetweenEntries(ctx, func() (err error) { soon, err = p.resolve(f); return err }); err != nil {
			return err
		}
		if ready, err := p.take(f, resp); ready || noWait || err != nil {
			return err
		}
		var again <-chan time.Time
		if soon {
			again = time.After(pause)
			pause = min(2*pause, maxOwed)
		}
		select {
		case <-f.notify:
			pause = minOwed
		case <-again:
		case <-poll.C:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take moves the buffered events into a response; ready is false if there are none.
func (p *Processor) take(f *feed, resp *kvpb.FeedResponse) (ready bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.err != nil {
		return false, f.err // the next feed delivers the rest again
	}
	return f.buffer.Take(resp), nil
}

// resolve raises the feed's resolved timestamp. It runs between entries: every commit up to the closed
// timestamp, and below the lowest intent, is applied and in the buffer. soon says that a prompt feed has to try
// again.
func (p *Processor) resolve(f *feed) (soon bool, err error) {
	closed, err := p.closed(f)
	if err != nil {
		return false, err
	}
	locked := hlc.Timestamp{}
	all, err := p.intents(f.buffer.Span, func(_ []byte, ts hlc.Timestamp) {
		if locked.IsEmpty() || ts.Less(locked) {
			locked = ts
		}
	})
	if err != nil || !all {
		return false, err
	}
	if f.prompt && !locked.IsEmpty() {
		p.host.FlushDeferred()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.buffer.Resolve(closed, locked)
	return f.prompt && (!locked.IsEmpty() || !f.buffer.Owed().IsEmpty()), nil
}

// closed returns the timestamp that is closed for a feed. A prompt feed closes that of its newest event.
func (p *Processor) closed(f *feed) (hlc.Timestamp, error) {
	closed := p.host.ClosedHere()
	p.mu.Lock()
	owed := f.buffer.Owed()
	if f.closedAt <= p.host.AppliedIndex() {
		closed = closed.Max(f.closed)
	}
	p.mu.Unlock()
	if !f.prompt || !owed.IsEmpty() && owed.LessEq(closed) {
		return closed, nil
	}
	now, err := p.host.CloseNow(f.buffer.Span, owed)
	return closed.Max(now), err
}

// Spans returns the spans of the feeds by their numbers.
func (p *Processor) Spans() map[uint64]kvpb.Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	spans := make(map[uint64]kvpb.Span, len(p.all))
	for id, f := range p.all {
		spans[id] = f.buffer.Span
	}
	return spans
}

// Close notes that a timestamp is closed for the spans of feeds, as of an applied index.
func (p *Processor) Close(spans map[uint64]kvpb.Span, closed hlc.Timestamp, index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range spans {
		if f := p.all[id]; f != nil && f.closed.Less(closed) {
			f.closed, f.closedAt = closed, index
		}
	}
}

// watches reports whether a key lies in the span of a feed. The caller holds mu.
func (p *Processor) watches(key []byte) bool {
	for _, f := range p.all {
		if f.buffer.Span.Contains(key) {
			return true
		}
	}
	return false
}

// hull returns the smallest span with the spans of all feeds: most keys of a large entry lie outside, and
// are not compared with each feed. The caller holds mu.
func (p *Processor) hull() (hull kvpb.Span) {
	first := true
	for _, f := range p.all {
		s := f.buffer.Span
		if first || bytes.Compare(s.Key, hull.Key) < 0 {
			hull.Key = s.Key
		}
		if first || bytes.Compare(s.End(), hull.EndKey) > 0 {
			hull.EndKey = s.End()
		}
		first = false
	}
	return hull
}

// BeginEntry prepares for the commands of the next entry.
func (p *Processor) BeginEntry() { p.took = p.took[:0] }

// Took notes whether the next command of the entry had an effect.
func (p *Processor) Took(ok bool) {
	if p.Active() {
		p.took = append(p.took, ok)
	}
}

// Stage collects the commits of the entry being applied that lie in the spans of feeds.
func (p *Processor) Stage(entry []byte) error {
	if !p.Active() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	took, hull := p.took, p.hull()
	p.took = p.took[:0]
	return apply.Changes(entry, took, func(c apply.Change) {
		switch {
		case c.Kind == apply.UnlockedSpan:
			p.unlocked = append(p.unlocked, kvpb.Span{Key: bytes.Clone(c.Key), EndKey: bytes.Clone(c.Value)})
		case hull.Contains(c.Key) && p.watches(c.Key):
			p.commits.Add(c)
			p.locked = p.locked || c.Kind == apply.Locked
		}
	}, func() error {
		p.pending = p.commits.End(p.pending)
		return nil
	})
}

// Publish delivers the collected events to the feeds after their entries were applied.
func (p *Processor) Publish() {
	if len(p.unlocked) > 0 {
		p.endUnlocked()
	}
	if p.locked {
		p.locked = false
		p.wakePrompt()
	}
	if len(p.pending) == 0 {
		return
	}
	pending := p.pending
	p.pending = nil
	err := p.loadStored(pending)
	if err != nil {
		p.o.Logger.Error("feed", "range", p.o.Range, "err", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.all {
		if f.buffer.Deliver(pending) {
			f.wake()
		}
		if err != nil || f.buffer.Full() {
			p.endLocked(f, ErrEnded)
		}
	}
}

// wakePrompt wakes the prompt feeds, which have the outcomes of intents written at once.
func (p *Processor) wakePrompt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.all {
		if f.prompt {
			f.wake()
		}
	}
}

// endUnlocked ends the feeds that wait for the outcome of intents whose locks were removed as a span:
// the entry does not list the keys. Their next feeds find the versions in the engine, since a feed
// resolves no timestamp above a lock.
func (p *Processor) endUnlocked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, span := range p.unlocked {
		for _, f := range p.all {
			if _, ok := f.buffer.Span.Clip(span.Key, span.EndKey); ok {
				p.endLocked(f, ErrEnded)
			}
		}
	}
	p.unlocked = p.unlocked[:0]
}

// loadStored reads the values of events that the entry does not contain from the engine.
func (p *Processor) loadStored(events []rangefeed.Event) error {
	for i := range events {
		e := &events[i]
		if !e.Stored {
			continue
		}
		v, found, err := mvcc.GetOwn(p.o.Engine, e.Key, e.TS)
		if err != nil {
			return err
		}
		if v.TS != e.TS {
			return fmt.Errorf("rangefeed: no version of %x at %v, whose lock is gone", e.Key, e.TS)
		}
		e.Value, e.Deleted = v.Data, !found
	}
	return nil
}
