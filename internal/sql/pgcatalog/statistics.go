package pgcatalog

import (
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Contents is what is known of the contents of a table.
type Contents struct {
	// Statistics are those that were collected last, nil if there are none.
	Statistics *catalog.Statistics
	// Live estimates the rows of now, Changed is how many have changed since.
	Live    float64
	Changed int64
}

// contents returns what is known of the contents of a table.
func (s *snapshot) contents(t *catalog.Table) Contents {
	if s.c.h.Contents == nil || t.Kind != catalog.KindTable {
		return Contents{}
	}
	return s.c.h.Contents(t)
}

// tuples is pg_class.reltuples: -1 if the table was never analysed.
func (s *snapshot) tuples(t *catalog.Table) float64 {
	if st := s.contents(t).Statistics; st != nil {
		return st.Rows
	}
	return -1
}

// extent returns relpages and reltuples: a sequence is one page with its row, an index has a first page, and its
// entries were counted when it was built.
func (s *snapshot) extent(t *catalog.Table, kind string) (pages int64, tuples float64) {
	switch kind {
	case "S":
		return 1, 1
	case "i":
		return 1, max(s.tuples(t), 0)
	}
	return 0, s.tuples(t)
}

// pgStatUserTables lists the user's tables with what is known of their rows; reads are
// not counted.
//
// The views of all tables list no others: the catalog is not stored in tables that
// could be read or written.
func pgStatUserTables(s *snapshot, w *writer) error {
	uses, err := s.indexUses(w)
	if err != nil {
		return err
	}
	for _, t := range s.tables() {
		if t.Kind != catalog.KindTable || !w.wants("relid", t.Oid) {
			continue
		}
		w.oid("relid", t.Oid)
		w.str("schemaname", s.schemaName(t))
		w.str("relname", t.Name)
		full, keyed := tableReads(uses, t)
		w.num("seq_scan", full)
		w.num("idx_scan", keyed)
		c := s.contents(t)
		w.num("n_live_tup", int64(c.Live))
		w.num("n_mod_since_analyze", c.Changed)
		if st := c.Statistics; st != nil {
			w.time("last_analyze", wallTime(st.Analyzed))
			w.time("last_autoanalyze", wallTime(st.AutoAnalyzed))
			w.num("analyze_count", st.AnalyzeCount)
			w.num("autoanalyze_count", st.AutoAnalyzeCount)
		} else {
			w.num("analyze_count", 0)
			w.num("autoanalyze_count", 0)
		}
		w.done()
	}
	return nil
}

func wallTime(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// pgStats lists what is known of the values of columns.
func pgStats(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		st := s.contents(t).Statistics
		if st == nil {
			continue
		}
		for _, col := range visibleColumns(t) {
			c := st.Columns[col.ID]
			if c == nil || !s.mayRead(t, col) {
				continue
			}
			w.str("schemaname", s.schemaName(t))
			w.str("tablename", t.Name)
			w.str("attname", col.Name)
			w.flag("inherited", false)
			columnStats(s, w, st, col.Type, c)
			w.done()
		}
	}
	return nil
}

// relativeDistinct is the share of distinct values in the rows from which on pg_stats
// gives their number as such a share, negative.
const relativeDistinct = 0.1

// distinctOf is n_distinct of pg_stats.
func distinctOf(st *catalog.Statistics, c *catalog.ColumnStatistics) float64 {
	switch {
	case c.Nulls == 1:
		return 0
	case c.Distinct > relativeDistinct*st.Rows:
		return -min(c.Distinct/max(st.Rows, 1), 1)
	}
	return c.Distinct
}

func columnStats(s *snapshot, w *writer, st *catalog.Statistics, t *types.T, c *catalog.ColumnStatistics) {
	w.float("null_frac", c.Nulls)
	w.num("avg_width", int64(c.Width+0.5))
	w.float("n_distinct", distinctOf(st, c))
	if values, shares := s.commonValues(t, c); values != nil {
		w.set("most_common_vals", types.NewArray(values))
		w.set("most_common_freqs", types.NewArray(shares))
	}
	if bounds := s.bounds(t, c); bounds != nil {
		w.set("histogram_bounds", types.NewArray(bounds))
	}
}

// commonValues are the most common values of a column, nil if there are none, with their shares.
func (s *snapshot) commonValues(t *types.T, c *catalog.ColumnStatistics) (values, shares []types.Datum) {
	for _, v := range c.Common {
		values, shares = append(values, s.valueText(t, v.Value)), append(shares, types.NewFloat(v.Share))
	}
	return values, shares
}

// bounds are those of the histogram of a column, nil if there is none.
func (s *snapshot) bounds(t *types.T, c *catalog.ColumnStatistics) (bounds []types.Datum) {
	for _, v := range c.Bounds {
		bounds = append(bounds, s.valueText(t, v))
	}
	return bounds
}

// The kinds of statistics in pg_statistic, of which a column may have statisticSlots.
const (
	statisticCommon    = 1
	statisticHistogram = 2
	statisticSlots     = 5
)

// pgStatistic lists what pg_stats does, by kinds.
func pgStatistic(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		st := s.contents(t).Statistics
		if st == nil || !w.wants("starelid", t.Oid) {
			continue
		}
		for _, col := range visibleColumns(t) {
			c := st.Columns[col.ID]
			if c == nil {
				continue
			}
			w.oid("starelid", t.Oid)
			w.num("staattnum", int64(col.Attnum))
			w.flag("stainherit", false)
			w.float("stanullfrac", c.Nulls)
			w.num("stawidth", int64(c.Width+0.5))
			w.float("stadistinct", distinctOf(st, c))
			statisticKinds(s, w, col.Type, c)
			w.done()
		}
	}
	return nil
}

// statisticKinds fills the slots of a column, those in use first.
func statisticKinds(s *snapshot, w *writer, t *types.T, c *catalog.ColumnStatistics) {
	slot := 0
	add := func(kind int64, operator uint32, collation uint32) string {
		slot++
		n := strconv.Itoa(slot)
		w.num("stakind"+n, kind)
		w.oid("staop"+n, operator)
		w.oid("stacoll"+n, collation)
		return n
	}
	collation := uint32(0)
	if is := t.Collation(); is != nil {
		collation = is.Oid
	}
	if values, shares := s.commonValues(t, c); values != nil {
		n := add(statisticCommon, comparisonOid("=", t), collation)
		w.set("stanumbers"+n, types.NewArray(shares))
		w.set("stavalues"+n, types.NewArray(values))
	}
	if bounds := s.bounds(t, c); bounds != nil {
		w.set("stavalues"+add(statisticHistogram, comparisonOid("<", t), collation), types.NewArray(bounds))
	}
	for slot < statisticSlots {
		add(0, 0, 0)
	}
}

// comparisonOid is the oid of an operator that compares two values of a type, 0 if there is none.
func comparisonOid(name string, t *types.T) uint32 {
	op, err := builtin.ResolveOperator(name, []*types.T{t, t})
	if err != nil {
		return 0
	}
	return op.Oid
}

func (s *snapshot) valueText(t *types.T, d types.Datum) types.Datum {
	var fc *types.FormatContext
	if s.c.h.Format != nil {
		fc = s.c.h.Format()
	}
	return types.NewString(string(typeio.AppendText(nil, t, d, fc)))
}
