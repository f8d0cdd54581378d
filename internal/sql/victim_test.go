package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// A statement that is a transaction by itself and dies in a deadlock begins again; one in a
// transaction block, or whose session holds advisory locks, ends with 40P01.
func TestVictimBeginsAgain(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin, older, younger := named(t, n, "admin"), named(t, n, "older"), named(t, n, "younger")
	mustExec(t, admin, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	mustExec(t, admin, "INSERT INTO t VALUES (1, 0), (2, 0)")
	for _, c := range []struct {
		name, before, after string
		again               bool
	}{
		{name: "by itself", again: true},
		{name: "advisory lock", before: "SELECT pg_advisory_lock(7)", after: "SELECT pg_advisory_unlock_all()"},
		{name: "transaction block", before: "BEGIN", after: "ROLLBACK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustExec(t, admin, "UPDATE t SET v = 0")
			mustExec(t, older, "BEGIN")
			mustExec(t, older, "UPDATE t SET v = v + 1 WHERE k = 2")
			if c.before != "" {
				mustExec(t, younger, c.before)
			}
			// It has the first row and waits for the second one.
			victim := run(younger, "UPDATE t SET v = v + 10 WHERE k IN (1, 2)")
			waiting(t, admin, "younger")
			survivor, want := run(older, "UPDATE t SET v = v + 1 WHERE k = 1; COMMIT"), "22"
			err := <-victim
			if c.again && err != nil {
				t.Errorf("the victim: %v (%s)", err, pgerr.CodeOf(err))
			}
			if !c.again {
				want = "2"
				if pgerr.CodeOf(err) != pgerr.DeadlockDetected {
					t.Errorf("the victim: %v (%s), want %s", err, pgerr.CodeOf(err), pgerr.DeadlockDetected)
				}
				mustExec(t, younger, c.after)
			}
			if err := <-survivor; err != nil {
				t.Errorf("the other: %v (%s)", err, pgerr.CodeOf(err))
			}
			if got := value(t, admin, "SELECT sum(v) FROM t"); got != want {
				t.Errorf("the sum is %s, want %s", got, want)
			}
		})
	}
}
