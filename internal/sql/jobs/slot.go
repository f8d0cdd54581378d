package jobs

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// slotPrefix begins the keys of schedules: the id of a table follows. The value is the time when its job was begun last.
const slotPrefix = "sql/ttlslot/"

func slotKey(table uint64) []byte {
	return binary.BigEndian.AppendUint64(keys.SystemKey(slotPrefix), table)
}

// TakeSlot has one node of the cluster begin a job that is due: due says whether it is, as it was begun last at a time. A schedule that is
// new begins now. The times are wall times in nanoseconds.
func (s *Store) TakeSlot(ctx context.Context, table uint64, due func(last, now int64) bool) (taken bool, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		taken = false
		res, err := t.Lock(ctx, slotKey(table), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		now := s.now()
		if res.Found {
			if len(res.Value) != 9 || res.Value[0] != format {
				return pgerr.New(pgerr.DataCorrupted, "damaged schedule of table %d", table)
			}
			if taken = due(int64(binary.BigEndian.Uint64(res.Value[1:])), now); !taken {
				return nil
			}
		}
		return t.Put(slotKey(table), binary.BigEndian.AppendUint64([]byte{format}, uint64(now)))
	})
	return taken && err == nil, err
}

// KeepSlots forgets the schedules of all tables but some.
func (s *Store) KeepSlots(ctx context.Context, tables []uint64) error {
	return s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		var gone [][]byte
		err := kv.Each(ctx, t, keys.SystemSpan(slotPrefix), func(k, _ []byte) (bool, error) {
			if !slices.Contains(tables, uint64(idOf(k))) {
				gone = append(gone, slices.Clone(k))
			}
			return true, nil
		})
		for i := 0; err == nil && i < len(gone); i++ {
			err = t.Delete(gone[i])
		}
		return err
	})
}
