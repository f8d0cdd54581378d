package dist

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// waitSearch is one search for deadlocks: what it has found so far.
type waitSearch struct {
	d        *Deadlocks
	self     kvpb.NodeID
	waits    []concurrency.WaitReport
	reported map[waitKey]struct{}
	known    map[kvpb.TxnID]*knownTxn
	// next are the questions that are open, by node.
	next map[kvpb.NodeID]*kvpb.WaitsRequest
}

// waitKey tells waits apart.
type waitKey struct {
	node   kvpb.NodeID
	number uint64
}

// knownTxn is a transaction that the search has met.
type knownTxn struct {
	waits bool // a wait of it is known
	asked []kvpb.NodeID
}

func (s *waitSearch) txn(id kvpb.TxnID) *knownTxn {
	k := s.known[id]
	if k == nil {
		k = new(knownTxn)
		s.known[id] = k
	}
	return k
}

func (k *knownTxn) has(n kvpb.NodeID) bool {
	for _, o := range k.asked {
		if o == n {
			return true
		}
	}
	return false
}

// step asks the open questions.
func (s *waitSearch) step() {
	open := s.next
	s.next = nil
	for n, a := range s.d.askAll(open) {
		if a != nil {
			s.take(n, a)
		}
	}
}

// ask notes that a node is to be asked about a transaction, once.
func (s *waitSearch) ask(n kvpb.NodeID, id kvpb.TxnID) {
	k := s.txn(id)
	if n == 0 || k.has(n) {
		return
	}
	k.asked = append(k.asked, n)
	if s.next == nil {
		s.next = map[kvpb.NodeID]*kvpb.WaitsRequest{}
	}
	if s.next[n] == nil {
		s.next[n] = new(kvpb.WaitsRequest)
	}
	if q := s.next[n]; len(q.Txns) < maxAsked {
		q.Txns = append(q.Txns, id)
	}
}

// take takes in what a node says. Of who blocks and does not wait there, the gateway
// knows where it waits.
func (s *waitSearch) take(n kvpb.NodeID, a *kvpb.WaitsResponse) {
	fresh := make([]kvpb.TxnID, 0, len(a.Waits))
	for i := range a.Waits {
		w := &a.Waits[i]
		if _, ok := s.reported[waitKey{n, w.Number}]; ok {
			continue
		}
		s.reported[waitKey{n, w.Number}] = struct{}{}
		k := s.txn(w.Txn)
		k.waits = true
		if !k.has(n) {
			k.asked = append(k.asked, n)
		}
		r := concurrency.WaitReport{
			Node: uint64(n), Txn: concurrency.TxnID(w.Txn), Start: w.StartTS, Number: w.Number,
			Blockers: make([]concurrency.TxnID, len(w.Blockers)),
		}
		for j, b := range w.Blockers {
			r.Blockers[j] = concurrency.TxnID(b)
		}
		s.waits = append(s.waits, r)
		fresh = append(fresh, w.Blockers...)
	}
	for _, w := range a.RemoteWaits {
		if !s.txn(w.Txn).waits {
			s.ask(w.Node, w.Txn)
		}
	}
	for _, b := range fresh {
		k := s.txn(b)
		if k.waits {
			continue
		}
		if !k.has(n) {
			k.asked = append(k.asked, n) // the answer says all that n knows of it
		}
		s.ask(b.Gateway(), b)
	}
}
