package raftgroup

import (
	"github.com/lichendb/lichen/internal/apply"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Refusals are the errors of commands that take no effect.
type Refusals interface {
	// NotLeader says that another replica leads the range, or may.
	NotLeader() error
	// Mismatch says that the range has other bounds.
	Mismatch() error
	// Busy says that the range is being changed already.
	Busy() error
}

// InFlight tracks the entries proposed here from the proposal until they are applied, and
// the waiting proposers of their commands:
//
//	Compose ─► Propose ─► proposed ── Number: raft gave it an index and a term ─► appended
//	                                                                                 │
//	   Applying, Took, Applied: the entry at its index has its term: the waiters     │
//	   learn the outcome of each command ◄────────────────────────────────────────────┤
//	   Applying: an entry of another term is at its index, or a later term is below  │
//	   it, since the terms of a log never fall: refused ◄────────────────────────────┤
//	   Expire: its leadership ended a while ago: ambiguous ◄─────────────────────────┤
//	   Fail: the group ends, or begins anew from what is durable ◄───────────────────┘
//
// It belongs to the processing goroutine.
type InFlight struct {
	queue *Queue
	why   Refusals

	proposed, appended []inFlightEntry
	// current are the proposals of the entry being applied, applied those of all entries since
	// the last Applied.
	current, applied []*Proposal
}

// inFlightEntry is an entry, with the proposals whose commands it holds.
type inFlightEntry struct {
	size  int    // of its payload
	conf  bool   // a configuration change, whose bytes raft makes
	index uint64 // 0 until raft has given it one
	term  uint64
	props []*Proposal
}

// Compose makes one raft entry of as many commands of a batch as its limits allow, at least one,
// and returns how many it took. Those whose fence names another term are refused and
// replaced by nil, unless any is set; if none is left the entry is empty.
func (f *InFlight) Compose(batch []*Proposal, term uint64, any bool) (entry []byte, n int) {
	size := 1
	for n < len(batch) && n < apply.MaxEntryCommands {
		l := len(batch[n].Command) + 15
		if n > 0 && size+l > apply.MaxEntryBytes {
			break
		}
		size += l
		n++
	}
	entry = make([]byte, 0, size)
	for i, p := range batch[:n] {
		if !any && p.Fence.Term != term && p.Fence.Term != AnyTerm {
			f.queue.Finish(p, f.why.NotLeader())
			batch[i] = nil
			continue
		}
		entry = apply.AppendEntry(entry, p.Fence.BoundsGen, p.Command)
	}
	return entry, n
}

// Propose registers an entry of Compose that is about to be proposed to raft. It drops its references to
// long commands, since raft and the log copy the entry.
func (f *InFlight) Propose(entry []byte, props []*Proposal) {
	for _, p := range props {
		if p != nil && len(p.Command) >= apply.LongCommand {
			p.Command = nil
		}
	}
	f.proposed = append(f.proposed, inFlightEntry{size: len(entry), props: append([]*Proposal(nil), props...)})
}

// ProposeConfChange registers a configuration change that is about to be proposed to raft.
func (f *InFlight) ProposeConfChange(p *Proposal) {
	f.proposed = append(f.proposed, inFlightEntry{conf: true, props: []*Proposal{p}})
}

// Drop removes the last registered entry, which raft has refused.
func (f *InFlight) Drop() { f.proposed = f.proposed[:len(f.proposed)-1] }

// Number assigns the index and term of appended entries to the entries proposed here. Raft appends those in
// the order of their proposals and before any others, since no message is stepped in between.
func (f *InFlight) Number(ents []*pb.Entry) {
	for _, e := range ents {
		if len(f.proposed) == 0 {
			return
		}
		s := f.proposed[0]
		switch conf := e.GetType() != pb.EntryNormal; {
		case conf != s.conf && s.conf && len(e.GetData()) == 0:
			f.proposed = f.proposed[1:] // raft refused the change and put nothing in its place
			f.queue.FinishAll(s.props, f.why.Busy())
			continue
		case conf != s.conf || !conf && len(e.GetData()) != s.size:
			continue
		}
		s.index, s.term = e.GetIndex(), e.GetTerm()
		f.appended = append(f.appended, s)
		f.proposed = f.proposed[1:]
	}
}

// Proposed returns how many entries raft has not numbered yet.
func (f *InFlight) Proposed() int { return len(f.proposed) }

// Waiting returns how many entries of this group's proposers are numbered and not applied.
func (f *InFlight) Waiting() int { return len(f.appended) }

// Applying finds the proposals of the entry that is about to be applied, and refuses those of replaced
// entries.
func (f *InFlight) Applying(index, term uint64) {
	f.current = nil
	for len(f.appended) > 0 && (f.appended[0].index <= index || f.appended[0].term < term) {
		s := f.appended[0]
		f.appended[0] = inFlightEntry{}
		f.appended = f.appended[1:]
		if s.index == index && s.term == term {
			f.applied = append(f.applied, s.props...)
			f.current = s.props
			return
		}
		f.queue.FinishAll(s.props, f.why.NotLeader())
	}
}

// Took records whether the next command of the entry took effect.
func (f *InFlight) Took(ok bool) {
	// Proposals answered before the entry was made are nil and have no command.
	for len(f.current) > 0 {
		p := f.current[0]
		f.current = f.current[1:]
		if p == nil {
			continue
		}
		if !ok {
			p.err = f.why.Mismatch()
		}
		return
	}
}

// Applied notifies the proposers of the entries applied since the last call.
func (f *InFlight) Applied() {
	for _, p := range f.applied {
		if p != nil {
			f.queue.Finish(p, p.err)
		}
	}
	clear(f.applied)
	f.applied = f.applied[:0]
}

// Expire fails the proposals of entries of terms up to term, whose leadership ended a while ago, that are
// neither applied nor replaced here yet. The next leader knows their outcomes.
func (f *InFlight) Expire(term uint64, err error) {
	if len(f.appended) == 0 {
		return
	}
	kept := f.appended[:0]
	for _, s := range f.appended {
		if s.term > term {
			kept = append(kept, s)
			continue
		}
		f.queue.FinishAll(s.props, err)
	}
	clear(f.appended[len(kept):])
	f.appended = kept
}

// Fail fails all proposals in flight.
func (f *InFlight) Fail(err error) {
	for _, l := range [][]inFlightEntry{f.proposed, f.appended} {
		for i := range l {
			f.queue.FinishAll(l[i].props, err)
		}
	}
	f.proposed, f.appended = nil, nil
}
