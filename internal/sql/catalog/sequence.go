package catalog

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// A node reserves values of a sequence in blocks, with one write each: minBlock
// values at first, as PostgreSQL does, or what CACHE says. Everybody waits for the write, so
// blocks that are used up in less than shortBlock grow by blockGrowth up to maxBlock, and those
// in less than longBlock stay as they are. After a crash the values of a moment are skipped.
const (
	minBlock    = 32
	maxBlock    = 1 << 18
	blockGrowth = 4
	shortBlock  = 100 * time.Millisecond
	longBlock   = time.Second
)

// sequences are the blocks of values that the node has reserved.
type sequences struct {
	mu     sync.Mutex
	blocks map[sequenceID]*sequenceValues
}

type sequenceID struct {
	id      ID
	storage IndexID
}

func (s *sequences) init() { s.blocks = map[sequenceID]*sequenceValues{} }

func (s *sequences) values(t *Table) *sequenceValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sequenceID{t.ID, t.Sequence.Storage}
	v := s.blocks[k]
	if v == nil {
		v = &sequenceValues{}
		s.blocks[k] = v
	}
	return v
}

// forget drops the values reserved of a sequence.
func (s *sequences) forget(id sequenceID) {
	s.mu.Lock()
	v := s.blocks[id]
	s.mu.Unlock()
	if v != nil {
		v.mu.Lock()
		v.left = 0
		v.mu.Unlock()
	}
}

// sequenceValues is what the node knows of one sequence's value.
type sequenceValues struct {
	mu   sync.Mutex
	last int64 // given out last
	left int64 // how many more may be given out
	// block is the size of the present block, taken when it was reserved.
	block int64
	taken time.Time
}

// nextBlock returns the size of the block to reserve now.
func (v *sequenceValues) nextBlock(now time.Time, cache int64) int64 {
	least, lasted := max(minBlock, cache), now.Sub(v.taken)
	switch {
	case v.taken.IsZero() || lasted >= longBlock:
		v.block = least
	case lasted < shortBlock:
		v.block = min(blockGrowth*v.block, maxBlock)
	}
	v.block = max(v.block, least)
	v.taken = now
	return v.block
}

// sequenceState is the stored value: the last value that was reserved, or with
// called unset the one to give out next.
type sequenceState struct {
	last   int64
	called bool
}

// sequenceFormat is the first byte of a stored value.
const sequenceFormat = 1

func sequenceKey(t *Table) []byte {
	k := keys.IndexPrefix(uint64(t.Database), uint64(t.ID), uint64(t.Sequence.Storage))
	return keys.AppendFamily(k, keys.DefaultFamily)
}

func encodeSequence(s sequenceState) []byte {
	b := binary.BigEndian.AppendUint64([]byte{sequenceFormat}, uint64(s.last))
	if s.called {
		return append(b, 1)
	}
	return append(b, 0)
}

// decodeSequence reads a stored value; a sequence that was never used has none.
func decodeSequence(t *Table, b []byte, found bool) (sequenceState, error) {
	if !found {
		return sequenceState{last: t.Sequence.First}, nil
	}
	if len(b) < 10 || b[0] != sequenceFormat {
		return sequenceState{}, pgerr.New(pgerr.DataCorrupted, "damaged value of sequence \"%s\"", t.Name)
	}
	return sequenceState{last: int64(binary.BigEndian.Uint64(b[1:])), called: b[9] != 0}, nil
}

// NextVal returns the next value of a sequence. It is never given out
// again, whatever becomes of the caller's transaction.
func (s *Store) NextVal(ctx context.Context, t *Table) (int64, error) {
	v := s.sequences.values(t)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left == 0 {
		return s.reserveSequence(ctx, t, v)
	}
	v.left--
	v.last += t.Sequence.Increment
	return v.last, nil
}

// reserveSequence reserves a block and returns its first value.
func (s *Store) reserveSequence(ctx context.Context, t *Table, v *sequenceValues) (int64, error) {
	var first, more int64
	block := v.nextBlock(time.Now(), t.Sequence.Cache)
	err := s.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		key := sequenceKey(t)
		res, err := txn.Lock(ctx, key, lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		st, err := decodeSequence(t, res.Value, res.Found)
		if err != nil {
			return err
		}
		if first, err = t.firstOfBlock(st); err != nil {
			return err
		}
		more = t.Sequence.room(first, block-1)
		return txn.Put(key, encodeSequence(sequenceState{last: first + more*t.Sequence.Increment, called: true}))
	})
	if err != nil {
		return 0, err
	}
	v.last, v.left = first, more
	return first, nil
}

// firstOfBlock returns the value that follows the stored one.
func (t *Table) firstOfBlock(st sequenceState) (int64, error) {
	q := t.Sequence
	if !st.called && st.last >= q.Min && st.last <= q.Max {
		return st.last, nil
	}
	if st.called && q.room(st.last, 1) == 1 {
		return st.last + q.Increment, nil
	}
	if q.Cycle {
		if q.Increment > 0 {
			return q.Min, nil
		}
		return q.Max, nil
	}
	if q.Increment > 0 {
		return 0, pgerr.New(pgerr.SequenceGeneratorLimitExceeded,
			"nextval: reached maximum value of sequence \"%s\" (%d)", t.Name, q.Max)
	}
	return 0, pgerr.New(pgerr.SequenceGeneratorLimitExceeded,
		"nextval: reached minimum value of sequence \"%s\" (%d)", t.Name, q.Min)
}

// room returns how many values, at most n, follow v within the bounds.
func (q *Sequence) room(v, n int64) int64 {
	var dist, step uint64
	if q.Increment > 0 {
		if v >= q.Max {
			return 0
		}
		dist, step = uint64(q.Max)-uint64(v), uint64(q.Increment)
	} else {
		if v <= q.Min {
			return 0
		}
		dist, step = uint64(v)-uint64(q.Min), -uint64(q.Increment)
	}
	return int64(min(dist/step, uint64(n)))
}

// SetVal is setval: called says that value counts as given out.
func (s *Store) SetVal(ctx context.Context, t *Table, value int64, called bool) error {
	if q := t.Sequence; value < q.Min || value > q.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange,
			"setval: value %d is out of bounds for sequence \"%s\" (%d..%d)", value, t.Name, q.Min, q.Max)
	}
	if err := s.storeValue(ctx, t, sequenceState{last: value, called: called}); err != nil || s.gw == nil {
		return err
	}
	return s.gw.forgetSequence(ctx, sequenceID{t.ID, t.Sequence.Storage})
}

// storeValue writes a sequence's value and drops what the node has reserved.
func (s *Store) storeValue(ctx context.Context, t *Table, st sequenceState) error {
	v := s.sequences.values(t)
	v.mu.Lock()
	defer v.mu.Unlock()
	err := s.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		key := sequenceKey(t)
		if _, err := txn.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		return txn.Put(key, encodeSequence(st))
	})
	if err == nil {
		v.left = 0
	}
	return err
}

// SequenceValue returns last_value and is_called of a sequence.
func (s *Store) SequenceValue(ctx context.Context, t *Table) (last int64, called bool, err error) {
	v := s.sequences.values(t)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left > 0 {
		return v.last, true, nil
	}
	var st sequenceState
	err = s.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		b, found, err := txn.Get(ctx, sequenceKey(t))
		if err == nil {
			st, err = decodeSequence(t, b, found)
		}
		return err
	})
	return st.last, st.called, err
}

// rowIDCache is how many row ids a node reserves with one write at least.
const rowIDCache = 4096

// rowIDs describes the generator of t's hidden row ids as a sequence; it is part
// of the table.
func (t *Table) rowIDs() *Table {
	return &Table{
		ID: t.ID, Oid: t.RowIDOid, Version: t.Version, Database: t.Database, Schema: t.Schema, Owner: t.Owner,
		Name: t.Name + "_" + "rowid", Kind: KindSequence,
		Sequence: &Sequence{
			Type: types.Int8, Start: 1, First: 1, Increment: 1, Min: 1, Max: math.MaxInt64,
			Cache: rowIDCache, Storage: t.RowIDStorage, rowIDs: true,
		},
	}
}
