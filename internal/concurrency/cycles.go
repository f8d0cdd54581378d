package concurrency

import (
	"cmp"
	"slices"
)

// Deadlock is a cycle of waits. Each transaction waits for that of the next wait, and the last for
// that of the first, which is the victim.
type Deadlock []WaitReport

// maxStarts bounds the transactions from which one step searches for a shortest cycle.
const maxStarts = 256

// Deadlocks returns cycles among waits that several nodes report; the abort of their victims leaves
// no cycle. The result depends only on the set of reports: all nodes that see the same waits choose
// the same victims.
//
// The shortest cycle comes first, so that each of its waits is needed for it: a shortcut would make
// a shorter cycle. Its youngest transaction is the victim.
func Deadlocks(waits []WaitReport) []Deadlock {
	g := newReportGraph(waits)
	var out []Deadlock
	for {
		cycle := g.shortest()
		if cycle == nil {
			return out
		}
		victim := 0
		for i := range cycle {
			if cycle[i].holder().youngerThan(cycle[victim].holder()) {
				victim = i
			}
		}
		d := append(Deadlock(nil), cycle[victim:]...)
		out = append(out, append(d, cycle[:victim]...))
		g.remove(cycle[victim].Txn)
	}
}

// reportGraph is the graph of reported waits: its points are waiting transactions.
type reportGraph struct {
	ids   []TxnID // sorted
	waits map[TxnID][]*WaitReport
}

func newReportGraph(waits []WaitReport) *reportGraph {
	g := &reportGraph{waits: map[TxnID][]*WaitReport{}}
	for i := range waits {
		w := &waits[i]
		if len(g.waits[w.Txn]) == 0 {
			g.ids = append(g.ids, w.Txn)
		}
		g.waits[w.Txn] = append(g.waits[w.Txn], w)
	}
	slices.SortFunc(g.ids, TxnID.compare)
	for _, ws := range g.waits {
		slices.SortFunc(ws, func(a, b *WaitReport) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Number, b.Number))
		})
	}
	g.prune()
	return g
}

func (id TxnID) compare(o TxnID) int {
	return cmp.Or(cmp.Compare(id.Hi, o.Hi), cmp.Compare(id.Lo, o.Lo))
}

func (g *reportGraph) remove(id TxnID) {
	delete(g.waits, id)
	g.prune()
}

// prune repeatedly removes transactions that wait for no waiting transaction: most waits end at a
// transaction that runs.
func (g *reportGraph) prune() {
	for again := true; again; {
		again = false
		g.ids = slices.DeleteFunc(g.ids, func(id TxnID) bool {
			for _, w := range g.waits[id] {
				for _, b := range w.Blockers {
					if len(g.waits[b]) > 0 {
						return false
					}
				}
			}
			again = true
			delete(g.waits, id)
			return true
		})
	}
}

// shortest returns the waits of a shortest cycle, nil if there is none.
func (g *reportGraph) shortest() []WaitReport {
	var best []WaitReport
	for i, id := range g.ids {
		if i == maxStarts && best != nil {
			break
		}
		if c := g.cycleThrough(id, len(best)); c != nil {
			best = c
		}
		if len(best) == 2 || len(best) == 1 { // 1: a transaction that waits for itself
			break
		}
	}
	return best
}

// cycleThrough returns a shortest cycle through start if it has fewer than limit waits (0: any number).
func (g *reportGraph) cycleThrough(start TxnID, limit int) []WaitReport {
	type step struct {
		txn  TxnID
		via  *WaitReport // the wait that leads here
		from int         // index of the step before
		far  int
	}
	steps := []step{{txn: start, from: -1}}
	seen := map[TxnID]struct{}{start: {}}
	for at := 0; at < len(steps); at++ {
		s := steps[at]
		if limit > 0 && s.far+1 >= limit {
			return nil
		}
		for _, w := range g.waits[s.txn] {
			for _, b := range sorted(w.Blockers) {
				if b == start {
					cycle := []WaitReport{*w}
					for i := at; steps[i].via != nil; i = steps[i].from {
						cycle = append(cycle, *steps[i].via)
					}
					slices.Reverse(cycle)
					return cycle
				}
				if _, ok := seen[b]; ok || len(g.waits[b]) == 0 {
					continue
				}
				seen[b] = struct{}{}
				steps = append(steps, step{txn: b, via: w, from: at, far: s.far + 1})
			}
		}
	}
	return nil
}

func sorted(ids []TxnID) []TxnID {
	if slices.IsSortedFunc(ids, TxnID.compare) {
		return ids
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, TxnID.compare)
	return ids
}
