package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestExportSnapshot reads in one transaction what another sees, whatever was
// committed and dropped since.
func TestExportSnapshot(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	writer, exporter, importer := n.session(t), n.session(t), n.session(t)
	for _, s := range []interface{ Close() }{writer, exporter, importer} {
		t.Cleanup(s.Close)
	}
	mustExec(t, writer, "CREATE TABLE t (a INT)")
	mustExec(t, writer, "INSERT INTO t VALUES (1)")
	mustExec(t, exporter, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	name := value(t, exporter, "SELECT pg_export_snapshot()")
	mustExec(t, writer, "INSERT INTO t VALUES (2)")
	mustExec(t, importer, "BEGIN")
	mustExec(t, importer, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
	mustExec(t, importer, "SET TRANSACTION SNAPSHOT '"+name+"'")
	mustExec(t, importer, "LOCK TABLE t IN ACCESS SHARE MODE NOWAIT")
	mustExec(t, writer, "ALTER TABLE t ADD COLUMN b INT DEFAULT 5")
	if got := value(t, importer, "SELECT count(*) || '' FROM t"); got != "1" {
		t.Errorf("the importer sees %s rows", got)
	}
	if got := value(t, importer, "SELECT t::text FROM t"); got != "(1)" {
		t.Errorf("the importer sees the row %s", got)
	}
	mustExec(t, importer, "COMMIT")
	mustExec(t, exporter, "COMMIT")
}
