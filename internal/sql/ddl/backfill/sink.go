package backfill

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of one page of entries that a sink holds before it writes them.
const (
	pageBytes   = 1 << 20
	pageEntries = 8192
)

// sink writes the entries of new indexes. A few are written by the statement's
// transaction. Many are written page by page in transactions of their own, into
// spans that are cleared unless the statement's transaction commits: nobody
// reads the indexes before.
type sink struct {
	e       *statement.Env
	indexes []*rowcodec.Index
	// prefixes are those of indexes, and then of others.
	prefixes [][]byte
	// maxKey is the greatest key of each index so far: keys above it are new.
	maxKey [][]byte

	entries []sinkEntry
	arena   []byte
	seen    map[string]struct{} // unique keys of the page that may not be new
	left    bool                // writes go to transactions of their own
	direct  bool                // they must not
}

type sinkEntry struct {
	key, value []byte
	check      bool // the key must not exist in earlier pages
	index      int
}

func newSink(e *statement.Env, indexes []*rowcodec.Index, prefixes [][]byte) *sink {
	return &sink{e: e, indexes: indexes, prefixes: prefixes, maxKey: make([][]byte, len(prefixes)), seen: map[string]struct{}{}}
}

// add takes an entry; ok is false if it is a duplicate of a unique key.
func (s *sink) add(ctx context.Context, index int, key, value []byte, unique bool) (ok bool, err error) {
	if len(s.entries) >= pageEntries || len(s.arena) >= pageBytes {
		if err := s.flush(ctx); err != nil {
			return false, err
		}
	}
	n := len(s.arena)
	s.arena = append(append(s.arena, key...), value...)
	k, v := s.arena[n:n+len(key):n+len(key)], s.arena[n+len(key):len(s.arena):len(s.arena)]
	check := false
	if unique && bytes.Compare(key, s.maxKey[index]) <= 0 {
		if _, dup := s.seen[string(key)]; dup {
			return false, nil
		}
		check = true
	}
	if unique {
		s.seen[string(key)] = struct{}{}
	}
	if bytes.Compare(key, s.maxKey[index]) > 0 {
		s.maxKey[index] = append(s.maxKey[index][:0], key...)
	}
	s.entries = append(s.entries, sinkEntry{key: k, value: v, check: check, index: index})
	return true, nil
}

// flush writes a full page.
func (s *sink) flush(ctx context.Context) error {
	if !s.left && !s.direct {
		if err := s.leaveTxn(ctx); err != nil {
			return err
		}
	}
	err := s.write(ctx)
	s.entries, s.arena = s.entries[:0], s.arena[:0]
	clear(s.seen)
	return err
}

// leaveTxn decides where a long build writes. A transaction whose snapshot
// can't move would not see what others write for it: it writes all itself.
func (s *sink) leaveTxn(ctx context.Context) error {
	if !s.e.Coll.CanFreshen() {
		s.direct = true
		return nil
	}
	for _, p := range s.prefixes {
		if err := s.e.Coll.ClearUnlessCommitted(ctx, keys.Span{Start: p, End: keys.PrefixEnd(p)}); err != nil {
			return err
		}
	}
	s.left = true
	return nil
}

// finish writes the rest. Afterwards the transaction's later statements see all
// entries.
func (s *sink) finish(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	if s.left {
		return s.e.Coll.Freshen(ctx)
	}
	return nil
}

func (s *sink) write(ctx context.Context) error {
	if !s.left {
		return s.writeDirect(ctx)
	}
	db := s.e.Coll.Store().DB()
	for {
		txn := db.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead})
		txn.BeginStatement()
		err := s.writePage(ctx, txn)
		if err == nil {
			err = txn.Commit(ctx)
		} else {
			txn.Rollback(ctx)
		}
		if !kv.IsRetryable(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (s *sink) writePage(ctx context.Context, txn *kv.Txn) error {
	for i := range s.entries {
		en := &s.entries[i]
		if en.check {
			_, found, err := txn.Get(ctx, en.key)
			if err != nil {
				return err
			}
			if found {
				return s.duplicate(en)
			}
		}
		if err := txn.Put(en.key, en.value); err != nil {
			return err
		}
	}
	return nil
}

// writeDirect writes into the statement's own transaction. A lock tells whether
// it has written the key before.
func (s *sink) writeDirect(ctx context.Context) error {
	for i := range s.entries {
		en := &s.entries[i]
		if en.check && s.direct {
			res, err := s.e.Txn.Lock(ctx, en.key, lock.Update, lock.WaitBlock)
			if err != nil {
				return err
			}
			if res.Found {
				return s.duplicate(en)
			}
		}
		if err := s.e.Txn.Put(en.key, en.value); err != nil {
			return err
		}
	}
	return nil
}

// duplicate is 23505 for an entry whose row is no longer at hand.
func (s *sink) duplicate(en *sinkEntry) error {
	x := s.indexes[en.index]
	b := &Builder{E: s.e, Table: x.Table}
	ords := make([]int, x.Declared)
	for i := range ords {
		ords[i] = x.Key[i].Ord
	}
	vals := make([]types.Datum, len(ords))
	if err := x.NewDecoder(ords).Decode(en.key, en.value, vals); err != nil {
		return pgerr.From(err)
	}
	row := make([]types.Datum, len(x.Table.Columns))
	for i, ord := range ords {
		row[ord] = vals[i]
	}
	return b.duplicate(x, row)
}
