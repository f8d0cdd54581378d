// Package sendertest has the Sender of tests that need no node: those of what stands between a
// gateway and the ranges. Above it are tests alone, below it is kvpb.
package sendertest

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Script is a Sender that answers each request as a test says. req and resp are pointers to the
// request and its response; resp is nil if the request has none.
type Script func(ctx context.Context, req, resp any) error

var _ kvpb.Sender = Script(nil)

// Get implements kvpb.Sender.
func (s Script) Get(ctx context.Context, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	return s(ctx, req, resp)
}

// Scan implements kvpb.Sender.
func (s Script) Scan(ctx context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	return s(ctx, req, resp)
}

// Lock implements kvpb.Sender.
func (s Script) Lock(ctx context.Context, req *kvpb.LockRequest, resp *kvpb.LockResponse) error {
	return s(ctx, req, resp)
}

// LockMany implements kvpb.Sender.
func (s Script) LockMany(ctx context.Context, req *kvpb.LockManyRequest, resp *kvpb.LockManyResponse) error {
	return s(ctx, req, resp)
}

// Refresh implements kvpb.Sender.
func (s Script) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error { return s(ctx, req, nil) }

// Reserve implements kvpb.Sender.
func (s Script) Reserve(ctx context.Context, req *kvpb.ReserveRequest) error { return s(ctx, req, nil) }

// Commit implements kvpb.Sender.
func (s Script) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	return s(ctx, req, resp)
}

// Release implements kvpb.Sender.
func (s Script) Release(ctx context.Context, req *kvpb.ReleaseRequest) error { return s(ctx, req, nil) }

// Stage implements kvpb.Committer.
func (s Script) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	return s(ctx, req, resp)
}

// EndTxn implements kvpb.Committer.
func (s Script) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	return s(ctx, req, resp)
}

// Resolve implements kvpb.Committer.
func (s Script) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error { return s(ctx, req, nil) }

// Push implements kvpb.Committer.
func (s Script) Push(ctx context.Context, req *kvpb.PushRequest, resp *kvpb.PushResponse) error {
	return s(ctx, req, resp)
}

// QueryStaged implements kvpb.Committer.
func (s Script) QueryStaged(ctx context.Context, req *kvpb.QueryStagedRequest, resp *kvpb.QueryStagedResponse) error {
	return s(ctx, req, resp)
}

// Spill implements kvpb.Spiller.
func (s Script) Spill(ctx context.Context, req *kvpb.SpillRequest) error { return s(ctx, req, nil) }

// Spilled implements kvpb.Spiller.
func (s Script) Spilled(ctx context.Context, req *kvpb.SpilledRequest) (resp kvpb.SpilledResponse, err error) {
	err = s(ctx, req, &resp)
	return resp, err
}

// Unspill implements kvpb.Spiller.
func (s Script) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error { return s(ctx, req, nil) }
