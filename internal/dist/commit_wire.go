package dist

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
)

// Stage implements kvpb.Committer.
func (s *Remote) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	p := s.begin(kvwire.OpStage)
	p.b = kvwire.AppendStage(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeStageResponse(body, resp))
}

// EndTxn implements kvpb.Committer.
func (s *Remote) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	p := s.begin(kvwire.OpEndTxn)
	p.b = kvwire.AppendEndTxn(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeEndTxnResponse(body, resp))
}

// Resolve implements kvpb.Committer.
func (s *Remote) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	p := s.begin(kvwire.OpResolve)
	p.b = kvwire.AppendResolve(p.b, req)
	_, err := s.call(ctx, p)
	return err
}

// Push implements kvpb.Committer.
func (s *Remote) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	p := s.begin(kvwire.OpPush)
	p.b = kvwire.AppendPush(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodePushResponse(body, resp))
}

// QueryStaged implements kvpb.Committer.
func (s *Remote) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	p := s.begin(kvwire.OpQueryStaged)
	p.b = kvwire.AppendQueryStaged(p.b, req)
	body, err := s.call(ctx, p)
	if err != nil {
		return err
	}
	return s.checked(kvwire.DecodeQueryStagedResponse(body, resp))
}

// serveParallelCommit executes the requests of commits across ranges and appends their
// responses to out.
func serveParallelCommit(ctx context.Context, s kvpb.Sender, op kvwire.Op, in incoming, out []byte) ([]byte, error) {
	switch op {
	case kvwire.OpStage:
		var req kvpb.StageRequest
		var resp kvpb.StageResponse
		if err := decode(in, &req, kvwire.DecodeStage); err != nil {
			return nil, err
		}
		err := s.Stage(ctx, &req, &resp)
		return kvwire.AppendStageResponse(out, &resp), err
	case kvwire.OpEndTxn:
		var req kvpb.EndTxnRequest
		var resp kvpb.EndTxnResponse
		if err := decode(in, &req, kvwire.DecodeEndTxn); err != nil {
			return nil, err
		}
		err := s.EndTxn(ctx, &req, &resp)
		return kvwire.AppendEndTxnResponse(out, &resp), err
	case kvwire.OpResolve:
		var req kvpb.ResolveRequest
		if err := decode(in, &req, kvwire.DecodeResolve); err != nil {
			return nil, err
		}
		return out, s.Resolve(ctx, &req)
	case kvwire.OpPush:
		var req kvpb.PushRequest
		var resp kvpb.PushResponse
		if err := decode(in, &req, kvwire.DecodePush); err != nil {
			return nil, err
		}
		err := s.Push(ctx, &req, &resp)
		return kvwire.AppendPushResponse(out, &resp), err
	case kvwire.OpQueryStaged:
		var req kvpb.QueryStagedRequest
		var resp kvpb.QueryStagedResponse
		if err := decode(in, &req, kvwire.DecodeQueryStaged); err != nil {
			return nil, err
		}
		err := s.QueryStaged(ctx, &req, &resp)
		return kvwire.AppendQueryStagedResponse(out, &resp), err
	}
	return nil, fmt.Errorf("dist: request of an unknown kind (%d)", op)
}
