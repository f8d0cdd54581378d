package dist

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/rpc"
)

// MethodKV is the method of requests to replicas.
const MethodKV = rpc.MethodKV

// Caller makes calls to other nodes. An error that matches rpc.ErrNotSent guarantees that the
// request was not executed; after any other error it may have been.
type Caller interface {
	Call(ctx context.Context, to kvpb.NodeID, m rpc.Method, req []byte) ([]byte, error)
}

// Remote is a replica on another node. It returns the replica's errors unchanged.
type Remote struct {
	Caller Caller
	Node   kvpb.NodeID
	Range  kvpb.RangeID

	waits *remoteWaits // records lock requests; may be nil
	clock *peerClock   // records requests; may be nil
}

var _ kvpb.Sender = (*Remote)(nil)

// callError is the error of a request without an answer.
type callError struct {
	node  kvpb.NodeID
	cause error
}

func (e *callError) Error() string { return fmt.Sprintf("node %d: %v", e.node, e.cause) }

func (e *callError) Unwrap() error { return e.cause }

// notSent reports whether the request was certainly not executed.
func (e *callError) notSent() bool { return errors.Is(e.cause, rpc.ErrNotSent) }

// maxBuffer is the size of the largest buffer that the pool keeps.
const maxBuffer = 64 << 10

type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (p *buffer) free() {
	if cap(p.b) <= maxBuffer {
		buffers.Put(p)
	}
}

// begin returns a buffer with the header of a request.
func (s *Remote) begin(op kvwire.Op) *buffer {
	p := buffers.Get().(*buffer)
	p.b = kvwire.AppendRequest(p.b[:0], op, s.Range)
	return p
}

// call sends a request and frees its buffer. The caller owns the response.
func (s *Remote) call(ctx context.Context, p *buffer) ([]byte, error) {
	defer p.free()
	if s.clock != nil {
		s.clock.use()
	}
	answer, err := s.Caller.Call(ctx, s.Node, MethodKV, p.b)
	if err != nil {
		return nil, &callError{node: s.Node, cause: err}
	}
	body, err := kvwire.DecodeResponse(answer)
	return body, s.checked(err)
}

// checked turns a decoding error into a callError: the outcome of the request is unknown.
func (s *Remote) checked(err error) error {
	if errors.Is(err, kvwire.ErrDamaged) {
		return &callError{node: s.Node, cause: err}
	}
	return err
}

// Get implements kvpb.Sender.
func (s *Remote) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	p := s.begin(kvwire.OpGet)
	p.b = kvwire.AppendGet(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeGetResponse(body, resp))
}

// Scan implements kvpb.Sender.
func (s *Remote) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	p := s.begin(kvwire.OpScan)
	p.b = kvwire.AppendScan(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeScanResponse(body, resp))
}

// Lock implements kvpb.Sender.
func (s *Remote) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	p := s.begin(kvwire.OpLock)
	p.b = kvwire.AppendLock(p.b, req)
	if s.waits != nil {
		s.waits.begin(req.Txn.ID, s.Node)
		defer s.waits.end(req.Txn.ID, s.Node)
	}
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeLockResponse(body, resp))
}

// LockMany implements kvpb.Sender.
func (s *Remote) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	p := s.begin(kvwire.OpLockMany)
	p.b = kvwire.AppendLockMany(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	if err = kvwire.DecodeLockManyResponse(body, resp); err == nil && len(resp.Locks) != len(req.Keys) {
		err = kvwire.ErrDamaged
	}
	return s.checked(err)
}

// Refresh implements kvpb.Sender.
func (s *Remote) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	p := s.begin(kvwire.OpRefresh)
	p.b = kvwire.AppendRefresh(p.b, req)
	_, err := s.call(ctx, p)
	return err
}

// Commit implements kvpb.Sender.
func (s *Remote) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	p := s.begin(kvwire.OpCommit)
	p.b = kvwire.AppendCommit(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeCommitResponse(body, resp))
}

// Release implements kvpb.Sender.
func (s *Remote) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	p := s.begin(kvwire.OpRelease)
	p.b = kvwire.AppendRelease(p.b, req)
	_, err := s.call(ctx, p)
	return err
}

// Spill implements kvpb.Spiller.
func (s *Remote) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	p := s.begin(kvwire.OpSpill)
	p.b = kvwire.AppendSpill(p.b, req)
	_, err := s.call(ctx, p)
	return err
}

// Spilled implements kvpb.Spiller.
func (s *Remote) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	p := s.begin(kvwire.OpSpilled)
	p.b = kvwire.AppendSpilled(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return resp, err
	}
	err = kvwire.DecodeSpilledResponse(body, &resp)
	return resp, s.checked(err)
}

// Unspill implements kvpb.Spiller.
func (s *Remote) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	p := s.begin(kvwire.OpUnspill)
	p.b = kvwire.AppendUnspill(p.b, req)
	_, err := s.call(ctx, p)
	return err
}
