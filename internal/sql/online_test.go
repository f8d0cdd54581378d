package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// What comes to depend on a column while its type changes keeps that from happening, as what was there before does.
func TestOnlineDependents(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	admin, user, changer := named(t, n, "admin"), named(t, n, "user"), named(t, n, "changer")
	mustExec(t, admin, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	mustExec(t, admin, "CREATE TABLE o (x INT)")
	for _, c := range []struct {
		dependent, undo, change string
		code                    pgerr.Code
	}{
		{"CREATE VIEW v AS SELECT b FROM t", "DROP VIEW v", "ALTER TABLE t ALTER b TYPE TEXT", pgerr.FeatureNotSupported},
		{"CREATE VIEW v AS SELECT a FROM t", "DROP VIEW v", "ALTER TABLE t ALTER b TYPE TEXT", ""},
		{"CREATE POLICY p ON o USING (x IN (SELECT b FROM t))", "DROP POLICY p ON o", "ALTER TABLE t ALTER b TYPE INT USING b + 0", pgerr.FeatureNotSupported},
		{"CREATE TABLE r (x t)", "DROP TABLE r", "ALTER TABLE t ADD s SERIAL", pgerr.FeatureNotSupported},
		{"CREATE VIEW v AS SELECT a, b FROM t GROUP BY a", "DROP VIEW v", "ALTER TABLE t ALTER PRIMARY KEY USING COLUMNS (b)", pgerr.DependentObjectsStillExist},
	} {
		mustExec(t, admin, "ALTER TABLE t ALTER b TYPE INT USING a")
		mustExec(t, admin, "TRUNCATE t")
		mustExec(t, admin, "INSERT INTO t SELECT i, i FROM generate_series(1, 9000) i")
		mustExec(t, user, "BEGIN")
		mustExec(t, user, "UPDATE t SET b = -1 WHERE a = 1")
		changed := run(changer, c.change)
		waiting(t, admin, "changer")
		mustExec(t, admin, c.dependent)
		mustExec(t, user, "COMMIT")
		if err := <-changed; pgerr.CodeOf(err) != c.code {
			t.Errorf("%s beside %s: %v", c.change, c.dependent, err)
		}
		mustExec(t, admin, c.undo)
	}
}
