package statview

import (
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// declared are the indexes of a table but the primary one on a hidden row id.
func declared(t *advise.Table) (out []*catalog.Index) {
	for i := range t.Indexes {
		if i > 0 || t.HasPrimaryKey() {
			out = append(out, &t.Indexes[i])
		}
	}
	return out
}

// indexUsage lists for each index of the database how many executions of statements have read it on each node.
func indexUsage(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Indexes: true})
	if err != nil {
		return err
	}
	tables := s.Tables()
	for _, n := range nodes {
		by := byKey(n.Indexes)
		for i := range tables {
			t := &tables[i]
			for _, ix := range declared(t) {
				u := by[stmtstats.IndexKey{Table: uint64(t.ID), Index: uint64(ix.ID)}]
				w.Num("node_id", int64(n.Node))
				w.Num("table_id", int64(t.Oid))
				w.Str("schema_name", t.Schema)
				w.Str("table_name", t.Name)
				w.Num("index_id", int64(ix.Oid))
				w.Str("index_name", ix.Name)
				w.Num("reads", u.Keyed+u.Full)
				w.Num("full_reads", u.Full)
				w.Time("last_read", unix(u.Last))
				w.Time("counted_since", unix(n.Since))
				w.Done()
			}
		}
	}
	return nil
}

func byKey(rows []stmtstats.IndexRow) map[stmtstats.IndexKey]stmtstats.IndexRow {
	m := make(map[stmtstats.IndexKey]stmtstats.IndexRow, len(rows))
	for _, r := range rows {
		m[r.IndexKey] = r
	}
	return m
}

// Totals are the sums of the use of indexes over nodes.
func Totals(nodes []Node) map[stmtstats.IndexKey]stmtstats.IndexRow {
	m := map[stmtstats.IndexKey]stmtstats.IndexRow{}
	for _, n := range nodes {
		for _, r := range n.Indexes {
			sum := m[r.IndexKey]
			sum.IndexKey, sum.Keyed, sum.Full, sum.Last = r.IndexKey, sum.Keyed+r.Keyed, sum.Full+r.Full, max(sum.Last, r.Last)
			m[r.IndexKey] = sum
		}
	}
	return m
}

// recommendations lists changes of indexes that the statements of all nodes speak for.
func recommendations(s Source, w Rows) error {
	nodes, err := s.Nodes(false, Request{Indexes: true, Plans: true})
	if err != nil {
		return err
	}
	var plans []stmtstats.StatementPlans
	var since int64
	for _, n := range nodes {
		since = max(since, n.Since) // the node that has counted for the shortest time
		for i := range n.Plans {
			if s.MaySee(n.Plans[i].User) {
				plans = append(plans, n.Plans[i])
			}
		}
	}
	counted, totals := time.Since(time.Unix(0, since)), Totals(nodes)
	tables := s.Tables()
	for i := range tables {
		t := &tables[i]
		list := advise.Missing(t, plans)
		for _, ix := range declared(t) {
			u := totals[stmtstats.IndexKey{Table: uint64(t.ID), Index: uint64(ix.ID)}]
			if r := advise.Unused(t, ix, u.Keyed+u.Full, counted); r != nil && !slices.ContainsFunc(nodes, func(n Node) bool { return n.Since == 0 }) {
				list = append(list, *r)
			}
		}
		for _, r := range list {
			w.Str("schema_name", t.Schema)
			w.Str("table_name", t.Name)
			w.Str("kind", r.Kind)
			w.Str("statement", r.Statement)
			w.Str("reason", r.Reason)
			w.Texts("queries", r.Queries)
			w.Interval("total_time", r.Weight)
			w.Done()
		}
	}
	return nil
}
