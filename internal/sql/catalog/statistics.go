package catalog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Statistics are what is known of the contents of a table. They are estimates: nothing
// but the choice of plans may depend on them.
type Statistics struct {
	// Index is the primary index that was read: TRUNCATE gives the table another.
	Index IndexID
	Rows  float64
	// At is the wall time of what was read, Analyzed and AutoAnalyzed the times of the last
	// ANALYZE and of the last collection without one, 0 for none; in nanoseconds.
	At           int64
	Analyzed     int64 `json:",omitempty"`
	AutoAnalyzed int64 `json:",omitempty"`
	// AnalyzeCount and AutoAnalyzeCount are how often either happened.
	AnalyzeCount     int64 `json:",omitempty"`
	AutoAnalyzeCount int64 `json:",omitempty"`
	Columns          map[ColumnID]*ColumnStatistics
	// Extended is what was found of the table's statistics objects, by their oids.
	Extended map[uint32]*ExtendedData `json:",omitempty"`
}

// ColumnStatistics describe the values of a column.
type ColumnStatistics struct {
	// Distinct is the number of distinct values, Nulls the share of NULLs in the rows,
	// Width the mean size of a value in bytes.
	Distinct, Nulls, Width float64
	// Common are values that many rows have.
	Common []CommonValue
	// Bounds are values in ascending order with equally many rows from each to the
	// next, the least and the greatest among them; nil if the order is not known.
	Bounds []types.Datum
}

// maxStatisticText is how much of a text is kept in statistics.
const maxStatisticText = 128

// CutStatistic returns a value as statistics hold it: a long text without its end.
func CutStatistic(d types.Datum) types.Datum {
	if d.Family() == types.StringFamily && len(d.Str()) > maxStatisticText {
		return types.NewString(d.Str()[:maxStatisticText])
	}
	return d
}

// CommonValue is a value and its share in the rows.
type CommonValue struct {
	Value types.Datum
	Share float64
}

// statisticsFormat is the first byte of stored statistics; JSON follows.
const statisticsFormat = 1

// columnStatisticsRecord has values in the form of types.AppendEncoded.
type columnStatisticsRecord struct {
	Distinct, Nulls, Width float64
	Common                 [][]byte  `json:",omitempty"`
	Shares                 []float64 `json:",omitempty"`
	Bounds                 [][]byte  `json:",omitempty"`
}

type statisticsRecord struct {
	*Statistics
	Columns  map[ColumnID]columnStatisticsRecord
	Extended map[uint32]*ExtendedData `json:",omitempty"`
}

// StatisticsSpan covers the keys of the statistics of all tables.
func StatisticsSpan() keys.Span { return keys.SystemSpan(sysStatistics) }

func statisticsKey(id ID) []byte {
	return binary.BigEndian.AppendUint64(keys.SystemKey(sysStatistics), uint64(id))
}

// DecodeStatistics reads a key below StatisticsSpan and its value; of no value, deleted
// statistics, it returns nil.
func DecodeStatistics(key, value []byte) (id ID, s *Statistics, err error) {
	n := len(keys.SystemKey(sysStatistics))
	if len(key) != n+8 {
		return 0, nil, pgerr.New(pgerr.DataCorrupted, "damaged key of statistics")
	}
	if value != nil {
		s, err = decodeStatistics(value)
	}
	return ID(binary.BigEndian.Uint64(key[n:])), s, err
}

func encodeStatistics(s *Statistics) ([]byte, error) {
	r := statisticsRecord{Statistics: s, Columns: map[ColumnID]columnStatisticsRecord{}, Extended: s.encoded()}
	for id, c := range s.Columns {
		x := columnStatisticsRecord{Distinct: c.Distinct, Nulls: c.Nulls, Width: c.Width}
		for _, v := range c.Common {
			x.Common, x.Shares = append(x.Common, types.AppendEncoded(nil, v.Value)), append(x.Shares, v.Share)
		}
		for _, v := range c.Bounds {
			x.Bounds = append(x.Bounds, types.AppendEncoded(nil, v))
		}
		r.Columns[id] = x
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, pgerr.From(err)
	}
	return append([]byte{statisticsFormat}, b...), nil
}

func decodeStatistics(b []byte) (*Statistics, error) {
	if len(b) == 0 || b[0] != statisticsFormat {
		return nil, pgerr.New(pgerr.DataCorrupted, "statistics have an unknown format, this version reads format %d", statisticsFormat)
	}
	r := statisticsRecord{Statistics: &Statistics{}}
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "damaged statistics: %v", err)
	}
	r.Statistics.Columns = make(map[ColumnID]*ColumnStatistics, len(r.Columns))
	for id, x := range r.Columns {
		c, err := x.decode()
		if err != nil {
			return nil, err
		}
		r.Statistics.Columns[id] = c
	}
	r.Statistics.Extended = r.Extended
	return r.Statistics, r.Statistics.decodeExtended()
}

func (x *columnStatisticsRecord) decode() (*ColumnStatistics, error) {
	c := &ColumnStatistics{Distinct: x.Distinct, Nulls: x.Nulls, Width: x.Width}
	common, err := decodeValues(x.Common)
	if err != nil {
		return nil, err
	}
	for i, v := range common[:min(len(common), len(x.Shares))] {
		c.Common = append(c.Common, CommonValue{v, x.Shares[i]})
	}
	c.Bounds, err = decodeValues(x.Bounds)
	return c, err
}

func decodeValues(list [][]byte) (out []types.Datum, err error) {
	for _, b := range list {
		d, rest, err := types.DecodeEncoded(string(b))
		if err != nil || len(rest) > 0 {
			return nil, pgerr.New(pgerr.DataCorrupted, "damaged value in statistics")
		}
		out = append(out, d)
	}
	return out, nil
}

// EachStatistics calls f for the statistics of every table, as t sees them. What can't be
// read is left out: the table is analysed again when it is used.
func EachStatistics(ctx context.Context, t *kv.Txn, f func(ID, *Statistics)) error {
	return scanSystem(ctx, t, sysStatistics, func(k, v []byte) error {
		if id, s, err := DecodeStatistics(k, v); err == nil {
			f(id, s)
		}
		return nil
	})
}

// PutStatistics stores what was collected of a table, in t. Statistics of a later time
// stay; of columns that s does not have those of the same index do. It returns what is
// stored then.
func PutStatistics(ctx context.Context, t *kv.Txn, id ID, s *Statistics) (*Statistics, error) {
	v, found, err := t.Get(ctx, statisticsKey(id))
	if err != nil {
		return nil, err
	}
	if found {
		if old, err := decodeStatistics(v); err == nil {
			if old.Index == s.Index && old.At > s.At {
				return old, nil
			}
			s = s.Over(old)
		}
	}
	b, err := encodeStatistics(s)
	if err != nil {
		return nil, err
	}
	return s, t.Put(statisticsKey(id), b)
}

// Over returns s with what old knows and s does not.
func (s *Statistics) Over(old *Statistics) *Statistics {
	out := *s
	if out.Analyzed == 0 {
		out.Analyzed = old.Analyzed
	}
	if out.AutoAnalyzed == 0 {
		out.AutoAnalyzed = old.AutoAnalyzed
	}
	out.AnalyzeCount += old.AnalyzeCount
	out.AutoAnalyzeCount += old.AutoAnalyzeCount
	if old.Index != s.Index {
		return &out
	}
	out.Columns = make(map[ColumnID]*ColumnStatistics, len(old.Columns))
	for id, c := range old.Columns {
		out.Columns[id] = c
	}
	for id, c := range s.Columns {
		out.Columns[id] = c
	}
	if len(old.Extended) == 0 {
		return &out
	}
	out.Extended = maps.Clone(old.Extended)
	maps.Copy(out.Extended, s.Extended)
	return &out
}

// sweepStatistics deletes the statistics of tables that are gone. They are no part of the
// transactions that drop tables, and may be stored by whoever has not heard of it yet.
func (s *Store) sweepStatistics(ctx context.Context) error {
	var gone []ID
	err := s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		gone = gone[:0]
		return EachStatistics(ctx, t, func(id ID, _ *Statistics) {
			if s.object(id) == nil {
				gone = append(gone, id)
			}
		})
	})
	for _, id := range gone {
		if err != nil {
			return err
		}
		err = s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
			if _, found, err := t.Get(ctx, descriptorKey(id)); err != nil || found {
				return err
			}
			return t.Delete(statisticsKey(id))
		})
	}
	return err
}
