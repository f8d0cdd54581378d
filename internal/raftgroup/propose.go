package raftgroup

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// ProposalTimeout bounds the wait of a proposer. Afterwards it gets an ambiguous error.
	ProposalTimeout = 5 * time.Second
	// stopGrace bounds the wait once the group was stopped, or its leadership resigned, or the disk
	// stalls.
	stopGrace = 100 * time.Millisecond
)

// Propose makes a command durable and applies it. command is kept until then.
func (g *Group) Propose(f Fence, command []byte) error {
	return g.ProposeWait(g.Queue.Get(f, command))
}

// ProposeWait passes a proposal of Get through the queue and waits for it.
func (g *Group) ProposeWait(p *Proposal) error {
	process, err := g.Queue.Propose(p)
	switch {
	case err != nil:
		g.Queue.Put(p)
		return err
	case process && g.workersOnly():
		g.cfg.Schedule(g.work)
	case process && g.process(p):
		return g.Queue.Put(p)
	}
	return g.Await(p, 0)
}

// ProposeDeferred is Propose for a command that may wait for another one; flushes is
// that of Queue.Defer.
func (g *Group) ProposeDeferred(f Fence, command []byte, flushes uint64) error {
	p := g.Queue.Get(f, command)
	if !g.Queue.Defer(p, flushes) {
		return g.ProposeWait(p)
	}
	return g.Await(p, 0)
}

// ProposeHere processes the group with a proposal on the caller's goroutine, and reports whether it is
// done. The first append goes through a. ok is false, and nothing was done, if another goroutine processes
// the group.
func (g *Group) ProposeHere(p *Proposal, a Appender) (done, ok bool) {
	if g.cfg.Workers || !g.Queue.TryProcess(p) {
		return false, false
	}
	p.Appender = a
	return g.process(p), true
}

// Flush proposes the deferred proposals now, and fails calls of Defer that are about to follow.
func (g *Group) Flush() {
	if g.Queue.Flush() {
		g.cfg.Schedule(g.work)
	}
}

// drain proposes the deferred proposals.
func (g *Group) drain() {
	if g.Queue.Drain() {
		g.cfg.Schedule(g.work)
	}
}

// Await waits for a proposal, and processes the group when it is handed the role. waited is the time that
// the caller has already waited.
func (g *Group) Await(p *Proposal, waited time.Duration) error {
	if g.host.OnlyVoter() { // no other replica knows the outcome: no timeout
		for <-p.wake == Process {
			if g.process(p) {
				break
			}
		}
		return g.Queue.Put(p)
	}
	timeout := time.NewTimer(ProposalTimeout - waited)
	defer timeout.Stop()
	halted := g.Queue.Halted()
	var stalled <-chan struct{}
	if f := g.cfg.Stalled; f != nil {
		stalled = f()
	}
	resigned := g.resigned.next()
	if g.resigned.covers(p.Fence.Term) {
		timeout.Reset(stopGrace)
	}
	for {
		select {
		case <-resigned:
			if resigned = nil; g.resigned.covers(p.Fence.Term) {
				timeout.Reset(stopGrace)
			}
		case <-stalled: // another replica will lead before the disk responds
			stalled = nil
			timeout.Reset(stopGrace)
		case <-halted: // leave time for proposals that are nearly done
			halted = nil
			timeout.Reset(stopGrace)
		case w := <-p.wake:
			if w == Done || g.process(p) {
				return g.Queue.Put(p)
			}
		case <-timeout.C:
			if g.Queue.Withdraw(p) {
				g.Queue.Put(p)
				return &kvpb.UnavailableError{Reason: "the range does not make progress"}
			}
			select {
			case w := <-p.wake: // at the last moment; a hand-off must not get lost
				if w == Done || g.process(p) {
					return g.Queue.Put(p)
				}
			default:
			}
			// The processing goroutine may still finish p, so it does not return to the pool.
			g.keep(p)
			return &kvpb.AmbiguousCommitError{Cause: errors.New("no quorum of the range's replicas answers")}
		}
	}
}

// resignedTerms are the leaderships that this replica has resigned because its disk is slow. Their proposers
// soon get an ambiguous error, since the next leader will know the outcome earlier.
type resignedTerms struct {
	last atomic.Uint64                 // and all before
	news atomic.Pointer[chan struct{}] // closed when last rises
}

// next returns a channel that the next resignation closes.
func (r *resignedTerms) next() <-chan struct{} {
	for {
		if c := r.news.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		r.news.CompareAndSwap(nil, &c)
	}
}

// covers reports whether the leadership of a term was resigned.
func (r *resignedTerms) covers(term uint64) bool {
	return term != AnyTerm && term <= r.last.Load()
}

// Resign shortens the wait of present and later proposers of a leadership to stopGrace.
func (g *Group) Resign(term uint64) {
	g.resigned.last.Store(term)
	if c := g.resigned.news.Swap(nil); c != nil {
		close(*c)
	}
}

// keep calls Keep of a proposal whose proposer has stopped waiting, and then waits for the outcome in the
// background.
func (g *Group) keep(p *Proposal) {
	if p.Keep == nil {
		return
	}
	known := p.Keep()
	running := g.host.Go(func() {
		defer known()
		select {
		case <-p.wake: // Done: a proposal that is in an entry is not handed the role
		case <-g.Queue.Halted():
		}
	})
	if !running {
		known()
	}
}
