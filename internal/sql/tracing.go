package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/trace"
)

// traced is the trace of an execution.
type traced struct {
	trace    *trace.Trace // nil: nobody asked for it
	root     *trace.Span
	exported bool
}

// beginTrace begins the trace of the statement if there is a reason for one.
func (x *execution) beginTrace(ctx context.Context) context.Context {
	if !x.counts() {
		return ctx
	}
	if t := x.ex.srv.cfg.Traces; t != nil {
		x.traced.exported = t.Sample()
	}
	if x.entry().Traces() || x.traced.exported {
		return x.follow(ctx)
	}
	return ctx
}

// follow has the statement traced from now on.
func (x *execution) follow(ctx context.Context) context.Context {
	if x.traced.trace != nil {
		return ctx
	}
	x.traced.trace = trace.New(uint64(x.ex.srv.nodeID()), trace.MaxSpans)
	ctx, x.traced.root = trace.Start(trace.With(ctx, x.traced.trace), x.prepared.Stmt.AST.Tag())
	return ctx
}

// end ends the trace: what goes on behind the statement, with its context, is no part of it.
func (t *traced) end(err error) {
	if t.trace != nil {
		t.root.End(err)
		t.trace.Finish()
	}
}

// text is the trace for people; "" if there is none.
func (t *traced) text() string {
	if t.trace == nil {
		return ""
	}
	return t.trace.Text()
}

// export hands the trace on.
func (c *recorder) export() {
	r := &c.ran
	if !r.traced.exported {
		return
	}
	o := &r.outcome
	e := trace.Statement{
		Trace: r.traced.trace, Tag: r.prepared.Stmt.AST.Tag(), Fingerprint: r.entry.Text(), Database: c.conn.db.Name, Application: c.vals.Fast.ApplicationName,
		Rows: o.Rows, Read: o.Read, Written: o.Written, Retries: o.Retries, Waited: o.Waited,
	}
	if r.err != nil {
		e.Code = string(pgerr.From(r.err).Code)
	}
	c.srv.cfg.Traces.Export(e)
}
