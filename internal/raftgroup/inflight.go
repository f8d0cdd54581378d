package raftgroup

import (
	"github.com/lichendb/lichen/internal/apply"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Refusals are the errors for commands that have no effect.
type Refusals interface {
	// NotLeader says that another replica leads the range, or may.
	NotLeader() error
	// Mismatch says that the bounds of the range have changed.
	Mismatch() error
	// Busy says that another change of the range is under way.
	Busy() error
}

// InFlight tracks the entries that were proposed here, and the waiting proposers of their commands, until the
// entries are applied:
//
//	Compose ─► Register ─► proposed ── Number: raft gave it an index and a term ─► appended
//	                                                                                 │
//	   Applying, CommandApplied, Applied: the entry at its index has its term:       │
//	   the waiters learn the outcome of each command ◄───────────────────────────────┤
//	   Applying: an entry of another term is at its index, or an entry below it has  │
//	   a later term, and the terms of a log never fall: refused ◄────────────────────┤
//	   Expire: its leadership ended a while ago: ambiguous ◄─────────────────────────┤
//	   Fail: the group ends, or restarts from what is durable ◄──────────────────────┘
//
// It belongs to the processing goroutine.
type InFlight struct {
	queue    *Queue
	refusals Refusals

	proposed, appended []inFlightEntry
	// current holds the proposals of the entry being applied whose outcome is not known yet, applied those
	// of all entries since the last call of Applied.
	current, applied []*Proposal
}

// inFlightEntry is an entry, with the proposals whose commands it holds.
type inFlightEntry struct {
	size  int    // of its payload
	conf  bool   // a configuration change, which raft encodes
	index uint64 // 0 until raft has given it one
	term  uint64
	props []*Proposal
}

// Compose makes one raft entry of the first commands of a batch, as many as fit and at least one, and returns
// their number. Commands whose fence names another term are refused and become nil in the batch, unless
// anyLease is set. The entry is empty if none is left.
func (f *InFlight) Compose(batch []*Proposal, term uint64, anyLease bool) (entry []byte, n int) {
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
		if !anyLease && p.Fence.Term != term && p.Fence.Term != AnyTerm {
			f.queue.Finish(p, f.refusals.NotLeader())
			batch[i] = nil
			continue
		}
		entry = apply.AppendEntry(entry, p.Fence.BoundsGen, p.Command)
	}
	return entry, n
}

// Register records an entry of Compose that is about to be proposed to raft. It releases long commands, which
// the entry holds a copy of.
func (f *InFlight) Register(entry []byte, props []*Proposal) {
	for _, p := range props {
		if p != nil && len(p.Command) >= apply.LongCommand {
			p.Command = nil
		}
	}
	f.proposed = append(f.proposed, inFlightEntry{size: len(entry), props: append([]*Proposal(nil), props...)})
}

// RegisterConfChange records a configuration change that is about to be proposed to raft.
func (f *InFlight) RegisterConfChange(p *Proposal) {
	f.proposed = append(f.proposed, inFlightEntry{conf: true, props: []*Proposal{p}})
}

// Drop removes the entry that was registered last, since raft has refused it.
func (f *InFlight) Drop() { f.proposed = f.proposed[:len(f.proposed)-1] }

// Number gives the entries proposed here the index and term under which raft appended them. Raft appends them
// in the order of the proposals and before any others, since it sees no message in between.
func (f *InFlight) Number(ents []*pb.Entry) {
	for _, e := range ents {
		if len(f.proposed) == 0 {
			return
		}
		s := f.proposed[0]
		switch conf := e.GetType() != pb.EntryNormal; {
		case conf != s.conf && s.conf && len(e.GetData()) == 0:
			f.proposed = f.proposed[1:] // raft refused the change and put nothing in its place
			f.queue.FinishAll(s.props, f.refusals.Busy())
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

// Waiting returns how many of the entries proposed here are appended but not applied.
func (f *InFlight) Waiting() int { return len(f.appended) }

// Applying finds the proposals of the entry that is about to be applied, and refuses those of entries that it
// shows to be replaced.
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
		f.queue.FinishAll(s.props, f.refusals.NotLeader())
	}
}

// CommandApplied records whether the next command of the entry took effect.
func (f *InFlight) CommandApplied(effective bool) {
	// Compose has refused the proposals that are nil: the entry holds no command of theirs.
	for len(f.current) > 0 {
		p := f.current[0]
		f.current = f.current[1:]
		if p == nil {
			continue
		}
		if !effective {
			p.err = f.refusals.Mismatch()
		}
		return
	}
}

// Applied notifies the proposers of all entries applied since the last call.
func (f *InFlight) Applied() {
	for _, p := range f.applied {
		if p != nil {
			f.queue.Finish(p, p.err)
		}
	}
	clear(f.applied)
	f.applied = f.applied[:0]
}

// Expire fails the proposals of leaderships up to term, which ended a while ago, whose entries are neither
// applied nor replaced here. The next leader knows their outcomes.
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
