package pgcatalog

import (
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
)

// addStatViews adds the views of statview, of the cluster and of the node.
func addStatViews(m map[string]generator) {
	m["lichen_internal.index_recommendations"] = internalRecommendations
	for name, view := range statview.Views {
		m["lichen_internal.cluster_"+name] = func(s *snapshot, w *writer) error { return view(statSource{s}, false, statRows{s, w}) }
		m["lichen_internal.node_"+name] = func(s *snapshot, w *writer) error { return view(statSource{s}, true, statRows{s, w}) }
	}
}

// internalRecommendations lists recommended changes of indexes.
func internalRecommendations(s *snapshot, w *writer) error {
	return statview.Recommendations(statSource{s}, statRows{s, w})
}

// statSource is the snapshot as statview sees it.
type statSource struct{ s *snapshot }

func (x statSource) MaySee(user string) bool { return x.s.maySee(&Activity{User: user}) }

func (x statSource) Tables() (out []advise.Table) {
	for _, t := range x.s.tables() {
		if (t.Kind == catalog.KindTable || t.Materialized()) && !t.ID.IsVirtual() && x.s.accessible(t) {
			out = append(out, advise.Table{Table: t, Schema: x.s.schemaName(t), Rows: x.s.contents(t).Live})
		}
	}
	return out
}

func (x statSource) Nodes(here bool, r statview.Request) ([]statview.Node, error) {
	report, err := x.s.report(ReportRequest{Here: here, Stats: r})
	if err != nil {
		return nil, err
	}
	return report.Stats, nil
}

// indexUses returns how the cluster's nodes have used indexes, if the relation's columns about that are needed.
func (s *snapshot) indexUses(w *writer) (map[stmtstats.IndexKey]stmtstats.IndexRow, error) {
	if !w.needs("idx_scan") && !w.needs("seq_scan") {
		return nil, nil
	}
	nodes, err := statSource{s}.Nodes(false, statview.Request{Indexes: true})
	return statview.Totals(nodes), err
}

// tableReads returns how many executions have read all of a table, and how many some of it, or an index.
func tableReads(uses map[stmtstats.IndexKey]stmtstats.IndexRow, t *catalog.Table) (full, keyed int64) {
	for i := range t.Indexes {
		u := uses[stmtstats.IndexKey{Table: uint64(t.ID), Index: uint64(t.Indexes[i].ID)}]
		keyed += u.Keyed
		if i == 0 {
			full = u.Full
		} else {
			keyed += u.Full
		}
	}
	return full, keyed
}

// statRows is a writer as statview sees it.
type statRows struct {
	s *snapshot
	w *writer
}

func (x statRows) Num(column string, v int64)      { x.w.num(column, v) }
func (x statRows) Str(column, v string)            { x.w.str(column, strings.ToValidUTF8(v, "�")) }
func (x statRows) Text(column, v string)           { x.w.text(column, v) }
func (x statRows) Time(column string, t time.Time) { x.w.time(column, t) }
func (x statRows) Flag(column string, v bool)      { x.w.flag(column, v) }
func (x statRows) Texts(column string, v []string) {
	list := make([]types.Datum, len(v))
	for i := range v {
		list[i] = types.NewString(v[i])
	}
	x.w.set(column, types.NewArray(list))
}

func (x statRows) Key(key []byte) {
	x.s.lockPlace(x.w, key)
	x.s.lockKey(x.w, key)
}

func (x statRows) Done() { x.w.done() }

func (x statRows) Interval(column string, d time.Duration) {
	x.w.set(column, types.NewInterval(types.IntervalValue{Micros: d.Microseconds()}))
}
