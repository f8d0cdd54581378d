package snapshot

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// tableBytes is the approximate size of one table of a received snapshot.
const tableBytes = 32 << 20

// Incoming is a snapshot that arrives. Its chunks become tables in a directory of its own,
// which the engine ingests once they are complete. Only the present chunk is in memory.
// Close must be called in the end.
type Incoming struct {
	Desc      *kvpb.RangeDescriptor
	State     apply.State
	Threshold hlc.Timestamp

	eng    *storage.Engine
	fs     fs.FS
	dir    string
	spans  []keys.Span // still to come, the present one first
	bounds [2][]byte   // the present span's, as engine keys
	data   bool        // the present span is that of the range's keys
	bare   []keys.Span // spans without keys in the snapshot, but for that of the range's keys
	sum    Sum

	table *storage.TableWriter // nil between tables
	from  []byte               // where the present table's deletion begins
	last  []byte               // the last key
	files []string
}

// NewIncoming begins to receive a snapshot into a new directory.
func NewIncoming(eng *storage.Engine, f fs.FS, dir string, d *kvpb.RangeDescriptor, st apply.State, threshold hlc.Timestamp) (*Incoming, error) {
	if err := f.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := f.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Incoming{Desc: d, State: st, Threshold: threshold, eng: eng, fs: f, dir: dir, spans: DataSpans(d), data: true}
	s.enterSpan()
	return s, nil
}

// Close removes the files that the engine has not ingested.
func (s *Incoming) Close() error {
	if s.table != nil {
		s.table.Close()
		s.table = nil
	}
	return s.fs.RemoveAll(s.dir)
}

func (s *Incoming) enterSpan() {
	sp := s.spans[0]
	s.bounds = [2][]byte{
		storage.AppendEngineKey(nil, sp.Start, hlc.Timestamp{}), storage.AppendEngineKey(nil, sp.End, hlc.Timestamp{}),
	}
	s.from, s.last = sp.Start, nil
}

// Add adds the next chunk.
func (s *Incoming) Add(chunk []byte) error {
	n := uint64(0)
	for rest := chunk; len(rest) > 0; n++ {
		k, more, err := encoding.DecodeLenBytes(rest)
		if err != nil {
			return ErrDamaged
		}
		v, more, err := encoding.DecodeLenBytes(more)
		if err != nil {
			return ErrDamaged
		}
		if err := s.add(k, v); err != nil {
			return err
		}
		rest = more
	}
	s.sum.add(chunk, n)
	return nil
}

// add adds a key to the present table, or to the first one of a later span.
func (s *Incoming) add(k, v []byte) error {
	for !s.inSpan(k) {
		if len(s.spans) == 1 {
			return fmt.Errorf("%w: key %x is not the range's", ErrDamaged, k)
		}
		if err := s.leaveSpan(); err != nil {
			return err
		}
	}
	if s.last != nil && storage.CompareEngineKeys(s.last, k) >= 0 {
		return fmt.Errorf("%w: keys out of order", ErrDamaged)
	}
	if s.table != nil && s.table.Size() >= tableBytes && !bytes.Equal(storage.Prefix(s.last), storage.Prefix(k)) {
		key, _, err := storage.DecodeEngineKey(k)
		if err != nil {
			return err
		}
		if err := s.finishTable(key); err != nil {
			return err
		}
		s.from = bytes.Clone(key)
	}
	s.last = append(s.last[:0], k...)
	if err := s.openTable(); err != nil {
		return err
	}
	return s.table.SetEngineKey(k, v)
}

func (s *Incoming) inSpan(k []byte) bool {
	return storage.CompareEngineKeys(s.bounds[0], k) <= 0 && storage.CompareEngineKeys(k, s.bounds[1]) < 0
}

func (s *Incoming) leaveSpan() error {
	if err := s.endSpan(); err != nil {
		return err
	}
	s.spans, s.data = s.spans[1:], false
	s.enterSpan()
	return nil
}

// endSpan ends the present span. Ingest excises the engine's old data in the span of the range's
// keys. In the other spans a range deletion in their tables removes it; clearBare makes such a table
// for a span without keys.
func (s *Incoming) endSpan() error {
	if !s.data && s.table == nil {
		s.bare = append(s.bare, s.spans[0])
		return nil
	}
	return s.finishTable(s.spans[0].End)
}

func (s *Incoming) openTable() (err error) {
	if s.table == nil {
		s.table, err = s.newTable()
	}
	return err
}

func (s *Incoming) newTable() (*storage.TableWriter, error) {
	path := s.fs.PathJoin(s.dir, fmt.Sprintf("%06d.sst", len(s.files)))
	t, err := s.eng.NewTable(path)
	if err == nil {
		s.files = append(s.files, path)
	}
	return t, err
}

// finishTable completes the present table, which covers the keys below end.
func (s *Incoming) finishTable(end []byte) error {
	t := s.table
	if t == nil {
		return nil
	}
	s.table = nil
	if !s.data {
		if err := t.DeleteRange(s.from, end); err != nil {
			return errors.Join(err, t.Finish())
		}
	}
	return t.Finish()
}

// Complete checks that the whole snapshot has arrived: that its totals are the sender's.
func (s *Incoming) Complete(sum Sum) error {
	if s.sum != sum {
		return fmt.Errorf("%w: %+v arrived, %+v was sent", ErrDamaged, s.sum, sum)
	}
	for {
		if err := s.endSpan(); err != nil {
			return err
		}
		if s.spans = s.spans[1:]; len(s.spans) == 0 {
			return nil
		}
		s.data = false
		s.enterSpan()
	}
}

// Ingest replaces the engine's data of the range by the snapshot. It also removes the data within
// the former descriptors: former bounds of the replica, and ranges that the range has subsumed. local
// holds the range-local keys of the replica. after is the parameter of Engine.Ingest.
func (s *Incoming) Ingest(former []*kvpb.RangeDescriptor, local *storage.Batch, after bool) error {
	t, err := s.newTable()
	if err != nil {
		return err
	}
	if err := errors.Join(t.AddBatch(local), t.Finish()); err != nil {
		return err
	}
	all := keys.Span{Start: s.Desc.StartKey, End: s.Desc.EndKey}
	lo, hi := all.Start, all.End
	for _, d := range former {
		if bytes.Compare(d.EndKey, all.Start) <= 0 || bytes.Compare(all.End, d.StartKey) <= 0 {
			return fmt.Errorf("range %d: a snapshot of %v in place of a replica of %x-%x", s.Desc.RangeID, all, d.StartKey, d.EndKey)
		}
		if bytes.Compare(d.StartKey, lo) < 0 {
			lo = d.StartKey
		}
		if bytes.Compare(d.EndKey, hi) > 0 {
			hi = d.EndKey
		}
	}
	// A split that the snapshot skips may have moved keys out of the range. The replica of
	// that other half gets them by a snapshot of its own.
	for _, sp := range []keys.Span{{Start: lo, End: all.Start}, {Start: all.End, End: hi}} {
		if !bytes.Equal(sp.Start, sp.End) {
			s.bare = append(s.bare, keys.LockSpan(sp), keys.TxnRecordSpan(sp))
		}
	}
	if err := s.clearBare(); err != nil {
		return err
	}
	return s.eng.Ingest(s.files, lo, hi, after)
}

// clearBare makes tables that delete the engine's old data in the spans without keys. It makes
// none where the engine has no data, which is the usual case, since each table costs a sync.
func (s *Incoming) clearBare() error {
	for _, sp := range s.bare {
		held, err := s.eng.Holds(sp.Start, sp.End)
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		t, err := s.newTable()
		if err != nil {
			return err
		}
		if err := errors.Join(t.DeleteRange(sp.Start, sp.End), t.Finish()); err != nil {
			return err
		}
	}
	return nil
}
