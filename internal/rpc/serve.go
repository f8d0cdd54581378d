package rpc

import (
	"context"
	"errors"
	"fmt"
)

// receiveCall processes a request or a piece of one.
func (c *conn) receiveCall(f frame) error {
	a := c.partial[f.id]
	switch {
	case f.flags == 0 && a == nil:
		return c.dispatch(f.id, Method(f.code), append([]byte(nil), f.payload...))
	case f.flags == flagFirst && a == nil:
		if err := c.beginPartial(f); err != nil {
			return err
		}
		a = c.partial[f.id]
	case f.flags == flagMore && a != nil:
	default:
		return corrupt("pieces of a request out of order")
	}
	done, err := a.add(f.payload)
	if err != nil || !done {
		return err
	}
	c.dropPartial(f.id)
	if a.buf == nil {
		return nil // its first piece was refused
	}
	return c.dispatch(f.id, Method(a.code), a.buf)
}

// beginPartial reserves memory for a large request, or refuses it.
func (c *conn) beginPartial(f frame) error {
	if len(c.partial) >= c.n.limits.callsPerConn {
		return corrupt("%d unfinished requests", len(c.partial))
	}
	keep := c.partialBytes+f.total <= c.n.limits.partialBytes
	if keep {
		c.partialBytes += f.total
	} else if err := c.refuseCall(f.id, errors.New("too many large requests at once")); err != nil {
		return err
	}
	if c.partial == nil {
		c.partial = map[uint64]*assembly{}
	}
	c.partial[f.id] = newAssembly(f, keep)
	return nil
}

func (c *conn) dropPartial(id uint64) {
	if a := c.partial[id]; a != nil {
		if a.buf != nil {
			c.partialBytes -= a.total
		}
		delete(c.partial, id)
	}
}

// dispatch starts the handler of a complete request.
func (c *conn) dispatch(id uint64, m Method, req []byte) error {
	h := c.n.handler(m)
	if h == nil {
		return c.refuseCall(id, errNoMethod(m))
	}
	if c.n.running.Add(1) > int64(c.n.limits.callsPerNode) {
		c.n.running.Add(-1)
		return c.refuseCall(id, errors.New("the node has too many calls at once"))
	}
	ctx, cancel, err := c.admitCall(id)
	if err != nil {
		c.n.running.Add(-1)
		if errors.Is(err, errTooMany) {
			return c.refuseCall(id, err)
		}
		return err
	}
	c.n.stats.callsReceived.Add(1)
	c.n.wg.Add(1) // not the first: the reader is running
	c.n.workers.Go(func() { c.handle(ctx, cancel, h, id, req) })
	return nil
}

var errTooMany = errors.New("too many calls of one node at once")

// admitCall registers a call, with a context for its handler.
func (c *conn) admitCall(id uint64) (context.Context, context.CancelFunc, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.err != nil:
		return nil, nil, c.mu.err
	case c.mu.running[id] != nil:
		return nil, nil, corrupt("call %d twice", id)
	case len(c.mu.running) >= c.n.limits.callsPerConn:
		return nil, nil, errTooMany
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.running[id] = cancel
	return ctx, cancel, nil
}

// refuseCall answers a call that reaches no handler.
func (c *conn) refuseCall(id uint64, why error) error {
	c.n.stats.callsRefused.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.err != nil:
		return c.mu.err
	case c.waitingLocked() > MaxQueueBytes+maxOverflow:
		return errors.New("the peer sends calls and does not read the answers")
	}
	c.beginLocked()
	msg := fmt.Sprintf("refused by node %d: %v", c.n.o.NodeID(), why)
	c.mu.out = appendFrame(c.mu.out, frameAnswer, uint16(statusNotHandled), id, []byte(msg))
	c.kickLocked()
	return nil
}

// handle runs a handler and queues its answer. It also writes the answer if no other goroutine is
// writing.
func (c *conn) handle(ctx context.Context, cancel context.CancelFunc, h Handler, id uint64, req []byte) {
	defer c.n.wg.Done()
	defer cancel()
	resp, err := h(ctx, c.peer, req)
	st := statusOK
	if err == nil && len(resp) > MaxPayload {
		err = fmt.Errorf("answer of %d bytes is larger than %d", len(resp), MaxPayload)
	}
	if err != nil {
		msg := err.Error()
		st, resp = statusError, []byte(msg[:min(len(msg), maxErrorBytes)])
	}
	if c.answer(ctx, id, st, resp) {
		c.write()
	}
}

// answer queues an answer. It waits while too much is queued. It returns true if the caller must
// write.
func (c *conn) answer(ctx context.Context, id uint64, st status, resp []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.mu.err == nil && ctx.Err() == nil && c.waitingLocked() > c.n.limits.queueBytes {
		c.mu.waiting++
		c.mu.room.Wait()
		c.mu.waiting--
	}
	delete(c.mu.running, id)
	c.n.running.Add(-1)
	if c.mu.err != nil || ctx.Err() != nil {
		return false // the caller has given up
	}
	if len(resp) <= chunkSize {
		c.beginLocked()
		c.mu.out = appendFrame(c.mu.out, frameAnswer, uint16(st), id, resp)
	} else {
		c.mu.large = append(c.mu.large, &transfer{typ: frameAnswer, code: uint16(st), id: id, payload: resp})
		c.mu.largeLen += len(resp)
	}
	return c.acquireLocked()
}

// receiveCancel drops a call whose caller has given up.
func (c *conn) receiveCancel(id uint64) {
	c.dropPartial(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.mu.running[id]; cancel != nil {
		cancel()
		if c.mu.waiting > 0 {
			c.mu.room.Broadcast()
		}
	} else {
		c.dropLargeLocked(frameAnswer, id)
	}
}
