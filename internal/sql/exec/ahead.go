package exec

import (
	"github.com/lichendb/lichen/internal/kvpb"
)

// Rows are locked one by one, each when its turn comes. Where many follow each other their
// locks are taken ahead, as far as nobody stands in the way: one request instead of one
// for each row, which may be on another node.
const (
	// minAhead is how many rows are worth it.
	minAhead = 4
	// maxAhead bounds the keys of one request.
	maxAhead = 4 * BatchRows
)

// lockAhead locks the unique keys of rows that are about to be inserted.
func (ins *insertOp) lockAhead(in *Batch) error {
	w := ins.writer
	var keys [][]byte
	var room []byte
	for i := 0; i < in.n && len(keys) < maxAhead; i++ {
		row := in.Row(i)[:len(w.table.Columns)]
		if w.compute(row) != nil || w.encodeKeys(row) != nil {
			break // step will say so, once the rows before it are through
		}
		for j := range w.indexes {
			x := &w.indexes[j]
			if x.in && x.UniqueKeyComplete(row) {
				n := len(room)
				room = append(room, x.key...)
				keys = append(keys, room[n:len(room):len(room)])
			}
		}
	}
	return ins.run.txn.LockAhead(ins.run.ctx, keys, kvpb.LockUpdate)
}

// lockAhead locks the rows of a page of the primary index from position pos to end.
func (k *rowLocker) lockAhead(page *kvpb.ScanResponse, pos, end int) error {
	if end-pos < minAhead || k.pkDec != nil || k.wait != kvpb.WaitBlock {
		return nil
	}
	keys := make([][]byte, 0, end-pos)
	for i := pos; i < end; i++ {
		keys = append(keys, page.Key(i))
	}
	return lockError(k.run.txn.LockAhead(k.run.ctx, keys, k.strength), k.table.Name)
}

// lockKeysAhead locks the keys that rows refer to.
func lockKeysAhead(r *run, refs []string, s kvpb.Strength) error {
	if len(refs) < minAhead {
		return nil
	}
	keys := make([][]byte, 0, min(len(refs), maxAhead))
	for _, k := range refs[:cap(keys)] {
		keys = append(keys, []byte(k))
	}
	return r.txn.LockAhead(r.ctx, keys, s)
}
