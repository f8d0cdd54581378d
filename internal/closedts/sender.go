package closedts

import (
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// maxItems bounds the ranges in one message. Others follow in the next.
const maxItems = 4096

// Sender composes the messages of a store to other nodes about the ranges that it leads. Its owner guards it with
// a mutex.
type Sender struct {
	tracked map[kvpb.RangeID]trackedRange
	streams map[kvpb.NodeID]*outStream
}

// trackedRange is a range whose closed timestamp rises with the store's.
type trackedRange struct {
	index uint64
	peers []kvpb.NodeID
}

// outStream is the stream of messages to a node.
//
//	         a message is lost               the node asks, or receives again
//	[whole] ──────────────────► [whole, lost] ───────────────────────────► [whole]
//	   │ everything was sent          ▲
//	   ▼                              │ a message is lost
//	[news only] ──────────────────────┘
type outStream struct {
	seq     uint64
	tracked int // ranges with a replica there
	// whole says that the node needs everything again, lost that no message reaches it.
	whole, lost bool
	next        Message
}

// NewSender returns a Sender.
func NewSender() *Sender {
	return &Sender{tracked: map[kvpb.RangeID]trackedRange{}, streams: map[kvpb.NodeID]*outStream{}}
}

// Track says that nothing commits in a range after an index, at or below the timestamp of each message.
func (s *Sender) Track(id kvpb.RangeID, index uint64, peers []kvpb.NodeID) {
	s.tracked[id] = trackedRange{index, peers}
	for _, n := range peers {
		st := s.stream(n)
		st.tracked++
		if !st.lost && !st.whole {
			st.next.Added = append(st.next.Added, Item{Range: id, Index: index})
		}
	}
}

// Untrack ends what Track began, before the next message (invariant 3).
func (s *Sender) Untrack(id kvpb.RangeID) {
	t := s.tracked[id]
	delete(s.tracked, id)
	for _, n := range t.peers {
		st := s.streams[n]
		st.tracked--
		if !st.lost && !st.whole {
			st.next.Removed = append(st.next.Removed, id)
		}
	}
}

// Say makes a statement about a range that is not tracked.
func (s *Sender) Say(k Item, peers []kvpb.NodeID) {
	for _, n := range peers {
		if st := s.stream(n); !st.lost {
			st.next.Active = append(st.next.Active, k)
		}
	}
}

// Resend makes the next message to a node contain everything, since the node has missed a message.
func (s *Sender) Resend(n kvpb.NodeID) {
	if st := s.streams[n]; st != nil {
		st.whole, st.lost = true, false
	}
}

func (s *Sender) stream(n kvpb.NodeID) *outStream {
	st := s.streams[n]
	if st == nil {
		st = &outStream{whole: true}
		s.streams[n] = st
	}
	return st
}

// Flush sends the pending messages. from names the store and its process, closed is the new timestamp of all
// tracked ranges. send returns false if a message is certainly lost. A node that no message reaches gets an empty
// one, so that it asks for everything when it is back.
func (s *Sender) Flush(from Message, closed hlc.Timestamp, send func(kvpb.NodeID, *Message) bool) {
	for n, st := range s.streams {
		m := &st.next
		if st.tracked == 0 && len(m.Removed)+len(m.Active) == 0 && !st.whole {
			continue // nothing of it rises
		}
		// A node that learns of only some of the removed ranges would raise the timestamp of the others.
		st.whole = st.whole || len(m.Removed) > maxItems
		if st.whole && !st.lost {
			m.Reset, m.Removed, m.Added = true, nil, s.trackedFor(n)
		}
		for first := true; first || len(m.Removed)+len(m.Added)+len(m.Active) > 0; first = false {
			part := m.take(maxItems)
			st.seq++
			part.Store, part.Process, part.Seq, part.Closed = from.Store, from.Process, st.seq, closed
			part.Reset = first && m.Reset
			if !send(n, &part) {
				st.lost, st.whole = true, true
				break
			}
			if st.lost { // the node may be back, and will ask
				st.lost = false
				break
			}
			st.whole = false
		}
		*m = Message{}
	}
}

// trackedFor lists the tracked ranges that have a replica on a node.
func (s *Sender) trackedFor(n kvpb.NodeID) []Item {
	var out []Item
	for id, t := range s.tracked {
		if slices.Contains(t.peers, n) {
			out = append(out, Item{Range: id, Index: t.index})
		}
	}
	slices.SortFunc(out, func(a, b Item) int { return int(a.Range) - int(b.Range) })
	return out
}
