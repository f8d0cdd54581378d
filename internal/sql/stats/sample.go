package stats

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The rows of a table that are looked at for what its columns hold: not more than
// maxSample, fewer of a table with so many columns that they have more than
// maxSampleValues, but leastSample.
const (
	maxSample       = 30_000
	maxSampleValues = 600_000
	leastSample     = 500
)

// Limits of what is kept of a column's values.
const (
	histogramBuckets = 100
	maxCommon        = 100
	// commonBeyond is by how many standard deviations a value must be more frequent than
	// values are that all are equally frequent: some are by chance.
	commonBeyond = 4
)

// sample collects the values of a table's columns from some of its rows: one of each
// stride, which doubles when the sample is full, so that rows from all over the table are
// in it.
type sample struct {
	table  *catalog.Table
	index  *rowcodec.Index
	ords   []int // of the columns
	dec    *rowcodec.Decoder
	row    []types.Datum
	rows   []sampledRow
	key    []byte // scratch
	limit  int    // of rows
	stride int
	seen   int
	// pick is the row of the present stride, which ends with strideEnd.
	pick, strideEnd int
	random          *rand.Rand // always the same numbers

	// leading is the column that the key begins with, if others follow, else -1: its runs
	// of equal values are counted in all rows that are seen, for equal ones follow each other.
	leading  int
	leads    *rowcodec.Decoder
	lead     []byte // the hash key of its last value
	runs     int
	leadings []types.Datum
}

// sampledRow holds for each column the hash of its value, 0 for NULL, and the value
// itself if it is of a comparable type.
type sampledRow struct {
	hashes []uint64
	values []types.Datum
	widths []int32
}

// hashSeed is that of all hashes.
var hashSeed = maphash.MakeSeed()

// newSample takes samples of some columns of a table, nil being all.
func newSample(t *catalog.Table, columns []catalog.ColumnID) (*sample, error) {
	ix, err := rowcodec.Compile(t, t.Primary())
	if err != nil {
		return nil, err
	}
	var ords []int
	for i := range t.Columns {
		// Rows do not tell of virtual columns.
		if c := &t.Columns[i]; !c.Virtual && (columns == nil || slices.Contains(columns, c.ID)) {
			ords = append(ords, i)
		}
	}
	s := &sample{
		table: t, index: ix, ords: ords, dec: ix.NewDecoder(ords), row: make([]types.Datum, len(ords)),
		stride:  1,
		limit:   max(min(maxSample, maxSampleValues/max(len(ords), 1)), leastSample),
		random:  rand.New(rand.NewPCG(1, 2)),
		leading: -1,
	}
	s.follow()
	return s, nil
}

// follow has the runs of the key's first column counted.
func (s *sample) follow() {
	key := s.index.Desc.Columns
	if len(key) < 2 || s.index.Desc.HashColumns > 0 {
		return
	}
	ord := s.table.ColumnByID(key[0].Column)
	if s.leading = slices.Index(s.ords, ord); s.leading >= 0 {
		s.leads, s.leadings = s.index.NewDecoder([]int{ord}), make([]types.Datum, 1)
	}
}

// picks says whether the row that was seen last is in the sample: any one of each stride,
// for what the table holds may follow a rhythm.
func (s *sample) picks() bool {
	if s.seen > s.strideEnd {
		s.strideEnd += s.stride
		s.pick = s.strideEnd - s.random.IntN(s.stride)
	}
	return s.seen == s.pick
}

// run counts a row whose first column has another value than the one before.
func (s *sample) run(key, value []byte) error {
	if s.leading < 0 {
		return nil
	}
	s.leads.Reset()
	if err := s.leads.Decode(key, value, s.leadings); err != nil {
		return err
	}
	s.key = types.AppendHashKey(s.key[:0], s.leadings[0], nil)
	if s.runs == 0 || !bytes.Equal(s.key, s.lead) {
		s.runs++
		s.lead = append(s.lead[:0], s.key...)
	}
	return nil
}

func (s *sample) add(ctx context.Context, page *kv.ScanResult) error {
	for i := range page.Len() {
		if err := s.run(page.Key(i), page.Value(i)); err != nil {
			return err
		}
		if s.seen++; !s.picks() {
			continue
		}
		if err := ctx.Err(); err != nil { // for each row, which may be large
			return err
		}
		s.dec.Reset()
		if err := s.dec.Decode(page.Key(i), page.Value(i), s.row); err != nil {
			return err
		}
		r := sampledRow{make([]uint64, len(s.row)), make([]types.Datum, len(s.row)), make([]int32, len(s.row))}
		for c, d := range s.row {
			if !d.IsNull() {
				s.key = types.AppendHashKeyTyped(s.key[:0], s.table.Columns[s.ords[c]].Type, d, nil)
				r.hashes[c] = max(maphash.Bytes(hashSeed, s.key), 1)
				r.values[c], r.widths[c] = keptValue(d), int32(s.width(c, d))
			}
		}
		if s.rows = append(s.rows, r); len(s.rows) == s.limit {
			s.thin()
		}
	}
	return nil
}

// width is how many bytes a value of column c takes, as PostgreSQL counts them.
func (s *sample) width(c int, d types.Datum) int {
	if n := s.table.Columns[s.ords[c]].Type.Len(); n > 0 {
		return int(n)
	}
	if d.Family() == types.StringFamily || d.Family() == types.BytesFamily {
		return len(d.Str()) + 1
	}
	s.key = types.AppendEncoded(s.key[:0], d)
	return len(s.key)
}

// thin drops one of each two rows.
func (s *sample) thin() {
	kept := s.rows[:0]
	for i := 0; i+1 < len(s.rows); i += 2 {
		kept = append(kept, s.rows[i+s.random.IntN(2)])
	}
	clear(s.rows[len(kept):])
	s.rows, s.stride = kept, 2*s.stride
}

// thinTo drops rows at equal distances so that at most n are left.
func (s *sample) thinTo(n int) {
	n = max(n, 1)
	if len(s.rows) <= n {
		return
	}
	kept := make([]sampledRow, 0, s.limit)
	for i := range n {
		kept = append(kept, s.rows[i*len(s.rows)/n])
	}
	s.rows = kept
}

// keptValue copies a value for a histogram, the beginning of a long text; NULL if its
// type has none.
func keptValue(d types.Datum) types.Datum {
	switch d.Family() {
	case types.IntFamily, types.FloatFamily, types.DecimalFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily, types.BoolFamily:
		return d.Clone()
	case types.StringFamily:
		return types.NewString(strings.Clone(catalog.CutStatistic(d).Str()))
	}
	return types.Null
}

// columns estimates the columns of a table of total rows.
func (s *sample) columns(ctx context.Context, total float64, r *rest) (map[catalog.ColumnID]*catalog.ColumnStatistics, error) {
	out := map[catalog.ColumnID]*catalog.ColumnStatistics{}
	if len(s.rows) == 0 {
		return out, nil
	}
	for i, ord := range s.ords {
		began := time.Now()
		out[s.table.Columns[ord].ID] = s.column(i, total)
		if err := r.after(ctx, began); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// counted is how often a value is in the sample.
type counted struct {
	value types.Datum
	n     int
}

// column estimates a column: its distinct values by the estimator of Haas and Stokes
// (1998) from those that the sample has once.
func (s *sample) column(c int, total float64) *catalog.ColumnStatistics {
	counts := map[uint64]*counted{}
	var values []types.Datum
	nulls, width := 0, 0.0
	for _, r := range s.rows {
		if r.hashes[c] == 0 {
			nulls++
			continue
		}
		width += float64(r.widths[c])
		if !r.values[c].IsNull() {
			values = append(values, r.values[c])
		}
		if k := counts[r.hashes[c]]; k != nil {
			k.n++
		} else {
			counts[r.hashes[c]] = &counted{r.values[c], 1}
		}
	}
	n, d, once := float64(len(s.rows)), float64(len(counts)), 0.0
	for _, k := range counts {
		if k.n == 1 {
			once++
		}
	}
	if n < total && d > 0 {
		d = n * d / (n - once + once*n/total)
	}
	if c == s.leading {
		d = min(d, total*float64(s.runs)/float64(s.seen))
	}
	d = min(max(d, 1), total)
	of := s.table.Columns[s.ords[c]].Type
	return &catalog.ColumnStatistics{
		Distinct: d, Nulls: float64(nulls) / n, Width: width / max(n-float64(nulls), 1),
		Common: commonValues(counts, of, n, d), Bounds: histogram(values, of),
	}
}

// commonValues returns the values of a column, which has so many distinct ones, that are
// clearly more frequent than the average, or all if they are few.
func commonValues(counts map[uint64]*counted, of *types.T, rows, distinct float64) []catalog.CommonValue {
	average := rows / distinct
	least := average + commonBeyond*math.Sqrt(average) + 1
	if len(counts) <= maxCommon && distinct < 1.1*float64(len(counts)) {
		least = 2
	}
	var often []*counted
	for _, k := range counts {
		if float64(k.n) >= least && !k.value.IsNull() {
			often = append(often, k)
		}
	}
	slices.SortFunc(often, func(a, b *counted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), types.CompareTyped(of, a.value, b.value, nil))
	})
	var out []catalog.CommonValue
	for _, k := range often[:min(len(often), maxCommon)] {
		out = append(out, catalog.CommonValue{Value: k.value, Share: float64(k.n) / rows})
	}
	return out
}

// histogram returns bounds between which there are equally many values, whose order it changes.
func histogram(values []types.Datum, of *types.T) []types.Datum {
	if len(values) < 2 {
		return nil
	}
	buckets := min(histogramBuckets, len(values)-1)
	ranks := make([]int, buckets+1)
	for i := range ranks {
		ranks[i] = i * (len(values) - 1) / buckets
	}
	selectRanks(values, 0, ranks, func(a, b types.Datum) int { return types.CompareTyped(of, a, b, nil) })
	out := make([]types.Datum, len(ranks))
	for i, at := range ranks {
		out[i] = values[at]
	}
	return out
}

// fewToSort is how many values are sorted rather than divided further.
const fewToSort = 32

// selectRanks puts those values where they would be if all were sorted that then have the ascending ranks: values begins
// at position first of all. It sorts only what it must, in less than half the comparisons where the ranks are far apart.
func selectRanks(values []types.Datum, first int, ranks []int, compare func(a, b types.Datum) int) {
	for len(ranks) > 0 {
		if len(values) <= fewToSort {
			slices.SortFunc(values, compare)
			return
		}
		less, more := divide(values, compare)
		below, _ := slices.BinarySearch(ranks, first+less)
		above, _ := slices.BinarySearch(ranks, first+more)
		selectRanks(values[:less], first, ranks[:below], compare)
		values, first, ranks = values[more:], first+more, ranks[above:]
	}
}

// divide puts the values below one of them first, and those above it last; between less and more are its equals.
func divide(values []types.Datum, compare func(a, b types.Datum) int) (less, more int) {
	n := len(values)
	some := [9]types.Datum{}
	for i := range some {
		some[i] = values[i*(n-1)/(len(some)-1)]
	}
	slices.SortFunc(some[:], compare)
	pivot := some[len(some)/2]
	more = n
	for i := 0; i < more; {
		switch c := compare(values[i], pivot); {
		case c < 0:
			values[i], values[less] = values[less], values[i]
			less++
			i++
		case c > 0:
			more--
			values[i], values[more] = values[more], values[i]
		default:
			i++
		}
	}
	return less, more
}
