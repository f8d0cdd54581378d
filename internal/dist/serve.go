package dist

import (
	"context"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/trace"
)

// Serve executes a request that a Remote on another node has sent, and returns the response. stores finds
// this node's replica of a range. Its error becomes the response: a kvpb.RangeMismatchError if there is no
// replica. Invalid requests fail with kvpb.ErrInvalidRequest or kvwire.ErrDamaged. The clock bounds the
// timestamps of a request. A large response for which mem has no room fails with a *quota.ExceededError. The
// caller must not change payload until Serve returns.
func Serve(ctx context.Context, clock *hlc.Clock, mem *quota.Values, stores func(kvpb.RangeID) (kvpb.Sender, error), payload []byte) []byte {
	out, err := serve(ctx, clock, mem, stores, payload)
	if err != nil {
		return kvwire.AppendFailure(nil, err)
	}
	return out
}

// incoming is the decoded header of another node's request.
type incoming struct {
	body   []byte
	latest hlc.Timestamp // no timestamp of the request may be later
}

// request is a pointer to a request.
type request[Q any] interface {
	*Q
	Validate(latest hlc.Timestamp) error
}

// decode decodes and validates a request. Replicas rely on valid requests, but a damaged or newer node may
// send others.
func decode[Q any, R request[Q]](in incoming, req R, fields func([]byte, *Q) error) error {
	if err := fields(in.body, req); err != nil {
		return err
	}
	return req.Validate(in.latest)
}

// respond decodes a request, executes it and encodes its response.
func respond[Q, A any, R request[Q]](ctx context.Context, s kvpb.Sender, in incoming, fields func([]byte, *Q) error,
	execute func(kvpb.Sender, context.Context, R, *A) error, encode func([]byte, *A) []byte,
) ([]byte, error) {
	var req Q
	var resp A
	if err := decode[Q, R](in, &req, fields); err != nil {
		return nil, err
	}
	if err := execute(s, ctx, &req, &resp); err != nil {
		return nil, err
	}
	return encode(kvwire.AppendOK(nil), &resp), nil
}

// acknowledge decodes a request whose response has no fields, and executes it.
func acknowledge[Q any, R request[Q]](ctx context.Context, s kvpb.Sender, in incoming, fields func([]byte, *Q) error,
	execute func(kvpb.Sender, context.Context, R) error,
) ([]byte, error) {
	var req Q
	if err := decode[Q, R](in, &req, fields); err != nil {
		return nil, err
	}
	if err := execute(s, ctx, &req); err != nil {
		return nil, err
	}
	return kvwire.AppendOK(nil), nil
}

func serve(ctx context.Context, clock *hlc.Clock, mem *quota.Values, stores func(kvpb.RangeID) (kvpb.Sender, error), payload []byte) ([]byte, error) {
	op, id, body, err := kvwire.DecodeRequest(payload)
	if err != nil {
		return nil, err
	}
	s, err := stores(id)
	if err != nil {
		return nil, err
	}
	in := incoming{body, clock.Latest()}
	ctx, span := trace.Start(ctx, "serve")
	if span != nil {
		span.Note("%s of range %d, %d B", op, id, len(body))
	}
	out, err := execute(ctx, mem, s, op, in)
	span.End(err)
	return out, err
}

// execute has the replica execute a request.
func execute(ctx context.Context, mem *quota.Values, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
	ctx, waited := trace.Waiting(ctx)
	switch op {
	case kvwire.OpGet, kvwire.OpScan, kvwire.OpLock:
		c := readCalls.Get().(*readCall)
		defer c.free()
		return c.serve(ctx, waited, mem, s, op, in)
	case kvwire.OpFeed:
		return serveFeed(ctx, s, in)
	case kvwire.OpSpill, kvwire.OpSpilled, kvwire.OpUnspill:
		return serveSpill(ctx, s, op, in)
	case kvwire.OpStage, kvwire.OpEndTxn, kvwire.OpResolve, kvwire.OpPush, kvwire.OpQueryStaged:
		return serveParallelCommit(ctx, waited, s, op, in)
	case kvwire.OpLockMany:
		return respond(ctx, s, in, kvwire.DecodeLockMany, kvpb.Sender.LockMany, kvwire.AppendLockManyResponse)
	case kvwire.OpRefresh:
		return acknowledge(ctx, s, in, kvwire.DecodeRefresh, kvpb.Sender.Refresh)
	case kvwire.OpReserve:
		return acknowledge(ctx, s, in, kvwire.DecodeReserve, kvpb.Sender.Reserve)
	case kvwire.OpCommit:
		commit := func(s kvpb.Sender, ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
			err := s.Commit(ctx, req, resp)
			resp.Waited = waited.Total()
			return err
		}
		return respond(ctx, s, in, kvwire.DecodeCommit, commit, kvwire.AppendCommitResponse)
	case kvwire.OpRelease:
		return acknowledge(ctx, s, in, kvwire.DecodeRelease, kvpb.Sender.Release)
	}
	return nil, fmt.Errorf("dist: request of an unknown kind (%d)", op)
}

// readCall is the memory for serving one read.
type readCall struct {
	txn      kvpb.TxnMeta
	get      kvpb.GetRequest
	getResp  kvpb.GetResponse
	scan     kvpb.ScanRequest
	scanResp kvpb.ScanResponse
	lock     kvpb.LockRequest
	lockResp kvpb.LockResponse
}

var readCalls = sync.Pool{New: func() any { return new(readCall) }}

// free returns the memory to its pool. It drops references into the message first.
func (c *readCall) free() {
	c.get, c.scan, c.lock = kvpb.GetRequest{}, kvpb.ScanRequest{}, kvpb.LockRequest{}
	c.scanResp.Resume = nil
	if cap(c.getResp.Value)+cap(c.lockResp.Value)+cap(c.scanResp.Arena)+4*cap(c.scanResp.Offsets) <= maxBuffer {
		readCalls.Put(c)
	}
}

func (c *readCall) serve(ctx context.Context, waited *trace.Waited, mem *quota.Values, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
	switch op {
	case kvwire.OpGet:
		c.get.Txn = &c.txn
		if err := decode(in, &c.get, kvwire.DecodeGet); err != nil {
			return nil, err
		}
		value := c.getResp.Value[:0]
		c.getResp = kvpb.GetResponse{Value: value}
		if err := s.Get(ctx, &c.get, &c.getResp); err != nil {
			return nil, err
		}
		c.getResp.Waited = waited.Total()
		out, err := response(mem, len(c.getResp.Value))
		if err != nil {
			return nil, err
		}
		return kvwire.AppendGetResponse(kvwire.AppendOK(out), &c.getResp), nil
	case kvwire.OpScan:
		c.scan.Txn = &c.txn
		if err := decode(in, &c.scan, kvwire.DecodeScan); err != nil {
			return nil, err
		}
		c.scanResp.Reset()
		if err := s.Scan(ctx, &c.scan, &c.scanResp); err != nil {
			return nil, err
		}
		c.scanResp.Waited = waited.Total()
		out, err := response(mem, len(c.scanResp.Arena)+len(c.scanResp.Resume)+3*len(c.scanResp.Offsets))
		if err != nil {
			return nil, err
		}
		return kvwire.AppendScanResponse(kvwire.AppendOK(out), &c.scanResp), nil
	}
	c.lock.Txn = &c.txn
	if err := decode(in, &c.lock, kvwire.DecodeLock); err != nil {
		return nil, err
	}
	value := c.lockResp.Value[:0]
	c.lockResp = kvpb.LockResponse{Value: value}
	if err := s.Lock(ctx, &c.lock, &c.lockResp); err != nil {
		return nil, err
	}
	c.lockResp.Waited = waited.Total()
	out, err := response(mem, len(c.lockResp.Value))
	if err != nil {
		return nil, err
	}
	return kvwire.AppendLockResponse(kvwire.AppendOK(out), &c.lockResp), nil
}

// responseRoom is the size of a response without keys and values.
const responseRoom = 64

// response returns a buffer for a response with so many bytes of keys and values.
func response(mem *quota.Values, n int) ([]byte, error) {
	if n += responseRoom; n < quota.LargeValue {
		return make([]byte, 0, n), nil
	}
	return mem.Room(nil, n)
}

func serveSpill(ctx context.Context, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
	switch op {
	case kvwire.OpSpill:
		return acknowledge(ctx, s, in, kvwire.DecodeSpill, kvpb.Sender.Spill)
	case kvwire.OpUnspill:
		return acknowledge(ctx, s, in, kvwire.DecodeUnspill, kvpb.Sender.Unspill)
	}
	spilled := func(s kvpb.Sender, ctx context.Context, req *kvpb.SpilledRequest, resp *kvpb.SpilledResponse) (err error) {
		*resp, err = s.Spilled(ctx, req)
		return err
	}
	return respond(ctx, s, in, kvwire.DecodeSpilled, spilled, kvwire.AppendSpilledResponse)
}

// serveParallelCommit executes the requests of commits across ranges.
func serveParallelCommit(ctx context.Context, waited *trace.Waited, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
	switch op {
	case kvwire.OpStage:
		stage := func(s kvpb.Sender, ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
			err := s.Stage(ctx, req, resp)
			resp.Waited = waited.Total()
			return err
		}
		return respond(ctx, s, in, kvwire.DecodeStage, stage, kvwire.AppendStageResponse)
	case kvwire.OpEndTxn:
		return respond(ctx, s, in, kvwire.DecodeEndTxn, kvpb.Sender.EndTxn, kvwire.AppendEndTxnResponse)
	case kvwire.OpResolve:
		return acknowledge(ctx, s, in, kvwire.DecodeResolve, kvpb.Sender.Resolve)
	case kvwire.OpPush:
		return respond(ctx, s, in, kvwire.DecodePush, kvpb.Sender.Push, kvwire.AppendPushResponse)
	}
	return respond(ctx, s, in, kvwire.DecodeQueryStaged, kvpb.Sender.QueryStaged, kvwire.AppendQueryStagedResponse)
}
