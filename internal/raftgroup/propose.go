package raftgroup

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// ProposalTimeout bounds the wait of a proposer. Then it gets an ambiguous error.
	ProposalTimeout = 5 * time.Second
	// stopGrace bounds the wait once the group has stopped, the leadership was resigned, or the disk
	// stalls.
	stopGrace = 100 * time.Millisecond
)

// Propose makes a command durable and applies it. The caller must not change the command until then.
func (g *Group) Propose(f Fence, command []byte) error {
	return g.ProposeWait(g.Queue.Get(f, command))
}

// ProposeWait queues a proposal of Queue.Get and waits for its outcome.
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

// ProposeDeferred is Propose for a command that may wait for another one. Queue.Defer explains flushes.
func (g *Group) ProposeDeferred(f Fence, command []byte, flushes uint64) error {
	p := g.Queue.Get(f, command)
	if !g.Queue.Defer(p, flushes) {
		return g.ProposeWait(p)
	}
	return g.Await(p, 0)
}

// ProposeHere makes the caller the processing goroutine, with its proposal, and reports whether that is done.
// The first append goes through a. If another goroutine processes the group, ProposeHere does nothing and
// returns ok false.
func (g *Group) ProposeHere(p *Proposal, a Appender) (done, ok bool) {
	if g.cfg.Workers || !g.Queue.TryProcess(p) {
		return false, false
	}
	p.Appender = a
	return g.process(p), true
}

// Flush proposes the deferred proposals at once, for a caller that waits for one of them (Queue.Flush).
func (g *Group) Flush() {
	if g.Queue.Flush() {
		g.cfg.Schedule(g.work)
	}
}

// drain proposes the deferred proposals after MaxDelay.
func (g *Group) drain() {
	if g.Queue.Drain() {
		g.cfg.Schedule(g.work)
	}
}

// Await waits for the outcome of a proposal, and processes the group when it is handed the role. waited is
// how long the caller has waited already.
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
		case <-halted: // proposals that are nearly done get stopGrace
			halted = nil
			timeout.Reset(stopGrace)
		case w := <-p.wake:
			if w == Done || g.process(p) {
				return g.Queue.Put(p)
			}
		case <-timeout.C:
			return g.timeOut(p)
		}
	}
}

// timeOut ends the wait for a proposal: it withdraws one that is not in the log yet, and abandons any other.
func (g *Group) timeOut(p *Proposal) error {
	if g.Queue.Withdraw(p) {
		g.Queue.Put(p)
		return &kvpb.UnavailableError{Reason: "the range does not make progress"}
	}
	select {
	case w := <-p.wake: // at the last moment: a hand-off must not get lost
		if w == Done || g.process(p) {
			return g.Queue.Put(p)
		}
	default:
	}
	// The processing goroutine may still finish p, so it does not return to the pool.
	g.abandon(p)
	return &kvpb.AmbiguousCommitError{Cause: errors.New("no quorum of the range's replicas answers")}
}

// resignedTerms are the leaderships that this replica has resigned because its disk is slow. Their proposers
// get an ambiguous error soon: the next leader will know the outcome before this replica does.
type resignedTerms struct {
	last atomic.Uint64                 // the last such term; it covers all before it
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

// Resign shortens to stopGrace the wait of all proposers of a leadership, present and future.
func (g *Group) Resign(term uint64) {
	g.resigned.last.Store(term)
	if c := g.resigned.news.Swap(nil); c != nil {
		close(*c)
	}
}

// abandon calls OnAbandon of a proposal whose proposer stops waiting, and waits for the outcome in the
// background.
func (g *Group) abandon(p *Proposal) {
	if p.OnAbandon == nil {
		return
	}
	known := p.OnAbandon()
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
