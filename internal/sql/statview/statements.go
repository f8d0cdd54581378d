package statview

import (
	"time"

	"github.com/lichendb/lichen/internal/obs"
)

// statements lists what statements have cost, by fingerprint, since their node started.
func statements(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Statements: true})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for i := range n.Statements {
			x := &n.Statements[i]
			if !s.MaySee(x.User) {
				continue
			}
			latency := obs.FromSparse(x.Latency)
			calls := max(int64(latency.Total()), 1)
			w.Num("node_id", int64(n.Node))
			w.Str("fingerprint_id", x.Fingerprint())
			w.Str("database_name", x.Database)
			w.Str("user_name", x.User)
			w.Str("query", x.Text)
			w.Num("calls", calls)
			w.Num("errors", x.Errors)
			w.Num("retries", x.Retries)
			w.Num("rows", x.Rows)
			w.Num("rows_read", x.Read)
			w.Num("rows_written", x.Written)
			w.Interval("contention_time", time.Duration(x.Waited))
			w.Interval("total_time", time.Duration(x.Nanos))
			w.Interval("mean_time", time.Duration(x.Nanos/calls))
			w.Interval("p50_time", min(latency.Quantile(0.5), time.Duration(x.MaxNanos)))
			w.Interval("p99_time", min(latency.Quantile(0.99), time.Duration(x.MaxNanos)))
			w.Interval("max_time", time.Duration(x.MaxNanos))
			w.Time("first_call", unix(x.First))
			w.Time("last_call", unix(x.Last))
			w.Text("plan_id", x.Plan)
			w.Done()
		}
	}
	return nil
}

// plans lists the plans by which statements were run, the last one of each fingerprint first.
func plans(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Plans: true})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for i := range n.Plans {
			x := &n.Plans[i]
			if !s.MaySee(x.User) {
				continue
			}
			for j := range x.Plans {
				p := &x.Plans[j]
				w.Num("node_id", int64(n.Node))
				w.Str("fingerprint_id", x.Fingerprint())
				w.Str("database_name", x.Database)
				w.Str("user_name", x.User)
				w.Str("plan_id", p.ID)
				w.Str("plan", p.Text)
				w.Num("samples", p.Samples)
				w.Interval("mean_time", time.Duration(p.Nanos/max(p.Samples, 1)))
				w.Interval("max_time", time.Duration(p.MaxNanos))
				w.Time("first_seen", unix(p.First))
				w.Time("last_seen", unix(p.Last))
				w.Done()
			}
		}
	}
	return nil
}
