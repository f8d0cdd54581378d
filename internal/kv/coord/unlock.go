package coord

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Unlock gives up the lock on a key before the transaction ends, or what a failed
// request may have got of it. It is for transactions that take locks only: what another
// one saw under the lock would no longer be protected.
func (t *Txn) Unlock(ctx context.Context, key []byte) error {
	t.locks = slices.DeleteFunc(t.locks, func(l lockedKey) bool { return bytes.Equal(l.key, key) })
	t.wasAmbiguous(key)
	return t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: [][]byte{key}})
}
