package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/kvpb"
)

// commitKind is a request of a commit across ranges.
type commitKind uint8

const (
	commitStage commitKind = iota
	commitEnd
	commitResolve
	commitForget
)

// commitStep names a place in a commit across ranges.
type commitStep struct {
	name string
	kind commitKind
	// answer: the answer is held, not the request.
	answer bool
	// holds selects the requests to hold; nil: all.
	holds func(m *commitMessage) bool
}

// commitMessage is a request of a commit on its way.
type commitMessage struct {
	kind   commitKind
	record bool // a part that writes the transaction's record
	first  bool // the first one of its kind
}

// commitSteps are the places at which a commit can be held, in their order.
var commitSteps = []commitStep{
	{name: "before-parts", kind: commitStage},
	{name: "only-record", kind: commitStage, holds: func(m *commitMessage) bool { return !m.record }},
	{name: "no-record", kind: commitStage, holds: func(m *commitMessage) bool { return m.record }},
	{name: "after-parts", kind: commitStage, answer: true},
	{name: "before-end", kind: commitEnd},
	{name: "after-end", kind: commitEnd, answer: true},
	{name: "resolving", kind: commitResolve, holds: func(m *commitMessage) bool { return !m.first }},
	{name: "before-forget", kind: commitForget},
}

// commitFault holds a commit across ranges at one of its steps, for tests in which a coordinator stops
// or dies there.
type commitFault struct{ now atomic.Pointer[heldCommit] }

// heldCommit is the commit to hold: the first whose part has a key with some text in it.
type heldCommit struct {
	step  commitStep
	text  []byte
	ended chan struct{} // closed when all goes on

	mu     sync.Mutex
	txn    kvpb.TxnID
	met    [commitForget + 1]int // requests by kind
	held   int
	passed int // answered requests of the step's kind that were not held
}

// intercept stands between the router and the replicas that it sends to.
func (c *commitFault) intercept(s kvpb.Sender) kvpb.Sender {
	if h := c.now.Load(); h != nil {
		return &heldSender{Sender: s, hold: h}
	}
	return s
}

// heldSender is a sender that holds the requests of the commit at its step.
type heldSender struct {
	kvpb.Sender
	hold *heldCommit
}

var errNoFeed = errors.New("the replica has no feed")

// Feed implements kvpb.Feeder.
func (s *heldSender) Feed(ctx context.Context, req *kvpb.FeedRequest, resp *kvpb.FeedResponse) error {
	if f, ok := s.Sender.(kvpb.Feeder); ok {
		return f.Feed(ctx, req, resp)
	}
	return errNoFeed
}

// Stage implements kvpb.Committer.
func (s *heldSender) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	s.hold.begin(req)
	return s.hold.around(ctx, req.Txn.ID, commitMessage{kind: commitStage, record: req.Record}, func() (bool, error) {
		err := s.Sender.Stage(ctx, req, resp)
		return resp.Lowest.IsEmpty(), err
	})
}

// EndTxn implements kvpb.Committer.
func (s *heldSender) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	m := commitMessage{kind: commitEnd}
	if req.Action == kvpb.EndForget {
		m.kind = commitForget
	}
	return s.hold.around(ctx, req.Txn.ID, m, func() (bool, error) { return true, s.Sender.EndTxn(ctx, req, resp) })
}

// Resolve implements kvpb.Committer.
func (s *heldSender) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	return s.hold.around(ctx, req.Txn, commitMessage{kind: commitResolve}, func() (bool, error) { return true, s.Sender.Resolve(ctx, req) })
}

// begin chooses the transaction of the first part with the text in a key.
func (h *heldCommit) begin(req *kvpb.StageRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.txn.IsZero() && slices.ContainsFunc(req.Writes, func(w kvpb.Write) bool { return bytes.Contains(w.Key, h.text) }) {
		h.txn = req.Txn.ID
	}
}

// around sends a request, and holds it or its answer if it is the step's. send reports whether the
// request took effect.
func (h *heldCommit) around(ctx context.Context, txn kvpb.TxnID, m commitMessage, send func() (done bool, err error)) error {
	h.mu.Lock()
	held := h.txn == txn && m.kind == h.step.kind
	if held {
		m.first = h.met[m.kind] == 0
		h.met[m.kind]++
	}
	h.mu.Unlock()
	if !held {
		_, err := send()
		return err
	}
	stops := h.step.holds == nil || h.step.holds(&m)
	if stops && !h.step.answer {
		if err := h.wait(ctx); err != nil {
			return err
		}
	}
	done, err := send()
	switch {
	case err != nil || !done:
		return err
	case stops && h.step.answer:
		return h.wait(ctx)
	}
	h.mu.Lock()
	h.passed++
	h.mu.Unlock()
	return nil
}

func (h *heldCommit) wait(ctx context.Context) error {
	h.mu.Lock()
	h.held++
	h.mu.Unlock()
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// set chooses the commit to hold and the step. It releases the requests held so far.
func (c *commitFault) set(step, text string) error {
	i := slices.IndexFunc(commitSteps, func(s commitStep) bool { return s.name == step })
	if i < 0 || text == "" {
		var names []string
		for _, s := range commitSteps {
			names = append(names, s.name)
		}
		return fmt.Errorf("give hold=STEP, one of %s, and key=TEXT, which a key of the transaction holds; or off=1", strings.Join(names, ", "))
	}
	c.release(&heldCommit{step: commitSteps[i], text: []byte(text), ended: make(chan struct{})})
	return nil
}

// release lets the held requests continue.
func (c *commitFault) release(next *heldCommit) {
	if old := c.now.Swap(next); old != nil {
		close(old.ended)
	}
}

// ServeHTTP takes POST /_debug/fault/commit?hold=STEP&key=TEXT|off=1. GET returns the number of held
// requests, and of others of the same kind that were answered.
func (c *commitFault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet:
		held, passed := 0, 0
		if h := c.now.Load(); h != nil {
			h.mu.Lock()
			held, passed = h.held, h.passed
			h.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"held":%d,"passed":%d}`+"\n", held, passed)
	case r.Method != http.MethodPost:
		http.Error(w, "GET or POST only", http.StatusMethodNotAllowed)
	case q.Has("off"):
		c.release(nil)
		fmt.Fprintln(w, "commits are not held")
	default:
		if err := c.set(q.Get("hold"), q.Get("key")); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, "the next such commit will be held")
	}
}
