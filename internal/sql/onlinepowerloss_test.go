package sql_test

import (
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// onlineChanges are changes that write all rows of t, each with a query that is true once it was made.
var onlineChanges = []struct{ change, made string }{
	{"CREATE INDEX ti ON t (b)", "SELECT count(*) = 1 FROM pg_indexes WHERE indexname = 'ti'"},
	{"ALTER TABLE t ALTER b TYPE TEXT", "SELECT count(*) = 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'b' AND atttypid = 'text'::regtype"},
	{
		"ALTER TABLE t ALTER c TYPE VARCHAR(20), ADD COLUMN r FLOAT NOT NULL DEFAULT random(), ADD UNIQUE (c)",
		"SELECT count(*) = 1 FROM pg_constraint WHERE conname = 't_c_key'",
	},
	{"ALTER TABLE t ADD CONSTRAINT late UNIQUE (b) DEFERRABLE", "SELECT count(*) = 1 FROM pg_constraint WHERE conname = 'late'"},
	{"ALTER TABLE t ALTER PRIMARY KEY USING COLUMNS (c, a)", "SELECT count(*) <> 1 FROM pg_constraint, unnest(conkey) WHERE conrelid = 't'::regclass AND contype = 'p'"},
	{"ALTER TABLE t DROP CONSTRAINT t_pkey", "SELECT count(*) = 0 FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'"},
}

const powerLossRows = 9000

// TestOnlinePowerLoss: a change that writes all rows is made or not after a power loss at any time, made once it has been
// answered, and the indexes equal their table.
func TestOnlinePowerLoss(t *testing.T) {
	c := &crashingDisk{mem: fs.NewCrashableMem(), stride: 9}
	n := openNode(t, fs.WithHooks(c.mem, c.hook), nodeOptions{ranges: newFakeRanges()})
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c TEXT)")
	mustExec(t, s, fmt.Sprintf("INSERT INTO t SELECT i, i, 'row ' || i FROM generate_series(1, %d) i", powerLossRows))
	const begun = 1 // above all that comes before the first change
	for i, x := range onlineChanges {
		c.done.Store(int64(begun + i))
		mustExec(t, s, x.change)
	}
	c.done.Store(int64(begun + len(onlineChanges)))
	for i := range 12 {
		mustExec(t, s, fmt.Sprintf("UPDATE t SET b = b || 'x' WHERE a = %d", i))
	}
	s.Close()
	closeNode(t, n)
	losses := map[int64]int{}
	for i, disk := range c.copies {
		if c.least[i] >= begun {
			losses[c.least[i]]++
			verifyChanged(t, disk, int(c.least[i]-begun))
		}
	}
	if len(losses) < len(onlineChanges)-1 {
		t.Fatalf("power losses: %v", losses)
	}
}

// verifyChanged checks that of the changes those are made that were answered, at most one more, and that no index differs.
func verifyChanged(t *testing.T, disk fs.FS, answered int) {
	t.Helper()
	n := openNode(t, disk, nodeOptions{ranges: newFakeRanges()})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	made := 0
	for _, x := range onlineChanges {
		if value(t, s, x.made) == "t" {
			made++
		}
	}
	if made < answered || made > answered+1 {
		t.Errorf("%d changes are made, %d were answered", made, answered)
	}
	if got := answer(t, s, "INSPECT TABLE t"); got != "" {
		t.Errorf("after %d changes: %s", made, got)
	}
	if got, want := value(t, s, "SELECT count(*) || ' ' || sum(a) FROM t"), fmt.Sprintf("%d %d", powerLossRows, powerLossRows*(powerLossRows+1)/2); got != want {
		t.Errorf("after %d changes: %s rows", made, got)
	}
}
