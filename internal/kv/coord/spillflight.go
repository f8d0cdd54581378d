package coord

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/kv/coord/writebuffer"
	"github.com/lichendb/lichen/internal/kvpb"
)

// spillFlight is a spill under way. The transaction goes on writing into another buffer meanwhile, so
// that the gateway and the ranges work at the same time.
type spillFlight struct {
	buf     writebuffer.Buffer // what is spilled
	charged int64              // for buf
	stopped atomic.Bool
	done    chan struct{}
	err     error // valid once done is closed
	// cancelled says that a statement has ended because it was cancelled while it waited.
	cancelled bool
}

// errSpillStopped ends a spill whose transaction is rolled back. Requests under way are answered first: the
// rollback must not overtake them.
var errSpillStopped = errors.New("the transaction of a spill is rolled back")

// beginSpill begins to spill the buffer after it has waited for the spill before, whose error it returns.
func (t *Txn) beginSpill(ctx context.Context) error {
	if err := t.awaitSpill(); err != nil || t.buf.Len() == 0 {
		return err
	}
	t.awaitReadAhead()
	f := &spillFlight{buf: t.buf, charged: t.charged, done: make(chan struct{})}
	chunks := t.spillChunks()
	single := t.noteSpill(chunks)
	t.spill.base += t.buf.Len()
	t.buf, t.charged, t.spill.flight = writebuffer.Buffer{}, 0, f
	go func() {
		defer close(f.done)
		f.err = f.send(ctx, t.env.Sender, chunks, single)
	}()
	return nil
}

// awaitSpill is endSpill unless the statement is cancelled before: the spill goes on then, and the rollback
// does not wait for it either.
func (t *Txn) awaitSpill() error {
	if t.spillCtx != nil {
		if err := t.spill.await(t.spillCtx); err != nil {
			return err
		}
	}
	return t.endSpill()
}

// await waits for the spill under way, but no longer than ctx lives.
func (s *spillState) await(ctx context.Context) error {
	if s.flight == nil {
		return nil
	}
	select {
	case <-s.flight.done:
		return nil
	case <-ctx.Done():
		s.flight.cancelled = true
		return context.Cause(ctx)
	}
}

// noteSpill notes the writes that are about to be spilled. It reports whether the first request must be
// answered before the others are sent, because it writes the record for which other transactions look.
func (t *Txn) noteSpill(chunks []kvpb.SpillRequest) (single bool) {
	if len(chunks) == 0 { // all was undone
		return false
	}
	first := chunks[0].Writes[0].Key
	last := chunks[len(chunks)-1].Writes
	t.spill.span = kvpb.Cover(kvpb.Cover(t.spill.span, first), last[len(last)-1].Key)
	if t.state != spilled {
		t.spill.keys.acc.Init(t.env.Mem)
	}
	t.state = spilled // even after an error: a part may be stored
	t.spill.keys.add(chunks)
	if single = t.spill.anchor == nil; single {
		t.spill.anchor = bytes.Clone(first)
	}
	meta := t.meta // the transaction's may change before they are sent
	for i := range chunks {
		chunks[i].Txn, chunks[i].Anchor = &meta, t.spill.anchor
	}
	return single
}

// endSpill waits for the spill under way, if there is one. After an error the transaction is as before
// the spill, with all its writes in the buffer, but ranges may have stored a part.
func (t *Txn) endSpill() error {
	f := t.spill.flight
	if f == nil {
		return nil
	}
	<-f.done
	t.spill.flight = nil
	if f.err != nil {
		t.spill.base -= f.buf.Len()
		f.buf.Append(&t.buf)
		t.buf, t.charged = f.buf, t.charged+f.charged
		t.spill.torn = true
		t.mustRestart = t.mustRestart || kvpb.Classify(f.err) == kvpb.ClassRetry
		return f.err
	}
	t.dropSpilledLocks(&f.buf)
	if f.charged > 0 {
		t.env.Mem.Release(f.charged)
	}
	return nil
}

// maxDetached bounds the rollbacks of a gateway that go on behind their sessions. Beyond it, sessions wait.
const maxDetached = 64

// detach starts a goroutine that waits for the spill of a cancelled transaction and undoes it, so that the client
// is answered at once: requests that are sent may take long. Until the spill is undone, other transactions wait for
// this one's locks and intents, as they do for those of a gateway that has died. It returns false if the caller
// must undo the spill itself.
func (t *Txn) detach() bool {
	f := t.spill.flight
	if f == nil || !f.cancelled || !t.env.reserveDetached() {
		return false
	}
	f.stopped.Store(true)
	f.cancelled = false // rest waits
	rest := New(t.env)
	rest.opts, rest.meta, rest.state = t.opts, t.meta, t.state
	rest.spill, rest.charged = t.spill, t.charged
	rest.locks, rest.ambiguous, rest.reserved = t.locks, t.ambiguous, t.reserved
	t.env.register(rest)
	t.state, t.spill, t.charged = active, spillState{}, 0
	t.locks, t.ambiguous, t.reserved = nil, nil, nil
	go func() {
		defer t.env.detached.Add(-1)
		rest.Rollback(context.Background())
	}()
	return true
}

// endSpillOf is endSpill if the spill in flight may have written a key. Afterwards a read or a lock of the key
// finds the transaction's own intent there, in place of its row lock.
func (t *Txn) endSpillOf(key []byte) error {
	if t.spill.flight == nil || !t.spill.span.Contains(key) || !t.spill.keys.mayHold(key) {
		return nil
	}
	return t.endSpill()
}

// send sends the requests of a spill: the first one alone if single is set, runs of adjoining ones in
// parallel, since they are probably for different ranges.
func (f *spillFlight) send(ctx context.Context, to kvpb.Sender, chunks []kvpb.SpillRequest, single bool) error {
	if single {
		if err := f.sendInTurn(ctx, to, chunks[:1]); err != nil {
			return err
		}
		chunks = chunks[1:]
	}
	var wg sync.WaitGroup
	errs := make([]error, min(spillParallel, len(chunks)))
	for i := range errs {
		run := chunks[i*len(chunks)/len(errs) : (i+1)*len(chunks)/len(errs)]
		wg.Go(func() { errs[i] = f.sendInTurn(ctx, to, run) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *spillFlight) sendInTurn(ctx context.Context, to kvpb.Sender, chunks []kvpb.SpillRequest) error {
	for i := range chunks {
		if f.stopped.Load() {
			return errSpillStopped
		}
		if err := to.Spill(ctx, &chunks[i]); err != nil {
			return err
		}
		chunks[i] = kvpb.SpillRequest{} // let its memory be collected
	}
	return nil
}
