package dist

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/rpc"
)

// MethodWaits is the method of requests for waits-for edges.
const MethodWaits = rpc.MethodWaits

// Limits of the search for deadlocks across nodes.
const (
	// staleAfter is how long a transaction waits before the search follows its wait to other nodes.
	staleAfter = 50 * time.Millisecond
	// searchEvery is the interval between two searches.
	searchEvery = 50 * time.Millisecond
	// The pause after a search is at least searchShare times as long as the search.
	searchShare = 5
	// searchTimeout bounds one request to another node. A node that does not answer gets no requests for
	// minNodeBackoff, and then up to maxNodeBackoff, so that it does not delay every search.
	searchTimeout  = 500 * time.Millisecond
	minNodeBackoff = 100 * time.Millisecond
	maxNodeBackoff = 3 * time.Second
	// maxSteps bounds the hops of a search from node to node. maxWaits bounds the waits in one answer, and
	// in a search.
	maxSteps = 64
	maxWaits = 4096
	// maxAsked bounds the transactions in one request.
	maxAsked = 4096
)

// remoteWaits are the nodes that have not answered a lock request yet, by the transactions of this gateway
// that sent it.
type remoteWaits struct {
	mu sync.Mutex
	at map[kvpb.TxnID][]kvpb.NodeID
}

func (w *remoteWaits) begin(id kvpb.TxnID, n kvpb.NodeID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at == nil {
		w.at = map[kvpb.TxnID][]kvpb.NodeID{}
	}
	w.at[id] = append(w.at[id], n)
}

func (w *remoteWaits) end(id kvpb.TxnID, n kvpb.NodeID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	nodes := w.at[id]
	if len(nodes) == 1 {
		delete(w.at, id)
	} else {
		w.at[id] = slices.DeleteFunc(nodes, func(o kvpb.NodeID) bool { return o == n })
	}
}

// RemoteWait records that a transaction of this gateway has sent a lock request to another node and may wait
// there, until done is called. A transaction may wait on several nodes, at most once on each.
func (d *Deadlocks) RemoteWait(id kvpb.TxnID, n kvpb.NodeID) (done func()) {
	d.remote.begin(id, n)
	return func() { d.remote.end(id, n) }
}

// Deadlocks finds deadlocks whose waits are on several nodes. Each node searches from its own waits, and
// aborts a victim only if the victim waits there. This suffices: every node with a wait of the cycle finds
// the cycle and chooses the same victim.
//
// To find where a transaction waits, the search asks its gateway, which the transaction's id names. A cycle
// counts as a deadlock only if a second and a third reading show the same waits for the same transactions,
// and the gateways still wait for the answers.
type Deadlocks struct {
	node   func() kvpb.NodeID
	waits  *concurrency.WaitGraph
	caller Caller
	remote remoteWaits
	found  func(concurrency.Deadlock) // called for each deadlock before the victim is notified; for tests
	over   atomic.Pointer[func(kvpb.TxnID) bool]

	mu       sync.Mutex
	running  bool
	closed   bool
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	backoffs map[kvpb.NodeID]nodeBackoff
}

// nodeBackoff is the time for which a node that did not answer gets no requests.
type nodeBackoff struct {
	until time.Time
	last  time.Duration
}

// NewDeadlocks returns a detector for the waits of a node. Config.Deadlocks connects it with a
// Router, Serve with the other nodes.
func NewDeadlocks(node func() kvpb.NodeID, waits *concurrency.WaitGraph, c Caller) *Deadlocks {
	d := &Deadlocks{node: node, waits: waits, caller: c, backoffs: map[kvpb.NodeID]nodeBackoff{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	waits.OnSuspect(d.Suspect)
	return d
}

// Suspect starts the search, which continues as long as this node has waits. It does not block.
func (d *Deadlocks) Suspect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running || d.closed {
		return
	}
	d.running = true
	d.wg.Go(d.run)
}

// Close stops the search.
func (d *Deadlocks) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.cancel()
	d.wg.Wait()
}

func (d *Deadlocks) run() {
	wait := time.NewTimer(searchEvery)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-d.ctx.Done():
			return
		}
		began := time.Now()
		stale, some := d.waits.Stale(staleAfter)
		if len(stale) > 0 {
			d.search(stale)
		}
		if !some && d.stopIfIdle() {
			return
		}
		// A search of long queues takes long. The pause limits its share of the processor.
		wait.Reset(max(searchEvery, min(searchShare*time.Since(began), searchTimeout)))
	}
}

// stopIfIdle ends the search unless a wait has begun meanwhile, and reports whether it did.
func (d *Deadlocks) stopIfIdle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = d.waits.Len() > 0
	return !d.running
}

// search looks for deadlocks among the stale waits, and aborts the victims that wait here.
func (d *Deadlocks) search(stale []concurrency.TxnID) {
	s := &waitSearch{d: d, self: d.node(), known: map[kvpb.TxnID]*knownTxn{}, reported: map[waitKey]struct{}{}}
	s.add(s.self, d.answer(&kvpb.WaitsRequest{Txns: kvIDs(stale)}))
	if len(s.next) == 0 {
		return // all their waits are local, and the local graph finds those cycles
	}
	for range maxSteps {
		if len(s.next) == 0 || len(s.waits) >= maxWaits || d.ctx.Err() != nil {
			break
		}
		s.step()
	}
	for _, dead := range concurrency.Deadlocks(s.waits) {
		v := &dead[0]
		if v.Node != uint64(s.self) || onOneNode(dead) {
			continue
		}
		if d.confirmTwice(dead) {
			if d.found != nil {
				d.found(dead)
			}
			d.waits.Kill(v.Txn, v.Number, cycleOf(dead))
		}
	}
}

// onOneNode reports whether all waits are on one node. Then that node's own graph finds the cycle.
func onOneNode(dead concurrency.Deadlock) bool {
	for i := range dead {
		if dead[i].Node != dead[0].Node {
			return false
		}
	}
	return true
}

func cycleOf(dead concurrency.Deadlock) []concurrency.TxnID {
	ids := make([]concurrency.TxnID, len(dead))
	for i := range dead {
		ids[i] = dead[i].Txn
	}
	return ids
}

func kvIDs(ids []concurrency.TxnID) []kvpb.TxnID {
	out := make([]kvpb.TxnID, len(ids))
	for i, id := range ids {
		out[i] = kvpb.TxnID(id)
	}
	return out
}

// answer executes a request of this node or of another.
func (d *Deadlocks) answer(req *kvpb.WaitsRequest) *kvpb.WaitsResponse {
	ids := make([]concurrency.TxnID, 0, len(req.Txns))
	for _, id := range req.Txns {
		ids = append(ids, concurrency.TxnID(id))
	}
	var reports []concurrency.WaitReport
	if req.Exact {
		reports = d.waits.Exact(ids, maxWaits)
	} else {
		reports = d.waits.Report(ids, maxWaits)
	}
	resp := &kvpb.WaitsResponse{Waits: make([]kvpb.Wait, 0, len(reports))}
	asked := map[kvpb.TxnID]struct{}{}
	for _, id := range req.Txns {
		asked[id] = struct{}{}
	}
	for i := range reports {
		r := &reports[i]
		w := kvpb.Wait{Txn: kvpb.TxnID(r.Txn), StartTS: r.Start, Number: r.Number, Blockers: kvIDs(r.Blockers)}
		resp.Waits = append(resp.Waits, w)
		if !req.Exact {
			for _, b := range w.Blockers {
				asked[b] = struct{}{}
			}
		}
	}
	if req.Exact {
		resp.Ended = d.ended(req.Txns)
	}
	d.remote.mu.Lock()
	defer d.remote.mu.Unlock()
	for id := range asked {
		for _, n := range d.remote.at[id] {
			resp.RemoteWaits = append(resp.RemoteWaits, kvpb.RemoteWait{Txn: id, Node: n})
		}
	}
	return resp
}

// SetFinalized sets the function that reports whether a transaction of this gateway has ended.
func (d *Deadlocks) SetFinalized(over func(kvpb.TxnID) bool) { d.over.Store(&over) }

// Finalized asks the gateway of a transaction whether it has ended. It returns false without an answer.
func (d *Deadlocks) Finalized(id kvpb.TxnID) bool {
	a := d.ask(id.Gateway(), &kvpb.WaitsRequest{Txns: []kvpb.TxnID{id}, Exact: true})
	return a != nil && slices.Contains(a.Ended, id)
}

// ended returns those of ids that are transactions of this gateway and have ended.
func (d *Deadlocks) ended(ids []kvpb.TxnID) (over []kvpb.TxnID) {
	is := d.over.Load()
	if is == nil {
		return nil
	}
	self := d.node()
	for _, id := range ids {
		if id.Gateway() == self && (*is)(id) {
			over = append(over, id)
		}
	}
	return over
}

// Serve executes a request of another node.
func (d *Deadlocks) Serve(payload []byte) ([]byte, error) {
	op, _, body, err := kvwire.DecodeRequest(payload)
	if err == nil && op != kvwire.OpWaits {
		err = kvwire.ErrDamaged
	}
	var req kvpb.WaitsRequest
	if err == nil {
		err = kvwire.DecodeWaits(body, &req)
	}
	if err == nil && len(req.Txns) > maxAsked {
		err = kvwire.ErrDamaged
	}
	if err != nil {
		return kvwire.AppendFailure(nil, err), nil
	}
	return kvwire.AppendWaitsResponse(kvwire.AppendOK(nil), d.answer(&req)), nil
}

// ask sends a request to a node, possibly this one. It returns nil if there is no answer.
func (d *Deadlocks) ask(n kvpb.NodeID, req *kvpb.WaitsRequest) *kvpb.WaitsResponse {
	if n == d.node() {
		return d.answer(req)
	}
	d.mu.Lock()
	was := d.backoffs[n]
	d.mu.Unlock()
	if time.Now().Before(was.until) {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, searchTimeout)
	defer cancel()
	resp := new(kvpb.WaitsResponse)
	answer, err := d.caller.Call(ctx, n, MethodWaits, kvwire.AppendWaits(kvwire.AppendRequest(nil, kvwire.OpWaits, 0), req))
	if err == nil {
		var body []byte
		if body, err = kvwire.DecodeResponse(answer); err == nil {
			err = kvwire.DecodeWaitsResponse(body, resp)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		last := min(max(2*was.last, minNodeBackoff), maxNodeBackoff)
		d.backoffs[n] = nodeBackoff{until: time.Now().Add(last), last: last}
		return nil
	}
	delete(d.backoffs, n)
	return resp
}

// askAll sends requests to several nodes in parallel.
func (d *Deadlocks) askAll(requests map[kvpb.NodeID]*kvpb.WaitsRequest) map[kvpb.NodeID]*kvpb.WaitsResponse {
	answers := make(map[kvpb.NodeID]*kvpb.WaitsResponse, len(requests))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n, req := range requests {
		wg.Go(func() {
			a := d.ask(n, req)
			mu.Lock()
			answers[n] = a
			mu.Unlock()
		})
	}
	wg.Wait()
	return answers
}

// confirmTwice reads a cycle twice more. One reading takes the nodes' states at different moments. But a
// state that is the same before and after a reading also held during it, on all nodes at once.
func (d *Deadlocks) confirmTwice(dead concurrency.Deadlock) bool {
	for range 2 {
		if !d.confirm(dead) {
			return false
		}
	}
	return true
}

// confirm reports whether each transaction of a cycle still waits for the next one, and whether gateways on
// other nodes still wait for the answers.
func (d *Deadlocks) confirm(dead concurrency.Deadlock) bool {
	requests := map[kvpb.NodeID]*kvpb.WaitsRequest{}
	put := func(n kvpb.NodeID, id kvpb.TxnID) {
		if requests[n] == nil {
			requests[n] = &kvpb.WaitsRequest{Exact: true}
		}
		requests[n].Txns = append(requests[n].Txns, id)
	}
	for i := range dead {
		at, id := kvpb.NodeID(dead[i].Node), kvpb.TxnID(dead[i].Txn)
		put(at, id)
		if g := id.Gateway(); g != at {
			put(g, id)
		}
	}
	answers := d.askAll(requests)
	for i := range dead {
		next := kvpb.TxnID(dead[(i+1)%len(dead)].Txn)
		at, id := kvpb.NodeID(dead[i].Node), kvpb.TxnID(dead[i].Txn)
		if !waitsStill(answers[at], id, dead[i].Number, next) {
			return false
		}
		if g := id.Gateway(); g != at && !waitsAt(answers[g], id, at) {
			return false
		}
	}
	return true
}

func waitsStill(a *kvpb.WaitsResponse, id kvpb.TxnID, number uint64, next kvpb.TxnID) bool {
	if a == nil {
		return false
	}
	for i := range a.Waits {
		w := &a.Waits[i]
		if w.Txn != id || w.Number != number {
			continue
		}
		for _, b := range w.Blockers {
			if b == next {
				return true
			}
		}
	}
	return false
}

func waitsAt(a *kvpb.WaitsResponse, id kvpb.TxnID, at kvpb.NodeID) bool {
	if a == nil {
		return false
	}
	for _, w := range a.RemoteWaits {
		if w.Txn == id && w.Node == at {
			return true
		}
	}
	return false
}
