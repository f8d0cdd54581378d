package gather

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/fragment"
	"github.com/lichendb/lichen/internal/trace"
)

// stream is what one node computes: one request after the other, until its spans are done.
type stream struct {
	gather   *gatherOp
	node     kvpb.NodeID
	spans    []kvpb.Span // left
	asked    []kvpb.Span // of the request under way: the first of spans
	call     *kv.Delegated
	attempts int // of that request
	reply    *reply
}

// reply is what the goroutine of a request leaves for the operator.
type reply struct {
	answer         *fragment.Answer
	sent, received int
}

// unanswered says that a node did not answer: what it was asked for is read elsewhere.
type unanswered struct{ cause error }

// Error implements error.
func (e *unanswered) Error() string { return "the node does not answer: " + e.cause.Error() }

// ask sends the next request, or leaves the spans to this node if the transaction has writes by now.
func (s *stream) ask() {
	g := s.gather
	s.asked = s.spans[:min(len(s.spans), maxSpans)]
	q, asked, to, fragments, r := g.request, s.asked, s.node, g.fragments, &reply{}
	s.reply = r
	s.call = g.txn.Delegate(g.run.Ctx, func(ctx context.Context, meta kvpb.TxnMeta, observed []kvpb.Observation) (kv.DelegatedRead, error) {
		q.Txn, q.Observed, q.Spans = meta, observed, asked
		req := fragment.AppendRequest(nil, &q)
		text, err := fragments.Run(ctx, to, req)
		if err != nil {
			if ctx.Err() != nil {
				return kv.DelegatedRead{}, context.Cause(ctx)
			}
			return kv.DelegatedRead{}, &unanswered{cause: err}
		}
		if r.sent, r.received = len(req), len(text); to == fragments.Self() {
			r.sent, r.received = 0, 0
		}
		if r.answer, err = fragment.DecodeAnswer(text); err != nil {
			if v := new(fragment.VersionError); errors.As(err, &v) {
				err = &unanswered{cause: err}
			}
			return kv.DelegatedRead{}, err
		}
		trace.AddWait(ctx, r.answer.Waited)
		return kv.DelegatedRead{Spans: done(asked, r.answer.Rest), Observed: r.answer.Observed, Traffic: r.sent + r.received, Entries: r.answer.Entries}, nil
	})
	if s.call == nil {
		s.leave()
	}
}

// leave leaves the rest of the spans to this node.
func (s *stream) leave() {
	s.gather.left = append(s.gather.left, s.spans...)
	s.spans = nil
}

// done returns the part of spans before rest; all of them if it is nil.
func done(spans []kvpb.Span, rest []byte) []kvpb.Span {
	if rest == nil {
		return spans
	}
	n := kvpb.CountBefore(spans, rest)
	out := spans[:n:n]
	if n < len(spans) {
		if part, ok := spans[n].Clip(spans[n].Key, rest); ok {
			out = append(out, part)
		}
	}
	return out
}

// take waits for the answer, makes it the one at hand and sends the next request.
func (s *stream) take() error {
	g, call := s.gather, s.call
	s.call = nil
	ok, err := call.Finish(g.run.Ctx, s.attempts)
	if u := new(unanswered); errors.As(err, &u) {
		s.leave()
		return nil
	}
	if err != nil {
		return err
	}
	if !ok {
		s.attempts++
		s.ask()
		return nil
	}
	s.attempts = 0
	a := s.reply.answer
	if g.actual != nil {
		m := &g.actual.Gather
		m.Calls++
		m.Sent += int64(s.reply.sent)
		m.Received += int64(s.reply.received)
	}
	if a.Rest == nil || plant.On(plant.RestUnread) {
		s.spans = s.spans[len(s.asked):]
	} else {
		s.spans = kvpb.Rest(s.spans, a.Rest)
	}
	if len(s.spans) > 0 {
		s.ask()
	}
	return g.keep(a.Batches)
}
