package coord

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Unlock releases the lock on a key before the transaction ends, including one that a failed
// request may have been granted. Only transactions that do nothing but lock may call it: others
// have read under the lock, and the key would no longer be protected.
func (t *Txn) Unlock(ctx context.Context, key []byte) error {
	t.locks = slices.DeleteFunc(t.locks, func(l lockedKey) bool { return bytes.Equal(l.key, key) })
	t.wasAmbiguous(key)
	return t.env.Sender.Release(ctx, &kvpb.ReleaseRequest{Txn: &t.meta, Locks: [][]byte{key}})
}
