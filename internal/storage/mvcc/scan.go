package mvcc

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// maxStepsBeforeSeek is how many versions that are too new (or, backwards,
	// too old) a scan steps over before it seeks: a step is much cheaper than a
	// seek, and most keys have few versions.
	maxStepsBeforeSeek = 4
	// jumps is how many keys a scan leaves by NextPrefix after one that had an older version:
	// a step to the next key is cheaper, and all there is to do for most keys.
	jumps = 8
	// rowsPerCancelCheck is how many keys a scan looks at between two looks at
	// its context.
	rowsPerCancelCheck = 256
)

// Scanner walks the keys of a span as they were at one time. Key and Value are
// valid until the next call of Next.
type Scanner struct {
	eng     *storage.Engine
	it      *storage.PooledIter
	ts      hlc.Timestamp
	reverse bool
	state   scanState
	err     error

	key   []byte
	value []byte
	vts   hlc.Timestamp

	prefix []byte // the key being looked at, with its sentinel; a copy
	jumps  int    // forwards: how many keys more are left by NextPrefix
	held   []byte // backwards: the best version so far; a copy
}

// scanState says where the iterator of a scanner stands.
type scanState int8

const (
	scanStart scanState = iota // nowhere yet
	scanAtRow                  // forwards: at the version that was returned
	scanAtKey                  // at a version of the next key to look at
	scanDone
)

func (s *Scanner) init(
	eng *storage.Engine, it *storage.PooledIter, span keys.Span, ts hlc.Timestamp, reverse bool,
) {
	s.eng, s.it, s.ts, s.reverse = eng, it, ts, reverse
	s.state, s.err, s.jumps = scanStart, nil, 0
	if ts.IsEmpty() {
		s.state = scanDone
		return
	}
	if span.IsPoint() {
		it.SetSpan(span.Start, keys.Next(span.Start))
		return
	}
	it.SetSpan(span.Start, span.End)
}

// Next moves to the next key that exists and reports whether there is one.
func (s *Scanner) Next() bool {
	if s.state == scanDone {
		return false
	}
	if s.reverse {
		return s.prev()
	}
	var valid bool
	if s.state == scanStart {
		valid = s.it.First()
	} else {
		valid = s.leave()
	}
	s.state = scanAtRow
	for valid {
		ek := s.it.Key()
		n := prefixLen(ek)
		ts, ok := s.suffix(ek, n)
		if !ok {
			return false
		}
		if ts.IsEmpty() { // an unversioned key is no row
			valid = s.it.Next()
			continue
		}
		if s.ts.Less(ts) {
			if valid = s.skipNewer(ek[:n]); !valid || !s.samePrefix(s.it.Key()) {
				continue
			}
			ek = s.it.Key()
			if ts, ok = s.suffix(ek, n); !ok {
				return false
			}
		}
		if emitted, ok := s.load(ek[:n-1], ts); emitted || !ok {
			return emitted
		}
		valid = s.it.NextPrefix()
	}
	return s.finish()
}

// leave moves from the row that was returned to the next key, over older versions.
func (s *Scanner) leave() bool {
	if s.jumps > 0 {
		s.jumps--
		return s.it.NextPrefix()
	}
	s.prefix = append(append(s.it.PrefixBuf[:0], s.key...), 0)
	s.it.PrefixBuf = s.prefix // most scanners are short
	if !s.it.Next() {
		return false
	}
	if !s.samePrefix(s.it.Key()) {
		return true
	}
	s.jumps = jumps
	return s.it.NextPrefix()
}

// skipNewer moves past the versions of the key that are newer than the time of
// the scan: to its next older version or else to a later key.
func (s *Scanner) skipNewer(prefix []byte) bool {
	s.prefix = append(s.prefix[:0], prefix...)
	for range maxStepsBeforeSeek {
		if !s.it.Next() {
			return false
		}
		ek := s.it.Key()
		if !s.samePrefix(ek) {
			return true
		}
		ts, ok := s.suffix(ek, len(prefix))
		if !ok {
			return false
		}
		if !s.ts.Less(ts) {
			return true
		}
	}
	s.it.KeyBuf = storage.AppendEngineKey(s.it.KeyBuf[:0], s.prefix[:len(s.prefix)-1], s.ts)
	return s.it.SeekGE(s.it.KeyBuf)
}

// load makes the version under the iterator, which is of key at ts, the current row, unless it is
// a tombstone.
func (s *Scanner) load(key []byte, ts hlc.Timestamp) (emitted, ok bool) {
	stored, err := s.it.Fetch(s.eng.Values())
	if err != nil {
		return false, s.fail(err)
	}
	payload, tombstone, err := parseStored(stored)
	if err != nil {
		return false, s.fail(err)
	}
	if tombstone {
		return false, true
	}
	s.key, s.value, s.vts = key, payload, ts
	return true, true
}

// prev is Next of a reverse scan. Backwards, the versions of a key come oldest
// first, so the best one is held until a newer one turns out too new.
func (s *Scanner) prev() bool {
	valid := s.state == scanAtKey && s.it.Valid()
	if s.state == scanStart {
		valid = s.it.Last()
	}
	s.state = scanAtKey
	for valid {
		ek := s.it.Key()
		s.prefix = append(s.prefix[:0], ek[:prefixLen(ek)]...)
		found, ok := s.newestVisible()
		if !ok {
			return false
		}
		if found {
			s.key = s.prefix[:len(s.prefix)-1]
			return true
		}
		valid = s.it.Valid()
	}
	return s.finish()
}

// newestVisible looks at the versions of s.prefix from the oldest, under the
// iterator, and leaves the iterator at the key before.
func (s *Scanner) newestVisible() (found, ok bool) {
	tombstone := true // nothing visible yet, which is the same
	for steps := 0; ; steps++ {
		ek := s.it.Key()
		if !s.samePrefix(ek) {
			return !tombstone, true
		}
		ts, ok := s.suffix(ek, len(s.prefix))
		if !ok {
			return false, false
		}
		if steps == maxStepsBeforeSeek || s.ts.Less(ts) {
			if steps == maxStepsBeforeSeek {
				if tombstone, ok = s.seekVisible(); !ok {
					return false, false
				}
			}
			s.it.SeekLT(s.prefix)
			return !tombstone, s.check()
		}
		if !ts.IsEmpty() {
			if tombstone, ok = s.hold(ts); !ok {
				return false, false
			}
		}
		if !s.it.Prev() {
			return !tombstone, s.check()
		}
	}
}

// seekVisible holds the newest visible version of s.prefix, found by a seek.
func (s *Scanner) seekVisible() (tombstone, ok bool) {
	s.it.KeyBuf = storage.AppendEngineKey(s.it.KeyBuf[:0], s.prefix[:len(s.prefix)-1], s.ts)
	if !s.it.SeekGE(s.it.KeyBuf) {
		return true, s.check()
	}
	ek := s.it.Key()
	if !s.samePrefix(ek) {
		return true, true
	}
	ts, ok := s.suffix(ek, len(s.prefix))
	if !ok {
		return true, false
	}
	return s.hold(ts)
}

// hold copies the version under the iterator, which is about to move on.
func (s *Scanner) hold(ts hlc.Timestamp) (tombstone, ok bool) {
	stored, err := s.it.Fetch(s.eng.Values())
	if err != nil {
		return true, s.fail(err)
	}
	payload, tombstone, err := parseStored(stored)
	if err != nil {
		return true, s.fail(err)
	}
	if s.held, err = s.eng.Values().Room(s.held[:0], len(payload)); err != nil {
		return true, s.fail(err)
	}
	s.held = append(s.held, payload...)
	s.value, s.vts = s.held, ts
	return tombstone, true
}

// Key is the current key.
func (s *Scanner) Key() []byte { return s.key }

// Value is the payload of the current key's version.
func (s *Scanner) Value() []byte { return s.value }

// Timestamp is the time of the current key's version.
func (s *Scanner) Timestamp() hlc.Timestamp { return s.vts }

// Err is the error that ended the scan, if one did.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) finish() bool {
	s.state = scanDone
	s.check()
	return false
}

func (s *Scanner) fail(err error) bool {
	s.err, s.state = err, scanDone
	return false
}

// check takes over an error of the iterator and reports whether there is none.
func (s *Scanner) check() bool {
	if err := s.it.Error(); err != nil {
		return s.fail(s.eng.ReadError(err))
	}
	return true
}

func (s *Scanner) samePrefix(ek []byte) bool {
	return prefixLen(ek) == len(s.prefix) && bytes.Equal(ek[:len(s.prefix)], s.prefix)
}

func (s *Scanner) suffix(ek []byte, prefix int) (hlc.Timestamp, bool) {
	if prefix == len(ek) {
		return hlc.Timestamp{}, true
	}
	_, ts, err := storage.DecodeEngineKey(ek)
	if err != nil {
		return ts, s.fail(err)
	}
	return ts, true
}

// prefixLen is the length of the key and its sentinel within an engine key.
func prefixLen(ek []byte) int { return len(ek) - int(ek[len(ek)-1]) }

// ScanOptions limit a scan. The zero value reads all of the span forwards.
type ScanOptions struct {
	// MaxKeys ends the scan after that many keys, if it is not 0.
	MaxKeys int
	// MaxBytes ends the scan once keys and values have that many bytes, if it is
	// not 0. One row is always returned.
	MaxBytes int
	// Reverse returns the keys in descending order.
	Reverse bool
	// KeysOnly leaves out the values.
	KeysOnly bool
}

func scan(
	ctx context.Context, eng *storage.Engine, it *storage.PooledIter,
	span keys.Span, ts hlc.Timestamp, opts ScanOptions, res *ScanResult,
) error {
	s := &res.scanner
	s.init(eng, it, span, ts, opts.Reverse)
	res.Resume = keys.Span{}
	bytesLeft, keysLeft := opts.MaxBytes, opts.MaxKeys
	for n := 0; s.Next(); n++ {
		if n%rowsPerCancelCheck == rowsPerCancelCheck-1 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		value := s.value
		if opts.KeysOnly {
			value = nil
		}
		res.add(s.key, value, s.vts)
		keysLeft--
		bytesLeft -= len(s.key) + len(value)
		if opts.MaxKeys > 0 && keysLeft == 0 || opts.MaxBytes > 0 && bytesLeft <= 0 {
			res.resumeAfter(s.key, span, opts.Reverse)
			break
		}
	}
	s.it = nil
	return s.err
}
