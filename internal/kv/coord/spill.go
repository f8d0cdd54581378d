package coord

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

type spillState struct{}

func (t *Txn) getSpilled(ctx context.Context, key []byte, below int32) (val []byte, found, ok bool, err error) {
	return nil, false, false, nil
}
func (t *Txn) spillRollback(ctx context.Context, sp Savepoint) error { return nil }
func (t *Txn) commitSpilled(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	return nil
}
func (t *Txn) abortSpilled(ctx context.Context) {}
func (t *Txn) mergeSpilled(ctx context.Context, lo, hi []byte, reverse bool, res *kvpb.ScanResponse) error {
	return nil
}
