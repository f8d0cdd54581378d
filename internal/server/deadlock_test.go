package server

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestObjectDeadlocks: transactions on several nodes that wait for one another's locks on
// tables, or for those and rows, are found soon; one of them ends with 40P01, the others go on.
func TestObjectDeadlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		hold []string // what each transaction does first, each on a node of its own
		wait []string // and then, by which it waits for the next
	}{
		{
			"two tables",
			[]string{"SELECT * FROM a", "SELECT * FROM b"},
			[]string{"ALTER TABLE b ADD COLUMN x INT", "ALTER TABLE a ADD COLUMN x INT"},
		},
		{
			"three tables",
			[]string{"SELECT * FROM a", "SELECT * FROM b", "SELECT * FROM c"},
			[]string{"ALTER TABLE b ADD COLUMN x INT", "ALTER TABLE c ADD COLUMN x INT", "ALTER TABLE a ADD COLUMN x INT"},
		},
		{
			"a table and a row",
			[]string{"UPDATE a SET v = v + 1 WHERE k = 1", "SELECT * FROM b"},
			[]string{"ALTER TABLE b ADD COLUMN x INT", "UPDATE a SET v = v + 1 WHERE k = 1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			withNodes(t, func(t *testing.T, nodes *testNodes) { testObjectDeadlock(t, nodes, c.hold, c.wait) })
		})
	}
}

func testObjectDeadlock(t *testing.T, c *testNodes, hold, wait []string) {
	first, second, third := c.three()
	one := c.connect(first)
	for _, table := range []string{"a", "b", "c"} {
		c.exec(one, "CREATE TABLE "+table+" (k INT PRIMARY KEY, v INT)")
		c.exec(one, "INSERT INTO "+table+" VALUES (1, 1)")
	}
	c.awaitVoters(first, second, third)
	conns := make([]*pgx.Conn, len(hold))
	for i, n := range []*Node{first, second, third}[:len(hold)] {
		conns[i] = c.connect(n)
		c.exec(conns[i], "BEGIN")
		c.exec(conns[i], hold[i])
	}
	ended := make(chan error, len(hold))
	begun := time.Now()
	for i, conn := range conns {
		go func() {
			_, err := conn.Exec(c.ctx, wait[i])
			end := "COMMIT"
			if err != nil {
				end = "ROLLBACK"
			}
			_, cerr := conn.Exec(c.ctx, end)
			ended <- cmp.Or(err, cerr)
		}()
	}
	dead := 0
	for range conns {
		err := <-ended
		var pe *pgconn.PgError
		switch {
		case errors.As(err, &pe) && pe.Code == "40P01":
			dead++
		case err != nil && !(errors.As(err, &pe) && pe.Code == "40001"): // who went on may have to try again
			t.Error(err)
		}
	}
	if took := time.Since(begun); dead != 1 || took > 2*time.Second {
		t.Errorf("%d deadlocks were found, after %v", dead, took)
	}
}
