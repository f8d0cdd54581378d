package sql_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestFamiliesConcurrently has transactions of all levels change different families of the
// same rows: no update is lost, and what they compute from another family is the newest.
func TestFamiliesConcurrently(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	mustExec(t, setup, "CREATE TABLE c (k INT PRIMARY KEY, a INT, b INT, c INT, seen INT, FAMILY (k), FAMILY (a), FAMILY (b), FAMILY (c), FAMILY (seen))")
	mustExec(t, setup, "INSERT INTO c VALUES (1, 0, 0, NULL, 0), (2, 0, 0, NULL, 0)")
	statements := []string{
		"UPDATE c SET a = a + 1, seen = b WHERE k = %d",
		"UPDATE c SET b = b + 1, seen = a WHERE k = %d AND seen >= 0",
		"UPDATE c SET c = CASE WHEN c IS NULL THEN a + b END WHERE k = %d",
		"UPDATE c SET a = c.a + v.x FROM (VALUES (%d, 1)) v(k, x) WHERE c.k = v.k",
		"INSERT INTO c VALUES (%d, 0, 0, 0, 0) ON CONFLICT (k) DO UPDATE SET b = c.b + 1",
		"WITH w AS (SELECT k, b FROM c WHERE k = %d FOR UPDATE) UPDATE c SET b = w.b + 1 FROM w WHERE c.k = w.k",
	}
	var wg sync.WaitGroup
	levels := []string{"serializable", "repeatable read", "read committed"}
	const each = 20
	for w := range len(levels) * len(statements) {
		wg.Go(func() {
			level := levels[w/len(statements)]
			s := n.session(t)
			defer s.Close()
			if err := exec1(s, fmt.Sprintf("SET default_transaction_isolation = '%s'", level)); err != nil {
				t.Error(err)
			}
			for i := range each {
				text := fmt.Sprintf(statements[w%len(statements)], 1+i%2)
				if err := exec1(s, text); err != nil {
					t.Errorf("%s: %s: %v (%s)", level, text, err, pgerr.CodeOf(err))
				}
			}
		})
	}
	wg.Wait()
	// At each level two of the statements add to a and three to b.
	if got, want := value(t, setup, "SELECT sum(a), sum(b) FROM c"), fmt.Sprint(2*3*each, "  ", 3*3*each); got != want {
		t.Errorf("sums %s, want %s", got, want)
	}
}

// crashingDisk keeps copies of a disk as power losses would leave it, one at every
// stride-th operation.
type crashingDisk struct {
	mem    *fs.MemFS
	stride int64
	done   atomic.Int64 // statements that are through

	mu     sync.Mutex
	ops    int64
	copies []*fs.MemFS
	least  []int64 // statements that each copy must have
}

func (c *crashingDisk) hook(op *fs.Op) error {
	// What is not synced yet, or is about to be, is what a loss takes.
	if op.Kind != fs.OpSync {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ops++; c.ops%c.stride == 0 {
		c.least = append(c.least, c.done.Load())
		c.copies = append(c.copies, fs.CrashClone(c.mem, int(50*(c.ops/c.stride%3)), uint64(c.ops)))
	}
	return nil
}

// TestFamiliesPowerLoss: of a statement that changes several families of a row, and of one
// that deletes it, nothing or everything is there after a power loss.
func TestFamiliesPowerLoss(t *testing.T) {
	c := &crashingDisk{mem: fs.NewCrashableMem(), stride: 15}
	n := openNode(t, fs.WithHooks(c.mem, c.hook), nodeOptions{ranges: newFakeRanges()})
	s := n.session(t)
	mustExec(t, s, "CREATE TABLE p (k INT PRIMARY KEY, a INT, b INT, c TEXT, FAMILY (k), FAMILY (a), FAMILY (b), FAMILY (c))")
	const rows = 60
	for i := range int64(rows) {
		mustExec(t, s, fmt.Sprintf("INSERT INTO p VALUES (%d, 0, 0, 'x')", i))
		mustExec(t, s, fmt.Sprintf("UPDATE p SET a = a + 1, b = b + 1, c = NULL WHERE k = %d", i))
		if i%3 == 0 {
			mustExec(t, s, fmt.Sprintf("DELETE FROM p WHERE k = %d", i))
		}
		c.done.Store(i + 1)
	}
	s.Close()
	closeNode(t, n)
	if len(c.copies) < 5 {
		t.Fatalf("only %d power losses", len(c.copies))
	}
	for i, disk := range c.copies {
		if c.least[i] > 0 {
			verifyFamilies(t, disk, c.least[i])
		}
	}
}

func verifyFamilies(t *testing.T, disk fs.FS, least int64) {
	t.Helper()
	n := openNode(t, disk, nodeOptions{ranges: newFakeRanges()})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	torn := "SELECT count(*) FROM p WHERE a IS DISTINCT FROM b OR (a = 1) <> (c IS NULL) OR a IS NULL"
	if got := value(t, s, torn); got != "0" {
		t.Errorf("%s rows are torn", got)
	}
	there := fmt.Sprintf("SELECT count(*) FILTER (WHERE a = 1), count(*) FILTER (WHERE k %% 3 = 0) FROM p WHERE k < %d", least)
	if got, want := value(t, s, there), fmt.Sprint(least-(least+2)/3, "  ", 0); got != want {
		t.Errorf("of the first %d rows there are %s, want %s", least, got, want)
	}
}
