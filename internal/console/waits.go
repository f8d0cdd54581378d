package console

import (
	"cmp"
	"strings"
)

// Transaction is what the transaction blocks of a fingerprint have cost, on all nodes since each started. Times are in seconds.
type Transaction struct {
	Fingerprint string   `json:"fingerprint"`
	Database    string   `json:"database"`
	User        string   `json:"user"`
	Queries     []string `json:"queries"` // the fingerprints of its first statements
	Count       int64    `json:"count"`
	Rollbacks   int64    `json:"rollbacks"`
	Statements  int64    `json:"statements"`
	Retries     int64    `json:"retries"`
	Rows        int64    `json:"rows"`
	Total       float64  `json:"total"`
	Mean        float64  `json:"mean"`
	P50         float64  `json:"p50"` // of the node where it is longest
	P99         float64  `json:"p99"` // likewise
	Max         float64  `json:"max"`
}

// Transactions are those of a cluster, by the time that they took.
type Transactions struct {
	Transactions []Transaction `json:"transactions"`
	Notices      []string      `json:"notices"`
}

// separator joins texts in a column; no statement has it.
const separator = "\x1f"

// texts splits a column that was joined.
func (r row) texts(name string) []string {
	if t := r.text(name); t != "" {
		return strings.Split(t, separator)
	}
	return []string{}
}

// joined is an expression for a column that is an array, as texts reads it.
func joined(column string) string { return "array_to_string(" + column + ", E'\\x1f')" }

func getTransactions(c *Console, r *request) (any, error) {
	most, err := r.number("limit", 200, 1, maxStatements)
	if err != nil {
		return nil, err
	}
	found, err := c.query(r, r.login, defaultDatabase, `SELECT fingerprint_id, database_name, user_name, `+joined("min(queries)")+` AS queries, sum(count)::bigint AS count,
		sum(rollbacks)::bigint AS rollbacks, sum(statements)::bigint AS statements, sum(retries)::bigint AS retries, sum(rows)::bigint AS rows,
		extract(epoch FROM sum(total_time)) AS total, extract(epoch FROM sum(total_time)) / sum(count) AS mean, extract(epoch FROM max(p50_time)) AS p50,
		extract(epoch FROM max(p99_time)) AS p99, extract(epoch FROM max(max_time)) AS max
		FROM lichen_internal.cluster_transaction_statistics GROUP BY 1, 2, 3 ORDER BY total DESC LIMIT `+formatUint(uint64(most)))
	if err != nil {
		return nil, err
	}
	out := &Transactions{Transactions: []Transaction{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Transactions = append(out.Transactions, Transaction{
			Fingerprint: x.text("fingerprint_id"), Database: x.text("database_name"), User: x.text("user_name"), Queries: x.texts("queries"), Count: x.int("count"),
			Rollbacks: x.int("rollbacks"), Statements: x.int("statements"), Retries: x.int("retries"), Rows: x.int("rows"), Total: x.float("total"),
			Mean: x.float("mean"), P50: x.float("p50"), P99: x.float("p99"), Max: x.float("max"),
		})
	})
	return out, nil
}

// SlowStatement is an execution that took long.
type SlowStatement struct {
	Node        int64   `json:"node"`
	Fingerprint string  `json:"fingerprint"`
	Database    string  `json:"database"`
	User        string  `json:"user"`
	Application string  `json:"application"`
	Query       string  `json:"query"`
	Began       int64   `json:"began"`    // milliseconds since 1970
	Duration    float64 `json:"duration"` // seconds
	Rows        int64   `json:"rows"`
	RowsRead    int64   `json:"rowsRead"`
	RowsWritten int64   `json:"rowsWritten"`
	Contention  float64 `json:"contention"` // seconds that it has waited for other transactions
	Retries     int64   `json:"retries"`
	Code        string  `json:"code"` // SQLSTATE, if it failed
	Plan        string  `json:"plan"`
	Trace       string  `json:"trace"` // "" if it was not traced
}

// SlowStatements are the last ones.
type SlowStatements struct {
	// Threshold is the cluster setting that says which are slow.
	Threshold  string          `json:"threshold"`
	Statements []SlowStatement `json:"statements"`
	Notices    []string        `json:"notices"`
}

func getSlow(c *Console, r *request) (any, error) {
	most, err := r.number("limit", 200, 1, maxStatements)
	if err != nil {
		return nil, err
	}
	found, err := c.query(r, r.login, defaultDatabase, `SELECT *, `+millis("query_start")+` AS began, extract(epoch FROM duration) AS seconds,
		extract(epoch FROM contention_time) AS contention FROM lichen_internal.cluster_slow_statements ORDER BY query_start DESC LIMIT `+formatUint(uint64(most)))
	if err != nil {
		return nil, err
	}
	out := &SlowStatements{Statements: []SlowStatement{}, Notices: noticesOf(found), Threshold: c.o.Node.Settings.Get().SlowStatement.String()}
	found.each(func(x row) {
		out.Statements = append(out.Statements, SlowStatement{
			Node: x.int("node_id"), Fingerprint: x.text("fingerprint_id"), Database: x.text("database_name"), User: x.text("user_name"), Application: x.text("application_name"),
			Query: x.text("query"), Began: x.int("began"), Duration: x.float("seconds"), Rows: x.int("rows"), RowsRead: x.int("rows_read"), RowsWritten: x.int("rows_written"),
			Contention: x.float("contention"), Retries: x.int("retries"), Code: x.text("error_code"), Plan: x.text("plan"), Trace: x.text("trace"),
		})
	})
	return out, nil
}

// LockWait is a transaction's wait for another that has ended.
type LockWait struct {
	Node         int64    `json:"node"`
	Began        int64    `json:"began"`    // milliseconds since 1970
	Duration     float64  `json:"duration"` // seconds
	Granted      bool     `json:"granted"`
	Txn          string   `json:"txn"`
	User         string   `json:"user"` // "" while it is not known who it was
	Queries      []string `json:"queries"`
	Blocking     []string `json:"blocking"` // the ids of the transactions that it waited for first
	BlockingUser string   `json:"blockingUser"`
	BlockedBy    []string `json:"blockedBy"` // what one of those has run
	Database     string   `json:"database"`
	Schema       string   `json:"schema"`
	Table        string   `json:"table"`
	Index        string   `json:"index"`
	Key          string   `json:"key"`
}

// LockWaits are the last ones.
type LockWaits struct {
	Waits   []LockWait `json:"waits"`
	Notices []string   `json:"notices"`
}

func getWaits(c *Console, r *request) (any, error) {
	most, err := r.number("limit", 200, 1, maxStatements)
	if err != nil {
		return nil, err
	}
	found, err := c.query(r, r.login, cmp.Or(r.param("database"), defaultDatabase), `SELECT *, `+millis("wait_start")+` AS began, extract(epoch FROM duration) AS seconds,
		`+joined("queries")+` AS texts, `+joined("blocking_txn_ids")+` AS ids, `+joined("blocking_queries")+` AS blockers
		FROM lichen_internal.cluster_contention_events ORDER BY wait_start DESC LIMIT `+formatUint(uint64(most)))
	if err != nil {
		return nil, err
	}
	out := &LockWaits{Waits: []LockWait{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Waits = append(out.Waits, LockWait{
			Node: x.int("node_id"), Began: x.int("began"), Duration: x.float("seconds"), Granted: x.flag("granted"), Txn: x.text("txn_id"), User: x.text("user_name"),
			Queries: x.texts("texts"), Blocking: x.texts("ids"), BlockingUser: x.text("blocking_user_name"), BlockedBy: x.texts("blockers"), Database: x.text("database_name"),
			Schema: x.text("schema_name"), Table: x.text("table_name"), Index: x.text("index_name"), Key: x.text("lock_key_pretty"),
		})
	})
	return out, nil
}
