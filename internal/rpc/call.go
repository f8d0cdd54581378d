package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/trace"
)

// status is the code of an answer.
type status uint16

const (
	statusOK         status = iota // payload: what the handler returned
	statusError                    // payload: the text of the handler's error
	statusNotHandled               // payload: why no handler ran
)

// pendingCall is a call of this node that has no answer yet.
type pendingCall struct {
	done chan struct{} // gets one value when the result is there
	// Under conn.mu until done:
	batch  uint64 // with which the end of the request went, or will go
	offset int    // of a small request's frame in conn.mu.out, before that
	answer *assembly
	// The result:
	status status
	resp   []byte
	err    error
}

func (n *Node) getCall() *pendingCall {
	if p, ok := n.calls.Get().(*pendingCall); ok {
		return p
	}
	return &pendingCall{done: make(chan struct{}, 1)}
}

// result returns the result of p and recycles p. The caller has the only reference.
func (p *pendingCall) result(n *Node) ([]byte, error) {
	resp, st, err := p.resp, p.status, p.err
	*p = pendingCall{done: p.done}
	n.calls.Put(p)
	switch {
	case err != nil:
		return nil, err
	case st == statusOK:
		return resp, nil
	case st == statusError:
		return nil, &RemoteError{Msg: string(resp)}
	}
	return nil, notSent(&notHandledError{string(resp)})
}

// notHandledError says why the other node has not run a handler.
type notHandledError struct{ msg string }

func (e *notHandledError) Error() string { return e.msg }

// Call implements Transport.
func (n *Node) Call(ctx context.Context, to kvpb.NodeID, m Method, req []byte) ([]byte, error) {
	defer must.Report(n.o.OnFatal)
	if err := n.checkCall(ctx, req); err != nil {
		return nil, err
	}
	switch to {
	case 0:
		return nil, notSent(errors.New("there is no node 0"))
	case n.o.NodeID():
		return n.callSelf(ctx, m, req)
	}
	c, err := n.peer(to).calls.get(ctx)
	if err != nil {
		return nil, notSent(fmt.Errorf("node %d: %w", to, err))
	}
	if trace.On(ctx) {
		return c.callTraced(ctx, m, req)
	}
	return c.call(ctx, m, req)
}

// CallAddr calls the node at addr over a connection of its own. It serves nodes that join a cluster
// and tools that look for one.
func (n *Node) CallAddr(ctx context.Context, addr string, m Method, req []byte) ([]byte, error) {
	if err := n.checkCall(ctx, req); err != nil {
		return nil, err
	}
	if !n.enter() {
		return nil, notSent(ErrClosed)
	}
	defer n.leave()
	c, err := n.connect(ctx, addr, classCalls, 0)
	if err != nil {
		return nil, notSent(fmt.Errorf("%s: %w", addr, err))
	}
	n.wg.Go(c.run)
	defer c.fail(errDone)
	defer must.Report(n.o.OnFatal)
	return c.call(ctx, m, req)
}

// WhoIsAt returns the id of the node at addr; 0 if it has none.
func (n *Node) WhoIsAt(ctx context.Context, addr string) (kvpb.NodeID, error) {
	if !n.enter() {
		return 0, notSent(ErrClosed)
	}
	defer n.leave()
	c, err := n.connect(ctx, addr, classCalls, 0)
	if err != nil {
		return 0, err
	}
	return c.peer, c.nc.Close()
}

func (n *Node) checkCall(ctx context.Context, req []byte) error {
	if len(req) > MaxPayload {
		return notSent(fmt.Errorf("request of %d bytes is larger than %d", len(req), MaxPayload))
	}
	if ctx.Err() != nil {
		return notSent(ctxError(ctx))
	}
	return nil
}

// callSelf runs a handler of this node on the caller's goroutine. Close does not wait for it.
func (n *Node) callSelf(ctx context.Context, m Method, req []byte) ([]byte, error) {
	h := n.handler(m)
	if h == nil {
		return nil, notSent(errNoMethod(m))
	}
	if n.ctx.Err() != nil {
		return nil, notSent(ErrClosed)
	}
	resp, err := h(ctx, n.o.NodeID(), req)
	if err != nil {
		return nil, &RemoteError{Msg: err.Error()}
	}
	return resp, nil
}

func errNoMethod(m Method) error { return fmt.Errorf("no handler for method %v", m) }

// call sends a request over the connection and waits for the answer.
func (c *conn) call(ctx context.Context, m Method, req []byte) ([]byte, error) {
	p := c.n.getCall()
	id, err := c.startCall(p, m, req)
	if err != nil {
		p.err = err
		return p.result(c.n)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.abandon(id, p, ctxError(ctx))
		<-p.done
	}
	return p.result(c.n)
}

// startCall registers p and queues its request.
func (c *conn) startCall(p *pendingCall, m Method, req []byte) (uint64, error) {
	c.mu.Lock()
	switch {
	case c.mu.err != nil:
		err := c.mu.err
		c.mu.Unlock()
		return 0, notSent(err)
	case len(c.mu.pending) >= c.n.limits.pendingCalls || c.waitingLocked() > c.n.limits.queueBytes:
		c.mu.Unlock()
		return 0, notSent(fmt.Errorf("too much waits for node %d", c.peer))
	}
	c.mu.lastID++
	id := c.mu.lastID
	c.mu.pending[id] = p
	if len(req) <= chunkSize {
		c.beginLocked()
		p.batch, p.offset = c.mu.batch+1, len(c.mu.out)
		c.mu.out = appendFrame(c.mu.out, frameCall, uint16(m), id, req)
	} else {
		p.batch = notInBatch
		c.mu.large = append(c.mu.large, &transfer{typ: frameCall, code: uint16(m), id: id, payload: req, call: p})
		c.mu.largeLen += len(req)
	}
	c.kickLocked()
	c.mu.Unlock()
	c.n.stats.callsSent.Add(1)
	return id, nil
}

// abandon ends a call whose caller has given up, unless the result is there. It voids a request
// that was not sent yet; otherwise it notifies the peer.
func (c *conn) abandon(id uint64, p *pendingCall, cause error) {
	c.mu.Lock()
	if c.mu.pending[id] != p {
		c.mu.Unlock() // whoever removed it from pending completes p
		return
	}
	delete(c.mu.pending, id)
	switch {
	case p.batch <= c.mu.batch: // it was sent
		p.err = unknownOutcome(cause)
		c.cancelLocked(id)
	case p.batch == notInBatch:
		p.err = notSent(cause)
		c.dropLargeLocked(frameCall, id)
		c.cancelLocked(id)
	default:
		p.err = notSent(cause)
		setFrame(c.mu.out, p.offset, frameVoid, 0)
	}
	c.mu.Unlock()
	p.done <- struct{}{}
}

// failPending ends the calls of a lost connection. The outcome of a call is unknown if the batch
// with the end of its request was handed to the network.
func (c *conn) failPending(pending map[uint64]*pendingCall, batch uint64, err error) {
	cause := fmt.Errorf("connection to node %d lost: %w", c.peer, err)
	for _, p := range pending {
		if p.batch <= batch {
			p.err = unknownOutcome(cause)
		} else {
			p.err = notSent(cause)
		}
		p.done <- struct{}{}
	}
}

// receiveAnswer processes an answer or a piece of one. It drops answers of abandoned calls.
func (c *conn) receiveAnswer(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.mu.pending[f.id]
	if p == nil {
		return nil
	}
	switch {
	case f.flags == 0 && p.answer == nil:
		p.resp = append([]byte(nil), f.payload...)
	case f.flags == flagFirst && p.answer == nil:
		p.answer = newAssembly(f, true)
		fallthrough
	case f.flags == flagMore && p.answer != nil:
		if done, err := p.answer.add(f.payload); err != nil || !done {
			return err
		}
		p.resp = p.answer.buf
	default:
		return corrupt("pieces of an answer out of order")
	}
	p.status = status(f.code)
	if p.status > statusNotHandled {
		return corrupt("answer with status %d", f.code)
	}
	delete(c.mu.pending, f.id)
	if p.batch == notInBatch { // answered before the whole request was sent
		c.dropLargeLocked(frameCall, f.id)
		c.cancelLocked(f.id)
	}
	p.done <- struct{}{}
	return nil
}

// cancelLocked notifies the peer that the caller has given up.
func (c *conn) cancelLocked(id uint64) {
	c.beginLocked()
	c.mu.out = appendFrame(c.mu.out, frameCancel, 0, id, nil)
	c.kickLocked()
}

// ctxError returns the cause of ctx's end.
func ctxError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
