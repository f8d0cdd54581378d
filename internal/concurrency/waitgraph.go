package concurrency

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxVanished is how often one check searches again because the cycle it
// found came apart while it looked.
const maxVanished = 16

// BlockerSource tells whom a wait waits for. A Waiter is one; Blockers is one
// for other kinds of locks.
type BlockerSource interface {
	// AppendBlockers appends all transactions waited for at this moment. It
	// must not call the graph.
	AppendBlockers(dst []TxnID) []TxnID
}

// edgeSource is a BlockerSource with long queues: it can leave out blockers to
// which the edges of other waits lead, as long as the graph follows those.
type edgeSource interface {
	appendEdges(dst []TxnID) []TxnID
	// setTransit says whether the graph follows the edges of this wait from now on.
	setTransit(on bool)
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
// a while (Check, after about 10 ms): whichever wait of a cycle began last
// finds the cycle. It checks again from time to time (at doubling intervals),
// since a wait that ends during a search can hide what is behind it. A check
// takes time in proportion to the waits that w's depends on, about 0.1 µs each.
type WaitGraph struct {
	mu    sync.Mutex
	waits map[TxnID]*Wait // the first of a transaction's waits
	epoch uint64          // of the current search; marks visited waits
	stack []searchFrame   // reused by searches, with edges
	edges []TxnID
	// number is that of the last wait. It begins with the time, so that a wait of an
	// earlier incarnation of the node has another one.
	number uint64
	// suspect is called with waits that a check has left waiting.
	suspect func()
}

// Wait is one registered wait.
type Wait struct {
	holder   Holder
	source   BlockerSource
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

// OnSuspect has fn called by each Check that leaves its wait waiting: what it waits
// for may go on on another node. fn must not block. It is set before the first wait.
func (g *WaitGraph) OnSuspect(fn func()) { g.suspect = fn }

// Add registers that h has begun to wait for source's blockers. The caller
// ends the wait with Remove, whatever its outcome.
func (g *WaitGraph) Add(h Holder, source BlockerSource) *Wait {
	w := &Wait{holder: h, source: source, victim: make(chan struct{}), since: time.Now()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.number++
	w.number = g.number
	w.next = g.waits[h.ID]
	g.waits[h.ID] = w
	w.setTransit(true)
	return w
}

func (w *Wait) setTransit(on bool) {
	if e, ok := w.source.(edgeSource); ok {
		e.setTransit(on)
	}
}

// Remove ends the wait.
func (g *WaitGraph) Remove(w *Wait) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.setTransit(false)
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

// Cycle returns the transactions of the deadlock that the wait's transaction was
// chosen to break, each of which waits for the next and the last for the first,
// which is the victim. Call it after Victim is closed.
func (w *Wait) Cycle() []TxnID { return w.cycle }

// Len returns the number of waiting transactions.
func (g *WaitGraph) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waits)
}

// Check looks for deadlocks that w is part of. In each cycle the youngest
// transaction is notified that it is the victim (perhaps w's own); Check returns
// the victims. Transactions already chosen no longer count as waiting.
func (g *WaitGraph) Check(w *Wait) []TxnID {
	victims, alive := g.check(w)
	if alive && g.suspect != nil {
		g.suspect()
	}
	return victims
}

// check is Check here; alive says that w still waits.
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

// kill tells every wait of id that its transaction is the victim of a cycle.
func (g *WaitGraph) kill(id TxnID, cycle []TxnID) {
	for v := g.waits[id]; v != nil; v = v.next {
		if !v.isVictim {
			v.isVictim, v.cycle = true, cycle
			v.setTransit(false)
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

// confirm looks at a cycle a second time. It leaves out members that another
// one also waits for directly (so that the victim's death breaks the cycle),
// and returns the rest, beginning with the first; or nil if the cycle is gone.
//
// The waits were asked one after the other, so the cycle that the search found
// may never have existed as a whole. But each wait that is still waiting at
// the second look waited throughout the time between the two, and a waiting
// transaction neither gets nor releases a lock: an edge to it that is there
// now was there then. Only the first wait is looked at before the edge to it,
// so it is asked once more in the end.
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
