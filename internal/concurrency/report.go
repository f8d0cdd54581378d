package concurrency

import (
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// WaitReport is one wait as reported to other nodes.
type WaitReport struct {
	// Node is where the wait is; the receiver of the report fills it in.
	Node  uint64
	Txn   TxnID
	Start hlc.Timestamp // of the transaction
	// Number identifies the wait: no other wait on the node has had it.
	Number   uint64
	Blockers []TxnID
}

func (r *WaitReport) holder() Holder { return Holder{ID: r.Txn, Start: r.Start} }

// For reports whether the wait is for id.
func (r *WaitReport) For(id TxnID) bool { return slices.Contains(r.Blockers, id) }

// Stale returns the transactions that have waited for at least age. It reports
// whether any transaction waits at all.
func (g *WaitGraph) Stale(age time.Duration) (ids []TxnID, some bool) {
	old := time.Now().Add(-age)
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, w := range g.waits {
		for ; w != nil; w = w.next {
			if !w.isVictim && !w.since.After(old) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids, len(g.waits) > 0
}

// Report returns the waits of transactions and of all that they wait for, directly or not, as far
// as those wait on this node: at most limit waits with limit blockers in all. For a long queue it
// omits blockers that are reachable through others in the queue.
func (g *WaitGraph) Report(ids []TxnID, limit int) []WaitReport {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []WaitReport
	seen := make(map[TxnID]struct{}, len(ids))
	queue := slices.Clone(ids)
	edges := 0
	for len(queue) > 0 && edges < limit {
		id := queue[0]
		queue = queue[1:]
		if _, ok := seen[id]; ok {
			continue
		}
		seen[id] = struct{}{}
		for w := g.waits[id]; w != nil && len(out) < limit; w = w.next {
			if w.isVictim {
				continue
			}
			r := w.report(false)
			if edges += len(r.Blockers); len(r.Blockers) > 0 && edges <= limit {
				out = append(out, r)
				queue = append(queue, r.Blockers...)
			}
		}
	}
	return out
}

// Exact returns the waits of transactions with all their blockers, for at most limit waits.
func (g *WaitGraph) Exact(ids []TxnID, limit int) []WaitReport {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []WaitReport
	for _, id := range ids {
		for w := g.waits[id]; w != nil && len(out) < limit; w = w.next {
			if !w.isVictim {
				out = append(out, w.report(true))
			}
		}
	}
	return out
}

func (w *Wait) report(exact bool) WaitReport {
	r := WaitReport{Txn: w.holder.ID, Start: w.holder.Start, Number: w.number}
	if e, ok := w.source.(edgeSource); ok && !exact {
		r.Blockers = e.appendEdges(nil)
	} else {
		r.Blockers = w.source.AppendBlockers(nil)
	}
	return r
}

// Kill notifies a transaction that it is the victim of a cycle, which begins with it, if it still is in
// the wait with that number. It reports whether it has notified it.
func (g *WaitGraph) Kill(id TxnID, number uint64, cycle []TxnID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for w := g.waits[id]; w != nil; w = w.next {
		if w.number == number && !w.isVictim && len(w.source.AppendBlockers(nil)) > 0 {
			g.kill(id, cycle)
			return true
		}
	}
	return false
}

// ListedWait is a wait in the form that operators see.
type ListedWait struct {
	Txn      TxnID
	Since    time.Time
	Blockers []TxnID
}

// List returns the waits on this node, at most limit, each with at most limit blockers.
func (g *WaitGraph) List(limit int) []ListedWait {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []ListedWait
	for id, w := range g.waits {
		for ; w != nil && len(out) < limit; w = w.next {
			if w.isVictim {
				continue
			}
			b := w.source.AppendBlockers(nil)
			out = append(out, ListedWait{Txn: id, Since: w.since, Blockers: b[:min(len(b), limit)]})
		}
	}
	return out
}
