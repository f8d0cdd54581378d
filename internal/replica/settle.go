package replica

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// settleBytes bounds one command of a clean-up.
const settleBytes = 1 << 20

// eachLock calls fn for the durable locks of a spill within a span.
func (r *Replica) eachLock(ctx context.Context, s *spill, span kvpb.Span, fn func(key []byte, rec lockRecord) error) error {
	ks := keys.Span{Start: span.Key}
	if len(span.EndKey) > 0 {
		ks.End = span.EndKey
	}
	ls := keys.LockSpan(ks)
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: ls.Start, Upper: ls.End})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ek, _, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return err
		}
		key, ok := keys.DecodeLock(ek)
		if !ok {
			return fmt.Errorf("%w: lock key %x", storage.ErrCorrupted, ek)
		}
		p, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		rec, err := decodeLock(p)
		if err != nil {
			return err
		}
		if rec.txn != s.id {
			continue
		}
		if err := fn(key, rec); err != nil {
			return err
		}
	}
	return r.deps.Engine.ReadError(it.Error())
}

// chunks collects operations into commands of bounded size.
type chunks struct {
	r *Replica
	b apply.Builder
	n int
}

func (c *chunks) begin(s *spill) {
	ts := s.ts
	if s.state == spillCommitted {
		ts = s.commitTS
	}
	c.b.Reset(kvpb.TxnID{}, ts)
	c.n = 0
}

func (c *chunks) flush(s *spill) error {
	if c.n == 0 {
		return nil
	}
	err := c.r.group.propose(c.b.Bytes())
	c.begin(s)
	return err
}

func (c *chunks) added(s *spill) error {
	if c.n++; c.b.Len() < settleBytes {
		return nil
	}
	return c.flush(s)
}

// settle removes the durable locks of a decided spill: an aborted one's versions
// go too, and those of one that committed later than its versions say move.
func (r *Replica) settle(ctx context.Context, s *spill) error {
	c := &chunks{r: r}
	c.begin(s)
	span := kvpb.Span{Key: s.lo, EndKey: append(append([]byte(nil), s.hi...), 0)}
	err := r.eachLock(ctx, s, span, func(key []byte, rec lockRecord) error {
		if err := r.settleKey(c, s, key, rec); err != nil {
			return err
		}
		c.b.DeleteRaw(keys.Lock(key))
		return c.added(s)
	})
	if err != nil {
		return err
	}
	c.b.DeleteRaw(keys.TxnRecord(s.anchor, recordID(s.id)))
	c.n++
	return c.flush(s)
}

func (r *Replica) settleKey(c *chunks, s *spill, key []byte, rec lockRecord) error {
	if s.state == spillCommitted && s.commitTS == s.ts {
		return nil
	}
	v, _, err := mvcc.Get(r.deps.Engine, key, s.ts, nil)
	if err != nil || v.TS != s.ts {
		return err // a run before a crash has been here
	}
	c.b.Collect(key, mvcc.Garbage{TS: s.ts, Size: uint32(len(v.Data)) + 1})
	if s.state == spillCommitted {
		if rec.deleted {
			c.b.Tombstone(key)
		} else {
			c.b.Put(key, v.Data)
		}
	}
	return nil
}

// undo takes back the spilled writes of a span from a position on.
func (r *Replica) undo(ctx context.Context, s *spill, span kvpb.Span, from uint64) error {
	c := &chunks{r: r}
	c.begin(s)
	err := r.eachLock(ctx, s, span, func(key []byte, rec lockRecord) error {
		switch {
		case rec.position < from:
			return nil
		case rec.hasPrev && rec.prevPosition >= from:
			return &kvpb.RetryError{Reason: "too many versions of a row in a large transaction to return to the savepoint", Key: key}
		case rec.hasPrev:
			back := lockRecord{txn: s.id, ts: s.ts, position: rec.prevPosition, deleted: rec.prevDeleted}
			c.b.SetRaw(keys.Lock(key), back.encode())
			if back.deleted {
				c.b.Tombstone(key)
			} else {
				c.b.Put(key, rec.prevValue)
			}
		default:
			v, _, err := mvcc.Get(r.deps.Engine, key, s.ts, nil)
			if err != nil {
				return err
			}
			c.b.Collect(key, mvcc.Garbage{TS: s.ts, Size: uint32(len(v.Data)) + 1})
			c.b.DeleteRaw(keys.Lock(key))
		}
		return c.added(s)
	})
	if err != nil {
		return err
	}
	return c.flush(s)
}

// loadSpills finds the spills that a crash left. Their gateway is gone with this
// process: what had not committed is aborted.
func (r *Replica) loadSpills() error {
	r.spills.all = map[kvpb.TxnID]*spill{}
	span := keys.TxnRecordSpan(keys.Span{Start: r.desc.StartKey, End: r.desc.EndKey})
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
	if err != nil {
		return err
	}
	defer it.Close()
	var found []*spill
	for ok := it.First(); ok; ok = it.Next() {
		p, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		s, err := decodeSpill(p)
		if err != nil {
			return err
		}
		if s.state != spillCommitted {
			s.state = spillAborted
		}
		s.decided, s.done = make(chan struct{}), make(chan struct{})
		s.blockers = concurrency.NewBlockers(concurrency.TxnID(s.id))
		close(s.decided)
		r.spills.all[s.id] = s
		found = append(found, s)
	}
	if err := r.deps.Engine.ReadError(it.Error()); err != nil {
		return err
	}
	r.spills.active.Store(int32(len(found)))
	for _, s := range found {
		r.settleLater(s)
	}
	return nil
}
