package notify

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// waitingShare is the part of the node's memory that notifications which wait for their sessions may take.
	waitingShare = 8
	// linger is how long a node goes on following the queue when no session listens any more.
	linger = 5 * time.Second
	// sweepBatch bounds the entries that one transaction deletes.
	sweepBatch = 1000
)

// Config is what a Queue is made of.
type Config struct {
	DB     *kv.DB
	Node   func() kvpb.NodeID
	Memory *quota.Pool // of the node; nil: no limit
	Logger *slog.Logger
	// QueueBytes, if set, takes the place of MaxQueueBytes: for tests.
	QueueBytes int64
}

// Queue is what the sessions of a node share.
type Queue struct {
	db     *kv.DB
	node   func() kvpb.NodeID
	logger *slog.Logger
	memory *quota.Pool

	process uint64 // tells the slots of this process from those of others
	slots   slots
	usage   usage

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sweeping bool
	// sessions are those that listen, by their databases.
	sessions map[uint64]map[*Session]struct{}
	follower *follower // nil: nobody listens
	waiters  []waiter
}

// waiter waits until everything up to a timestamp was delivered.
type waiter struct {
	ts   hlc.Timestamp
	done chan struct{}
}

// NewQueue returns a queue without sessions.
func NewQueue(c Config) *Queue {
	q := &Queue{db: c.DB, node: c.Node, logger: c.Logger, sessions: map[uint64]map[*Session]struct{}{}}
	q.usage.limit = c.QueueBytes
	if q.usage.limit == 0 {
		q.usage.limit = MaxQueueBytes
	}
	if c.Memory != nil {
		q.memory = c.Memory.Child("notifications", c.Memory.Limit()/waitingShare)
	}
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q
}

// Close ends the background work and waits for it.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.stop()
	q.running.Wait()
}

// Usage returns how full the queue is, between 0 and 1.
func (q *Queue) Usage() float64 { return q.usage.share(time.Now()) }

// write adds entries to a transaction.
func (q *Queue) write(txn *kv.Txn, slots []slot, entries []entry) error {
	q.beginSweeping()
	for i := range entries {
		value := entries[i].encode()
		if len(entries[i].messages) > 0 && !q.usage.add(time.Now(), int64(len(value))+entryOverhead) {
			return errFull()
		}
		if err := txn.Put(q.key(slots[i]), value); err != nil {
			return err
		}
	}
	// At the present time, rather than at the snapshot, so that notifications are ordered as their transactions
	// end, and a version lies above the earlier ones of its slot.
	txn.CommitAbove(q.db.Clock().Now())
	return nil
}

func (q *Queue) key(s slot) []byte { return keys.Notification(uint64(q.node()), q.process, s.number) }

// beginSweeping begins the process's slots, and the deletion of what is left in those that are not used.
func (q *Queue) beginSweeping() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.process == 0 {
		q.process = uint64(q.db.Clock().Now().WallTime)
	}
	if q.sweeping || q.closed {
		return
	}
	q.sweeping = true
	q.running.Go(q.sweep)
}

// sweep deletes the entries of slots that are not used, until there are none.
func (q *Queue) sweep() {
	q.sweepFormer()
	for sleep.For(q.ctx, coldAfter) == nil {
		for q.sweepCold() {
		}
		q.mu.Lock()
		if !q.slots.any() {
			q.sweeping = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
	}
}

// sweepCold deletes the entries of some slots that are cold; more says that there may be others.
func (q *Queue) sweepCold() (more bool) {
	cold := q.slots.cold(time.Now(), sweepBatch)
	if len(cold) == 0 {
		return false
	}
	found := make([][]byte, len(cold))
	for i, s := range cold {
		found[i] = q.key(s)
	}
	if err := q.delete(found); err != nil {
		q.slots.restore(cold) // another time
		return false
	}
	return len(cold) == sweepBatch
}

// sweepFormer deletes the entries of earlier processes of this node. If that fails the next process does.
func (q *Queue) sweepFormer() {
	var former [][]byte
	span := keys.NotificationSpan()
	span.Start = keys.Notification(uint64(q.node()), 0, 0)
	err := q.db.Run(q.ctx, func(ctx context.Context, t *kv.Txn) error {
		former = nil
		return kv.Each(ctx, t, span, func(k, _ []byte) (bool, error) {
			node, process, _, ok := keys.DecodeNotification(k)
			if !ok || node != uint64(q.node()) || process >= q.process {
				return false, nil
			}
			former = append(former, append([]byte(nil), k...))
			return len(former) < maxSlots, nil
		})
	})
	for err == nil && len(former) > 0 {
		n := min(len(former), sweepBatch)
		err = q.delete(former[:n])
		former = former[n:]
	}
}

// delete deletes entries.
func (q *Queue) delete(entries [][]byte) error {
	return q.db.Run(q.ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, k := range entries {
			r, err := t.Lock(ctx, k, lock.Update, lock.WaitBlock)
			if err != nil {
				return err
			}
			if !r.Found {
				continue
			}
			if err := t.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// join adds a session that is about to listen: what is committed from now on reaches it.
func (q *Queue) join(s *Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := q.sessions[s.database]
	if in == nil {
		in = map[*Session]struct{}{}
		q.sessions[s.database] = in
	}
	in[s] = struct{}{}
	if q.follower == nil && !q.closed {
		f := &follower{q: q}
		f.order.upTo = q.db.Clock().Now()
		f.ctx, f.stop = context.WithCancel(q.ctx)
		q.follower = f
		q.running.Go(f.run)
	}
}

// leave takes a session out.
func (q *Queue) leave(s *Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.sessions[s.database], s); len(q.sessions[s.database]) == 0 {
		delete(q.sessions, s.database)
	}
	if len(q.sessions) > 0 || q.follower == nil || q.closed {
		return
	}
	f := q.follower
	if f.lingers {
		return
	}
	f.lingers = true
	q.running.Go(func() {
		if sleep.For(f.ctx, linger) == nil {
			q.endFollower(f)
		}
	})
}

// endFollower ends a follower if still, or again, nobody listens.
func (q *Queue) endFollower(f *follower) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.lingers = false
	if q.follower == f && len(q.sessions) == 0 {
		q.follower = nil
		f.stop()
	}
}

// await waits until everything up to ts was delivered, at most for a time.
func (q *Queue) await(ctx context.Context, ts hlc.Timestamp, most time.Duration) {
	q.mu.Lock()
	if q.follower == nil || ts.LessEq(q.follower.done) {
		q.mu.Unlock()
		return
	}
	w := waiter{ts, make(chan struct{})}
	q.waiters = append(q.waiters, w)
	q.mu.Unlock()
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-w.done:
		return
	case <-ctx.Done():
	case <-timeout.C:
	case <-q.ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters = slices.DeleteFunc(q.waiters, func(o waiter) bool { return o.done == w.done })
}

// deliver hands commits, in order, to the sessions that listen. Everything up to upTo was delivered then.
func (q *Queue) deliver(f *follower, commits []commit, upTo hlc.Timestamp) {
	var wake []*Session
	q.mu.Lock()
	if q.follower != f { // nobody listened, and who does now has another follower
		q.mu.Unlock()
		return
	}
	for i := range commits {
		c := &commits[i]
		for s := range q.sessions[c.database] {
			first := false
			for _, m := range c.messages {
				first = s.deliver(Notification{c.pid, m.channel, m.payload}, c.ts) || first
			}
			if first {
				wake = append(wake, s)
			}
		}
	}
	f.done = upTo
	left := q.waiters[:0]
	for _, w := range q.waiters {
		if w.ts.LessEq(upTo) {
			close(w.done)
		} else {
			left = append(left, w)
		}
	}
	clear(q.waiters[len(left):])
	q.waiters = left
	q.mu.Unlock()
	for _, s := range wake {
		s.wakeConnection()
	}
}

// loseAll ends the sessions that listen, since notifications may be lost.
func (q *Queue) loseAll() {
	var all []*Session
	q.mu.Lock()
	for _, in := range q.sessions {
		for s := range in {
			all = append(all, s)
		}
	}
	q.mu.Unlock()
	for _, s := range all {
		s.lose(errGap)
	}
}
