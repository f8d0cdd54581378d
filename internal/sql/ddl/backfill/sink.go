package backfill

import (
	"bytes"
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
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
// transaction. Many are ingested beside it, into spans that are cleared unless the statement's
// transaction commits: nobody reads the indexes before.
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
	beside  *ingest.Writer      // what comes is ingested, if set
	direct  bool                // it must not be
}

type sinkEntry struct {
	key, value []byte
	unique     bool
	check      bool // the key must not exist in earlier pages
	index      int
}

func newSink(e *statement.Env, indexes []*rowcodec.Index, prefixes [][]byte) *sink {
	return &sink{e: e, indexes: indexes, prefixes: prefixes, maxKey: make([][]byte, len(prefixes)), seen: map[string]struct{}{}}
}

// add takes an entry; ok is false if it is a duplicate of a unique key.
func (s *sink) add(ctx context.Context, index int, key, value []byte, unique bool) (ok bool, err error) {
	if s.beside == nil && !s.direct && s.full() {
		if err := s.leaveTxn(ctx); err != nil {
			return false, err
		}
	}
	if s.beside != nil {
		return true, s.duplicated(s.beside.Add(index, key, value, unique))
	}
	if s.full() {
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
	s.entries = append(s.entries, sinkEntry{key: k, value: v, unique: unique, check: check, index: index})
	return true, nil
}

// full reports whether a page is full.
func (s *sink) full() bool { return len(s.entries) >= pageEntries || len(s.arena) >= pageBytes }

// flush writes a page into the transaction.
func (s *sink) flush(ctx context.Context) error {
	err := s.writeDirect(ctx)
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
	s.beside = ingest.New(ctx, s.e.Coll.Store().DB(), s.memory(), s.prefixes)
	for i := range s.entries {
		en := &s.entries[i]
		if err := s.beside.Add(en.index, en.key, en.value, en.unique); err != nil {
			return s.duplicated(err)
		}
	}
	s.entries, s.arena, s.seen = nil, nil, nil
	return nil
}

// memory is the pool that collected entries count against.
func (s *sink) memory() *quota.Pool {
	if s.e.Exec == nil {
		return nil
	}
	return s.e.Exec.Mem
}

// finish writes the rest. Afterwards the transaction's later statements see all
// entries.
func (s *sink) finish(ctx context.Context) error {
	if s.beside == nil {
		return s.flush(ctx)
	}
	if err := s.beside.Finish(); err != nil {
		return s.duplicated(err)
	}
	return s.e.Coll.Freshen(ctx)
}

// close ends the writing beside the transaction.
func (s *sink) close() {
	if s.beside != nil {
		s.beside.Close()
	}
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

// duplicated makes a DuplicateError the error for the user.
func (s *sink) duplicated(err error) error {
	var d *ingest.DuplicateError
	if errors.As(err, &d) {
		return s.duplicate(&sinkEntry{key: d.Key, value: d.Value, index: d.Index})
	}
	return err
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
