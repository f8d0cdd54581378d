package raftgroup

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// ProposalTimeout bounds how long a command may be on its way before the one who waits
	// for it learns that its outcome is not known.
	ProposalTimeout = 5 * time.Second
	// stopGrace is how long it may still take once the group was stopped.
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

// ProposeHere processes the group with a proposal if nobody else does, and reports whether it is
// done. What it appends first goes through a. ok is false if nothing was done.
func (g *Group) ProposeHere(p *Proposal, a Appender) (done, ok bool) {
	if g.cfg.Workers || !g.Queue.TryProcess(p) {
		return false, false
	}
	p.Appender = a
	return g.process(p), true
}

// Flush has the deferred proposals go now, and those that are about to wait not wait.
func (g *Group) Flush() {
	if g.Queue.Flush() {
		g.cfg.Schedule(g.work)
	}
}

// drain has the deferred proposals go.
func (g *Group) drain() {
	if g.Queue.Drain() {
		g.cfg.Schedule(g.work)
	}
}

// Await waits for a proposal, processing the group when asked to. waited is for how long the
// caller has waited already.
func (g *Group) Await(p *Proposal, waited time.Duration) error {
	if g.host.OnlyVoter() { // nobody else to wait for
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
		case <-stalled: // nothing comes back from the disk soon, and others lead by then
			stalled = nil
			timeout.Reset(stopGrace)
		case <-halted: // what is nearly done may end
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
			// p stays with whoever finishes it, and is not used again.
			g.keep(p)
			return &kvpb.AmbiguousCommitError{Cause: errors.New("no quorum of the range's replicas answers")}
		}
	}
}

// resignedTerms are the leaderships that this replica resigned though it may be slow to learn what
// becomes of their entries: who waits for one of their commands soon learns that the next leader
// knows more.
type resignedTerms struct {
	last atomic.Uint64                 // and all before
	news atomic.Pointer[chan struct{}] // closed when last rises
}

// next returns what is closed by the next resignation.
func (r *resignedTerms) next() <-chan struct{} {
	for {
		if c := r.news.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		r.news.CompareAndSwap(nil, &c)
	}
}

// covers reports whether who proposed a command in a term need not wait for it.
func (r *resignedTerms) covers(term uint64) bool {
	return term != AnyTerm && term <= r.last.Load()
}

// Resign lets those go who wait for commands of a leadership, or come to do so.
func (g *Group) Resign(term uint64) {
	g.resigned.last.Store(term)
	if c := g.resigned.news.Swap(nil); c != nil {
		close(*c)
	}
}

// keep sees to what goes on until the outcome of a proposal is known for which nobody waits
// any more.
func (g *Group) keep(p *Proposal) {
	if p.Keep == nil {
		return
	}
	known := p.Keep()
	running := g.host.Go(func() {
		defer known()
		select {
		case <-p.wake: // it was in an entry, so nobody hands the queue on to it
		case <-g.Queue.Halted():
		}
	})
	if !running {
		known()
	}
}
