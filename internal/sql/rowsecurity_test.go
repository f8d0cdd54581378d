package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestPoliciesOfThePresent: who reads the past sees what policies let it see now, and statistics show no values of rows that
// policies hide.
func TestPoliciesOfThePresent(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin := n.session(t)
	t.Cleanup(admin.Close)
	for _, q := range []string{"CREATE ROLE u LOGIN", "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "GRANT SELECT ON t TO u", "ANALYZE t"} {
		mustExec(t, admin, q)
	}
	user := as(t, n, "u")
	const stats = "SELECT count(*) FROM pg_stats WHERE tablename = 't'"
	if got := answer(t, user, stats); got != "1" {
		t.Errorf("statistics of %s columns before there are policies", got)
	}
	then := answer(t, admin, "SELECT clock_timestamp()")
	past := "SELECT a FROM t AS OF SYSTEM TIME '" + then + "' ORDER BY a"
	if got := answer(t, user, past); got != "1\n2" {
		t.Fatalf("the past before there are policies: %q", got)
	}
	for _, q := range []string{"CREATE POLICY p ON t USING (a = 2)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY"} {
		mustExec(t, admin, q)
	}
	if got := answer(t, user, past); got != "2" {
		t.Errorf("the past with a policy: %q", got)
	}
	if got := answer(t, admin, past); got != "1\n2" {
		t.Errorf("the past for a superuser: %q", got)
	}
	if got := answer(t, user, stats); got != "0" {
		t.Errorf("statistics of %s columns with a policy", got)
	}
	mustExec(t, user, "SET row_security = off")
	if err := exec1(user, past); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Errorf("with row_security off: %v", err)
	}
}

// TestKeysAreHidden: keys of rows are values, which locks and INSPECT show only to who may read the whole table.
func TestKeysAreHidden(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin := n.session(t)
	t.Cleanup(admin.Close)
	for _, q := range []string{"CREATE ROLE u LOGIN", "CREATE TABLE t (a TEXT PRIMARY KEY, b INT UNIQUE)", "INSERT INTO t VALUES ('Kugelblitz', 1)"} {
		mustExec(t, admin, q)
	}
	user := as(t, n, "u")
	mustExec(t, admin, "BEGIN")
	mustExec(t, admin, "UPDATE t SET b = 2")
	const locks = "SELECT count(*) > 0, count(*) FILTER (WHERE lock_key_pretty LIKE '%Kugelblitz%') > 0, count(*) FILTER (WHERE length(lock_key) > 0) > 0 FROM lichen_internal.cluster_locks WHERE table_name = 't'"
	if got := answer(t, user, locks); got != "t  f  f" {
		t.Errorf("locks without privileges: %s", got)
	}
	if err := exec1(user, "INSPECT TABLE t"); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Errorf("INSPECT without privileges: %v", err)
	}
	mustExec(t, admin, "COMMIT")
	mustExec(t, admin, "GRANT SELECT ON t TO u")
	mustExec(t, admin, "BEGIN")
	mustExec(t, admin, "UPDATE t SET b = 3")
	if got := answer(t, user, locks); got != "t  t  t" {
		t.Errorf("locks with SELECT: %s", got)
	}
	mustExec(t, admin, "COMMIT")
	if err := exec1(user, "INSPECT TABLE t"); err != nil {
		t.Errorf("INSPECT with SELECT: %v", err)
	}
	mustExec(t, admin, "ALTER TABLE t ENABLE ROW LEVEL SECURITY")
	if err := exec1(user, "INSPECT TABLE t"); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Errorf("INSPECT with policies: %v", err)
	}
}
