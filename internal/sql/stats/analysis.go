package stats

import (
	"bytes"
	"context"
	"math/big"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
)

// What is read of a table to analyse it.
const (
	// maxReadInOrder bounds the rows that are read from the beginning: smaller tables are
	// read in full.
	maxReadInOrder = 200_000
	// Of a larger one blocks are read in other places, spread over the rest.
	maxBlocks = 64
	blockRows = 2000
	// blockSteps is how often a span is halved to find the place of a block.
	blockSteps = 20
)

// analysis reads a part of a table's rows, all of a small table, and estimates the whole
// by it.
type analysis struct {
	table   *catalog.Table
	columns []catalog.ColumnID // nil: all
	txn     *kv.Txn
	sizes   tableSizes

	sample *sample
	reader tableaccess.Txn
	read   int // rows
	rest   rest
}

// An analysis in the background rests restFactor times as long as it has worked for a page or a column while sessions run
// statements, but no longer than mostRest in all.
const (
	restFactor = 4
	mostRest   = 5 * time.Second
)

// rest keeps an analysis in the background from competing with statements. The zero value does not rest.
type rest struct {
	busy func() bool
	sum  time.Duration
}

// after rests after work that began at a time.
func (r *rest) after(ctx context.Context, began time.Time) error {
	if r.busy == nil || r.sum >= mostRest || !r.busy() {
		return ctx.Err()
	}
	d := min(restFactor*time.Since(began), mostRest-r.sum)
	r.sum += d
	return sleep.For(ctx, d)
}

// run reads the table.
func (a *analysis) run(ctx context.Context) (*catalog.Statistics, error) {
	var err error
	if a.sample, err = newSample(a.table, a.columns); err != nil {
		return nil, err
	}
	a.reader = tableaccess.Rows(a.txn, a.sample.index)
	prefix := keys.IndexPrefix(uint64(a.table.Database), uint64(a.table.ID), uint64(a.table.Primary().ID))
	whole := keys.Span{Start: prefix, End: keys.PrefixEnd(prefix)}
	rest, err := a.scan(ctx, whole, maxReadInOrder)
	if err != nil {
		return nil, err
	}
	total := float64(a.read)
	if rest != nil {
		if total, err = a.blocks(ctx, whole, keys.Span{Start: rest, End: whole.End}); err != nil {
			return nil, err
		}
	}
	columns, err := a.sample.columns(ctx, total, &a.rest)
	if err != nil {
		return nil, err
	}
	extended, err := a.sample.extended(ctx, total, &a.rest)
	if err != nil {
		return nil, err
	}
	return &catalog.Statistics{
		Index: a.table.Primary().ID, Rows: total, At: a.txn.ReadTimestamp().WallTime, Columns: columns, Extended: extended,
	}, nil
}

// scan reads up to limit rows of a span into the sample and returns where it stopped, nil
// if that is the end.
func (a *analysis) scan(ctx context.Context, span keys.Span, limit int) (resume []byte, err error) {
	var page kv.ScanResult
	for key := span.Start; key != nil && limit > 0; key = resume {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := a.reader.Scan(ctx, key, span.End, kv.ScanOptions{MaxRows: min(limit, scanPage)}, &page); err != nil {
			return nil, err
		}
		if err := a.sample.add(ctx, &page); err != nil {
			return nil, err
		}
		a.read += page.Len()
		limit -= page.Len()
		resume = bytes.Clone(page.Resume)
		if err := a.rest.after(ctx, began); err != nil {
			return nil, err
		}
	}
	return resume, nil
}

// scanPage is how many rows are asked for at a time.
const scanPage = 4096

// blocks reads blocks of the rest of a large table and estimates how many rows the whole
// has: as many more than were read in order as it is larger.
func (a *analysis) blocks(ctx context.Context, whole, rest keys.Span) (total float64, err error) {
	inOrder := float64(a.read)
	total, err = a.sizes.extrapolate(ctx, whole, rest, inOrder)
	if err != nil {
		return 0, err
	}
	if a.sample.index.HasFamilies() {
		return total, nil // a block could begin within a row
	}
	starts, err := a.sizes.spread(rest, maxBlocks)
	if err != nil || len(starts) == 0 {
		return total, err
	}
	// Each part of the table gets its share of the sample.
	a.sample.thinTo(int(float64(a.sample.limit) * inOrder / total))
	a.sample.stride = max(1, blockRows*len(starts)/max(1, a.sample.limit-len(a.sample.rows)))
	for i, start := range starts {
		end := rest.End
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if _, err := a.scan(ctx, keys.Span{Start: start, End: end}, blockRows); err != nil {
			return 0, err
		}
	}
	return max(total, float64(a.read)), nil
}

// tableSizes returns how much data there is: here on disk, exactly and at once, and in the
// cluster. Either may be nil.
type tableSizes struct {
	here    func(start, end []byte) (int64, error)
	cluster func(ctx context.Context, span keys.Span) (int64, error)
}

func (z tableSizes) of(ctx context.Context, span keys.Span) (int64, error) {
	if z.cluster != nil {
		return z.cluster(ctx, span)
	}
	if z.here == nil {
		return 0, nil
	}
	return z.here(span.Start, span.End)
}

// extrapolate estimates the rows in whole from those before rest.
func (z tableSizes) extrapolate(ctx context.Context, whole, rest keys.Span, rows float64) (float64, error) {
	left, err := z.of(ctx, rest)
	if err != nil {
		return 0, err
	}
	part, err := z.of(ctx, keys.Span{Start: whole.Start, End: rest.Start})
	if err != nil || part <= 0 {
		return rows, err
	}
	return rows + rows*float64(left)/float64(part), nil
}

// spread returns up to n keys of a span, ascending, with about as much data from each to
// the next as far as this node knows.
func (z tableSizes) spread(span keys.Span, n int) (starts [][]byte, err error) {
	if z.here == nil {
		return nil, nil
	}
	whole, err := z.here(span.Start, span.End)
	if err != nil || whole == 0 {
		return nil, err
	}
	for i := range n {
		at, err := z.place(span, whole*int64(i)/int64(n))
		if err != nil {
			return nil, err
		}
		if i == 0 || bytes.Compare(at, starts[len(starts)-1]) > 0 {
			starts = append(starts, at)
		}
	}
	return starts, nil
}

// place finds a key of a span with so much data before it.
func (z tableSizes) place(span keys.Span, want int64) ([]byte, error) {
	lo, hi := span.Start, span.End
	for range blockSteps {
		mid := between(lo, hi)
		if mid == nil {
			break
		}
		before, err := z.here(span.Start, mid)
		if err != nil {
			return nil, err
		}
		if before <= want {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// between returns a key about in the middle of two, which it takes for fractions; nil if
// there is none.
func between(lo, hi []byte) []byte {
	n := max(len(lo), len(hi)) + 1
	a := new(big.Int).SetBytes(append(bytes.Clone(lo), make([]byte, n-len(lo))...))
	b := new(big.Int).SetBytes(append(bytes.Clone(hi), make([]byte, n-len(hi))...))
	mid := bytes.TrimRight(a.Rsh(a.Add(a, b), 1).FillBytes(make([]byte, n)), "\x00")
	if bytes.Compare(mid, lo) <= 0 || bytes.Compare(mid, hi) >= 0 {
		return nil
	}
	return mid
}
