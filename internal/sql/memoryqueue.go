package sql

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// memoryWait bounds how long a statement that was refused memory waits for others to end.
	memoryWait = 10 * time.Second
	// lockedMemoryWait bounds it for one whose session may hold locks.
	lockedMemoryWait = 5 * time.Second
	// minMemoryPause is how long the statement whose turn it is waits after a refusal; the time
	// doubles up to maxMemoryPause.
	minMemoryPause = 20 * time.Millisecond
	maxMemoryPause = 500 * time.Millisecond
	// aloneAttempts is how often it is refused while nobody else holds anything until it does not
	// try again: what others held is garbage at first, which takes a while to collect.
	aloneAttempts = 4
)

// memoryQueue lets the statements that were refused memory while others ran run again, one after
// the other. While they wait they hold no memory but what belongs to their transaction: its
// earlier writes, and the data of COPY FROM, which the client is not asked for twice (see
// copyio.Input). COPY FROM that has read more than is kept can't run again, and does not wait.
//
// A statement that is a transaction by itself holds no locks either. The locks of a block stay,
// and who holds the memory may wait for them: the shorter bound ends such a circle.
type memoryQueue struct {
	turn         chan struct{}
	waiting      atomic.Int32 // statements without their turn
	wait, locked time.Duration
	// waits is called when a statement begins to wait; nil but in tests.
	waits func()
}

// refusal is what a statement knows that was refused memory.
type refusal struct {
	since time.Time
	turn  bool // it has its turn
	locks bool // its session may hold locks while it waits
	alone int  // refusals while nobody else ran who holds anything
	pause time.Duration
}

// mayWait reports whether err refused memory of the node, which others that run may give back.
func (x *execution) mayWait(err error, r *refusal) bool {
	if err == nil {
		return false // before full, which is allocated
	}
	var full *quota.ExceededError
	if !errors.As(err, &full) || full.Limit != x.ex.srv.cfg.Mem.Limit() {
		return false
	}
	r.locks = x.follows() || x.ex.advisory.Any()
	others := x.ex.srv.othersRun(x.ex)
	if !r.turn {
		return others > 0
	}
	others -= int(x.ex.srv.memory.waiting.Load()) // they have given up what they held
	if others > 0 {
		r.alone = 0
	} else {
		r.alone++
	}
	return r.alone < aloneAttempts
}

// othersRun counts the sessions other than that of ex that run a statement.
func (s *Server) othersRun(ex *executor) (n int) {
	for _, other := range s.Sessions() {
		if &other.ex != ex && other.ex.current.Running() {
			n++
		}
	}
	return n
}

// await waits until a statement may run again that was refused memory and has given up what it
// held; false once it has waited too long or was cancelled. The caller ends r with leave.
func (q *memoryQueue) await(ctx context.Context, r *refusal) bool {
	if r.since.IsZero() {
		r.since, r.pause = time.Now(), minMemoryPause
	}
	wait := q.wait
	if r.locks {
		wait = q.locked
	}
	ctx, cancel := context.WithDeadline(ctx, r.since.Add(wait))
	defer cancel()
	if q.waits != nil {
		q.waits()
	}
	if r.turn {
		r.pause = min(2*r.pause, maxMemoryPause)
		return sleep.For(ctx, r.pause) == nil
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	select {
	case q.turn <- struct{}{}:
		r.turn = true
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// leave ends the turn of a statement, if it has it.
func (q *memoryQueue) leave(r *refusal) {
	if r.turn {
		<-q.turn
	}
}
