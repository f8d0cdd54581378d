package dist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/dist/rangecache"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/kvpb/sendertest"
	"github.com/lichendb/lichen/internal/rpc"
)

// scriptedRanges are the Local and the Caller of a Router on node 1. Their replicas record the requests, and refuse those
// that the test wants refused.
type scriptedRanges struct {
	t  *testing.T
	mu sync.Mutex

	ranges map[kvpb.RangeID]*scriptedRange
	nextID kvpb.RangeID
	data   map[string]string // of all ranges
	locked map[string]bool
	meta   []kvpb.RangeDescriptor
	down   map[kvpb.NodeID]bool
	lost   map[kvpb.NodeID]int // answers of the node that will get lost
	fail   func(op string, n kvpb.NodeID, id kvpb.RangeID) error
	log    []string
	looked int // lookups
}

type scriptedRange struct {
	desc   kvpb.RangeDescriptor
	leader kvpb.NodeID // 0: none
	shy    bool        // followers don't know the leader
	done   map[kvpb.TxnID]bool
}

// newScriptedRanges returns the ranges [a,h) [h,p) [p,z), each on nodes 1 to 3 and led by node 1.
func newScriptedRanges(t *testing.T) *scriptedRanges {
	w := &scriptedRanges{
		t: t, ranges: map[kvpb.RangeID]*scriptedRange{}, data: map[string]string{}, locked: map[string]bool{},
		down: map[kvpb.NodeID]bool{}, lost: map[kvpb.NodeID]int{},
	}
	for _, b := range []string{"ah", "hp", "pz"} {
		w.add(b[:1], b[1:], 1)
	}
	w.publish()
	return w
}

func (w *scriptedRanges) add(start, end string, gen uint64) *scriptedRange {
	w.nextID++
	r := &scriptedRange{leader: 1, done: map[kvpb.TxnID]bool{}, desc: kvpb.RangeDescriptor{
		RangeID: w.nextID, StartKey: []byte(start), EndKey: []byte(end), Generation: gen, Replicas: replicasOn(1, 2, 3),
	}}
	w.ranges[w.nextID] = r
	return r
}

func replicasOn(nodes ...kvpb.NodeID) []kvpb.ReplicaDescriptor {
	var out []kvpb.ReplicaDescriptor
	for _, n := range nodes {
		out = append(out, kvpb.ReplicaDescriptor{Node: n, Store: kvpb.StoreID(n), Replica: kvpb.ReplicaID(n)})
	}
	return out
}

// publish updates the meta records.
func (w *scriptedRanges) publish() {
	w.meta = w.meta[:0]
	for _, r := range w.sorted() {
		w.meta = append(w.meta, r.desc)
	}
}

func (w *scriptedRanges) sorted() []*scriptedRange {
	var out []*scriptedRange
	for _, r := range w.ranges {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return bytes.Compare(out[i].desc.StartKey, out[j].desc.StartKey) < 0 })
	return out
}

func (w *scriptedRanges) at(key string) *scriptedRange {
	for _, r := range w.ranges {
		if r.desc.ContainsKey([]byte(key)) {
			return r
		}
	}
	w.t.Fatalf("no range holds %q", key)
	return nil
}

// split splits the range of key at key.
func (w *scriptedRanges) split(key string) *scriptedRange {
	left := w.at(key)
	right := w.add(key, string(left.desc.EndKey), left.desc.Generation+1)
	right.leader, right.desc.Replicas = left.leader, slices.Clone(left.desc.Replicas)
	for id := range left.done {
		right.done[id] = true
	}
	left.desc.EndKey = []byte(key)
	left.desc.Generation++
	return right
}

// merge merges a range with the one to its right.
func (w *scriptedRanges) merge(key string) {
	left := w.at(key)
	if string(left.desc.EndKey) == "z" {
		return
	}
	right := w.at(string(left.desc.EndKey))
	left.desc.EndKey = right.desc.EndKey
	left.desc.Generation = max(left.desc.Generation, right.desc.Generation) + 1
	delete(w.ranges, right.desc.RangeID)
}

// move moves a range to other nodes, of which the first leads.
func (w *scriptedRanges) move(key string, nodes ...kvpb.NodeID) {
	r := w.at(key)
	r.desc.Replicas, r.leader = replicasOn(nodes...), nodes[0]
	r.desc.Generation++
}

func (w *scriptedRanges) lookup(_ context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked++
	for i := range w.meta {
		if bytes.Compare(w.meta[i].EndKey, key) > 0 {
			return slices.Clone(w.meta[i:min(i+2, len(w.meta))]), nil
		}
	}
	return nil, nil
}

func (w *scriptedRanges) router() *Router {
	return NewRouter(Config{Node: 1, Local: w, Caller: w, Lookup: w.lookup})
}

// Replica implements Local for node 1.
func (w *scriptedRanges) Replica(id kvpb.RangeID) (kvpb.Sender, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.ranges[id]; r == nil || !hasReplica(r, 1) {
		return nil, false
	}
	return w.replica(1, id), true
}

func hasReplica(r *scriptedRange, n kvpb.NodeID) bool {
	return slices.ContainsFunc(r.desc.Replicas, func(d kvpb.ReplicaDescriptor) bool { return d.Node == n })
}

// Call implements Caller.
func (w *scriptedRanges) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	w.mu.Lock()
	down := w.down[to]
	w.mu.Unlock()
	if down || m != MethodKV {
		return nil, fmt.Errorf("dialling: %w", rpc.ErrNotSent)
	}
	answer := Serve(ctx, hlc.NewSystem(0), nil, func(id kvpb.RangeID) (kvpb.Sender, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if r := w.ranges[id]; r == nil || !hasReplica(r, to) {
			return nil, &kvpb.RangeMismatchError{Range: id}
		}
		return w.replica(to, id), nil
	}, bytes.Clone(req))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost[to] > 0 {
		w.lost[to]--
		return nil, fmt.Errorf("connection reset: %w", rpc.ErrUnknownOutcome)
	}
	return answer, nil
}

// replica is the replica of a range on a node.
func (w *scriptedRanges) replica(node kvpb.NodeID, id kvpb.RangeID) kvpb.Sender {
	return sendertest.Script(func(_ context.Context, req, resp any) error {
		op, spans := named(req)
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.refuse(node, id, op, spans); err != nil {
			return err
		}
		what := fmt.Sprintf("n%d r%d %s", node, id, op)
		for _, s := range spans {
			what += fmt.Sprintf(" %s-%s", s.Key, s.EndKey)
		}
		w.log = append(w.log, what)
		return w.carryOut(w.ranges[id], req, resp)
	})
}

// named returns the name of a request in the log, and the keys that it needs.
func named(req any) (op string, spans []kvpb.Span) {
	switch req := req.(type) {
	case *kvpb.GetRequest:
		return "get", []kvpb.Span{point(req.Key)}
	case *kvpb.LockRequest:
		return "lock", []kvpb.Span{point(req.Key)}
	case *kvpb.ScanRequest:
		return "scan", []kvpb.Span{{Key: req.Start, EndKey: req.End}}
	case *kvpb.RefreshRequest:
		return "refresh", req.Spans
	case *kvpb.ReleaseRequest:
		for _, k := range req.Locks {
			spans = append(spans, point(k))
		}
		return "release", spans
	case *kvpb.CommitRequest:
		for _, wr := range req.Writes {
			spans = append(spans, point(wr.Key))
		}
		if req.Resent {
			return "recommit", spans
		}
		return "commit", spans
	}
	panic(fmt.Sprintf("no range answers a %T", req))
}

// refuse returns the error of a replica that does not serve a request, or nil if it serves it.
func (w *scriptedRanges) refuse(node kvpb.NodeID, id kvpb.RangeID, op string, spans []kvpb.Span) error {
	if w.fail != nil {
		if err := w.fail(op, node, id); err != nil {
			return err
		}
	}
	r := w.ranges[id]
	if r == nil {
		return &kvpb.RangeMismatchError{Range: id}
	}
	if r.leader != node {
		e := &kvpb.NotLeaderError{Range: id}
		if r.leader != 0 && !r.shy {
			e.Leader = kvpb.ReplicaDescriptor{Node: r.leader, Store: kvpb.StoreID(r.leader), Replica: kvpb.ReplicaID(r.leader)}
			desc := r.desc
			e.Desc = &desc
		}
		return e
	}
	if !holdsSpans(&r.desc, spans) {
		e := &kvpb.RangeMismatchError{Range: id, Known: []kvpb.RangeDescriptor{r.desc}}
		for _, o := range w.ranges {
			if o != r && hasReplica(o, node) {
				e.Known = append(e.Known, o.desc)
			}
		}
		return e
	}
	return nil
}

func point(key []byte) kvpb.Span { return kvpb.Span{Key: key} }

// carryOut executes a request.
func (w *scriptedRanges) carryOut(r *scriptedRange, req, resp any) error {
	switch req := req.(type) {
	case *kvpb.GetRequest:
		resp := resp.(*kvpb.GetResponse)
		v, ok := w.data[string(req.Key)]
		resp.Value, resp.Found = append(resp.Value[:0], v...), ok
	case *kvpb.LockRequest:
		resp := resp.(*kvpb.LockResponse)
		resp.Acquired, resp.LockTableID = !w.locked[string(req.Key)], 7
		w.locked[string(req.Key)] = true
	case *kvpb.ScanRequest:
		w.scan(req, resp.(*kvpb.ScanResponse))
	case *kvpb.CommitRequest:
		resp.(*kvpb.CommitResponse).CommitTS = hlc.Timestamp{WallTime: 100}
		return w.commit(r, req)
	}
	return nil
}

// scan returns all rows of a range. For the meta range these are the records.
func (w *scriptedRanges) scan(req *kvpb.ScanRequest, resp *kvpb.ScanResponse) {
	resp.Reset()
	if metaSpan().Contains(req.Start) {
		for i := range w.meta {
			d := &w.meta[i]
			if k := keys.Meta(d.EndKey); bytes.Compare(k, req.Start) >= 0 && resp.Len() < req.MaxKeys {
				resp.Append(k, kvwire.AppendDescriptor(nil, d))
			}
		}
		return
	}
	var found []string
	for k := range w.data {
		if k >= string(req.Start) && k < string(req.End) {
			found = append(found, k)
		}
	}
	sort.Strings(found)
	if req.Reverse {
		slices.Reverse(found)
	}
	for _, k := range found {
		resp.Append([]byte(k), []byte(w.data[k]))
	}
}

// commit executes a transaction once, however often it is sent.
func (w *scriptedRanges) commit(r *scriptedRange, req *kvpb.CommitRequest) error {
	if r.done[req.Txn.ID] {
		if !req.Resent {
			return errors.New("a commit was sent twice")
		}
		return nil
	}
	r.done[req.Txn.ID] = true
	for _, wr := range req.Writes {
		w.data[string(wr.Key)] += string(wr.Value)
	}
	return nil
}

var (
	_ Local             = (*scriptedRanges)(nil)
	_ Caller            = (*scriptedRanges)(nil)
	_ rangecache.Lookup = (*scriptedRanges)(nil).lookup
)

// took returns what the replicas did since the last call.
func (w *scriptedRanges) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

func (w *scriptedRanges) expect(want ...string) {
	w.t.Helper()
	if got := w.took(); !slices.Equal(got, want) {
		w.t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}
