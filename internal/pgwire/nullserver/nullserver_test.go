package nullserver

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func start(t testing.TB, s *Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestPgbenchMessages(t *testing.T) {
	var replies atomic.Int64
	s := &Server{BeforeReply: func(string, []byte) error { replies.Add(1); return nil }}
	addr := start(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, mode := range []string{"simple_protocol", "exec", "cache_statement"} {
		c, err := pgx.Connect(ctx, "postgres://root@"+addr+"/x?sslmode=prefer&default_query_exec_mode="+mode)
		if err != nil {
			t.Fatal(err)
		}
		before := replies.Load()
		var n int
		err = c.QueryRow(ctx, "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
			pgx.QueryResultFormats{pgx.TextFormatCode}, 7).Scan(&n)
		if err != nil || n != 0 {
			t.Errorf("%s: %d, %v", mode, n, err)
		}
		for sql, want := range map[string]string{
			"BEGIN": "BEGIN", "UPDATE pgbench_tellers SET tbalance = 1": "UPDATE 1", "END": "COMMIT",
			"INSERT INTO pgbench_history VALUES (1)": "INSERT 0 1", "DELETE FROM x": "DELETE 1",
		} {
			tag, err := c.Exec(ctx, sql)
			if err != nil || tag.String() != want {
				t.Errorf("%s: %s: %q, %v", mode, sql, tag, err)
			}
		}
		if got := replies.Load() - before; got != 6 {
			t.Errorf("%s: %d replies to 6 statements", mode, got)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
