package rpc

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/trace"
)

// maxTracedBytes is what the envelope of a traced call takes at most beside its request.
const maxTracedBytes = 64

// callTraced makes a call within a span. The request goes in an envelope (methodTraced), and the answer brings the spans of the other
// node. A node that does not know the envelope has not executed the request, which then goes without.
func (c *conn) callTraced(ctx context.Context, m Method, req []byte) ([]byte, error) {
	span := trace.Begin(ctx, trace.CallPrefix+m.String())
	if span == nil || len(req)+maxTracedBytes > MaxPayload {
		return c.call(ctx, m, req)
	}
	span.Note("to node %d, sent: %d B", c.peer, len(req))
	body := span.AppendHeader(make([]byte, 0, maxTracedBytes+len(req)))
	body = binary.LittleEndian.AppendUint16(body, uint16(m))
	answer, err := c.call(ctx, methodTraced, append(body, req...))
	switch unknown := new(notHandledError); {
	case err == nil:
		answer, err = openTraced(span, answer)
	case errors.As(err, &unknown):
		answer, err = c.call(ctx, m, req)
	}
	span.Note("received: %d B", len(answer))
	span.End(err)
	return answer, err
}

// openTraced takes the spans off an answer, and returns what the handler has returned.
func openTraced(span *trace.Span, answer []byte) ([]byte, error) {
	spans, rest, err := trace.TakeSpans(answer)
	if err != nil || len(rest) == 0 {
		return nil, unknownOutcome(trace.ErrDamaged)
	}
	if err := span.Include(spans); err != nil {
		span.Note("%v", err)
	}
	switch st, resp := status(rest[0]), rest[1:]; st {
	case statusOK:
		return resp, nil
	case statusError:
		return nil, &RemoteError{Msg: string(resp)}
	case statusNotHandled:
		return nil, notSent(errors.New(string(resp)))
	}
	return nil, unknownOutcome(trace.ErrDamaged)
}

// serveTraced executes the request in an envelope, and sends the spans of this node along with the answer.
func (n *Node) serveTraced(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
	t, rest, err := trace.Remote(req, uint64(n.o.NodeID()))
	if err != nil || len(rest) < 2 {
		return nil, trace.ErrDamaged
	}
	m, req := Method(binary.LittleEndian.Uint16(rest)), rest[2:]
	st, resp := n.runTraced(trace.With(ctx, t), from, m, req)
	out := t.AppendSpans(nil)
	if len(out)+1+len(resp) > MaxPayload {
		t.Forget()
		out = t.AppendSpans(nil)
	}
	return append(append(out, byte(st)), resp...), nil
}

// runTraced runs the handler of a method.
func (n *Node) runTraced(ctx context.Context, from kvpb.NodeID, m Method, req []byte) (status, []byte) {
	h := n.handler(m)
	if h == nil || m == methodTraced {
		return statusNotHandled, []byte(errNoMethod(m).Error())
	}
	resp, err := h(ctx, from, req)
	if err != nil {
		msg := err.Error()
		return statusError, []byte(msg[:min(len(msg), maxErrorBytes)])
	}
	return statusOK, resp
}
