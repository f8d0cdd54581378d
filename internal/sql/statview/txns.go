package statview

import (
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// transactions lists what transaction blocks have cost, by the fingerprints of their statements.
func transactions(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Txns: true})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for i := range n.Txns {
			x := &n.Txns[i]
			if !s.MaySee(x.User) {
				continue
			}
			latency := obs.FromSparse(x.Latency)
			count := max(int64(latency.Total()), 1)
			w.Num("node_id", int64(n.Node))
			w.Str("fingerprint_id", x.Fingerprint)
			w.Str("database_name", x.Database)
			w.Str("user_name", x.User)
			w.Texts("queries", x.Queries)
			w.Num("count", count)
			w.Num("commits", x.Commits)
			w.Num("rollbacks", x.Rollbacks)
			w.Num("statements", x.Statements)
			w.Num("retries", x.Retries)
			w.Num("rows", x.Rows)
			w.Interval("total_time", time.Duration(x.Nanos))
			w.Interval("mean_time", time.Duration(x.Nanos/count))
			w.Interval("p50_time", min(latency.Quantile(0.5), time.Duration(x.MaxNanos)))
			w.Interval("p99_time", min(latency.Quantile(0.99), time.Duration(x.MaxNanos)))
			w.Interval("max_time", time.Duration(x.MaxNanos))
			w.Time("first_seen", unix(x.First))
			w.Time("last_seen", unix(x.Last))
			w.Done()
		}
	}
	return nil
}

// slow lists the last statements that took long.
func slow(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Slow: true})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for i := range n.Slow {
			x := &n.Slow[i]
			if !s.MaySee(x.User) {
				continue
			}
			w.Num("node_id", int64(n.Node))
			w.Str("session_id", x.Session)
			w.Str("fingerprint_id", x.Fingerprint())
			w.Str("database_name", x.Database)
			w.Str("user_name", x.User)
			w.Text("application_name", x.Application)
			w.Str("query", x.Query)
			w.Time("query_start", unix(x.Began))
			w.Interval("duration", time.Duration(x.Nanos))
			w.Num("rows", x.Rows)
			w.Num("rows_read", x.Read)
			w.Num("rows_written", x.Written)
			w.Interval("contention_time", time.Duration(x.Waited))
			w.Num("retries", x.Retry)
			w.Text("error_code", x.Code)
			w.Text("plan", x.Plan)
			w.Text("trace", x.Trace)
			w.Done()
		}
	}
	return nil
}

// contention lists the last waits of transactions for others. Who they were is known once they have ended, of those that took a
// millisecond, from the nodes where their sessions were.
func contention(s Source, here bool, w Rows) error {
	nodes, err := s.Nodes(here, Request{Waits: true})
	if err != nil {
		return err
	}
	ids := Who{}
	for _, n := range nodes {
		for i := range n.Waits {
			ids[idOf(n.Waits[i].Txn)] = true
			for _, b := range n.Waits[i].Blockers {
				ids[idOf(b)] = true
			}
		}
	}
	who := map[[2]uint64]*stmtstats.Recent{}
	if len(ids) > 0 {
		known, err := s.Nodes(false, Request{Who: ids})
		if err != nil {
			return err
		}
		for _, n := range known {
			for i := range n.Recent {
				who[n.Recent[i].ID] = &n.Recent[i]
			}
		}
	}
	for _, n := range nodes {
		for i := range n.Waits {
			event(s, w, n.Node, &n.Waits[i], who)
		}
	}
	return nil
}

// event writes the row of a wait, if the user may see who waited.
func event(s Source, w Rows, node kvpb.NodeID, x *Wait, who map[[2]uint64]*stmtstats.Recent) {
	waiter := who[idOf(x.Txn)]
	user := "" // which only those may see who may see all
	if waiter != nil {
		user = waiter.User
	}
	if !s.MaySee(user) {
		return
	}
	w.Num("node_id", int64(node))
	w.Time("wait_start", unix(x.Since))
	w.Interval("duration", time.Duration(x.Nanos))
	w.Flag("granted", x.Granted)
	w.Str("txn_id", x.Txn.String())
	if waiter != nil {
		w.Str("user_name", waiter.User)
		w.Texts("queries", waiter.Queries)
	}
	ids := make([]string, len(x.Blockers))
	for i, b := range x.Blockers {
		ids[i] = b.String()
	}
	w.Texts("blocking_txn_ids", ids)
	known := slices.IndexFunc(x.Blockers, func(b kvpb.TxnID) bool { return who[idOf(b)] != nil })
	if known >= 0 {
		if b := who[idOf(x.Blockers[known])]; s.MaySee(b.User) {
			w.Str("blocking_user_name", b.User)
			w.Texts("blocking_queries", b.Queries)
		}
	}
	w.Key(x.Key)
	w.Done()
}

func idOf(id kvpb.TxnID) [2]uint64 { return [2]uint64{id.Hi, id.Lo} }
