package rangestats

import (
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// sizeEvery is how often the size of a range is looked up that is written to, if it
	// has not doubled before.
	sizeEvery = 10 * time.Second
	// sizeAtRest is the same for a range in a pause of writing.
	sizeAtRest = 2 * time.Second
	// sizesPerRound is the average number of bytes that the look-ups of sizes may read in a round. A
	// look-up counts as sizeCost at least.
	sizesPerRound = 8 << 20
	sizeCost      = 64 << 10
	// countedBytes is up to which size on disk the rows of a range are counted; a larger
	// one is estimated by what sampleBytes of its rows take on disk, here and there. Less
	// would not do: values are kept apart from keys, so that what a span takes is known to
	// a megabyte or so.
	countedBytes = 8 << 20
	sampleBytes  = 8 << 20
	// maxCounted bounds the bytes that are counted of a range that shrinks a lot on disk, or is not
	// on disk yet.
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

// lookup is the decision about a range's size in a round.
type lookup uint8

const (
	sizeKnown lookup = iota // it is what it was
	sizeStale               // it is not known exactly, which will do for this round
	sizeDue                 // it is to be looked up
)

// next decides whether the size of a range is looked up now. size is the last one that was found,
// generation that of the range, logged the bytes that were written to its log, flushes the number of the
// engine's flushes, rest the pause after which a range counts as idle.
func (z *sizing) next(size int64, generation uint64, logged, flushes int64, rest time.Duration, now time.Time) lookup {
	if flushes != z.flushes {
		z.flushes, z.flushed = flushes, z.seen
	}
	writing := logged != z.seen
	z.seen = logged
	grown, since := logged-z.counted, now.Sub(z.at)
	switch {
	case generation != z.generation || z.at.IsZero():
		return sizeDue
	case grown == 0:
		return sizeKnown
	case grown > size && grown > sizeCost: // it has doubled
		return sizeDue
	case since < sizeEvery && (writing || since < rest):
		return sizeStale
	case writing && grown < max(size/20, sizeCost):
		return sizeStale
	}
	return sizeDue
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
		n, end, err := CountRows(e, d.StartKey, d.EndKey, maxCounted)
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
		n, end, err := CountRows(e, start, d.EndKey, sampleBytes)
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

// SpanSize finds the size of a part of a range, as that of a whole range is found.
func SpanSize(e *storage.Engine, span keys.Span) (int64, error) {
	part := &kvpb.RangeDescriptor{StartKey: span.Start, EndKey: span.End}
	budget := maxCounted
	return new(sizing).size(e, part, 0, time.Now(), &budget)
}
