package concurrency

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxVanished is how often one check searches again because the cycle it
// found came apart while it looked.
const maxVanished = 16

// BlockerSource tells whom a wait waits for at this moment. A Waiter is one;
// Blockers is one for other kinds of locks.
type BlockerSource interface {
	// AppendBlockers appends the transactions waited for, at least so many
	// that the edges of registered waits lead to the rest. It must not call
	// the graph.
	AppendBlockers(dst []TxnID) []TxnID
}

// Blockers is a BlockerSource whose list is given explicitly.
type Blockers struct{ ids atomic.Pointer[[]TxnID] }

// NewBlockers returns a source with the given list.
func NewBlockers(ids ...TxnID) *Blockers {
	b := new(Blockers)
	b.Set(ids...)
	return b
}

// Set replaces the list.
func (b *Blockers) Set(ids ...TxnID) {
	ids = slices.Clone(ids)
	b.ids.Store(&ids)
}

// AppendBlockers implements BlockerSource.
func (b *Blockers) AppendBlockers(dst []TxnID) []TxnID { return append(dst, *b.ids.Load()...) }

// WaitGraph finds deadlocks among the waits registered with it, of any number
// of lock tables and other kinds of locks. It keeps no edges: a check asks the
// waits for their blockers of that moment.
//
// Every wait is registered when it begins (Add) and checked once it has lasted
// a while (Check, after about 10 ms); whichever wait of a cycle began last
// finds the cycle, so one check would do, but a waiter checks again from time
// to time as edges can move between two checks.
type WaitGraph struct {
	mu    sync.Mutex
	waits map[TxnID]*Wait // the first of a transaction's waits
	epoch uint64          // of the current search; marks visited waits
	stack []searchFrame   // reused by searches, with edges
	edges []TxnID
}

// Wait is one registered wait.
type Wait struct {
	holder   Holder
	source   BlockerSource
	next     *Wait // of the same transaction
	visited  uint64
	isVictim bool
	victim   chan struct{}
}

// searchFrame is a wait on the search path; its unexplored edges are
// WaitGraph.edges[from:to].
type searchFrame struct {
	wait     *Wait
	from, to int
}

// NewWaitGraph returns an empty graph.
func NewWaitGraph() *WaitGraph { return &WaitGraph{waits: map[TxnID]*Wait{}} }

// Add registers that h has begun to wait for source's blockers. The caller
// ends the wait with Remove, whatever its outcome.
func (g *WaitGraph) Add(h Holder, source BlockerSource) *Wait {
	w := &Wait{holder: h, source: source, victim: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	w.next = g.waits[h.ID]
	g.waits[h.ID] = w
	return w
}

// Remove ends the wait.
func (g *WaitGraph) Remove(w *Wait) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := w.holder.ID
	if g.waits[id] == w {
		if w.next == nil {
			delete(g.waits, id)
		} else {
			g.waits[id] = w.next
		}
		return
	}
	for v := g.waits[id]; v != nil; v = v.next {
		if v.next == w {
			v.next = w.next
			return
		}
	}
}

// Victim is closed when the wait's transaction was chosen to die in a
// deadlock: the waiter gives up and the transaction is rolled back.
func (w *Wait) Victim() <-chan struct{} { return w.victim }

// Len returns the number of waiting transactions.
func (g *WaitGraph) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waits)
}

// Check looks for deadlocks that w is part of. In each cycle the youngest
// transaction is told that it is the victim (perhaps w's own); Check returns
// the victims. Transactions already chosen no longer count as waiting.
func (g *WaitGraph) Check(w *Wait) []TxnID {
	g.mu.Lock()
	defer g.mu.Unlock()
	var victims []TxnID
	for vanished := 0; !w.isVictim && vanished < maxVanished; {
		cycle := g.findCycle(w)
		if cycle == nil {
			break
		}
		if !g.confirm(cycle) {
			vanished++
			continue
		}
		victim := cycle[0].wait
		for _, f := range cycle[1:] {
			if f.wait.holder.youngerThan(victim.holder) {
				victim = f.wait
			}
		}
		g.kill(victim.holder.ID)
		victims = append(victims, victim.holder.ID)
	}
	return victims
}

// kill tells every wait of id that its transaction is a victim.
func (g *WaitGraph) kill(id TxnID) {
	for v := g.waits[id]; v != nil; v = v.next {
		if !v.isVictim {
			v.isVictim = true
			close(v.victim)
		}
	}
}

// findCycle searches depth-first from w for a way back to its transaction; it
// returns the path, or nil. The path is valid until the next search.
func (g *WaitGraph) findCycle(w *Wait) []searchFrame {
	g.epoch++
	g.stack, g.edges = g.stack[:0], g.edges[:0]
	g.push(w)
	for len(g.stack) > 0 {
		top := &g.stack[len(g.stack)-1]
		if top.from == top.to {
			g.pop()
			continue
		}
		id := g.edges[top.from]
		top.from++
		if id == w.holder.ID {
			return g.stack
		}
		g.pushWaitsOf(id)
	}
	return nil
}

// pushWaitsOf continues the search with a wait of id that was not visited. A
// transaction with several waits is pushed once per wait: its parent's edge
// is put back for the next one.
func (g *WaitGraph) pushWaitsOf(id TxnID) {
	for v := g.waits[id]; v != nil; v = v.next {
		if v.visited == g.epoch || v.isVictim {
			continue
		}
		if v.next != nil {
			g.stack[len(g.stack)-1].from--
		}
		g.push(v)
		return
	}
}

// push makes w the end of the search path.
func (g *WaitGraph) push(w *Wait) {
	w.visited = g.epoch
	from := len(g.edges)
	g.edges = w.source.AppendBlockers(g.edges)
	g.stack = append(g.stack, searchFrame{wait: w, from: from, to: len(g.edges)})
}

// pop leaves the end of the search path, whose edges are all explored.
func (g *WaitGraph) pop() {
	top := len(g.stack) - 1
	g.stack = g.stack[:top]
	if top > 0 {
		g.edges = g.edges[:g.stack[top-1].to]
	} else {
		g.edges = g.edges[:0]
	}
}

// confirm reads the cycle's edges again. The waits were asked one after the
// other, so the cycle may never have existed as a whole; but if every wait
// still waits for the next, all of them waited throughout the time between
// the two looks, and a waiting transaction releases nothing.
func (g *WaitGraph) confirm(cycle []searchFrame) bool {
	var edges []TxnID
	for i, f := range cycle {
		next := cycle[(i+1)%len(cycle)].wait.holder.ID
		edges = f.wait.source.AppendBlockers(edges[:0])
		if !slices.Contains(edges, next) {
			return false
		}
	}
	return true
}
