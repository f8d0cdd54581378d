package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// However a statement finds its rows, it asks for their locks many at a time, and for those of the
// rows that it wants only.
func TestLocksAhead(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer n.close()
	s, other := n.session(t), n.session(t)
	defer s.Close()
	defer other.Close()
	mustExec(t, s, "CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, INDEX (k))")
	mustExec(t, s, "INSERT INTO a SELECT i, i % 10, 0 FROM generate_series(1, 1000) i")
	mustExec(t, s, "CREATE TABLE b (id INT PRIMARY KEY, x INT)")
	mustExec(t, s, "INSERT INTO b SELECT i, 1 FROM generate_series(1, 1000, 10) i")
	for _, text := range []string{
		"UPDATE a SET v = v + 1 WHERE id BETWEEN 1 AND 500",
		"UPDATE a SET v = v + 1 WHERE id % 10 = 1",
		"UPDATE a SET v = v + 1 WHERE id = ANY(ARRAY(SELECT i * 10 + 1 FROM generate_series(0, 99) i))",
		"UPDATE a SET v = v + 1 WHERE k = 1",
		"UPDATE a SET v = v + 1 WHERE k = 1 AND v >= 0",
		"UPDATE a SET v = v + x FROM b WHERE a.id = b.id",
		"SELECT * FROM a JOIN b USING (id) FOR UPDATE OF a",
		"SELECT * FROM a WHERE id % 10 = 1 ORDER BY k, id FOR UPDATE",
		"DELETE FROM a WHERE id % 10 = 1 AND v > 1000",
	} {
		mustExec(t, s, "BEGIN")
		mustExec(t, s, "SAVEPOINT x")
		before := n.sender.locks.Load()
		mustExec(t, s, text)
		if got := n.sender.locks.Load() - before; got > 3 {
			t.Errorf("%s: %d requests for one lock", text, got)
		}
		mustExec(t, other, "SELECT * FROM a WHERE id = 1000 FOR UPDATE NOWAIT") // nobody has asked for it
		mustExec(t, s, "COMMIT")
	}
}
