package dist

import (
	"context"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/quota"
)

// Serve executes a request that Remote on another node has sent, and returns the response. stores
// finds this node's replica of a range; its error, a kvpb.RangeMismatchError if there is no
// replica, becomes the response. Invalid requests fail with kvpb.ErrInvalidRequest or
// kvwire.ErrDamaged; clock tells which timestamps are too late. Without memory in mem for a large
// response the error is a *quota.ExceededError. The caller must not change payload until Serve returns.
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
	latest hlc.Timestamp // limit for the request's timestamps
}

// decode reads and validates a request. Replicas rely on valid requests, and a damaged or newer
// node may send others.
func decode[T any, R interface {
	*T
	Validate(latest hlc.Timestamp) error
}](in incoming, req R, fields func([]byte, *T) error) error {
	if err := fields(in.body, req); err != nil {
		return err
	}
	return req.Validate(in.latest)
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
	switch op {
	case kvwire.OpGet, kvwire.OpScan, kvwire.OpLock:
		c := readCalls.Get().(*readCall)
		defer c.free()
		return c.serve(ctx, mem, s, op, in)
	case kvwire.OpLockMany:
		return serveLockMany(ctx, s, in)
	case kvwire.OpRefresh:
		var req kvpb.RefreshRequest
		if err := decode(in, &req, kvwire.DecodeRefresh); err != nil {
			return nil, err
		}
		return done(s.Refresh(ctx, &req))
	case kvwire.OpCommit:
		return serveCommit(ctx, s, in)
	case kvwire.OpRelease:
		var req kvpb.ReleaseRequest
		if err := decode(in, &req, kvwire.DecodeRelease); err != nil {
			return nil, err
		}
		return done(s.Release(ctx, &req))
	case kvwire.OpFeed:
		return serveFeed(ctx, s, in)
	case kvwire.OpSpill, kvwire.OpSpilled, kvwire.OpUnspill:
		return serveSpill(ctx, s, op, in)
	}
	return serveParallelCommit(ctx, s, op, in, kvwire.AppendOK(nil))
}

// done encodes a response without fields.
func done(err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return kvwire.AppendOK(nil), nil
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

func (c *readCall) serve(ctx context.Context, mem *quota.Values, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
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

func serveLockMany(ctx context.Context, s kvpb.Sender, in incoming) ([]byte, error) {
	var req kvpb.LockManyRequest
	if err := decode(in, &req, kvwire.DecodeLockMany); err != nil {
		return nil, err
	}
	var resp kvpb.LockManyResponse
	if err := s.LockMany(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return kvwire.AppendLockManyResponse(kvwire.AppendOK(nil), &resp), nil
}

func serveCommit(ctx context.Context, s kvpb.Sender, in incoming) ([]byte, error) {
	var req kvpb.CommitRequest
	if err := decode(in, &req, kvwire.DecodeCommit); err != nil {
		return nil, err
	}
	var resp kvpb.CommitResponse
	if err := s.Commit(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return kvwire.AppendCommitResponse(kvwire.AppendOK(nil), &resp), nil
}

func serveSpill(ctx context.Context, s kvpb.Sender, op kvwire.Op, in incoming) ([]byte, error) {
	switch op {
	case kvwire.OpSpill:
		var req kvpb.SpillRequest
		if err := decode(in, &req, kvwire.DecodeSpill); err != nil {
			return nil, err
		}
		return done(s.Spill(ctx, &req))
	case kvwire.OpSpilled:
		var req kvpb.SpilledRequest
		if err := decode(in, &req, kvwire.DecodeSpilled); err != nil {
			return nil, err
		}
		resp, err := s.Spilled(ctx, &req)
		if err != nil {
			return nil, err
		}
		return kvwire.AppendSpilledResponse(kvwire.AppendOK(nil), &resp), nil
	}
	var req kvpb.UnspillRequest
	if err := decode(in, &req, kvwire.DecodeUnspill); err != nil {
		return nil, err
	}
	return done(s.Unspill(ctx, &req))
}
