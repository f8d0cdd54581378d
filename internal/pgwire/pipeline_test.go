package pgwire

import (
	"context"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The statements of a pipeline that meets a conflict are run again, while all they did was
// to read and write rows and nothing was sent.
func TestPipelineRunsAgain(t *testing.T) {
	srv, waits := newWatchedSQL(t)
	_, addr := newServer(t, func(o *Options) { o.SQL = srv })
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	other := connect(t, addr, "")
	must := func(c *pgx.Conn, sql string) {
		t.Helper()
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	must(other, "create table t (k int primary key, v int)")
	for _, mode := range []string{"cache_statement", "describe_exec", "exec"} {
		for _, kind := range []string{"", "setting", "block", "block that has ended"} {
			fixed := kind == "setting" || kind == "block that has ended"
			c := connect(t, addr, "&default_query_exec_mode="+mode)
			must(c, "set default_transaction_isolation = 'serializable'")
			must(other, "upsert into t values (1, 1), (2, 0)")
			tx, err := other.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			must(tx.Conn(), "update t set v = v + 1 where k = 2")
			b := &pgx.Batch{}
			before, after := 0, 0
			switch kind {
			case "block":
				b.Queue("begin")
				before, after = 1, 1
			case "block that has ended":
				b.Queue("begin")
				b.Queue("commit")
				before = 2
			}
			b.Queue("select v from t where k = $1", 1)
			if kind == "setting" {
				b.Queue("set search_path = public")
			}
			b.Queue("update t set v = v + $1 where k = 2", 5)
			b.Queue("select v from t where k = 2")
			if after > 0 {
				b.Queue("commit")
			}
			done := make(chan error, 1)
			var first, last int
			go func() {
				r := c.SendBatch(ctx, b)
				var err error
				skip := func(n int) {
					for range n {
						if _, e := r.Exec(); err == nil {
							err = e
						}
					}
				}
				skip(before)
				if e := r.QueryRow().Scan(&first); err == nil {
					err = e
				}
				skip(b.Len() - before - after - 2)
				if e := r.QueryRow().Scan(&last); err == nil {
					err = e
				}
				if e := r.Close(); err == nil {
					err = e
				}
				done <- err
			}()
			for waits.Len() == 0 && ctx.Err() == nil {
				runtime.Gosched()
			}
			must(tx.Conn(), "update t set v = 10 where k = 1")
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			err = <-done
			if fixed {
				if sqlState(err) != "40001" {
					t.Errorf("%s, %s: %v", mode, kind, err)
				}
				continue
			}
			if err != nil || first != 10 || last != 6 {
				t.Errorf("%s, %s: %d, %d, %v; want 10, 6", mode, kind, first, last, err)
			}
		}
	}
}
