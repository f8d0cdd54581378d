package server

import (
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

const (
	// sizeEvery is how often the size of a range is looked up that is written to, if it
	// has not doubled before.
	sizeEvery = 10 * time.Second
	// sizeAtRest is the same for a range in a pause of writing.
	sizeAtRest = 2 * time.Second
	// sizesPerRound is what looking up sizes may read in a round, in bytes, on average;
	// each counts as sizeCost at least.
	sizesPerRound = 8 << 20
	sizeCost      = 64 << 10
	// countedBytes is up to which size on disk the rows of a range are counted; a larger
	// one is estimated by what sampleBytes of its rows take on disk, here and there. Less
	// would not do: values are kept apart from keys, so that what a span takes is known to
	// a megabyte or so.
	countedBytes = 8 << 20
	sampleBytes  = 8 << 20
	// maxCounted bounds what is counted of a range that shrinks a lot on disk, or is not
	// there yet.
	maxCounted = 32 << 20
	// ratioChange is by how much a range must change on disk until samples are taken
	// anew, or ratioAge pass while it is written to.
	ratioChange = 0.25
	ratioAge    = 10 * time.Minute
)

// sizing is how the size of a range was found: the keys and values of its rows as they
// are now, whatever they take on disk. It belongs to the measuring goroutine.
type sizing struct {
	at         time.Time
	generation uint64
	counted    int64 // what had been logged at the time
	seen       int64 // what had been logged at the last round
	flushes    int64 // of the engine, at the last round
	flushed    int64 // what had been logged before the last flush, and more is not on disk
	disk       uint64
	ratio      float64 // of the rows to disk
	ratioAt    time.Time
}

// flushesOf counts the flushes of a store's engine.
func flushesOf(e *storage.Engine) int64 { return e.Metrics().Flushes }

// measureSize looks up the size of a range if that is due and the round's budget, in
// bytes, allows it. It reports whether what is known is the size of the range as it is.
func (n *Node) measureSize(e *storage.Engine, flushes int64, m *measured, now time.Time, budget *int) bool {
	z, d := &m.sized, m.Desc()
	logged := m.Stats().LogBytes.Load()
	if flushes != z.flushes {
		z.flushes, z.flushed = flushes, z.seen
	}
	writing := logged != z.seen
	z.seen = logged
	grown := logged - z.counted
	switch {
	case d.Generation != z.generation || z.at.IsZero():
	case grown == 0:
		return true
	case grown > m.size.Load() && grown > sizeCost:
	case now.Sub(z.at) < sizeEvery && (writing || now.Sub(z.at) < n.paced(sizeAtRest)), writing && grown < max(m.size.Load()/20, sizeCost):
		return false
	}
	if *budget <= 0 {
		return false
	}
	*budget -= sizeCost
	size, err := z.size(e, d, logged, now, budget)
	if err != nil {
		n.log.Warn("size of a range", "range", d.RangeID, "err", err)
	} else {
		m.size.Store(size)
	}
	z.at, z.generation, z.counted = now, d.Generation, logged
	return true
}

// size finds the size of a range.
func (z *sizing) size(e *storage.Engine, d *kvpb.RangeDescriptor, logged int64, now time.Time, budget *int) (int64, error) {
	disk, err := e.ApproximateSize(d.StartKey, d.EndKey)
	if err != nil {
		return 0, err
	}
	unsaved := max(0, logged-z.flushed)
	change := float64(disk)/max(1, float64(z.disk)) - 1
	known := z.ratio != 0 && change <= ratioChange && change >= -ratioChange && now.Sub(z.ratioAt) <= ratioAge
	if disk <= countedBytes && !known {
		n, end, err := countRows(e, d.StartKey, d.EndKey, maxCounted)
		*budget -= int(n)
		if end == nil || err != nil {
			return n, err
		}
		counted, err := sizeWithin(e, d, d.StartKey, end, disk)
		if err != nil || counted < sizeCost { // most of it is not on disk
			return max(n, unsaved), err
		}
		z.disk, z.ratio, z.ratioAt = disk, float64(n)/counted, now
		return max(n, unsaved, int64(z.ratio*float64(disk))), nil
	}
	if !known {
		ratio, err := sampleRatio(e, d, disk)
		*budget -= 2 * sampleBytes
		if err != nil {
			return 0, err
		}
		z.disk, z.ratio, z.ratioAt = disk, ratio, now
	}
	return int64(z.ratio*float64(disk)) + unsaved, nil
}

// sampleRatio compares the rows at the beginning and in the middle of a range with what
// they take on disk.
func sampleRatio(e *storage.Engine, d *kvpb.RangeDescriptor, disk uint64) (float64, error) {
	starts := [][]byte{d.StartKey}
	mid, err := middle(e, d, disk)
	if err != nil {
		return 0, err
	}
	if mid != nil {
		starts = append(starts, mid)
	}
	var rows, bytes float64
	for _, start := range starts {
		n, end, err := countRows(e, start, d.EndKey, sampleBytes)
		if err != nil {
			return 0, err
		}
		if end == nil {
			end = d.EndKey
		}
		size, err := sizeWithin(e, d, start, end, disk)
		if err != nil {
			return 0, err
		}
		rows += float64(n)
		bytes += size
	}
	return rows / max(bytes, 1), nil
}

// sizeWithin returns what a part of a range of a size takes on disk. Of blocks that a span
// begins or ends in the estimates count all: so one that is too high, of the part, and one
// that is too low, of the range without the rest, are taken together.
func sizeWithin(e *storage.Engine, d *kvpb.RangeDescriptor, start, end []byte, disk uint64) (float64, error) {
	high, err := e.ApproximateSize(start, end)
	if err != nil {
		return 0, err
	}
	low := float64(disk)
	for _, rest := range [][2][]byte{{d.StartKey, start}, {end, d.EndKey}} {
		if string(rest[0]) >= string(rest[1]) {
			continue
		}
		n, err := e.ApproximateSize(rest[0], rest[1])
		if err != nil {
			return 0, err
		}
		low -= float64(n)
	}
	return (float64(high) + max(low, 0)) / 2, nil
}

// countRows adds up the keys and newest values of the rows from start on, up to a limit;
// end is where it stopped, nil at the end.
func countRows(e *storage.Engine, start, to []byte, limit int64) (n int64, end []byte, err error) {
	r := mvcc.NewReader(e)
	defer r.Close()
	s, err := r.Scanner(keys.Span{Start: start, End: to}, hlc.MaxTimestamp, false)
	if err != nil {
		return 0, nil, err
	}
	for s.Next() {
		if n >= limit {
			return n, append([]byte(nil), s.Key()...), nil
		}
		n += int64(len(s.Key()) + len(s.Value()))
	}
	return n, nil, s.Err()
}

// middle returns a key before and after which about as much of a range of a size is on
// disk; nil if there is none.
func middle(e *storage.Engine, d *kvpb.RangeDescriptor, disk uint64) ([]byte, error) {
	lo, hi := d.StartKey, d.EndKey
	for range maxBisect {
		mid := between(lo, hi)
		if mid == nil {
			break
		}
		size, err := e.ApproximateSize(d.StartKey, mid)
		if err != nil {
			return nil, err
		}
		if size < disk/2 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if string(hi) == string(d.EndKey) {
		return nil, nil
	}
	return hi, nil
}
