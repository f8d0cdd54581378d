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
