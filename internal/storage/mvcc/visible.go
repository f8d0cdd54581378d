package mvcc

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

// Hidden says which versions a read must pass over: those of transactions that
// have spilled and are not committed, or are at a later time than their versions
// carry.
type Hidden func(ts hlc.Timestamp) bool

// GetVisible is Get for a key that may have hidden versions.
func GetVisible(eng *storage.Engine, key []byte, ts hlc.Timestamp, hidden Hidden, buf []byte) (Value, bool, error) {
	for {
		v, found, err := Get(eng, key, ts, buf)
		if err != nil || v.TS.IsEmpty() || !hidden(v.TS) {
			return v, found, err
		}
		ts = v.TS.Prev()
	}
}

// ScanVisible passes the keys of span as they were at ts, hidden versions left
// out, to emit until that returns false. It is slower than Scan.
func ScanVisible(
	ctx context.Context, eng *storage.Engine, span keys.Span, ts hlc.Timestamp, hidden Hidden,
	reverse bool, emit func(key, value []byte) bool,
) error {
	it, err := eng.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
	if err != nil {
		return err
	}
	s := visibleScan{ctx: ctx, it: it, ts: ts, hidden: hidden, emit: emit}
	if reverse {
		err = s.backward()
	} else {
		err = s.forward()
	}
	if err == nil {
		err = eng.ReadError(it.Error())
	}
	if cerr := it.Close(); err == nil {
		err = eng.ReadError(cerr)
	}
	return err
}

type visibleScan struct {
	ctx    context.Context
	it     *storage.Iterator
	ts     hlc.Timestamp
	hidden Hidden
	emit   func(key, value []byte) bool
	steps  int
}

// at describes the version under the iterator and whether the read may see it.
func (s *visibleScan) at() (key []byte, visible bool, err error) {
	if s.steps++; s.steps%rowsPerCancelCheck == 0 {
		if err := s.ctx.Err(); err != nil {
			return nil, false, err
		}
	}
	key, ts, err := storage.DecodeEngineKey(s.it.Key())
	return key, err == nil && !ts.IsEmpty() && ts.LessEq(s.ts) && !s.hidden(ts), err
}

func (s *visibleScan) forward() error {
	for ok := s.it.First(); ok; {
		key, visible, err := s.at()
		if err != nil {
			return err
		}
		if !visible {
			ok = s.it.Next()
			continue
		}
		stored, err := s.it.ValueAndErr()
		if err != nil {
			return err
		}
		payload, tombstone, err := parseStored(stored)
		if err != nil {
			return err
		}
		if !tombstone && !s.emit(key, payload) {
			return nil
		}
		ok = s.it.NextPrefix()
	}
	return nil
}

// backward sees the versions of a key oldest first: the last visible one counts.
func (s *visibleScan) backward() error {
	var key, value []byte
	have, tombstone := false, false
	flush := func() bool {
		more := !have || tombstone || s.emit(key, value)
		have = false
		return more
	}
	for ok := s.it.Last(); ok; ok = s.it.Prev() {
		k, visible, err := s.at()
		if err != nil {
			return err
		}
		if !bytes.Equal(k, key) {
			if !flush() {
				return nil
			}
			key = append(key[:0], k...)
		}
		if !visible {
			continue
		}
		stored, err := s.it.ValueAndErr()
		if err != nil {
			return err
		}
		var payload []byte
		if payload, tombstone, err = parseStored(stored); err != nil {
			return err
		}
		value, have = append(value[:0], payload...), true
	}
	flush()
	return nil
}

// ChangedVisible is ChangedSince where versions may be hidden.
func ChangedVisible(
	ctx context.Context, eng *storage.Engine, span keys.Span, after, upTo hlc.Timestamp, hidden Hidden,
) (changed bool, key []byte, err error) {
	if span.IsPoint() {
		v, _, err := GetVisible(eng, span.Start, upTo, hidden, nil)
		return err == nil && after.Less(v.TS), span.Start, err
	}
	it, err := eng.NewIter(storage.IterOptions{
		Lower: span.Start, Upper: span.End, MinWall: after.WallTime, MaxWall: upTo.WallTime,
	})
	if err != nil {
		return false, nil, err
	}
	s := visibleScan{ctx: ctx, it: it, ts: upTo, hidden: hidden}
	for ok := it.First(); ok && err == nil && !changed; ok = it.Next() {
		var k []byte
		var visible bool
		if k, visible, err = s.at(); err == nil && visible {
			_, ts, _ := storage.DecodeEngineKey(it.Key()) // at has decoded it
			if changed = after.Less(ts); changed {
				key = bytes.Clone(k)
			}
		}
	}
	if err == nil {
		err = eng.ReadError(it.Error())
	}
	if cerr := it.Close(); err == nil {
		err = eng.ReadError(cerr)
	}
	return changed, key, err
}

// Changes passes to emit the keys of span that have a version after after and not after upTo, tombstones
// included, until emit returns false. hidden is nil if no version is hidden. The caller guarantees that after
// is not below the collection threshold.
func Changes(
	ctx context.Context, eng *storage.Engine, span keys.Span, after, upTo hlc.Timestamp, hidden Hidden, emit func(key []byte) bool,
) error {
	if hidden == nil {
		hidden = func(hlc.Timestamp) bool { return false }
	}
	it, err := eng.NewIter(storage.IterOptions{
		Lower: span.Start, Upper: span.End, MinWall: after.WallTime, MaxWall: upTo.WallTime,
	})
	if err != nil {
		return err
	}
	s := visibleScan{ctx: ctx, it: it, ts: upTo, hidden: hidden}
	err = s.changes(after, emit)
	if err == nil {
		err = eng.ReadError(it.Error())
	}
	if cerr := it.Close(); err == nil {
		err = eng.ReadError(cerr)
	}
	return err
}

func (s *visibleScan) changes(after hlc.Timestamp, emit func(key []byte) bool) error {
	for ok := s.it.First(); ok; {
		key, visible, err := s.at()
		if err != nil {
			return err
		}
		if !visible {
			ok = s.it.Next()
			continue
		}
		_, ts, _ := storage.DecodeEngineKey(s.it.Key()) // at has decoded it
		if after.Less(ts) && !emit(key) {
			return nil
		}
		ok = s.it.NextPrefix()
	}
	return nil
}
