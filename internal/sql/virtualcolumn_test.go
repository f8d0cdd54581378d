package sql_test

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestVirtualColumnIsNotStored checks that a virtual column costs its table nothing, as one
// that is stored does, and that conditions on it use its indexes.
func TestVirtualColumnIsNotStored(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (id INT PRIMARY KEY, a INT, j JSONB); INSERT INTO t SELECT i, i, '{}' FROM generate_series(1, 100) i")
	mustExec(t, s, "ALTER TABLE t ADD COLUMN v INT AS (a * 3) VIRTUAL, ADD COLUMN w JSONB AS (j -> 'w') VIRTUAL")
	// Nothing computes the column before it is read.
	const divide = "ALTER TABLE t ADD COLUMN d INT AS (1 / (a - 50)) "
	if err := exec1(s, divide+"STORED"); pgerr.CodeOf(err) != pgerr.DivisionByZero {
		t.Errorf("adding a column that cannot be computed: %v", err)
	}
	mustExec(t, s, divide+"VIRTUAL; UPDATE t SET a = 50 WHERE id = 51; DELETE FROM t WHERE id = 51")
	if err := exec1(s, "SELECT d FROM t"); pgerr.CodeOf(err) != pgerr.DivisionByZero {
		t.Errorf("reading it: %v", err)
	}
	mustExec(t, s, "CREATE INDEX vi ON t (v); CREATE INVERTED INDEX wi ON t (w)")
	for sql, index := range map[string]string{
		"SELECT id FROM t WHERE v = 30": "vi", `SELECT id FROM t WHERE w @> '{"a": 1}'`: "wi", "UPDATE t SET a = 0 WHERE v = 30": "vi",
	} {
		if got := answer(t, s, "EXPLAIN "+sql); !strings.Contains(got, "using "+index) {
			t.Errorf("%s: %s", sql, got)
		}
	}
}
