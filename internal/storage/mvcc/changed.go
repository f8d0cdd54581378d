package mvcc

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

// keysBeforeFilter is how many keys ChangedSince looks at with a pooled iterator
// before it opens one that passes over blocks without a version of the interval:
// short spans never pay for opening it.
const keysBeforeFilter = 64

// ChangedSince reports whether a version of a key in span has a time after
// after and not after upTo, tombstones included, and returns the first such key.
// The caller guarantees that after is not below the collection threshold.
func ChangedSince(
	ctx context.Context, eng *storage.Engine, span keys.Span, after, upTo hlc.Timestamp,
) (changed bool, key []byte, err error) {
	return changedSince(ctx, eng, span, after, upTo, keysBeforeFilter)
}

func changedSince(
	ctx context.Context, eng *storage.Engine, span keys.Span, after, upTo hlc.Timestamp, unfiltered int,
) (changed bool, key []byte, err error) {
	if !after.Less(upTo) {
		return false, nil, nil
	}
	if span.IsPoint() {
		changed, err = pointChanged(eng, span.Start, after, upTo)
		if changed {
			key = append(key, span.Start...)
		}
		return changed, key, err
	}
	it, err := eng.AcquireScan()
	if err != nil {
		return false, nil, err
	}
	c := changeFinder{eng: eng, it: it.Iterator, after: after, upTo: upTo}
	it.SetSpan(span.Start, span.End)
	valid, done := c.run(ctx, it.First(), unfiltered)
	if !done && valid {
		span.Start = append([]byte(nil), c.currentKey()...)
	}
	it.Release()
	if done || !valid {
		return c.found != nil, c.found, c.err
	}
	filtered, err := eng.NewIter(storage.IterOptions{
		Lower: span.Start, Upper: span.End, MinWall: after.WallTime, MaxWall: upTo.WallTime,
	})
	if err != nil {
		return false, nil, err
	}
	c.it = filtered
	c.run(ctx, filtered.First(), 0)
	if err := filtered.Close(); err != nil && c.err == nil {
		c.err = eng.ReadError(err)
	}
	return c.found != nil, c.found, c.err
}

func pointChanged(eng *storage.Engine, key []byte, after, upTo hlc.Timestamp) (bool, error) {
	if at, ok := eng.NewestTimestamp(key, upTo); ok {
		return after.Less(at), nil
	}
	it, err := eng.AcquirePoint()
	if err != nil {
		return false, err
	}
	defer it.Release()
	ts, found, err := seek(eng, it, key, upTo)
	return found && after.Less(ts), err
}

type changeFinder struct {
	eng         *storage.Engine
	it          *storage.Iterator
	after, upTo hlc.Timestamp
	seek        []byte

	found []byte
	err   error
}

// run looks at up to maxKeys keys (0: all) from where the iterator stands. done
// is true once the answer is known; valid says whether keys are left.
func (c *changeFinder) run(ctx context.Context, ok bool, maxKeys int) (valid, done bool) {
	for n := 1; ok; n++ {
		if n%rowsPerCancelCheck == 0 {
			if c.err = ctx.Err(); c.err != nil {
				return true, true
			}
		}
		key, ts, err := storage.DecodeEngineKey(c.it.Key())
		switch {
		case err != nil:
			c.err = err
			return true, true
		case ts.IsEmpty():
			ok = c.it.Next()
		case c.upTo.Less(ts):
			ok = c.skipNewer(key)
		case c.after.Less(ts):
			c.found = append([]byte{}, key...)
			return true, true
		default:
			ok = c.it.NextPrefix()
		}
		if ok && n == maxKeys {
			return true, false
		}
	}
	if err := c.it.Error(); err != nil {
		c.err = c.eng.ReadError(err)
	}
	return false, true
}

// skipNewer leaves the versions after upTo: by steps if they are few.
func (c *changeFinder) skipNewer(key []byte) bool {
	c.seek = storage.AppendEngineKey(c.seek[:0], key, c.upTo)
	n := len(key) + 1
	for range maxStepsBeforeSeek {
		if !c.it.Next() {
			return false
		}
		ek := c.it.Key()
		if prefixLen(ek) != n || !bytes.Equal(ek[:n], c.seek[:n]) {
			return true
		}
		if _, ts, err := storage.DecodeEngineKey(ek); err != nil || !c.upTo.Less(ts) {
			return true // run decodes it again and reports the error
		}
	}
	return c.it.SeekGE(c.seek)
}

func (c *changeFinder) currentKey() []byte {
	ek := c.it.Key()
	return ek[:prefixLen(ek)-1]
}
