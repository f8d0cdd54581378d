package mvcc

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// MaxInlineGarbage bounds the versions that one write collects: it pays back
	// more than the one it adds, and its command stays small.
	MaxInlineGarbage = 8
	// maxInlineVersions bounds the versions that one write looks at to find them.
	maxInlineVersions = 24
	// maxGarbagePerKey bounds what ScanGarbage holds of one key before it stops
	// there and goes on with the same key next time.
	maxGarbagePerKey = 1000
)

// Garbage is a version of some key that no read at or after the threshold can
// return.
type Garbage struct {
	TS hlc.Timestamp
	// Size is the stored length of the version's value, or 0 where its neighbors are
	// garbage as well: storage.Batch.DeleteVersion.
	Size uint32
}

// collector decides which versions of one key are garbage. It is shown them
// newest first.
type collector struct {
	threshold hlc.Timestamp
	// covered is set once a version at or below the threshold was seen: every
	// older one is garbage.
	covered bool
	// tombstone is the covering version if it is a tombstone: it is garbage too,
	// but only if everything below it goes with it.
	tombstone    Garbage
	hasTombstone bool
}

// garbage takes the next older version and reports whether it is garbage.
// tombstone is asked only when it matters.
func (c *collector) garbage(v Garbage, tombstone bool) bool {
	switch {
	case c.threshold.Less(v.TS):
		return false
	case c.covered:
		return true
	}
	c.covered = true
	if tombstone {
		c.tombstone, c.hasTombstone = v, true
	}
	return false
}

// CollectInline appends to dst garbage of key, at most MaxInlineGarbage versions,
// for a write that is about to add another version of it. threshold
// must be at or below the range's collection threshold once the write is
// applied.
func CollectInline(
	eng *storage.Engine, key []byte, threshold hlc.Timestamp, dst []Garbage,
) ([]Garbage, error) {
	it, err := eng.AcquirePoint()
	if err != nil {
		return dst, err
	}
	dst, err = collectInline(eng, it, key, threshold, inlineLimits(), dst)
	it.Release()
	return dst, err
}

// inlineLimit bounds an inline collection.
type inlineLimit struct {
	garbage int // versions returned
	visited int // versions looked at
}

// inlineLimits are the limits in use; tests take smaller ones.
func inlineLimits() inlineLimit {
	return inlineLimit{garbage: MaxInlineGarbage, visited: maxInlineVersions}
}

func collectInline(
	eng *storage.Engine, it *storage.PooledIter, key []byte, threshold hlc.Timestamp,
	limit inlineLimit, dst []Garbage,
) ([]Garbage, error) {
	// Versions above the threshold are nobody's garbage: begin below it.
	if threshold.IsEmpty() || !it.SeekVersion(key, threshold) {
		return dst, eng.ReadError(it.Error())
	}
	c := collector{threshold: threshold}
	base := len(dst)
	for range limit.visited {
		v, tombstone, err := currentVersion(eng, it.Iterator, !c.covered)
		if err != nil {
			return dst[:base], err
		}
		if c.garbage(v, tombstone) {
			dst = append(dst, v)
			if len(dst)-base == limit.garbage {
				return dst, nil // a covering tombstone stays: there may be more below it
			}
		}
		if !it.Next() {
			if err := it.Error(); err != nil {
				return dst[:base], eng.ReadError(err)
			}
			if c.hasTombstone {
				dst = append(dst, c.tombstone)
			}
			return dst, nil
		}
	}
	return dst, nil
}

// currentVersion describes the version under the iterator. Whether it is a
// tombstone is looked up only if asked.
func currentVersion(
	eng *storage.Engine, it *storage.Iterator, ask bool,
) (v Garbage, tombstone bool, err error) {
	if _, v.TS, err = storage.DecodeEngineKey(it.Key()); err != nil {
		return v, false, err
	}
	lv := it.LazyValue()
	v.Size = uint32(lv.Len())
	if !ask || v.Size != headerLen {
		return v, false, nil
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		return v, false, eng.ReadError(err)
	}
	_, tombstone, err = parseStored(stored)
	return v, tombstone, err
}

// VersionRef is a garbage version found by ScanGarbage.
type VersionRef struct {
	Key []byte
	Garbage
}

// GCLimits bound one call of ScanGarbage; 0 means no limit.
type GCLimits struct {
	// MaxKeys is how many keys are looked at.
	MaxKeys int
	// MaxVersions and MaxBytes bound the garbage returned, bytes counting keys
	// and values. They are passed by at most one key.
	MaxVersions int
	MaxBytes    int
}

// GCStats tell what a call of ScanGarbage saw. With a filter on time at work,
// keys written only after the threshold may be missing from it.
type GCStats struct {
	Keys          int   // keys looked at
	Versions      int   // versions looked at
	GarbageCount  int   // garbage versions found
	GarbageBytes  int64 // their keys and values
	VersionsBytes int64 // keys and values of all versions looked at
}

// ScanGarbage finds the versions in span that no read at or after threshold can
// return. resume is the key to go on at, nil if the span is done.
func ScanGarbage(
	ctx context.Context, eng *storage.Engine, span keys.Span, threshold hlc.Timestamp, limits GCLimits,
) (refs []VersionRef, resume []byte, stats GCStats, err error) {
	if threshold.IsEmpty() {
		return nil, nil, stats, nil
	}
	// Blocks with nothing at or below the threshold hold no garbage.
	it, err := eng.NewIter(storage.IterOptions{
		Lower: span.Start, Upper: span.End, MaxWall: threshold.WallTime,
	})
	if err != nil {
		return nil, nil, stats, err
	}
	g := garbageScan{eng: eng, it: it, threshold: threshold, limits: limits}
	resume, err = g.run(ctx)
	if cerr := it.Close(); err == nil && cerr != nil {
		err = eng.ReadError(cerr)
	}
	if err != nil {
		return nil, nil, g.stats, err
	}
	return g.refs, resume, g.stats, nil
}

type garbageScan struct {
	eng       *storage.Engine
	it        *storage.Iterator
	threshold hlc.Timestamp
	limits    GCLimits

	refs  []VersionRef
	stats GCStats
	key   []byte
}

func (g *garbageScan) run(ctx context.Context) (resume []byte, err error) {
	for ok := g.it.First(); ok; ok = g.it.Valid() {
		key, ts, err := storage.DecodeEngineKey(g.it.Key())
		if err != nil {
			return nil, err
		}
		if ts.IsEmpty() {
			g.it.Next()
			continue
		}
		if g.full() {
			return append([]byte{}, key...), nil
		}
		if g.stats.Keys++; g.stats.Keys%rowsPerCancelCheck == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		g.key = append([]byte(nil), key...) // shared by the references of this key
		more, err := g.oneKey()
		if err != nil || more {
			return g.key, err
		}
	}
	return nil, g.eng.ReadError(g.it.Error())
}

func (g *garbageScan) full() bool {
	l := g.limits
	return l.MaxKeys > 0 && g.stats.Keys >= l.MaxKeys ||
		l.MaxVersions > 0 && g.stats.GarbageCount >= l.MaxVersions ||
		l.MaxBytes > 0 && g.stats.GarbageBytes >= int64(l.MaxBytes)
}

// oneKey collects the garbage of the key under the iterator and moves to the
// next one. more is true if the key has more garbage than one call may hold.
func (g *garbageScan) oneKey() (more bool, err error) {
	c := collector{threshold: g.threshold}
	n := 0
	for {
		v, tombstone, err := currentVersion(g.eng, g.it, !c.covered)
		if err != nil {
			return false, err
		}
		g.stats.Versions++
		g.stats.VersionsBytes += int64(len(g.key)) + int64(v.Size)
		if c.garbage(v, tombstone) {
			if n == maxGarbagePerKey {
				return true, nil
			}
			n++
			g.add(v)
		}
		if !g.it.Next() || !g.sameKey() {
			break
		}
	}
	if c.hasTombstone {
		g.add(c.tombstone)
	}
	return false, g.eng.ReadError(g.it.Error())
}

func (g *garbageScan) add(v Garbage) {
	g.refs = append(g.refs, VersionRef{Key: g.key, Garbage: v})
	g.stats.GarbageCount++
	g.stats.GarbageBytes += int64(len(g.key)) + int64(v.Size)
}

func (g *garbageScan) sameKey() bool {
	ek := g.it.Key()
	n := prefixLen(ek) - 1
	return n == len(g.key) && bytes.Equal(ek[:n], g.key)
}
