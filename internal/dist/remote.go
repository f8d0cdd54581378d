package dist

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/trace"
)

// MethodKV is the method of requests to replicas.
const MethodKV = rpc.MethodKV

// Caller makes calls to other nodes. An error that matches rpc.ErrNotSent guarantees that the request was not
// executed. After any other error it may have been.
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

// roundTrip sends a request and decodes its response.
func roundTrip[Q, A any](ctx context.Context, s *Remote, op kvwire.Op,
	encode func([]byte, *Q) []byte, req *Q, decode func([]byte, *A) error, resp *A,
) error {
	p := s.begin(op)
	p.b = encode(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(decode(body, resp))
}

// send sends a request whose response has no fields.
func send[Q any](ctx context.Context, s *Remote, op kvwire.Op, encode func([]byte, *Q) []byte, req *Q) error {
	p := s.begin(op)
	p.b = encode(p.b, req)
	_, err := s.call(ctx, p)
	return err
}

// Get implements kvpb.Sender.
func (s *Remote) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	err := roundTrip(ctx, s, kvwire.OpGet, kvwire.AppendGet, req, kvwire.DecodeGetResponse, resp)
	if err == nil {
		trace.AddWait(ctx, resp.Waited)
	}
	return err
}

// Scan implements kvpb.Sender.
func (s *Remote) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	p := s.begin(kvwire.OpScan)
	p.b = kvwire.AppendScan(p.b, req)
	sent := len(p.b)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	if err := kvwire.DecodeScanResponse(body, resp); err != nil {
		return s.checked(err)
	}
	resp.Traffic = sent + len(body)
	trace.AddWait(ctx, resp.Waited)
	return nil
}

// Lock implements kvpb.Sender.
func (s *Remote) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	if s.waits != nil {
		s.waits.begin(req.Txn.ID, s.Node)
		defer s.waits.end(req.Txn.ID, s.Node)
	}
	err := roundTrip(ctx, s, kvwire.OpLock, kvwire.AppendLock, req, kvwire.DecodeLockResponse, resp)
	if err == nil {
		trace.AddWait(ctx, resp.Waited)
	}
	return err
}

// LockMany implements kvpb.Sender.
func (s *Remote) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	err := roundTrip(ctx, s, kvwire.OpLockMany, kvwire.AppendLockMany, req, kvwire.DecodeLockManyResponse, resp)
	if err == nil && len(resp.Locks) != len(req.Keys) {
		err = s.checked(kvwire.ErrDamaged)
	}
	return err
}

// Refresh implements kvpb.Sender.
func (s *Remote) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	return send(ctx, s, kvwire.OpRefresh, kvwire.AppendRefresh, req)
}

// Reserve implements kvpb.Sender.
func (s *Remote) Reserve(ctx context.Context, req *kvpb.ReserveRequest) error {
	return send(ctx, s, kvwire.OpReserve, kvwire.AppendReserve, req)
}

// Commit implements kvpb.Sender.
func (s *Remote) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	err := roundTrip(ctx, s, kvwire.OpCommit, kvwire.AppendCommit, req, kvwire.DecodeCommitResponse, resp)
	if err == nil {
		trace.AddWait(ctx, resp.Waited)
	}
	return err
}

// Release implements kvpb.Sender.
func (s *Remote) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	return send(ctx, s, kvwire.OpRelease, kvwire.AppendRelease, req)
}

// Spill implements kvpb.Spiller.
func (s *Remote) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	return send(ctx, s, kvwire.OpSpill, kvwire.AppendSpill, req)
}

// Spilled implements kvpb.Spiller.
func (s *Remote) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	err = roundTrip(ctx, s, kvwire.OpSpilled, kvwire.AppendSpilled, req, kvwire.DecodeSpilledResponse, &resp)
	return resp, err
}

// Unspill implements kvpb.Spiller.
func (s *Remote) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	return send(ctx, s, kvwire.OpUnspill, kvwire.AppendUnspill, req)
}

// Stage implements kvpb.Committer.
func (s *Remote) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	err := roundTrip(ctx, s, kvwire.OpStage, kvwire.AppendStage, req, kvwire.DecodeStageResponse, resp)
	if err == nil {
		trace.AddWait(ctx, resp.Waited)
	}
	return err
}

// EndTxn implements kvpb.Committer.
func (s *Remote) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	return roundTrip(ctx, s, kvwire.OpEndTxn, kvwire.AppendEndTxn, req, kvwire.DecodeEndTxnResponse, resp)
}

// Resolve implements kvpb.Committer.
func (s *Remote) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	return send(ctx, s, kvwire.OpResolve, kvwire.AppendResolve, req)
}

// Push implements kvpb.Committer.
func (s *Remote) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	return roundTrip(ctx, s, kvwire.OpPush, kvwire.AppendPush, req, kvwire.DecodePushResponse, resp)
}

// QueryStaged implements kvpb.Committer.
func (s *Remote) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	return roundTrip(ctx, s, kvwire.OpQueryStaged, kvwire.AppendQueryStaged, req, kvwire.DecodeQueryStagedResponse, resp)
}
