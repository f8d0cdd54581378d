package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// followPause is the pause before a node follows the queue again after a failure.
	followPause = 100 * time.Millisecond
	// maxUnordered bounds the entries whose order is not known yet, in bytes. Beyond that they are forgotten and
	// read again.
	maxUnordered = 64 << 20
)

// errUnordered ends a feed whose entries wait too long for their order.
var errUnordered = errors.New("too many notifications wait for their order")

// commit is an entry with its commit timestamp.
type commit struct {
	entry
	ts   hlc.Timestamp
	key  string
	size int
}

// follower follows the queue for the sessions of a node.
type follower struct {
	q     *Queue
	ctx   context.Context
	stop  context.CancelFunc
	order order
	// done is up to where everything was delivered, lingers says that the follower may end soon. q.mu guards both.
	done    hlc.Timestamp
	lingers bool
}

// run follows the queue until ctx ends.
func (f *follower) run() {
	span := keys.NotificationSpan()
	for f.ctx.Err() == nil {
		f.order.begin()
		err := f.q.db.PromptFeed(f.ctx, span.Start, span.End, f.order.upTo, f.take)
		var old *kvpb.SnapshotTooOldError
		if errors.As(err, &old) {
			f.q.logger.Error("the notification queue could not be read in time", "err", err)
			f.q.loseAll()
			f.order.upTo = f.q.db.Clock().Now()
		} else if f.ctx.Err() == nil {
			f.q.logger.Debug("the notification queue is read again", "err", err)
		}
		_ = sleep.For(f.ctx, followPause)
	}
}

// take takes what the feed emits.
func (f *follower) take(events []kv.FeedEvent, resolved hlc.Timestamp) error {
	for i := range events {
		switch err := f.order.add(&events[i]); {
		case errors.Is(err, errEntry):
			f.q.logger.Error("the notification queue", "err", err)
			f.q.loseAll()
		case err != nil:
			return err
		}
	}
	if resolved.IsEmpty() {
		return nil
	}
	f.q.db.Clock().Forward(resolved) // a session that reads after a notification sees what was committed before
	f.q.deliver(f, f.order.advance(resolved), resolved)
	return nil
}

// order puts entries into the order of their commits.
type order struct {
	upTo    hlc.Timestamp // everything up to here is out
	waiting []commit
	bytes   int
	known   map[string]hlc.Timestamp // the newest version of each key among waiting
}

// begin begins anew after upTo.
func (o *order) begin() { o.waiting, o.bytes, o.known = nil, 0, map[string]hlc.Timestamp{} }

// add adds an event. A feed may deliver one again; those of a key come in the order of their timestamps the first
// time.
func (o *order) add(e *kv.FeedEvent) error {
	if e.Deleted || e.TS.LessEq(o.upTo) || e.TS.LessEq(o.known[string(e.Key)]) {
		return nil
	}
	entry, err := decodeEntry(e.Value)
	if err != nil {
		return err
	}
	c := commit{entry, e.TS, string(e.Key), len(e.Key) + len(e.Value)}
	if o.bytes += c.size; o.bytes > maxUnordered {
		return errUnordered
	}
	o.known[c.key] = c.ts
	o.waiting = append(o.waiting, c)
	return nil
}

// advance returns the entries up to a resolved timestamp in the order of their commits.
func (o *order) advance(resolved hlc.Timestamp) (out []commit) {
	if resolved.LessEq(o.upTo) {
		return nil
	}
	o.upTo = resolved
	left := o.waiting[:0]
	for _, c := range o.waiting {
		if resolved.Less(c.ts) {
			left = append(left, c)
			continue
		}
		out = append(out, c)
		o.bytes -= c.size
		if o.known[c.key] == c.ts {
			delete(o.known, c.key)
		}
	}
	clear(o.waiting[len(left):])
	o.waiting = left
	slices.SortFunc(out, func(a, b commit) int {
		return cmp.Or(a.ts.Compare(b.ts), cmp.Compare(a.pid, b.pid), cmp.Compare(a.number, b.number))
	})
	return out
}
