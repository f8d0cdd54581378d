package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pause"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

const (
	// settleBytes and settleKeys bound one command of a clean-up: what others write in the
	// range, or read that was not applied yet, waits behind it.
	settleBytes = 256 << 10
	settleKeys  = 1024
	// settleTimeout bounds one run of it; the sweep begins another.
	settleTimeout = 10 * time.Minute
	// settleAttempts bounds how often the range's borders may change meanwhile.
	settleAttempts = 10
)

// eachLock calls fn for the durable locks of a transaction within a span, cut at
// the range's borders; the zero transaction stands for all.
func (r *Replica) eachLock(ctx context.Context, id kvpb.TxnID, span kvpb.Span, fn func(key []byte, rec lockRecord) error) error {
	return r.scanLocks(ctx, id, span, false, fn)
}

// scanLocks is eachLock in either direction.
func (r *Replica) scanLocks(
	ctx context.Context, id kvpb.TxnID, span kvpb.Span, reverse bool, fn func(key []byte, rec lockRecord) error,
) error {
	d := r.Desc()
	ks := keys.Span{Start: span.Key, End: span.EndKey}
	if bytes.Compare(ks.Start, d.StartKey) < 0 {
		ks.Start = d.StartKey
	}
	if bytes.Compare(d.EndKey, ks.End) < 0 {
		ks.End = d.EndKey
	}
	if bytes.Compare(ks.Start, ks.End) >= 0 {
		return nil
	}
	ls := keys.LockSpan(ks)
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: ls.Start, Upper: ls.End})
	if err != nil {
		return err
	}
	defer it.Close()
	first, next := it.First, it.Next
	if reverse {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
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
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		rec, err := decodeLock(v)
		if err != nil {
			return err
		}
		if rec.txn != id && !id.IsZero() {
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
	r     *Replica
	p     *part
	under raftgroup.Fence
	haste haste
	b     apply.Builder
	n     int
}

func (c *chunks) begin() {
	switch c.p.state {
	case partCommitted:
		c.b.Reset(c.p.id, c.p.commitTS)
	case partAborted:
		c.b.Reset(c.p.id, endedAt(c.p.ts, true))
	default:
		c.b.Reset(kvpb.TxnID{}, c.p.ts)
	}
	c.n = 0
}

func (c *chunks) flush() error {
	if c.n == 0 {
		return nil
	}
	err := c.r.group.proposeWith(c.haste, c.under, c.b.Bytes())
	c.begin()
	return err
}

func (c *chunks) full() bool { return c.b.Len() >= settleBytes || c.n >= settleKeys }

func (c *chunks) added() error {
	if c.n++; !c.full() {
		return nil
	}
	return c.flush()
}

// settlePart removes what is provisional of a decided part and forgets it. Only one
// goroutine at a time does so: another's commands, made from what it saw before, would
// take away what somebody wrote after the part was gone (invariant R19).
func (r *Replica) settlePart(ctx context.Context, p *part) error {
	select {
	case p.settling <- struct{}{}:
		defer func() { <-p.settling }()
	default:
		return nil
	}
	for moves := 0; ; {
		err := r.settle(ctx, p)
		if err == nil {
			break
		}
		var moved *kvpb.RangeMismatchError
		var notLeader *kvpb.NotLeaderError
		switch {
		case errors.As(err, &moved) && moves < settleAttempts:
			moves++
		case errors.As(err, &notLeader) && r.lease.Load() != nil:
			// Its followers have not all answered yet. Who meets the part waits for this.
			if err := pause.For(ctx, pushFirst); err != nil {
				return err
			}
		default:
			return err
		}
	}
	sp := &r.spills
	sp.mu.Lock()
	if sp.all[p.id] == p {
		sp.removeLocked(p)
	}
	sp.mu.Unlock()
	return r.forgetLocal(ctx, p.id)
}

// knows reports whether the part is still one of this leadership.
func (sp *spills) knows(p *part) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return sp.all[p.id] == p
}

// settle removes the durable locks of a decided part: an aborted one's versions go
// too, and those of one that committed later than its versions say move.
func (r *Replica) settle(ctx context.Context, p *part) error {
	under, err := r.admitWrite(ctx)
	if err != nil || !r.spills.knows(p) { // gone, or another leadership's
		return err
	}
	s := settler{chunks: chunks{r: r, p: p, under: under, haste: r.hasteOf(p)}, began: time.Now()}
	s.listed, s.rest, s.exact = r.spills.staged(p), r.spills.bounds(p), r.spills.exact(p)
	s.begin()
	defer s.leave()
	for {
		s.steps++
		began := time.Now()
		met := r.spills.takeMet(p)
		over, err := s.fill(ctx, met)
		if err == nil {
			err = s.flush()
		}
		if len(met) > 0 {
			r.spills.tell(p) // also if it failed: they look again
		}
		if over || err != nil {
			return err
		}
		if err := s.pace(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

func (r *Replica) settleKey(c *chunks, key []byte, rec lockRecord) error {
	p := c.p
	if p.state == partCommitted && p.commitTS == rec.ts {
		return nil
	}
	v, _, err := mvcc.Get(r.deps.Engine, key, rec.ts, nil)
	if err != nil || v.TS != rec.ts {
		return err // a run before a crash has been here
	}
	c.b.Collect(key, mvcc.Garbage{TS: rec.ts, Size: uint32(len(v.Data)) + 1})
	if p.state == partCommitted {
		if rec.deleted {
			c.b.Tombstone(key)
		} else {
			c.b.Put(key, v.Data)
		}
	}
	return nil
}

// undo takes back the spilled writes of a span from a position on.
func (r *Replica) undo(ctx context.Context, p *part, span kvpb.Span, from uint64) error {
	under, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	c := &chunks{r: r, p: p, under: under}
	c.begin()
	err = r.eachLock(ctx, p.id, span, func(key []byte, rec lockRecord) error {
		if rec.position < from {
			return nil
		}
		i := slices.IndexFunc(rec.history, func(w spilledWrite) bool { return w.position < from })
		switch {
		case i < 0 && rec.cut:
			return &kvpb.RetryError{Reason: "too many versions of a row in a large transaction to return to the savepoint", Key: key}
		case i >= 0:
			w := rec.history[i]
			back := lockRecord{
				txn: p.id, ts: p.ts, anchor: rec.anchor, position: w.position, deleted: w.deleted,
				history: rec.history[i+1:], cut: rec.cut,
			}
			c.b.SetRaw(keys.Lock(key), back.encode())
			if back.deleted {
				c.b.Tombstone(key)
			} else {
				c.b.Put(key, w.value)
			}
		default:
			v, _, err := mvcc.Get(r.deps.Engine, key, p.ts, nil)
			if err != nil {
				return err
			}
			c.b.Collect(key, mvcc.Garbage{TS: p.ts, Size: uint32(len(v.Data)) + 1})
			c.b.DeleteRaw(keys.Lock(key))
		}
		return c.added()
	})
	if err != nil {
		return err
	}
	return c.flush()
}
