package snapshot

import (
	"errors"
	"hash/crc32"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	pb "go.etcd.io/raft/v3/raftpb"
)

// ErrDamaged says that a snapshot did not arrive as it was sent.
var ErrDamaged = errors.New("snapshot: damaged")

// castagnoli is the table of the checksums of snapshots. It never changes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum adds a chunk to the totals of a snapshot, which both ends keep.
type Sum struct {
	Chunks, Keys, Bytes uint64
	CRC                 uint32
}

func (s *Sum) add(chunk []byte, keys uint64) {
	s.Chunks++
	s.Keys += keys
	s.Bytes += uint64(len(chunk))
	s.CRC = crc32.Update(s.CRC, castagnoli, chunk)
}

// appendChunkKey appends a key and its value to a chunk of a snapshot.
func appendChunkKey(chunk, key, value []byte) []byte {
	return encoding.AppendLenBytes(encoding.AppendLenBytes(chunk, key), value)
}

// Outgoing is the state of a range at one index of its log, for a replica that the log can't
// bring up to date any more.
type Outgoing struct {
	Message   *pb.Message // raft's, without data
	Desc      *kvpb.RangeDescriptor
	State     apply.State
	Threshold hlc.Timestamp

	iters []*storage.Iterator
	begun bool
	sum   Sum
}

// DataSpans returns the parts of the engine that hold a range's replicated data, in
// the order in which snapshots send them.
func DataSpans(d *kvpb.RangeDescriptor) []keys.Span {
	s := keys.Span{Start: d.StartKey, End: d.EndKey}
	return []keys.Span{s, keys.LockSpan(s), keys.TxnRecordSpan(s)}
}

// Open opens iterators over the range's present state in the engine.
func (s *Outgoing) Open(eng *storage.Engine) (err error) {
	if s.Threshold, err = apply.LoadThreshold(eng, s.Desc.RangeID); err != nil {
		return err
	}
	for _, sp := range DataSpans(s.Desc) {
		it, err := eng.NewIter(storage.IterOptions{Lower: sp.Start, Upper: sp.End})
		if err != nil {
			return err
		}
		s.iters = append(s.iters, it)
	}
	return nil
}

// Next appends the next chunk of engine keys and values, of about size bytes, to
// buf; it appends nothing at the end.
func (s *Outgoing) Next(buf []byte, size int) ([]byte, error) {
	chunk, n := buf, uint64(0)
	for len(s.iters) > 0 && len(chunk)-len(buf) < size {
		it := s.iters[0]
		ok := false
		if s.begun {
			ok = it.Next()
		} else {
			ok, s.begun = it.First(), true
		}
		if !ok {
			if err := it.Error(); err != nil {
				return nil, err
			}
			it.Close()
			s.iters, s.begun = s.iters[1:], false
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		chunk = appendChunkKey(chunk, it.Key(), v)
		n++
	}
	if n > 0 {
		s.sum.add(chunk[len(buf):], n)
	}
	return chunk, nil
}

// Sum returns the totals of the chunks so far.
func (s *Outgoing) Sum() Sum { return s.sum }

// Close closes the iterators.
func (s *Outgoing) Close() {
	for _, it := range s.iters {
		it.Close()
	}
	s.iters = nil
}
