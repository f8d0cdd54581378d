package dist

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// waitSearch is one search for deadlocks, with what it has found so far.
type waitSearch struct {
	d        *Deadlocks
	self     kvpb.NodeID
	waits    []concurrency.WaitReport
	reported map[waitKey]struct{}
	known    map[kvpb.TxnID]*knownTxn
	// next are the requests to send next, by node.
	next map[kvpb.NodeID]*kvpb.WaitsRequest
}

// waitKey identifies a wait.
type waitKey struct {
	node   kvpb.NodeID
	number uint64
}

// knownTxn is a transaction that the search knows of.
type knownTxn struct {
	waits bool // the search knows a wait of it
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

// step sends the next requests and adds the answers.
func (s *waitSearch) step() {
	requests := s.next
	s.next = nil
	for n, a := range s.d.askAll(requests) {
		if a != nil {
			s.add(n, a)
		}
	}
}

// ask adds a transaction to the next request to a node, unless the search has asked that node before.
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

// add adds a node's answer. A blocker that does not wait on that node may wait on another: the blocker's
// gateway knows where, so the search asks it next.
func (s *waitSearch) add(n kvpb.NodeID, a *kvpb.WaitsResponse) {
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
			k.asked = append(k.asked, n) // n knows no more of it than this answer says
		}
		s.ask(b.Gateway(), b)
	}
}
