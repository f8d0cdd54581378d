package dist

import (
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

const (
	// maxFinishing bounds the decided transactions that are finished in the background. The gateway
	// finishes others before it answers.
	maxFinishing = 256
	// maxDeferred bounds how many of them may be deferred (kvpb.EndTxnRequest.Deferrable).
	maxDeferred = 128
	// closeGrace bounds the time for which a stopping node waits for them.
	closeGrace = 200 * time.Millisecond
	// endTimeout bounds the end of one transaction. After that, transactions that find its intents resolve
	// them.
	endTimeout = 20 * time.Second
	// failTimeout bounds how long the client of a failed commit waits until the record rules the commit
	// out. It is short because the client has already waited for the commit.
	failTimeout = 4 * time.Second
	// endAttempts bounds the attempts within failTimeout.
	endAttempts = 3
)

// finisher is the background work of a Router.
type finisher struct {
	mu     sync.Mutex
	n      int
	closed bool
	empty  chan struct{} // closed when n reaches 0; nil if nobody waits for that
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// admit takes a slot for background work. It returns false if none is free.
func (f *finisher) admit() (context.Context, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.n >= maxFinishing {
		return nil, false
	}
	if f.ctx == nil {
		f.ctx, f.cancel = context.WithCancel(context.Background())
	}
	f.n++
	f.wg.Add(1)
	return f.ctx, true
}

func (f *finisher) leave() {
	f.mu.Lock()
	f.n--
	if f.n == 0 && f.empty != nil {
		close(f.empty)
		f.empty = nil
	}
	f.mu.Unlock()
	f.wg.Done()
}

// mayDefer reports whether the work under way may be deferred.
func (f *finisher) mayDefer() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.closed && f.n <= maxDeferred
}

// Close stops the background work and waits for its end. Transactions that find the intents left behind
// resolve them.
func (d *Router) Close() {
	f := &d.finishing
	f.mu.Lock()
	f.closed = true
	if f.n > 0 && f.empty == nil {
		f.empty = make(chan struct{})
	}
	empty := f.empty
	f.mu.Unlock()
	if empty != nil {
		timeout := time.NewTimer(closeGrace)
		defer timeout.Stop()
		select {
		case <-empty:
		case <-timeout.C:
		}
	}
	f.mu.Lock()
	if f.cancel != nil {
		f.cancel()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

// Wait returns when no background work is left.
func (d *Router) Wait() { d.finishing.wg.Wait() }

// ending is the end of a commit in several ranges. It has its own copy of the keys, since the
// session reuses the transaction's memory.
type ending struct {
	d       *Router
	txn     kvpb.TxnMeta
	anchor  []byte
	action  kvpb.EndAction
	ts      hlc.Timestamp
	attempt uint32
	since   hlc.Timestamp // kvpb.EndTxnRequest.Since
	keys    [][]byte
	span    kvpb.Span // set instead of keys
	locks   [][]byte
	done    bool // the record has the outcome
	// deferrable says that the steps may be deferred as long as nobody waits for them.
	deferrable bool
}

func (c *parallelCommit) end(action kvpb.EndAction) *ending {
	e := &ending{
		d: c.d, txn: *c.req.Txn, anchor: append([]byte(nil), c.anchor...), action: action, ts: c.ts, attempt: c.attempts,
		since: c.since,
	}
	if c.listed {
		for _, k := range c.keys {
			e.keys = append(e.keys, append([]byte(nil), k...))
		}
	} else {
		e.span = kvpb.Span{Key: append([]byte(nil), c.span.Key...), EndKey: append([]byte(nil), c.span.EndKey...)}
	}
	if action == kvpb.EndCommit {
		e.locks = c.locksLeft()
	}
	return e
}

// endTxn updates the record.
func (e *ending) endTxn(ctx context.Context, resp *kvpb.EndTxnResponse) error {
	req := kvpb.EndTxnRequest{
		Txn: &e.txn, Anchor: e.anchor, Action: e.action, TS: e.ts, Attempt: e.attempt, Since: e.since,
		Deferrable: e.deferrable && e.d.finishing.mayDefer(),
	}
	return e.d.route(ctx, e.anchor, true, func(t target) error { return t.EndTxn(ctx, &req, resp) })
}

// finish resolves the intents of a decided transaction, in the background if a slot is free.
func (e *ending) finish() {
	ctx, ok := e.d.finishing.admit()
	if !ok {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		e.run(ctx)
		return
	}
	e.deferrable = true
	go func() {
		defer e.d.finishing.leave()
		ctx, cancel := context.WithTimeout(ctx, endTimeout)
		defer cancel()
		e.run(ctx)
	}()
}

// run writes the outcome to the record, resolves the intents and deletes the record. If that fails for good,
// the transactions that find the intents resolve them.
func (e *ending) run(ctx context.Context) {
	if len(e.locks) > 0 {
		_ = e.d.Release(ctx, &kvpb.ReleaseRequest{Txn: &e.txn, Locks: e.locks})
	}
	for range endAttempts {
		if ctx.Err() != nil || e.step(ctx) == nil {
			return
		}
	}
}

// setOutcome sets the outcome to that of the record.
func (e *ending) setOutcome(resp *kvpb.EndTxnResponse) {
	e.done, e.action = true, kvpb.EndAbort
	if resp.Status == kvpb.TxnCommitted {
		e.action, e.ts = kvpb.EndCommit, resp.CommitTS
	}
}

func (e *ending) step(ctx context.Context) error {
	if !e.done {
		var resp kvpb.EndTxnResponse
		if err := e.endTxn(ctx, &resp); err != nil {
			return err
		}
		if resp.Forgotten {
			return nil // the record is gone: recovery has done all of this
		}
		e.setOutcome(&resp)
	}
	req := kvpb.ResolveRequest{
		Txn: e.txn.ID, Commit: e.action == kvpb.EndCommit, TS: e.ts, Keys: e.keys, Span: e.span,
		Deferrable: e.deferrable && e.action == kvpb.EndCommit && len(e.keys) > 0 && e.d.finishing.mayDefer(),
	}
	if err := e.d.Resolve(ctx, &req); err != nil {
		return err
	}
	forget := *e
	forget.action = kvpb.EndForget
	var resp kvpb.EndTxnResponse
	return forget.endTxn(ctx, &resp)
}

// fail ends a commit that did not succeed. Some parts may still be in flight, so the record must rule the
// transaction out before the client receives an error (invariant D5). The record may also say that recovery
// has committed the transaction.
func (c *parallelCommit) fail(ctx context.Context, cause error, resp *kvpb.CommitResponse) error {
	if !c.staged {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failTimeout)
	defer cancel()
	e := c.end(kvpb.EndAbort)
	var answer kvpb.EndTxnResponse
	if err := e.endTxn(ctx, &answer); err != nil || answer.Forgotten {
		return &kvpb.AmbiguousCommitError{Cause: cause}
	}
	e.setOutcome(&answer)
	if answer.Status == kvpb.TxnCommitted {
		e.locks = c.locksLeft()
		resp.CommitTS = answer.CommitTS
		e.finish()
		return nil
	}
	e.finish()
	if kvpb.Classify(cause) == kvpb.ClassAmbiguous {
		return &kvpb.RetryError{Reason: "the commit got no answer: " + cause.Error()}
	}
	return cause
}

// Stage implements kvpb.Committer.
func (d *Router) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	defer must.Report(d.cfg.OnFatal)
	key := req.Anchor
	if len(req.Writes) > 0 {
		key = req.Writes[0].Key
	} else if len(req.Locks) > 0 {
		key = req.Locks[0]
	}
	return d.route(ctx, key, true, func(t target) error { return t.Stage(ctx, req, resp) })
}

// EndTxn implements kvpb.Committer.
func (d *Router) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	defer must.Report(d.cfg.OnFatal)
	return d.route(ctx, req.Anchor, true, func(t target) error { return t.EndTxn(ctx, req, resp) })
}

// Push implements kvpb.Committer.
func (d *Router) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	defer must.Report(d.cfg.OnFatal)
	return d.route(ctx, req.Anchor, false, func(t target) error { return t.Push(ctx, req, resp) })
}

// Resolve implements kvpb.Committer. After an error in one range it continues with the others.
func (d *Router) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	defer must.Report(d.cfg.OnFatal)
	spans := points(req.Keys)
	if len(req.Keys) == 0 && len(req.Span.EndKey) > 0 {
		spans = []kvpb.Span{req.Span}
	}
	if len(spans) == 0 {
		return nil
	}
	return d.inParallel(ctx, spans, true, func(ctx context.Context, t target, part []kvpb.Span) error {
		p := *req
		p.Keys, p.Span = nil, kvpb.Span{}
		if len(part[0].EndKey) > 0 {
			p.Span = part[0]
		} else {
			p.Keys = keysOf(part)
		}
		return t.Resolve(ctx, &p)
	})
}

// QueryStaged implements kvpb.Committer.
func (d *Router) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	defer must.Report(d.cfg.OnFatal)
	var mu sync.Mutex
	resp.Present = true
	return d.inParallel(ctx, points(req.Keys), false, func(ctx context.Context, t target, part []kvpb.Span) error {
		p := *req
		p.Keys = keysOf(part)
		var one kvpb.QueryStagedResponse
		err := t.QueryStaged(ctx, &p, &one)
		mu.Lock()
		resp.Present = resp.Present && (one.Present || err != nil)
		mu.Unlock()
		return err
	})
}

func points(keys [][]byte) []kvpb.Span {
	spans := make([]kvpb.Span, len(keys))
	for i, k := range keys {
		spans[i].Key = k
	}
	return spans
}

func keysOf(spans []kvpb.Span) [][]byte {
	keys := make([][]byte, len(spans))
	for i := range spans {
		keys[i] = spans[i].Key
	}
	return keys
}
