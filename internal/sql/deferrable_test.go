package sql_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var levels = []string{"serializable", "repeatable read", "read committed"}

// No two rows keep the same key, whatever is inserted, deleted, moved and swapped at the
// same time under constraints that are checked late.
func TestDeferrableUnderConcurrency(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) { churnKeys(t, level) })
	}
}

const duplicates = `SELECT (SELECT count(*) - count(DISTINCT id) FROM t) + (SELECT count(*) - count(DISTINCT k) FROM t) +
	(SELECT count(*) - count(DISTINCT x) FROM t WHERE x > 0)`

func churnKeys(t *testing.T, level string) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	mustExec(t, setup, `CREATE TABLE t (id INT PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, k INT NOT NULL UNIQUE DEFERRABLE,
		x INT NOT NULL, v INT, EXCLUDE USING btree (x WITH =) WHERE (x > 0) DEFERRABLE INITIALLY DEFERRED)`)
	const workers, each, keys = 6, 60, 6
	done := make([]int, workers)
	atOnce(t, n, level, workers, func(w int, s *sql.Session) {
		r := rand.New(rand.NewPCG(uint64(w), 11))
		for range each {
			done[w] += moveKeys(t, s, r, keys)
		}
	})
	if got := value(t, setup, duplicates); got != "0" {
		t.Errorf("%s rows have the key of another", got)
	}
	for w, d := range done {
		if d == 0 {
			t.Errorf("worker %d never committed", w)
		}
	}
}

// moveKeys runs one to three statements in a transaction and reports whether it
// committed; violations and serialization failures are fine.
func moveKeys(t *testing.T, s *sql.Session, r *rand.Rand, keys int) (committed int) {
	k := func() int { return r.IntN(keys) }
	if err := exec1(s, "BEGIN"); err != nil {
		t.Error(err)
	}
	if r.IntN(3) == 0 {
		allowed(t, exec1(s, "SET CONSTRAINTS ALL DEFERRED"))
	}
	for range 1 + r.IntN(3) {
		allowed(t, exec1(s, []string{
			fmt.Sprintf("INSERT INTO t VALUES (%d, %d, %d, 0)", k(), k(), k()-2),
			fmt.Sprintf("DELETE FROM t WHERE id = %d", k()),
			fmt.Sprintf("DELETE FROM t WHERE k = %d", k()),
			fmt.Sprintf("UPDATE t SET k = (k + 1) %% %d", keys),
			fmt.Sprintf("UPDATE t SET id = %d WHERE id = %d", k(), k()),
			fmt.Sprintf("UPDATE t SET x = -x WHERE k = %d", k()),
			fmt.Sprintf("UPDATE t SET v = v + 1 WHERE k = %d", k()),
		}[r.IntN(7)]))
	}
	err := exec1(s, "COMMIT")
	switch allowed(t, err); {
	case err == nil:
		if got := value(t, s, duplicates); got != "0" {
			t.Errorf("%s rows have the key of another", got)
		}
		return 1
	case s.Status() != 'I':
		t.Error("a transaction outlived its COMMIT")
	}
	return 0
}

// Who meets a key that another transaction has, or gives up, waits at the check for what
// becomes of it: with an immediate constraint at the end of the statement, with a deferred
// one at the commit.
func TestDeferrableWaits(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			for _, c := range []struct {
				name, first, second string // in two transactions
				end                 string // of the first one
				deferred            bool   // the second checks at its commit
				want                pgerr.Code
			}{
				{"both insert", "INSERT INTO t VALUES (2, 20)", "INSERT INTO t VALUES (3, 20)", "COMMIT", false, pgerr.UniqueViolation},
				{"the first takes it back", "INSERT INTO t VALUES (2, 20)", "INSERT INTO t VALUES (3, 20)", "ROLLBACK", false, ""},
				{"the row goes", "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (3, 10)", "COMMIT", false, ""},
				{"the row stays", "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (3, 10)", "ROLLBACK", false, pgerr.UniqueViolation},
				{"the key moves", "UPDATE t SET k = 11 WHERE id = 1", "INSERT INTO t VALUES (3, 10)", "COMMIT", false, ""},
				{"deferred, both insert", "INSERT INTO t VALUES (2, 20)", "INSERT INTO t VALUES (3, 20)", "COMMIT", true, pgerr.UniqueViolation},
				{"deferred, the row goes", "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (3, 10)", "COMMIT", true, ""},
				{"deferred, the key moves back", "UPDATE t SET k = 11 WHERE id = 1", "INSERT INTO t VALUES (3, 10)", "ROLLBACK", true, pgerr.UniqueViolation},
			} {
				t.Run(c.name, func(t *testing.T) {
					n := newNode(t, fs.NewMem())
					t.Cleanup(func() { closeNode(t, n) })
					admin, a, b := named(t, n, "admin"), named(t, n, "a"), named(t, n, "b")
					mustExec(t, admin, "CREATE TABLE t (id INT PRIMARY KEY, k INT UNIQUE DEFERRABLE)")
					mustExec(t, admin, "INSERT INTO t VALUES (1, 10)")
					mustExec(t, a, "BEGIN ISOLATION LEVEL "+level)
					mustExec(t, a, c.first)
					mustExec(t, b, "BEGIN ISOLATION LEVEL "+level)
					last := c.second
					if c.deferred {
						mustExec(t, b, "SET CONSTRAINTS ALL DEFERRED")
						mustExec(t, b, c.second) // does not wait
						last = "COMMIT"
					}
					done := run(b, last)
					waiting(t, admin, "b")
					mustExec(t, a, c.end)
					err := <-done
					if c.want == "" {
						if err != nil {
							t.Fatal(err)
						}
					} else if pgerr.CodeOf(err) != c.want {
						t.Fatalf("%v (%s)", err, pgerr.CodeOf(err))
					}
					if !c.deferred {
						_ = exec1(b, "COMMIT")
					}
					if got := value(t, admin, "SELECT count(*) - count(DISTINCT k) FROM t"); got != "0" {
						t.Errorf("%s rows have the key of another", got)
					}
				})
			}
		})
	}
}
