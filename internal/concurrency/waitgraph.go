package concurrency

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxVanished bounds how often one check searches again because the cycle that it found did not
// exist any more when it was confirmed.
const maxVanished = 16

// BlockerSource knows the blockers of a wait: the transactions that it waits for. A Waiter is one;
// Blockers is one for other kinds of locks.
type BlockerSource interface {
	// AppendBlockers appends all blockers of this moment. It must not call the graph.
	AppendBlockers(dst []TxnID) []TxnID
}

// edgeSource is a BlockerSource with long queues. It leaves out blockers to which the edges of
// other waits lead, if those waits are in the graph.
type edgeSource interface {
	appendEdges(dst []TxnID) []TxnID
	// setInGraph says whether this wait is in a graph from now on.
	setInGraph(in bool)
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

// WaitGraph finds deadlocks among the waits that are registered with it, of any number of lock tables
// and of other kinds of locks. It keeps no edges: a check asks the waits for their blockers.
//
// Add registers a wait when it begins. Check searches from a wait once that has lasted about 10 ms:
// the last wait of a cycle to be checked finds the cycle. Later checks follow at doubling intervals,
// since a search can miss a cycle behind a wait that ends during the search. A check takes about
// 0.1 µs for each wait on which w depends.
type WaitGraph struct {
	mu    sync.Mutex
	waits map[TxnID]*Wait // the first of a transaction's waits
	epoch uint64          // of the current search; marks visited waits
	stack []searchFrame   // reused by searches, with edges
	edges []TxnID
	// number is that of the last wait. The first one is the time, so that no incarnation of the
	// node repeats the numbers of an earlier one.
	number  uint64
	suspect func() // see OnSuspect
	log     WaitLog
}

// Wait is one registered wait.
type Wait struct {
	holder   Holder
	source   BlockerSource
	first    []TxnID // blockers when it began
	number   uint64
	since    time.Time
	next     *Wait // of the same transaction
	visited  uint64
	isVictim bool
	victim   chan struct{}
	cycle    []TxnID // set before victim is closed
}

// searchFrame is a wait on the search path; its unexplored edges are
// WaitGraph.edges[from:to].
type searchFrame struct {
	wait     *Wait
	from, to int
}

// NewWaitGraph returns an empty graph.
func NewWaitGraph() *WaitGraph {
	return &WaitGraph{waits: map[TxnID]*Wait{}, number: uint64(time.Now().UnixNano())}
}

// OnSuspect has each Check call fn if it leaves its wait waiting: the wait may be part of a cycle
// over several nodes. fn must not block. It is set before the first wait.
func (g *WaitGraph) OnSuspect(fn func()) { g.suspect = fn }

// Add registers that h has begun to wait for source's blockers. The caller
// ends the wait with Remove, whatever its outcome.
func (g *WaitGraph) Add(h Holder, source BlockerSource) *Wait {
	w := &Wait{holder: h, source: source, first: blockersAtFirst(source), victim: make(chan struct{}), since: time.Now()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number++
	w.number = g.number
	w.next = g.waits[h.ID]
	g.waits[h.ID] = w
	w.setInGraph(true)
	return w
}

func (w *Wait) setInGraph(in bool) {
	if e, ok := w.source.(edgeSource); ok {
		e.setInGraph(in)
	}
}

// Remove ends the wait.
func (g *WaitGraph) Remove(w *Wait) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.setInGraph(false)
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

// Victim is closed when the wait's transaction was chosen as the victim of a deadlock. The waiter
// gives up, and the transaction is rolled back.
func (w *Wait) Victim() <-chan struct{} { return w.victim }

// Cycle returns the transactions of the deadlock whose victim is the wait's transaction. Each waits
// for the next one, and the last for the first, which is the victim. Call it after Victim is closed.
func (w *Wait) Cycle() []TxnID { return w.cycle }

// Len returns the number of waiting transactions.
func (g *WaitGraph) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waits)
}

// Check looks for deadlocks that w is part of. In each cycle it notifies the youngest transaction,
// perhaps w's own, that it is the victim. It returns the victims. A transaction that was chosen before
// no longer counts as waiting.
func (g *WaitGraph) Check(w *Wait) []TxnID {
	victims, alive := g.check(w)
	if alive && g.suspect != nil {
		g.suspect()
	}
	return victims
}

// check is Check on this node alone. It also reports whether w still waits.
func (g *WaitGraph) check(w *Wait) (victims []TxnID, alive bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for vanished := 0; !w.isVictim && vanished < maxVanished; {
		cycle := g.findCycle(w)
		if cycle == nil {
			break
		}
		members := g.confirm(cycle)
		if members == nil {
			vanished++
			continue
		}
		victim := slices.MaxFunc(members, func(a, b Holder) int {
			if a.youngerThan(b) {
				return 1
			}
			return -1
		})
		g.kill(victim.ID, cycleFrom(members, victim.ID))
		victims = append(victims, victim.ID)
	}
	return victims, !w.isVictim
}

// cycleFrom returns the ids of a cycle, beginning with first.
func cycleFrom(members []Holder, first TxnID) []TxnID {
	at := slices.IndexFunc(members, func(h Holder) bool { return h.ID == first })
	ids := make([]TxnID, 0, len(members))
	for i := range members {
		ids = append(ids, members[(at+i)%len(members)].ID)
	}
	return ids
}

// kill notifies every wait of id that its transaction is the victim of a cycle.
func (g *WaitGraph) kill(id TxnID, cycle []TxnID) {
	for v := g.waits[id]; v != nil; v = v.next {
		if !v.isVictim {
			v.isVictim, v.cycle = true, cycle
			v.setInGraph(false)
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

// pushWaitsOf continues the search with a wait of id that was not visited. If a transaction has
// several waits, the edge to it stays with its parent, so that the search returns to the next one.
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
	if e, ok := w.source.(edgeSource); ok {
		g.edges = e.appendEdges(g.edges)
	} else {
		g.edges = w.source.AppendBlockers(g.edges)
	}
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

// confirm looks at a cycle a second time. It returns its members, beginning with the first, or nil if
// the cycle is gone. Where a member also waits directly for a later one, confirm leaves out those in
// between: the rest is a cycle without shortcuts, which the victim's end breaks.
//
// The search asked the waits one after the other, so that the cycle that it found may never have
// existed as a whole. But a wait that still waits at the second look has waited throughout the time
// between the two looks. A waiting transaction neither gets nor releases a lock. So an edge to it that
// is there at the second look was there at the first. Only the first wait is asked before the edge to
// it is, so confirm asks it once more in the end.
func (g *WaitGraph) confirm(cycle []searchFrame) []Holder {
	index := make(map[TxnID]int, len(cycle)) // place in the cycle; the way back to the first is the last place
	for i, f := range cycle[1:] {
		index[f.wait.holder.ID] = i + 1
	}
	index[cycle[0].wait.holder.ID] = len(cycle)
	var members []Holder
	var edges []TxnID
	for i := 0; i < len(cycle); {
		w, next := cycle[i].wait, 0
		edges = w.source.AppendBlockers(edges[:0])
		for _, id := range edges {
			next = max(next, index[id])
		}
		if next <= i {
			return nil
		}
		members = append(members, w.holder)
		i = next
	}
	if len(cycle[0].wait.source.AppendBlockers(edges[:0])) == 0 {
		return nil
	}
	return members
}
