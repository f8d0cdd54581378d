package backfill

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv/ingest"
	"github.com/lichendb/lichen/internal/sql/catalog"
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
	spans    []*catalog.Announced // to be kept when all is there
	// notes says that a step has its checkpoint noted, so that another node may go on with what is written. Others spoil that.
	notes bool
	job   statement.Job // for which entries are written beside the transaction; nil: for none
}

func newSink(ctx context.Context, e *statement.Env, indexes []*rowcodec.Index, prefixes [][]byte) *sink {
	s := &sink{e: e, indexes: indexes, prefixes: prefixes}
	s.w = ingest.New(ctx, ingest.Options{
		Prefixes: prefixes, Memory: e.Memory(), Txn: e.Txn, Always: e.IngestAlways, Gently: e.Gently, Many: func() (*ingest.Target, error) { return s.leaveTxn(ctx) },
	})
	return s
}

// add takes an entry.
func (s *sink) add(index int, key, value []byte, unique bool) error {
	return s.duplicated(s.w.Add(index, key, value, unique, 0))
}

// leaveTxn returns where a long build writes; nil: in the statement's transaction. A transaction whose
// snapshot can't move would not see what others write for it.
func (s *sink) leaveTxn(ctx context.Context) (*ingest.Target, error) {
	if !s.e.Coll.CanFreshen() {
		return nil, nil
	}
	var err error
	if s.job, err = s.e.Job(ctx); err != nil {
		return nil, err
	}
	if !s.notes {
		if err := s.e.Spoil(ctx, s.job); err != nil {
			return nil, err
		}
	}
	job := int64(0)
	if s.job != nil {
		job = s.job.ID()
	}
	for _, p := range s.prefixes {
		span, err := s.e.Coll.ClearUnlessCommitted(ctx, keys.Span{Start: p, End: keys.PrefixEnd(p)}, job)
		if err != nil {
			return nil, err
		}
		s.spans = append(s.spans, span)
	}
	return s.target(), nil
}

// target is where entries are written beside the transaction.
func (s *sink) target() *ingest.Target {
	t := &ingest.Target{DB: s.e.Coll.Store().DB()}
	if s.job != nil {
		t.Lease, t.Until = s.job.Lease, s.job.Until
	}
	return t
}

// resume has the sink go on with what another node has written for the job.
func (s *sink) resume(ctx context.Context, spans []uint64) (err error) {
	if s.job, err = s.e.Job(ctx); err != nil {
		return err
	}
	if s.job == nil || len(spans) != len(s.prefixes) || !s.e.Coll.CanFreshen() {
		return statement.ErrBeginAnew
	}
	for _, id := range spans {
		s.spans = append(s.spans, s.e.Coll.AnnouncedBefore(id))
	}
	s.w.Resume(s.target())
	return nil
}

// lease waits until a transaction beside the statement's may write, and returns up to which timestamp; nil: at any.
func (s *sink) lease(ctx context.Context) (until func() hlc.Timestamp, err error) {
	if s.job == nil {
		return nil, nil
	}
	return s.job.Until, s.job.Lease(ctx)
}

// keep has what was written stay if the statement's transaction commits.
func (s *sink) keep(ctx context.Context) error {
	for _, span := range s.spans {
		if err := span.Keep(ctx); err != nil {
			return err
		}
	}
	return nil
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
	return s.keep(ctx)
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
