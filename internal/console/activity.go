package console

import (
	"github.com/lichendb/lichen/internal/eventlog"
)

// Statement is what the statements of a fingerprint have cost, on all nodes since each started. Times are in seconds.
type Statement struct {
	Fingerprint string  `json:"fingerprint"`
	Database    string  `json:"database"`
	User        string  `json:"user"`
	Query       string  `json:"query"`
	Calls       int64   `json:"calls"`
	Errors      int64   `json:"errors"`
	Retries     int64   `json:"retries"`
	Rows        int64   `json:"rows"`
	RowsRead    int64   `json:"rowsRead"`    // entries of tables and indexes
	RowsWritten int64   `json:"rowsWritten"` // rows that were changed
	Contention  float64 `json:"contention"`  // that they have waited for other transactions
	Total       float64 `json:"total"`
	Mean        float64 `json:"mean"`
	P50         float64 `json:"p50"` // of the node where it is longest
	P99         float64 `json:"p99"` // likewise
	Max         float64 `json:"max"`
	First       int64   `json:"first"` // milliseconds since 1970
	Last        int64   `json:"last"`
	Nodes       []int64 `json:"nodes"`
}

// Statements are those of a cluster, by the time that they took.
type Statements struct {
	Statements []Statement `json:"statements"`
	Notices    []string    `json:"notices"` // such as that a node did not answer
}

// maxStatements bounds the fingerprints of an answer.
const maxStatements = 1000

func getStatements(c *Console, r *request) (any, error) {
	most, err := r.number("limit", 200, 1, maxStatements)
	if err != nil {
		return nil, err
	}
	found, err := c.query(r, r.login, defaultDatabase, `SELECT fingerprint_id, database_name, user_name, query, sum(calls)::bigint AS calls, sum(errors)::bigint AS errors,
		sum(retries)::bigint AS retries, sum(rows)::bigint AS rows,
		sum(rows_read)::bigint AS rows_read, sum(rows_written)::bigint AS rows_written, extract(epoch FROM sum(contention_time)) AS contention, extract(epoch FROM sum(total_time)) AS total,
		extract(epoch FROM sum(total_time)) / sum(calls) AS mean, extract(epoch FROM max(p50_time)) AS p50, extract(epoch FROM max(p99_time)) AS p99,
		extract(epoch FROM max(max_time)) AS max, `+millis("min(first_call)")+` AS first, `+millis("max(last_call)")+` AS last, array_agg(node_id ORDER BY node_id) AS nodes
		FROM lichen_internal.cluster_statement_statistics GROUP BY 1, 2, 3, 4 ORDER BY total DESC LIMIT `+formatUint(uint64(most)))
	if err != nil {
		return nil, err
	}
	out := &Statements{Statements: []Statement{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Statements = append(out.Statements, Statement{
			Fingerprint: x.text("fingerprint_id"), Database: x.text("database_name"), User: x.text("user_name"), Query: x.text("query"),
			Calls: x.int("calls"), Errors: x.int("errors"), Retries: x.int("retries"), Rows: x.int("rows"),
			RowsRead: x.int("rows_read"), RowsWritten: x.int("rows_written"), Contention: x.float("contention"), Total: x.float("total"), Mean: x.float("mean"),
			P50: x.float("p50"), P99: x.float("p99"), Max: x.float("max"), First: x.int("first"), Last: x.int("last"), Nodes: x.ints("nodes"),
		})
	})
	return out, nil
}

// noticesOf returns the notices of a query; none is an empty list.
func noticesOf(r *rows) []string { return append([]string{}, r.notices...) }

// SessionInfo is a session of a client.
type SessionInfo struct {
	Node        int64  `json:"node"`
	ID          string `json:"id"`
	PID         int64  `json:"pid"`
	User        string `json:"user"`
	Database    string `json:"database"`
	Application string `json:"application"`
	Client      string `json:"client"`
	State       string `json:"state"`
	QueryID     string `json:"queryId"` // of the statement that runs
	Query       string `json:"query"`   // or the last one
	Started     int64  `json:"started"` // milliseconds since 1970; 0: not
	QueryStart  int64  `json:"queryStart"`
	TxnStart    int64  `json:"txnStart"`
	Waiting     bool   `json:"waiting"` // for a lock
}

// Sessions are those of the cluster.
type Sessions struct {
	Sessions []SessionInfo `json:"sessions"`
	Notices  []string      `json:"notices"`
}

func getSessions(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, defaultDatabase, `SELECT s.node_id, s.session_id, s.pid, s.user_name, s.database_name, s.application_name, s.client_address, s.state,
		s.query_id, s.query, `+millis("s.session_start")+` AS started, `+millis("s.query_start")+` AS query_start, `+millis("s.txn_start")+` AS txn_start,
		EXISTS (SELECT FROM lichen_internal.cluster_waits w WHERE w.session_id = s.session_id) AS waiting
		FROM lichen_internal.cluster_sessions s WHERE s.application_name IS DISTINCT FROM `+quote(applicationName)+`
		ORDER BY s.query_id IS NULL, s.query_start, s.node_id, s.pid`)
	if err != nil {
		return nil, err
	}
	out := &Sessions{Sessions: []SessionInfo{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Sessions = append(out.Sessions, SessionInfo{
			Node: x.int("node_id"), ID: x.text("session_id"), PID: x.int("pid"), User: x.text("user_name"), Database: x.text("database_name"), Application: x.text("application_name"),
			Client: x.text("client_address"), State: x.text("state"), QueryID: x.text("query_id"), Query: x.text("query"), Started: x.int("started"),
			QueryStart: x.int("query_start"), TxnStart: x.int("txn_start"), Waiting: x.flag("waiting"),
		})
	})
	return out, nil
}

// cancelQuery ends the statement that a session runs.
func cancelQuery(c *Console, r *request) (any, error) {
	err := c.change(r, r.login, "CANCEL QUERY "+quote(r.param("id")))
	if err == nil {
		c.o.Events.Add(eventlog.Event{Kind: eventlog.SessionCanceled, User: r.login.user, Text: "canceled query " + r.param("id") + " by the console"})
	}
	return nil, err
}

// cancelSession ends a session.
func cancelSession(c *Console, r *request) (any, error) {
	err := c.change(r, r.login, "CANCEL SESSION "+quote(r.param("id")))
	if err == nil {
		c.o.Events.Add(eventlog.Event{Kind: eventlog.SessionCanceled, User: r.login.user, Text: "canceled session " + r.param("id") + " by the console"})
	}
	return nil, err
}

// Job is a long statement that changes tables, or the removal of what is no longer used.
type Job struct {
	ID          int64  `json:"id"`
	Type        string `json:"type"`
	Description string `json:"description"`
	User        string `json:"user"`
	Database    string `json:"database"`
	Node        int64  `json:"node"`
	Status      string `json:"status"`
	Rows        int64  `json:"rows"` // read so far
	Error       string `json:"error"`
	Created     int64  `json:"created"` // milliseconds since 1970; 0: not
	Finished    int64  `json:"finished"`
}

// Jobs are those of the cluster, the newest first.
type Jobs struct {
	Jobs []Job `json:"jobs"`
}

func getJobs(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, defaultDatabase, `SELECT job_id, job_type, description, user_name, database_name, node_id, status, rows_read, error,
		`+millis("created")+` AS created, `+millis("finished")+` AS finished FROM lichen_internal.jobs ORDER BY created DESC, job_id DESC`)
	if err != nil {
		return nil, err
	}
	out := &Jobs{Jobs: []Job{}}
	found.each(func(x row) {
		out.Jobs = append(out.Jobs, Job{
			ID: x.int("job_id"), Type: x.text("job_type"), Description: x.text("description"), User: x.text("user_name"), Database: x.text("database_name"), Node: x.int("node_id"),
			Status: x.text("status"), Rows: x.int("rows_read"), Error: x.text("error"), Created: x.int("created"), Finished: x.int("finished"),
		})
	})
	return out, nil
}

// changeJob pauses, resumes or cancels a job.
func changeJob(c *Console, r *request) (any, error) {
	verb, ok := map[string]string{"pause": "PAUSE", "resume": "RESUME", "cancel": "CANCEL"}[r.param("action")]
	if !ok {
		return nil, notFound("jobs can be paused, resumed and canceled: pause, resume, cancel")
	}
	if _, err := r.number("id", 0, 1, 1<<62); err != nil {
		return nil, err
	}
	return nil, c.change(r, r.login, verb+" JOB "+r.param("id"))
}
