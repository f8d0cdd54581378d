package pgwire

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// noRanges panics whatever is called.
type noRanges struct{ cluster }
type cluster = ranges.Cluster

// TestPanicEndsConnection: a bug that a statement meets above kv is its client's internal
// error; everybody else is served on.
func TestPanicEndsConnection(t *testing.T) {
	srv, _ := newSQLOf(t, func(c *sql.Config) {
		c.Ranges = noRanges{}
	})
	s, addr := newServer(t, func(o *Options) { o.SQL = srv })
	other := connect(t, addr, "")
	if _, err := other.Exec(context.Background(), "CREATE TABLE t (a INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	c := connect(t, addr, "")
	if _, err := c.Exec(context.Background(), "SHOW RANGES FROM TABLE t"); sqlState(err) != "XX000" {
		t.Errorf("got %v", err)
	}
	if n := s.Metrics().Panics; n != 1 {
		t.Errorf("%d panics are counted", n)
	}
	if _, err := other.Exec(context.Background(), "INSERT INTO t VALUES (1)"); err != nil {
		t.Errorf("another connection: %v", err)
	}
}
