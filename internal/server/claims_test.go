package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestDeferrableKeys: transactions at three gateways move the values of a deferrable key
// between the rows of several ranges, while one gateway goes away. However many try for
// the same value, it has one row in the end.
func TestDeferrableKeys(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		done, twice := contendForKeys(t, c, 1)
		if twice != 0 {
			t.Errorf("%d values have several rows", twice)
		}
		if done < 30 {
			t.Errorf("only %d transactions were committed", done)
		}
	})
}

// contendForKeys has six sessions work on a table of eight rows whose key has sixteen
// values. It returns how many transactions were committed, and how many values were seen
// to have several rows at once.
func contendForKeys(t *testing.T, c *testNodes, seed uint64) (done, twice int) {
	first, second, third := c.three()
	one := c.connect(first)
	c.exec(one, "CREATE TABLE t (id INT PRIMARY KEY, k INT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	c.exec(one, "INSERT INTO t SELECT i, i FROM generate_series(1, 8) i")
	c.exec(one, "ALTER TABLE t SPLIT AT VALUES (5)")
	c.exec(one, "ALTER INDEX t_k_key SPLIT AT VALUES (4), (12)")
	c.awaitVoters(first, second, third)
	var workers sync.WaitGroup
	var mu sync.Mutex
	for i := range 6 {
		n := []*Node{first, second, third}[i%3]
		conn, r := c.connect(n), rand.New(rand.NewPCG(seed, uint64(i)))
		workers.Go(func() {
			for range 20 {
				err := moveKeys(c.ctx, conn, r)
				seen := 0
				if err == nil { // later ones may move the rows apart
					err = conn.QueryRow(c.ctx, sharedKeys).Scan(&seen)
				}
				mu.Lock()
				if twice = max(twice, seen); err == nil {
					done++
				}
				mu.Unlock()
				if err != nil && !expected(err) && n != third {
					t.Error(err)
				}
			}
		})
	}
	workers.Go(func() {
		c.until("some transactions", func() (bool, string) {
			mu.Lock()
			defer mu.Unlock()
			return done >= 10, fmt.Sprint(done)
		})
		c.stop(third)
	})
	workers.Wait()
	return done, max(twice, c.query(one, sharedKeys))
}

// sharedKeys counts the values that several rows have.
const sharedKeys = "SELECT count(*) FROM (SELECT k FROM t GROUP BY k HAVING count(*) > 1) x"

// moveKeys is a transaction that swaps the values of two rows, or tries for new ones.
func moveKeys(ctx context.Context, conn *pgx.Conn, r *rand.Rand) error {
	a, b := 1+r.IntN(8), 1+r.IntN(8)
	list := []string{"BEGIN"}
	if r.IntN(2) == 0 {
		list = append(list, fmt.Sprintf("UPDATE t SET k = (SELECT sum(k) FROM t WHERE id IN (%d, %d)) - k WHERE id IN (%[1]d, %[2]d)", a, b))
	} else {
		list = append(list, fmt.Sprintf("UPDATE t SET k = %d WHERE id = %d", 1+r.IntN(16), a), fmt.Sprintf("UPDATE t SET k = %d WHERE id = %d", 1+r.IntN(16), b))
	}
	if r.IntN(3) > 0 { // verified long before the end
		list = append(list, "SET CONSTRAINTS ALL IMMEDIATE")
	}
	list = append(list, fmt.Sprintf("SELECT pg_sleep(0.0%02d)", r.IntN(30)), "COMMIT")
	for _, sql := range list {
		if _, err := conn.Exec(ctx, sql); err != nil {
			_, _ = conn.Exec(ctx, "ROLLBACK")
			return err
		}
	}
	return nil
}

// expected reports whether an error is that of a lost contest.
func expected(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.Contains("23505 40001 40P01", e.Code)
}
