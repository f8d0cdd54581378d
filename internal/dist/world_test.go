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
	"github.com/lichendb/lichen/internal/rpc"
)

// world is a cluster of scripted replicas, seen from node 1: it is the Local and
// the Caller of a Router.
type world struct {
	t  *testing.T
	mu sync.Mutex

	ranges map[kvpb.RangeID]*fakeRange
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

type fakeRange struct {
	desc   kvpb.RangeDescriptor
	leader kvpb.NodeID // 0: none
	shy    bool        // followers don't know the leader
	done   map[kvpb.TxnID]bool
}

// newWorld returns a world of the ranges [a,h) [h,p) [p,z), each on nodes 1 to 3
// and led by node 1.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, ranges: map[kvpb.RangeID]*fakeRange{}, data: map[string]string{}, locked: map[string]bool{},
		down: map[kvpb.NodeID]bool{}, lost: map[kvpb.NodeID]int{},
	}
	for _, b := range []string{"ah", "hp", "pz"} {
		w.add(b[:1], b[1:], 1)
	}
	w.publish()
	return w
}

func (w *world) add(start, end string, gen uint64) *fakeRange {
	w.nextID++
	r := &fakeRange{leader: 1, done: map[kvpb.TxnID]bool{}, desc: kvpb.RangeDescriptor{
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

// publish brings the meta records up to date.
func (w *world) publish() {
	w.meta = w.meta[:0]
	for _, r := range w.sorted() {
		w.meta = append(w.meta, r.desc)
	}
}

func (w *world) sorted() []*fakeRange {
	var out []*fakeRange
	for _, r := range w.ranges {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return bytes.Compare(out[i].desc.StartKey, out[j].desc.StartKey) < 0 })
	return out
}

func (w *world) at(key string) *fakeRange {
	for _, r := range w.ranges {
		if r.desc.ContainsKey([]byte(key)) {
			return r
		}
	}
	w.t.Fatalf("no range holds %q", key)
	return nil
}

// split cuts the range of key there.
func (w *world) split(key string) *fakeRange {
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

// merge gives a range the keys of the one behind it.
func (w *world) merge(key string) {
	left := w.at(key)
	if string(left.desc.EndKey) == "z" {
		return
	}
	right := w.at(string(left.desc.EndKey))
	left.desc.EndKey = right.desc.EndKey
	left.desc.Generation = max(left.desc.Generation, right.desc.Generation) + 1
	delete(w.ranges, right.desc.RangeID)
}

// move puts a range on other nodes; the first leads it.
func (w *world) move(key string, nodes ...kvpb.NodeID) {
	r := w.at(key)
	r.desc.Replicas, r.leader = replicasOn(nodes...), nodes[0]
	r.desc.Generation++
}

func (w *world) lookup(_ context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
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

func (w *world) router() *Router {
	return NewRouter(Config{Node: 1, Local: w, Caller: w, Lookup: w.lookup})
}

// Replica implements Local for node 1.
func (w *world) Replica(id kvpb.RangeID) (kvpb.Sender, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.ranges[id]; r == nil || !hasReplica(r, 1) {
		return nil, false
	}
	return &fakeReplica{w: w, node: 1, id: id}, true
}

func hasReplica(r *fakeRange, n kvpb.NodeID) bool {
	return slices.ContainsFunc(r.desc.Replicas, func(d kvpb.ReplicaDescriptor) bool { return d.Node == n })
}

// Call implements Caller.
func (w *world) Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error) {
	w.mu.Lock()
	down := w.down[to]
	w.mu.Unlock()
	if down || m != MethodKV {
		return nil, fmt.Errorf("dialling: %w", rpc.ErrNotSent)
	}
	answer := Serve(ctx, hlc.NewSystem(0), func(id kvpb.RangeID) (kvpb.Sender, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if r := w.ranges[id]; r == nil || !hasReplica(r, to) {
			return nil, &kvpb.RangeMismatchError{Range: id}
		}
		return &fakeReplica{w: w, node: to, id: id}, nil
	}, bytes.Clone(req))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost[to] > 0 {
		w.lost[to]--
		return nil, fmt.Errorf("connection reset: %w", rpc.ErrUnknownOutcome)
	}
	return answer, nil
}

// fakeReplica is a replica of a range on a node.
type fakeReplica struct {
	kvpb.Sender
	w    *world
	node kvpb.NodeID
	id   kvpb.RangeID
}

// begin refuses what the replica can't serve and notes what it can. The world is
// locked when it returns nil.
func (f *fakeReplica) begin(op string, spans ...kvpb.Span) error {
	w := f.w
	w.mu.Lock()
	err := f.refuse(op, spans)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	what := fmt.Sprintf("n%d r%d %s", f.node, f.id, op)
	for _, s := range spans {
		what += fmt.Sprintf(" %s-%s", s.Key, s.EndKey)
	}
	w.log = append(w.log, what)
	return nil
}

func (f *fakeReplica) refuse(op string, spans []kvpb.Span) error {
	w := f.w
	if w.fail != nil {
		if err := w.fail(op, f.node, f.id); err != nil {
			return err
		}
	}
	r := w.ranges[f.id]
	if r == nil {
		return &kvpb.RangeMismatchError{Range: f.id}
	}
	if r.leader != f.node {
		e := &kvpb.NotLeaderError{Range: f.id}
		if r.leader != 0 && !r.shy {
			e.Leader = kvpb.ReplicaDescriptor{Node: r.leader, Store: kvpb.StoreID(r.leader), Replica: kvpb.ReplicaID(r.leader)}
			desc := r.desc
			e.Desc = &desc
		}
		return e
	}
	if !holdsSpans(&r.desc, spans) {
		e := &kvpb.RangeMismatchError{Range: f.id, Known: []kvpb.RangeDescriptor{r.desc}}
		for _, o := range w.ranges {
			if o != r && hasReplica(o, f.node) {
				e.Known = append(e.Known, o.desc)
			}
		}
		return e
	}
	return nil
}

func point(key []byte) kvpb.Span { return kvpb.Span{Key: key} }

func (f *fakeReplica) Get(_ context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	if err := f.begin("get", point(req.Key)); err != nil {
		return err
	}
	defer f.w.mu.Unlock()
	v, ok := f.w.data[string(req.Key)]
	resp.Value, resp.Found = append(resp.Value[:0], v...), ok
	return nil
}

func (f *fakeReplica) Lock(_ context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	if err := f.begin("lock", point(req.Key)); err != nil {
		return err
	}
	defer f.w.mu.Unlock()
	resp.Acquired, resp.Epoch = !f.w.locked[string(req.Key)], 7
	f.w.locked[string(req.Key)] = true
	return nil
}

// Scan returns rows of all that the range holds; of the meta region, the records.
func (f *fakeReplica) Scan(_ context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	if err := f.begin("scan", kvpb.Span{Key: req.Start, EndKey: req.End}); err != nil {
		return err
	}
	defer f.w.mu.Unlock()
	resp.Reset()
	if metaSpan().Contains(req.Start) {
		for i := range f.w.meta {
			d := &f.w.meta[i]
			if k := keys.Meta(d.EndKey); bytes.Compare(k, req.Start) >= 0 && resp.Len() < req.MaxKeys {
				resp.Append(k, kvwire.AppendDescriptor(nil, d))
			}
		}
		return nil
	}
	var found []string
	for k := range f.w.data {
		if k >= string(req.Start) && k < string(req.End) {
			found = append(found, k)
		}
	}
	sort.Strings(found)
	if req.Reverse {
		slices.Reverse(found)
	}
	for _, k := range found {
		resp.Append([]byte(k), []byte(f.w.data[k]))
	}
	return nil
}

func (f *fakeReplica) Refresh(_ context.Context, req *kvpb.RefreshRequest) error {
	if err := f.begin("refresh", req.Spans...); err != nil {
		return err
	}
	f.w.mu.Unlock()
	return nil
}

func (f *fakeReplica) Release(_ context.Context, req *kvpb.ReleaseRequest) error {
	var spans []kvpb.Span
	for _, k := range req.Locks {
		spans = append(spans, point(k))
	}
	if err := f.begin("release", spans...); err != nil {
		return err
	}
	f.w.mu.Unlock()
	return nil
}

// Commit carries out a transaction once, however often it is sent.
func (f *fakeReplica) Commit(_ context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	var spans []kvpb.Span
	for _, wr := range req.Writes {
		spans = append(spans, point(wr.Key))
	}
	op := "commit"
	if req.Resent {
		op = "recommit"
	}
	if err := f.begin(op, spans...); err != nil {
		return err
	}
	defer f.w.mu.Unlock()
	resp.CommitTS = hlc.Timestamp{WallTime: 100}
	r := f.w.ranges[f.id]
	if r.done[req.Txn.ID] {
		if !req.Resent {
			return errors.New("a commit was sent twice")
		}
		return nil
	}
	r.done[req.Txn.ID] = true
	for _, wr := range req.Writes {
		f.w.data[string(wr.Key)] += string(wr.Value)
	}
	return nil
}

var (
	_ Local             = (*world)(nil)
	_ Caller            = (*world)(nil)
	_ rangecache.Lookup = (*world)(nil).lookup
)

// took returns what the replicas did since the last call.
func (w *world) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

func (w *world) expect(want ...string) {
	w.t.Helper()
	if got := w.took(); !slices.Equal(got, want) {
		w.t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}
