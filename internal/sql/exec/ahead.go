package exec

import (
	"bytes"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/types"
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
	return ins.run.txn.LockAhead(ins.run.Ctx, keys, kvpb.LockUpdate)
}

// lockAhead locks rows by their primary keys, if they are enough to be worth it and the
// statement waits for locks: in the order in which it comes to them then.
func (k *rowLocker) lockAhead(keys [][]byte) error {
	if len(keys) < minAhead || k.wait != kvpb.WaitBlock {
		return nil
	}
	return lockError(k.run.txn.LockAhead(k.run.Ctx, keys, k.strength), k.table.Name)
}

// lockPointsAhead locks the rows of the complete keys that come next, of which b has room for.
func (s *scanOp) lockPointsAhead(b *Batch) error {
	if s.cur < s.ahead {
		return nil
	}
	s.keys = s.keys[:0]
	for s.ahead = s.cur; s.ahead < len(s.spans.list) && len(s.keys) < b.room(); s.ahead++ {
		i := s.ahead
		if s.reverse {
			i = len(s.spans.list) - 1 - i
		}
		if !s.spans.list[i].point {
			break
		}
		s.keys = append(s.keys, s.spans.first(i))
	}
	return s.locker.lockAhead(s.keys)
}

// lockAhead locks the rows of a batch of the input, whose columns stand at positions old of it;
// row has room for one.
func (k *rowClaim) lockAhead(in *Batch, old []int, row types.Row) error {
	keys := make([][]byte, 0, in.n)
	for i := range in.n {
		copySlots(row, in.Row(i), old)
		key, err := k.writer.PrimaryKey(row)
		if err != nil {
			break // take will say so
		}
		keys = append(keys, bytes.Clone(key))
	}
	return k.run.txn.LockAhead(k.run.Ctx, keys, k.strength)
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
	return r.txn.LockAhead(r.Ctx, keys, s)
}
