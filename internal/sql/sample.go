package sql

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxSample bounds the rows of a table that are looked at for the number of
// distinct values of its columns.
const maxSample = 4000

// Limits of what is kept of a column's values.
const (
	histogramBuckets = 32
	maxCommon        = 8
	// maxStatText is how much of a text is compared.
	maxStatText = 32
)

// sample collects the values of a table's columns from some of its rows: every
// stride-th one, the stride doubling when the sample is full, so that rows from
// all over the table are in it.
type sample struct {
	table  *catalog.Table
	index  *rowcodec.Index
	dec    *rowcodec.Decoder
	row    []types.Datum
	rows   []sampledRow
	seed   maphash.Seed
	key    []byte // scratch
	stride int
	seen   int
}

// sampledRow holds for each column the hash of its value, 0 for NULL, and the value
// itself if it is of a comparable type.
type sampledRow struct {
	hashes []uint64
	values []types.Datum
}

func newSample(t *catalog.Table) (*sample, error) {
	ix, err := rowcodec.Compile(t, t.Primary())
	if err != nil {
		return nil, err
	}
	ords := make([]int, len(t.Columns))
	for i := range ords {
		ords[i] = i
	}
	return &sample{table: t, index: ix, dec: ix.NewDecoder(ords), row: make([]types.Datum, len(ords)), seed: maphash.MakeSeed(), stride: 1}, nil
}

func (s *sample) add(page *kv.ScanResult) error {
	for i := range page.Len() {
		if s.seen++; s.seen%s.stride != 0 {
			continue
		}
		s.dec.Reset()
		if err := s.dec.Decode(page.Key(i), page.Value(i), s.row); err != nil {
			return err
		}
		r := sampledRow{make([]uint64, len(s.row)), make([]types.Datum, len(s.row))}
		for c, d := range s.row {
			if !d.IsNull() {
				s.key = types.AppendHashKey(s.key[:0], d)
				r.hashes[c] = max(maphash.Bytes(s.seed, s.key), 1)
				r.values[c] = keptValue(d)
			}
		}
		if s.rows = append(s.rows, r); len(s.rows) == maxSample {
			s.thin()
		}
	}
	return nil
}

// thin drops every other row.
func (s *sample) thin() {
	kept := s.rows[:0]
	for i := 1; i < len(s.rows); i += 2 {
		kept = append(kept, s.rows[i])
	}
	clear(s.rows[len(kept):])
	s.rows, s.stride = kept, 2*s.stride
}

// keptValue copies a value for a histogram, the beginning of a long text; NULL if its
// type has none.
func keptValue(d types.Datum) types.Datum {
	switch d.Family() {
	case types.IntFamily, types.FloatFamily, types.DecimalFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily, types.BoolFamily:
		return d.Clone()
	case types.StringFamily:
		return types.NewString(strings.Clone(d.Str()[:min(len(d.Str()), maxStatText)]))
	}
	return types.Null
}

// columns estimates the columns of a table of total rows.
func (s *sample) columns(total float64) map[catalog.ColumnID]*optimizer.ColumnStats {
	out := map[catalog.ColumnID]*optimizer.ColumnStats{}
	if len(s.rows) == 0 {
		return out
	}
	for c := range s.table.Columns {
		if !s.table.Columns[c].Virtual { // rows do not tell of those
			out[s.table.Columns[c].ID] = s.column(c, total)
		}
	}
	return out
}

// counted is how often a value is in the sample.
type counted struct {
	value types.Datum
	n     int
}

// column estimates a column: its distinct values by the estimator of Haas and Stokes
// (1998) from those that the sample has once.
func (s *sample) column(c int, total float64) *optimizer.ColumnStats {
	counts := map[uint64]*counted{}
	var values []types.Datum
	nulls := 0
	for _, r := range s.rows {
		if r.hashes[c] == 0 {
			nulls++
			continue
		}
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
	return &optimizer.ColumnStats{
		Distinct: min(max(d, 1), total), Nulls: float64(nulls) / n,
		Common: commonValues(counts, n), Bounds: histogram(values),
	}
}

// commonValues returns the values that are clearly more frequent than the average.
func commonValues(counts map[uint64]*counted, rows float64) []optimizer.CommonValue {
	var often []*counted
	for _, k := range counts {
		if k.n > 1 && !k.value.IsNull() && float64(k.n)*float64(len(counts)) > 1.25*rows {
			often = append(often, k)
		}
	}
	slices.SortFunc(often, func(a, b *counted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), types.Compare(a.value, b.value))
	})
	var out []optimizer.CommonValue
	for _, k := range often[:min(len(often), maxCommon)] {
		out = append(out, optimizer.CommonValue{Value: k.value, Share: float64(k.n) / rows})
	}
	return out
}

// histogram returns bounds between which there are equally many values.
func histogram(values []types.Datum) []types.Datum {
	if len(values) < 2 {
		return nil
	}
	slices.SortFunc(values, types.Compare)
	buckets := min(histogramBuckets, len(values)-1)
	out := make([]types.Datum, buckets+1)
	for i := range out {
		out[i] = values[i*(len(values)-1)/buckets]
	}
	return out
}

// optimizerStats presents the counts of a table to the optimizer.
func (c *tableCount) optimizerStats() *optimizer.TableStats {
	cols := c.columns
	return &optimizer.TableStats{
		Rows:   max(c.rows, 1),
		Column: func(id catalog.ColumnID) *optimizer.ColumnStats { return cols[id] },
	}
}
