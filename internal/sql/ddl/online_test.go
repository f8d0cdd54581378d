package ddl_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// manyRows is more than an index build writes in the statement's transaction.
const manyRows = 12000

// filled returns a node with a table of many rows.
func filled(t testing.TB) (*cluster, *session) {
	c := newCluster(t, fs.NewMem())
	s := c.session()
	s.must("create table t (a int primary key, b int, c text, family (a), family (b, c))")
	for i := range 4 {
		lo, hi := strconv.Itoa(i*manyRows/4+1), strconv.Itoa((i+1)*manyRows/4)
		s.must("insert into t select i, i * 3, 'x' || i from generate_series(" + lo + ", " + hi + ") i")
	}
	return c, s
}

// differs returns in how many rows an index of the column b, or of b and c, differs from the table.
func differs(s *session, index, where string) string {
	table, entries := "(select a, b from t@t_pkey "+where+")", "(select a, b from t@"+index+" "+where+")"
	return s.must("select count(*) from ((" + table + " except all " + entries + ") union all (" + entries + " except all " + table + ")) d")
}

// An index that is built while rows come, change and go has exactly those that are there in the end.
func TestOnlineIndex(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range 3 {
		ws, rng := c.session(), rand.New(rand.NewPCG(1, uint64(w)))
		writers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				a := 1 + rng.IntN(manyRows)
				switch rng.IntN(4) {
				case 0: // keys that change rows: each writer has its own
					ws.exec(fmt.Sprintf("delete from t where a = %d; insert into t values (%d, %d, 'new')", a, a, 3*(manyRows+n)+w))
				case 1:
					ws.exec(fmt.Sprintf("insert into t values (%d, %d, 'more')", manyRows*(w+2)+n, 1_000_000+3*n+w))
				case 2:
					ws.exec(fmt.Sprintf("update t set c = c || 'y', b = b where a = %d", a))
				default:
					ws.exec(fmt.Sprintf("begin; update t set b = %d where a = %d; delete from t where a = %d; commit", 2_000_000+3*n+w, a, 1+rng.IntN(manyRows)))
				}
			}
		})
	}
	for round := range 3 {
		for _, x := range []struct{ create, name, where string }{
			{"create index plain on t (b)", "plain", "where b > -1"},
			{"create unique index single on t (b) include (c)", "single", "where b > -1"},
			{"create index part on t (b) where c like '%y'", "part", "where c like '%y'"},
			{"create index computed on t ((b + 1), b)", "computed", "where b + 1 > -1"},
		} {
			s.must(x.create)
			if got := differs(s, x.name, x.where); got != "0\n" {
				t.Errorf("round %d: %s: %s differences", round, x.create, got)
			}
			s.must("drop index " + x.name)
		}
	}
	stop.Store(true)
	writers.Wait()
}

// beside runs a statement in another session until that waits for those who use the table.
func (c *cluster) beside(statement string) (result chan string) {
	result = make(chan string, 1)
	b := c.session()
	go func() { result <- b.exec(statement) }()
	c.awaitWaits(1)
	return result
}

// onlineIndex returns in how many rows an index differs whose build found the table in use, first by a transaction that
// has changed it, then by others that come later.
func onlineIndex(t *testing.T) string {
	c, s := filled(t)
	defer c.close()
	a := c.session()
	a.must("begin; insert into t values (0, -3, 'first'); update t set b = -6 where a = 7; delete from t where a = 8")
	done := c.beside("create index tb on t (b)")
	s.must("insert into t values (-1, -9, 'second'); update t set b = -12 where a = 9") // it does not wait for a
	a.must("commit")
	if got := <-done; got != "CREATE INDEX\n" {
		t.Fatal(got)
	}
	return differs(s, "tb", "where b > -100")
}

func TestOnlineIndexLetsOthersPass(t *testing.T) {
	if got := onlineIndex(t); got != "0\n" {
		t.Errorf("%s differences", got)
	}
}

// A duplicate that comes during the build is found, and what was built is cleared.
func TestOnlineIndexDuplicate(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	a := c.session()
	a.must("begin; insert into t values (0, 33, 'twice')")
	done := c.beside("create unique index tb on t (b)")
	a.must("commit")
	if got := <-done; !strings.Contains(got, "23505") || !strings.Contains(got, "Key (b)=(33) is duplicated.") {
		t.Error(got)
	}
	if c.cat.PendingCleanups() == 0 {
		t.Error("nothing is left to clear")
	}
	a.must("delete from t where a = 0; begin; insert into t values (0, -3, 'one'), (-1, -3, 'another')") // both at once
	done = c.beside("create unique index tb on t (b)")
	a.must("commit")
	if got := <-done; !strings.Contains(got, "Key (b)=(-3) is duplicated.") {
		t.Error(got)
	}
	a.must("delete from t where a < 1; begin; insert into t values (0, 36, 'moved'); delete from t where a = 12")
	done = c.beside("create unique index tb on t (b)")
	a.must("commit")
	if got := <-done; got != "CREATE INDEX\n" {
		t.Error(got)
	}
	if got := differs(s, "tb", "where b > -100"); got != "0\n" {
		t.Errorf("%s differences", got)
	}
}

// Changes of one table queue: those that wait keep nobody from its rows, and none is a deadlock.
func TestChangesQueue(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	a := c.session()
	a.must("begin; insert into t values (0, 33, 'twice')")
	first := c.beside("create index tb on t (b)")
	second, third := make(chan string, 1), make(chan string, 1)
	x, y := c.session(), c.session()
	go func() { second <- x.exec("create index tc on t (c)") }()
	go func() { third <- y.exec("alter table t add column d int") }()
	s.must("insert into t values (-1, 34, 'passes')")
	a.must("commit")
	for _, r := range []chan string{first, second, third} {
		if got := <-r; strings.Contains(got, "ERROR") {
			t.Error(got)
		}
	}
	if got := differs(s, "tb", "where b > -100"); got != "0\n" {
		t.Errorf("%s differences", got)
	}
}

// lock_timeout bounds how long the build waits for those who use the table.
func TestOnlineIndexLockTimeout(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	a, b := c.session(), c.session()
	a.must("begin; insert into t values (0, 33, 'twice')")
	b.lockTO = 1
	if got := b.exec("create index tb on t (b)"); !strings.Contains(got, "55P03") {
		t.Error(got)
	}
	s.must("insert into t values (-1, 34, 'passes')")
	a.must("commit")
}
