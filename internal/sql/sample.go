package sql

import (
	"hash/maphash"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxSample bounds the rows of a table that are looked at for the number of
// distinct values of its columns.
const maxSample = 4000

// columnStats is what is known of a column.
type columnStats struct{ distinct, nulls float64 }

// sample collects the values of a table's columns from some of its rows: every
// stride-th one, the stride doubling when the sample is full, so that rows from
// all over the table are in it.
type sample struct {
	table  *catalog.Table
	dec    *rowcodec.Decoder
	row    []types.Datum
	rows   [][]uint64 // hashes of the values of each sampled row, 0 for NULL
	seed   maphash.Seed
	key    []byte // scratch
	stride int
	seen   int
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
	return &sample{table: t, dec: ix.NewDecoder(ords), row: make([]types.Datum, len(ords)), seed: maphash.MakeSeed(), stride: 1}, nil
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
		hashes := make([]uint64, len(s.row))
		for c, d := range s.row {
			if !d.IsNull() {
				s.key = types.AppendHashKey(s.key[:0], d)
				hashes[c] = max(maphash.Bytes(s.seed, s.key), 1)
			}
		}
		if s.rows = append(s.rows, hashes); len(s.rows) == maxSample {
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

// columns estimates the columns of a table of total rows: by the estimator of
// Haas and Stokes (1998) from the values that the sample has once.
func (s *sample) columns(total float64) map[catalog.ColumnID]columnStats {
	out := map[catalog.ColumnID]columnStats{}
	n := float64(len(s.rows))
	if n == 0 {
		return out
	}
	for c := range s.table.Columns {
		counts := map[uint64]int{}
		nulls := 0.0
		for _, r := range s.rows {
			if r[c] == 0 {
				nulls++
			} else {
				counts[r[c]]++
			}
		}
		once := 0.0
		for _, k := range counts {
			if k == 1 {
				once++
			}
		}
		d := float64(len(counts))
		if n < total && d > 0 {
			d = n * d / (n - once + once*n/total)
		}
		out[s.table.Columns[c].ID] = columnStats{distinct: min(max(d, 1), total), nulls: nulls / n}
	}
	return out
}

// optimizerStats presents the counts of a table to the optimizer.
func (c *tableCount) optimizerStats() *optimizer.TableStats {
	cols := c.columns
	return &optimizer.TableStats{
		Rows: max(c.rows, 1),
		Distinct: func(id catalog.ColumnID) (distinct, nulls float64, ok bool) {
			st, ok := cols[id]
			return st.distinct, st.nulls, ok
		},
	}
}
