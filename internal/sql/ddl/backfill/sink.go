package backfill

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// sink writes the entries of new indexes. A few are written by the statement's
// transaction. Many are ingested beside it, into spans that are cleared unless the statement's
// transaction commits: nobody reads the indexes before.
type sink struct {
	e       *statement.Env
	indexes []*rowcodec.Index
	// prefixes are those of indexes, and then of others.
	prefixes [][]byte
	w        *ingest.Writer
	keep     []func(context.Context) error // to be called when all is there: see ClearUnlessCommitted
}

func newSink(ctx context.Context, e *statement.Env, indexes []*rowcodec.Index, prefixes [][]byte) *sink {
	s := &sink{e: e, indexes: indexes, prefixes: prefixes}
	s.w = ingest.New(ctx, ingest.Options{
		Prefixes: prefixes, Memory: e.Memory(), Txn: e.Txn, Always: e.IngestAlways, Gently: e.Gently, Many: func() (*kv.DB, error) { return s.leaveTxn(ctx) },
	})
	return s
}

// add takes an entry.
func (s *sink) add(index int, key, value []byte, unique bool) error {
	return s.duplicated(s.w.Add(index, key, value, unique, 0))
}

// leaveTxn returns where a long build writes; nil: in the statement's transaction. A transaction whose
// snapshot can't move would not see what others write for it.
func (s *sink) leaveTxn(ctx context.Context) (*kv.DB, error) {
	if !s.e.Coll.CanFreshen() {
		return nil, nil
	}
	for _, p := range s.prefixes {
		keep, err := s.e.Coll.ClearUnlessCommitted(ctx, keys.Span{Start: p, End: keys.PrefixEnd(p)})
		if err != nil {
			return nil, err
		}
		s.keep = append(s.keep, keep)
	}
	return s.e.Coll.Store().DB(), nil
}

// finish writes the rest. Afterwards the transaction's later statements see all
// entries.
func (s *sink) finish(ctx context.Context) error {
	if err := s.w.Finish(); err != nil {
		return s.duplicated(err)
	}
	if !s.w.Beside() {
		return nil
	}
	if err := s.e.Coll.Freshen(ctx); err != nil {
		return err
	}
	for _, keep := range s.keep {
		if err := keep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the writing beside the transaction.
func (s *sink) close() { s.w.Close() }

// duplicated makes a DuplicateError the error for the user: 23505 for an entry whose row is no longer at
// hand.
func (s *sink) duplicated(err error) error {
	var d *ingest.DuplicateError
	if !errors.As(err, &d) {
		return err
	}
	x := s.indexes[d.Index]
	b := &Builder{E: s.e, Table: x.Table}
	ords := make([]int, x.Declared)
	for i := range ords {
		ords[i] = x.Key[i].Ord
	}
	vals := make([]types.Datum, len(ords))
	if err := x.NewDecoder(ords).Decode(d.Key, d.Value, vals); err != nil {
		return pgerr.From(err)
	}
	row := make([]types.Datum, len(x.Table.Columns))
	for i, ord := range ords {
		row[ord] = vals[i]
	}
	return b.duplicate(x, row)
}
