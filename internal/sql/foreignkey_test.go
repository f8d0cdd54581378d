package sql_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Rows never refer to nothing, whatever is inserted, deleted and changed at the same
// time on both sides of a foreign key, with and without an index on it.
func TestForeignKeysUnderConcurrency(t *testing.T) {
	for _, level := range []string{"serializable", "repeatable read", "read committed"} {
		t.Run(level, func(t *testing.T) { churn(t, level) })
	}
}

const orphans = `SELECT (SELECT count(*) FROM c WHERE pid NOT IN (SELECT id FROM p)) +
	(SELECT count(*) FROM d WHERE pid NOT IN (SELECT id FROM p)) +
	(SELECT count(*) FROM u WHERE pu NOT IN (SELECT u FROM p))`

func churn(t *testing.T, level string) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	for _, q := range []string{
		"CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, n INT)",
		"CREATE TABLE c (id INT PRIMARY KEY, pid INT REFERENCES p, INDEX (pid))",
		"CREATE TABLE d (id INT PRIMARY KEY, pid INT REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE)",
		"CREATE TABLE u (id INT PRIMARY KEY, pu INT REFERENCES p (u) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, INDEX (pu))",
	} {
		mustExec(t, setup, q)
	}
	const workers, each, keys = 6, 60, 6
	atOnce(t, n, level, workers, func(w int, s *sql.Session) {
		r := rand.New(rand.NewPCG(uint64(w), 7))
		for i := range each {
			step(t, s, r, w*each+i, keys)
		}
	})
	if got := value(t, setup, orphans); got != "0" {
		t.Errorf("%s rows refer to nothing", got)
	}
}

// step runs one statement, or a few in a transaction; violations and serialization
// failures are fine.
func step(t *testing.T, s *sql.Session, r *rand.Rand, id, keys int) {
	k := r.IntN(keys)
	stmts := []string{
		fmt.Sprintf("INSERT INTO p VALUES (%d, %d, 0) ON CONFLICT DO NOTHING", k, k+100),
		fmt.Sprintf("DELETE FROM p WHERE id = %d", k),
		fmt.Sprintf("INSERT INTO c VALUES (%d, %d)", id, k),
		fmt.Sprintf("INSERT INTO d VALUES (%d, %d)", id, k),
		fmt.Sprintf("INSERT INTO u VALUES (%d, %d)", id, k+100),
		fmt.Sprintf("DELETE FROM c WHERE pid = %d", k),
		fmt.Sprintf("UPDATE p SET id = %d WHERE id = %d", r.IntN(keys), k),
		fmt.Sprintf("UPDATE p SET n = n + 1 WHERE id = %d", k),
		fmt.Sprintf("UPDATE c SET pid = %d WHERE pid = %d", r.IntN(keys), k),
		fmt.Sprintf("UPDATE d SET id = -id WHERE pid = %d", k),
	}
	if r.IntN(3) == 0 {
		if err := exec1(s, "BEGIN"); err != nil {
			t.Error(err)
		}
		for range 2 {
			allowed(t, exec1(s, stmts[r.IntN(len(stmts))]))
		}
		allowed(t, exec1(s, "COMMIT"))
		return
	}
	allowed(t, exec1(s, stmts[r.IntN(len(stmts))]))
}

func allowed(t *testing.T, err error) {
	if err == nil {
		return
	}
	switch pgerr.CodeOf(err) {
	case pgerr.ForeignKeyViolation, pgerr.UniqueViolation, "23P01", "40001", "40P01", "25P02":
	default:
		t.Errorf("%v (%s)", err, pgerr.CodeOf(err))
	}
}

// A row that refers to a key is found by who deletes or changes the key, though another
// transaction moves it to another primary key meanwhile.
func TestReferringRowMoves(t *testing.T) {
	for _, c := range []struct {
		action, second string
		want           pgerr.Code
		rows           string // that are left: their key, and what they refer to
	}{
		{"", "DELETE FROM p", pgerr.ForeignKeyViolation, "3 refers to 1"},
		{"ON DELETE RESTRICT", "DELETE FROM p", pgerr.ForeignKeyViolation, "3 refers to 1"},
		{"DEFERRABLE INITIALLY DEFERRED", "DELETE FROM p", pgerr.ForeignKeyViolation, "3 refers to 1"},
		{"ON DELETE CASCADE", "DELETE FROM p", "", "none"},
		{"ON DELETE SET NULL", "DELETE FROM p", "", "3 refers to nothing"},
		{"ON UPDATE CASCADE", "UPDATE p SET id = 2", "", "3 refers to 2"},
	} {
		for _, index := range []string{"", ", INDEX (pid)"} {
			t.Run(c.action+index, func(t *testing.T) {
				n := newNode(t, fs.NewMem())
				t.Cleanup(func() { closeNode(t, n) })
				admin, a, b := named(t, n, "admin"), named(t, n, "a"), named(t, n, "b")
				mustExec(t, admin, "CREATE TABLE p (id INT PRIMARY KEY)")
				mustExec(t, admin, "CREATE TABLE c (id INT PRIMARY KEY, pid INT REFERENCES p "+c.action+index+")")
				mustExec(t, admin, "INSERT INTO p VALUES (1)")
				mustExec(t, admin, "INSERT INTO c VALUES (5, 1)")
				mustExec(t, a, "BEGIN")
				mustExec(t, a, "UPDATE c SET id = 3")
				mustExec(t, b, "SET default_transaction_isolation = 'read committed'")
				done := run(b, c.second)
				waiting(t, admin, "b")
				mustExec(t, a, "COMMIT")
				if err := <-done; (err != nil || c.want != "") && pgerr.CodeOf(err) != c.want {
					t.Errorf("%v (%s)", err, pgerr.CodeOf(err))
				}
				rows := "SELECT coalesce(max(id || ' refers to ' || coalesce(pid::text, 'nothing')), 'none') FROM c"
				if got := value(t, admin, rows); got != c.rows {
					t.Errorf("rows: %s", got)
				}
			})
		}
	}
}
