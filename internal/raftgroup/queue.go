package raftgroup

import (
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	pb "go.etcd.io/raft/v3/raftpb"
)

const (
	// MaxInbox bounds the messages that wait for a group; raft sends again what is dropped.
	MaxInbox = 1024
	// MaxDelay is how long a deferred proposal waits for one with which it can share an
	// entry and its sync.
	MaxDelay = 10 * time.Millisecond
	// MaxDeferred bounds the deferred proposals of a group.
	MaxDeferred = 64
)

// Input is a raft message from another replica, or a function to run on the processing goroutine.
type Input struct {
	Msg   *pb.Message
	From  kvpb.ReplicaDescriptor
	Epoch int64 // of the support that the sender's store gave this node when it sent Msg
	Do    func()
}

// Queue holds what a group has yet to process and decides which goroutine processes it.
//
// A group has no goroutine of its own. The first goroutine with work for an idle group becomes the
// processing goroutine: it makes one entry of all queued proposals, writes and syncs it, and applies
// committed entries. Later arrivals queue up. When its own proposal is done it hands the role to the
// first proposer in the queue, or to a worker of the store:
//
//	   ┌───────── Propose, Deliver, Flush, TryProcess: "you process" ─────────┐
//	   │                                                                      ▼
//	[idle] ◄── Next: Rest ── [processing] ── Next: Continue ──► inputs, then one batch
//	                              │  ▲                                 │
//	                              │  └─────────────────────────────────┘
//	                              └── Next: HandedOver, HandToWorker ──► another goroutine
//
// So all commands that wait at a moment share one entry and one sync, and a lone writer never
// pays for a switch between goroutines.
//
// Deferred proposals clean up after a committed transaction. Nobody waits for them until another
// transaction contends for the intents that they remove. They go into the entry of the next ordinary
// proposal, or are proposed after MaxDelay or at a Flush.
type Queue struct {
	halted chan struct{} // closed by Stop
	// expire is called when deferred proposals have waited for MaxDelay.
	expire func()
	// pool keeps proposals for reuse. Each group has its own: proposals hold channels, which one test in
	// virtual time must not share with another.
	pool sync.Pool

	mu struct {
		sync.Mutex
		processing bool
		started    bool // false: the queue fills, and nobody processes it
		proposals  []*Proposal
		inbox      []Input
		stopped    error
		idle       chan struct{} // closed when processing becomes false; nil if nobody waits for that
		deferred   []*Proposal
		timer      *time.Timer // of deferred
		flushes    uint64      // how often Flush was called
	}

	// The rest belongs to the processing goroutine.
	own    *Proposal
	batch  []*Proposal // taken by the last Next
	inputs []Input
}

// NewQueue returns the queue of a group that processes nothing before Start, unless started is
// set. expire is called, on a goroutine of its own, when deferred proposals have waited for
// long enough: it is to call Drain.
func NewQueue(started bool, expire func()) *Queue {
	q := new(Queue)
	q.init(started, expire)
	return q
}

func (q *Queue) init(started bool, expire func()) {
	q.halted, q.expire = make(chan struct{}), expire
	q.mu.started = started
}

// Halted returns a channel that Stop closes.
func (q *Queue) Halted() <-chan struct{} { return q.halted }

// Get returns a proposal for a command. The caller must not change the command until the proposal is done.
func (q *Queue) Get(f Fence, command []byte) *Proposal {
	p, _ := q.pool.Get().(*Proposal)
	if p == nil {
		return NewProposal(f, command)
	}
	p.Command, p.err, p.done, p.Fence, p.OnAbandon, p.Appender = command, nil, false, f, nil, nil
	return p
}

// Put gives a proposal back to the pool and returns its outcome. No other reference may be left.
func (q *Queue) Put(p *Proposal) error {
	err := p.err
	p.Command, p.OnAbandon, p.Appender = nil, nil, nil
	q.pool.Put(p)
	return err
}

// Start makes the caller the processing goroutine of a group that has not begun, until it calls Started.
// It returns false if the group was stopped before.
func (q *Queue) Start() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	must.True(!q.mu.processing && !q.mu.started, "raftgroup 1: the group is being processed")
	if q.mu.stopped != nil {
		return false
	}
	q.mu.processing = true
	return true
}

// Started ends the role that Start gave, unless something is queued: then work is true, and the caller
// passes the role to a worker.
func (q *Queue) Started() (work bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.started = true
	if work = len(q.mu.inbox) > 0 || len(q.mu.proposals) > 0; !work {
		q.rest()
	}
	return work
}

// Propose queues a proposal and all deferred ones with it. If process is true, the caller is now the
// processing goroutine.
func (q *Queue) Propose(p *Proposal) (process bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.mu.stopped; err != nil {
		return false, err
	}
	q.mu.proposals = append(q.mu.proposals, p)
	q.undefer()
	return q.acquire(), nil
}

// TryProcess makes the caller the processing goroutine and queues its proposal. If another goroutine
// processes the group it does nothing and returns false.
func (q *Queue) TryProcess(p *Proposal) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.stopped != nil || !q.acquire() {
		return false
	}
	q.mu.proposals = append(q.mu.proposals, p)
	q.undefer()
	return true
}

// Defer adds a proposal that may wait for another one. flushes is the result of Flushes before the caller
// checked that nobody waits for the proposal. Defer returns false if the proposal may not wait; it is not
// queued then.
func (q *Queue) Defer(p *Proposal, flushes uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.stopped != nil || q.mu.flushes != flushes || len(q.mu.deferred) >= MaxDeferred {
		return false
	}
	q.mu.deferred = append(q.mu.deferred, p)
	switch {
	case q.mu.timer == nil:
		q.mu.timer = time.AfterFunc(MaxDelay, q.expire)
	case len(q.mu.deferred) == 1:
		q.mu.timer.Reset(MaxDelay)
	}
	return true
}

// Flushes returns how often Flush was called.
func (q *Queue) Flushes() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.flushes
}

// Flush is Drain for a caller that waits for one of the proposals. It also fails those calls of Defer whose
// caller has already checked for waiters: that check is out of date now.
func (q *Queue) Flush() (work bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.flushes++
	return q.drain()
}

// Drain queues the deferred proposals as ordinary ones. If work is true, the caller must make a worker
// process the group.
func (q *Queue) Drain() (work bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.drain()
}

func (q *Queue) drain() (work bool) {
	if len(q.mu.deferred) == 0 {
		return false
	}
	q.undefer()
	return q.acquire()
}

// undefer moves the deferred proposals into the queue. mu is held.
func (q *Queue) undefer() {
	if len(q.mu.deferred) == 0 {
		return
	}
	q.mu.timer.Stop()
	q.mu.proposals = append(q.mu.proposals, q.mu.deferred...)
	clear(q.mu.deferred)
	q.mu.deferred = q.mu.deferred[:0]
}

// acquire makes the caller the processing goroutine unless there is one. mu is held.
func (q *Queue) acquire() bool {
	if !q.mu.started || q.mu.processing {
		return false
	}
	q.mu.processing = true
	return true
}

// Withdraw takes a proposal out of the queue. It returns false if the proposal is being processed, or if its
// proposer was made the processing goroutine.
func (q *Queue) Withdraw(p *Proposal) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range []*[]*Proposal{&q.mu.proposals, &q.mu.deferred} {
		if i := slices.Index(*l, p); i >= 0 && len(p.wake) == 0 {
			*l = slices.Delete(*l, i, i+1)
			return true
		}
	}
	return false
}

// Deliver queues an input. It returns ok false if it drops it. If work is true, the caller must make a
// worker process the group.
func (q *Queue) Deliver(in Input) (work, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.stopped != nil || len(q.mu.inbox) >= MaxInbox && in.Msg != nil {
		return false, false
	}
	q.mu.inbox = append(q.mu.inbox, in)
	return q.acquire(), true
}

// Seize makes the caller the processing goroutine if there is none. Otherwise the present one will run fn.
func (q *Queue) Seize(fn func()) (process bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.mu.stopped; err != nil {
		return false, err
	}
	if !q.mu.processing {
		q.mu.processing = true
		return true, nil
	}
	q.mu.inbox = append(q.mu.inbox, Input{Do: fn})
	return false, nil
}

// Step is what the processing goroutine does next.
type Step uint8

const (
	// Continue: process Inputs and propose Batch.
	Continue Step = iota
	// Rest: stop. Nothing is queued, and nobody processes the group any more.
	Rest
	// HandedOver: stop. The first proposer in the queue processes the group now.
	HandedOver
	// HandToWorker: stop, and make a worker process the group.
	HandToWorker
)

// Enter is the first call of a new processing goroutine. own is its own proposal, or nil.
func (q *Queue) Enter(own *Proposal) { q.own = own }

// Own returns the proposal of the processing goroutine.
func (q *Queue) Own() *Proposal { return q.own }

// Next takes what is queued, or ends the role of the processing goroutine. workersOnly keeps other proposers
// from the role. leave makes the goroutine give up the role before its own proposal is done. done reports
// whether that proposal is done, or there is none.
func (q *Queue) Next(workersOnly, leave bool) (s Step, done bool) {
	done = q.own == nil || q.own.done
	clear(q.batch)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.mu.proposals) == 0 && len(q.mu.inbox) == 0:
		q.leave()
		q.rest()
		return Rest, done
	case q.own != nil && (done || leave):
		q.leave()
		if len(q.mu.inbox) > 0 || workersOnly || !done {
			return HandToWorker, done
		}
		// Under the mutex, so that a concurrent Withdraw sees the hand-off (invariant 2).
		q.mu.proposals[0].wake <- Process
		return HandedOver, true
	}
	q.batch, q.mu.proposals = q.mu.proposals, q.batch[:0]
	q.inputs, q.mu.inbox = q.mu.inbox, q.inputs[:0]
	return Continue, done
}

// leave takes the role from the goroutine of own.
func (q *Queue) leave() {
	if q.own != nil {
		q.own.Appender = nil // it serves only while own's proposer has the role
	}
	q.own = nil
}

// Inputs returns what the last Next took from the inbox.
func (q *Queue) Inputs() []Input { return q.inputs }

// Batch returns the proposals that the last Next took.
func (q *Queue) Batch() []*Proposal { return q.batch }

// Finish gives a proposal its outcome. The first outcome stays.
func (q *Queue) Finish(p *Proposal, err error) {
	if p.done {
		return
	}
	p.err, p.done = err, true
	if p != q.own {
		p.wake <- Done
	}
}

// FinishAll gives those of ps that are not nil their outcome.
func (q *Queue) FinishAll(ps []*Proposal, err error) {
	for _, p := range ps {
		if p != nil {
			q.Finish(p, err)
		}
	}
}

// Stop makes the queue refuse everything from now on. The first reason stays.
func (q *Queue) Stop(reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.stopped != nil {
		return
	}
	q.mu.stopped = reason
	close(q.halted)
	if len(q.mu.deferred) > 0 {
		q.mu.timer.Stop()
	}
	for _, p := range q.mu.deferred { // nobody processes them
		p.err, p.done = reason, true
		p.wake <- Done
	}
	clear(q.mu.deferred)
	q.mu.deferred = q.mu.deferred[:0]
}

// Stopped reports whether Stop was called.
func (q *Queue) Stopped() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.stopped != nil
}

// AwaitIdle waits until no goroutine processes the group. After Stop none ever will again. It has no
// timeout: its callers remove data that the processing goroutine may still be writing.
func (q *Queue) AwaitIdle() {
	q.mu.Lock()
	if !q.mu.processing {
		q.mu.Unlock()
		return
	}
	if q.mu.idle == nil {
		q.mu.idle = make(chan struct{})
	}
	idle := q.mu.idle
	q.mu.Unlock()
	<-idle
}

// rest ends the processing of the group. mu is held.
func (q *Queue) rest() {
	q.mu.processing = false
	if q.mu.idle != nil {
		close(q.mu.idle)
		q.mu.idle = nil
	}
}
