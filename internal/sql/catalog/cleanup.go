package catalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Data of dropped tables and indexes is not deleted by the transaction that
// drops them: a record of the span is written in the same transaction, and a
// Cleaner clears the span once nobody can read it any more. What a backfill
// writes into a new index before its transaction commits is announced the other
// way round: a record is committed beforehand, and the transaction deletes it.

type cleanupID uint64

// cleanupFormat is the first byte of a stored cleanup; JSON follows.
const cleanupFormat = 1

type cleanupRecord struct {
	Start, End []byte
	// Since is the wall time, in nanoseconds, after which nothing new could
	// refer to the span.
	Since int64
	// Job is the job for which the span is written, 0 for none. As long as it may make its change known, on whichever node,
	// the span is left alone.
	Job int64 `json:",omitempty"`
	// Clearing says that the span is being cleared: nobody may keep it any more.
	Clearing bool `json:",omitempty"`
}

// cleanups are the node's knowledge of the records.
type cleanups struct {
	mu      sync.Mutex
	pending map[cleanupID]cleanupRecord
	// busy are records of transactions that have not ended.
	busy map[cleanupID]cleanupRecord
	wake chan struct{}
}

func (c *cleanups) init() {
	c.pending, c.busy = map[cleanupID]cleanupRecord{}, map[cleanupID]cleanupRecord{}
	c.wake = make(chan struct{}, 1)
}

func cleanupKey(id cleanupID) []byte {
	return binary.BigEndian.AppendUint64(keys.SystemKey(sysCleanup), uint64(id))
}

func encodeCleanup(r cleanupRecord) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, pgerr.From(err)
	}
	return append([]byte{cleanupFormat}, b...), nil
}

func decodeCleanup(b []byte) (r cleanupRecord, err error) {
	if len(b) == 0 || b[0] != cleanupFormat {
		return r, pgerr.New(pgerr.DataCorrupted, "a cleanup record has an unknown format")
	}
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return r, pgerr.New(pgerr.DataCorrupted, "damaged cleanup record: %v", err)
	}
	data := keys.TableDataSpan()
	if bytes.Compare(r.Start, data.Start) < 0 || bytes.Compare(r.End, data.End) > 0 || bytes.Compare(r.Start, r.End) >= 0 {
		return r, pgerr.New(pgerr.DataCorrupted, "a cleanup record names a span outside the tables")
	}
	return r, nil
}

func (s *Store) loadCleanups(ctx context.Context, txn *kv.Txn) error {
	return scanSystem(ctx, txn, sysCleanup, func(k, v []byte) error {
		r, err := decodeCleanup(v)
		if err == nil {
			s.cleanups.pending[cleanupID(binary.BigEndian.Uint64(k[len(k)-8:]))] = r
		}
		return err
	})
}

// ClearOnCommit has the data of a span deleted some time after the transaction
// commits. Nothing committed may refer to the span then.
func (c *Collection) ClearOnCommit(ctx context.Context, span keys.Span) error {
	id, b, err := c.newCleanup(ctx, span, 0)
	if err != nil {
		return err
	}
	return c.lockAndPut(ctx, cleanupKey(id), b)
}

// Announced is a span that was announced to be written outside a transaction.
type Announced struct {
	ID uint64
	c  *Collection
}

// Keep has the data of the span stay if the transaction commits; 72000 if a Cleaner has begun to clear it. It reads the present:
// the snapshot must be no older than the call (Freshen).
func (a *Announced) Keep(ctx context.Context) error {
	key := cleanupKey(cleanupID(a.ID))
	res, err := a.c.txn.Lock(ctx, key, lock.Update, lock.WaitBlock)
	if err != nil {
		return err
	}
	r := cleanupRecord{Clearing: !res.Found}
	if res.Found {
		if r, err = decodeCleanup(res.Value); err != nil {
			return err
		}
	}
	if r.Clearing {
		return pgerr.New(pgerr.SnapshotTooOld, "what the statement had written was removed").
			WithDetail("It took longer than old versions of rows are kept.")
	}
	return a.c.txn.Delete(key)
}

// ClearUnlessCommitted has the data of a span, which is about to be written outside the transaction, deleted unless the
// transaction keeps it and commits. If it is written for a job (0: for none), that happens once the job has ended.
func (c *Collection) ClearUnlessCommitted(ctx context.Context, span keys.Span, job int64) (*Announced, error) {
	id, b, err := c.newCleanup(ctx, span, job)
	if err != nil {
		return nil, err
	}
	err = c.store.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		if _, err := t.Lock(ctx, cleanupKey(id), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		return t.Put(cleanupKey(id), b)
	})
	return &Announced{ID: uint64(id), c: c}, err
}

// AnnouncedBefore is what ClearUnlessCommitted has returned to a transaction of the same job that did not commit.
func (c *Collection) AnnouncedBefore(id uint64) *Announced { return &Announced{ID: id, c: c} }

// newCleanup makes a record that the Cleaner leaves alone until the transaction
// has ended.
func (c *Collection) newCleanup(ctx context.Context, span keys.Span, job int64) (cleanupID, []byte, error) {
	n, err := c.NewID(ctx)
	if err != nil {
		return 0, nil, err
	}
	id := cleanupID(n)
	r := cleanupRecord{Start: span.Start, End: span.End, Since: c.store.db.Clock().Now().WallTime, Job: job}
	b, err := encodeCleanup(r)
	if err != nil {
		return 0, nil, err
	}
	cl := &c.store.cleanups
	cl.mu.Lock()
	cl.busy[id] = r
	cl.mu.Unlock()
	if c.changes == nil {
		c.changes = newChanges()
	}
	c.changes.cleanups = append(c.changes.cleanups, id)
	return id, b, nil
}

// settleCleanups leaves the records of a transaction that has ended, whatever
// its outcome, to the Cleaner: it finds whether they exist.
func (s *Store) settleCleanups(ch *changes) {
	if len(ch.cleanups) == 0 {
		return
	}
	cl := &s.cleanups
	cl.mu.Lock()
	for _, id := range ch.cleanups {
		r := cl.busy[id]
		r.Since = s.db.Clock().Now().WallTime
		cl.pending[id] = r
		delete(cl.busy, id)
	}
	cl.mu.Unlock()
	select {
	case cl.wake <- struct{}{}:
	default:
	}
}

// Cleaner deletes the data of dropped objects.
type Cleaner struct {
	Store *Store
	// ClearSpan deletes all versions of all keys of a span. It may be called
	// again for the same span.
	ClearSpan func(ctx context.Context, start, end []byte) error
	// Delay returns how long data must stay readable in the past.
	Delay func() time.Duration
	// Claimed reports whether a job may make its change known yet; what it says no to once it never says yes to again. nil:
	// there are no jobs.
	Claimed func(ctx context.Context, t *kv.Txn, job int64) (bool, error)
}

// cleanEvery is how often a Cleaner looks for work that has become due.
const cleanEvery = 30 * time.Second

// Run cleans until ctx ends.
func (cl *Cleaner) Run(ctx context.Context) {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		_, _ = cl.Pass(ctx) // what fails is tried again at the next tick
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-cl.Store.cleanups.wake:
		}
	}
}

// Pass clears every span that is due and returns their number. Of several nodes one
// at a time does so; the others return 0.
func (cl *Cleaner) Pass(ctx context.Context) (int, error) {
	n := 0
	if g := cl.Store.gw; g != nil {
		if mine, err := g.member.TakeRole(ctx, sysCleaner, cleaningValidity); err != nil || !mine {
			return 0, err
		}
		if err := cl.Store.findCleanups(ctx); err != nil {
			return 0, err
		}
	}
	now := cl.Store.db.Clock().Now()
	for id, r := range cl.due(now) {
		done, err := cl.clean(ctx, id, r)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, cl.Store.sweepStatistics(ctx)
}

func (cl *Cleaner) due(now hlc.Timestamp) map[cleanupID]cleanupRecord {
	delay := cl.Delay()
	out := map[cleanupID]cleanupRecord{}
	cl.Store.cleanups.mu.Lock()
	defer cl.Store.cleanups.mu.Unlock()
	for id, r := range cl.Store.cleanups.pending {
		if now.WallTime-r.Since >= int64(delay) {
			out[id] = r
		}
	}
	return out
}

// cleaningValidity is how long a node that cleaned last goes on to be the one that
// cleans.
const cleaningValidity = 3 * cleanEvery

// sysCleaner names the record of the node that cleans.
const sysCleaner = "cat/cleaner"

// findCleanups learns of the records of all nodes. The delay of one begins when it
// is seen first, since its transaction may have ended long after it was made.
func (s *Store) findCleanups(ctx context.Context) error {
	found := map[cleanupID]cleanupRecord{}
	err := s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		clear(found)
		return scanSystem(ctx, t, sysCleanup, func(k, v []byte) error {
			r, err := decodeCleanup(v)
			if err == nil {
				found[cleanupID(binary.BigEndian.Uint64(k[len(k)-8:]))] = r
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	now := s.db.Clock().Now().WallTime
	cl := &s.cleanups
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for id, r := range found {
		_, pending := cl.pending[id]
		if _, busy := cl.busy[id]; !pending && !busy {
			r.Since = now
			cl.pending[id] = r
		}
	}
	return nil
}

// clean clears one span if its record is still there, and then deletes the
// record. Before, the record says so: who wrote the span, and lives on after all, can't keep it.
func (cl *Cleaner) clean(ctx context.Context, id cleanupID, r cleanupRecord) (bool, error) {
	s := cl.Store
	exists, busy := false, false
	wait := lock.WaitBlock
	if s.gw != nil {
		wait = lock.WaitSkip // a transaction of another node may hold it for long
	}
	check := func(ctx context.Context, t *kv.Txn) error {
		res, err := t.Lock(ctx, cleanupKey(id), lock.Update, wait)
		exists, busy = res.Found, res.Skipped
		if err == nil && exists && !busy && r.Job != 0 && cl.Claimed != nil {
			busy, err = cl.Claimed(ctx, t, r.Job)
		}
		return err
	}
	err := s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		if err := check(ctx, t); err != nil || !exists || busy {
			return err
		}
		r.Clearing = true
		b, err := encodeCleanup(r)
		if err != nil {
			return err
		}
		return t.Put(cleanupKey(id), b)
	})
	if err != nil || busy {
		return false, err
	}
	if exists {
		if err := cl.ClearSpan(ctx, r.Start, r.End); err != nil {
			return false, err
		}
		err := s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
			if err := check(ctx, t); err != nil || !exists || busy {
				return err
			}
			return t.Delete(cleanupKey(id))
		})
		if err != nil {
			return false, err
		}
	}
	s.cleanups.mu.Lock()
	delete(s.cleanups.pending, id)
	s.cleanups.mu.Unlock()
	return exists, nil
}

// Cleanup is the data of something that is no longer used, and waits to be removed.
type Cleanup struct {
	ID    uint64
	Span  keys.Span
	Since time.Time // when it was announced
}

// Cleanups returns those of all nodes. What a statement that goes on has written outside its transaction is among them.
func (s *Store) Cleanups(ctx context.Context) (list []Cleanup, err error) {
	err = s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		list = nil
		return scanSystem(ctx, t, sysCleanup, func(k, v []byte) error {
			r, err := decodeCleanup(v)
			c := Cleanup{ID: binary.BigEndian.Uint64(k[len(k)-8:]), Span: keys.Span{Start: r.Start, End: r.End}, Since: time.Unix(0, r.Since)}
			list = append(list, c)
			return err
		})
	})
	return list, err
}

// PendingCleanups returns how many spans wait to be cleared.
func (s *Store) PendingCleanups() int {
	s.cleanups.mu.Lock()
	defer s.cleanups.mu.Unlock()
	return len(s.cleanups.pending)
}
