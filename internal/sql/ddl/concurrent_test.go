package ddl_test

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// awaitWaits waits until n transactions wait for a lock.
func (c *cluster) awaitWaits(n int) {
	for c.store.Waits().Len() < n {
		runtime.Gosched()
	}
}

// awaitWaitOf waits until a transaction waits for a lock, and fails the test if the statement that is to wait has ended.
func (c *cluster) awaitWaitOf(result chan string) {
	c.t.Helper()
	for c.store.Waits().Len() < 1 {
		if runtime.Gosched(); len(result) > 0 {
			c.t.Fatalf("the statement did not wait: %s", <-result)
		}
	}
}

// Two sessions create the same table: the second waits for the first.
func TestSameNameTwice(t *testing.T) {
	for _, commit := range []bool{true, false} {
		c := newCluster(t, fs.NewMem())
		a, b := c.session(), c.session()
		a.must("begin; create table t (a int)")
		done := make(chan string)
		go func() { done <- b.exec("create table t (b int)") }()
		c.awaitWaits(1)
		want := "CREATE TABLE"
		if commit {
			a.must("commit")
			want = "ERROR 42P07"
		} else {
			a.must("rollback")
		}
		if got := <-done; !strings.HasPrefix(got, want) {
			t.Errorf("commit %v: %s", commit, got)
		}
		c.close()
	}
}

// An index that is built while a writer is active holds the writer's rows.
func TestIndexSeesConcurrentRows(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	defer c.close()
	a, b := c.session(), c.session()
	a.must("create table t (a int primary key, b int); insert into t values (1, 10)")
	a.must("begin; insert into t values (2, 20)")
	done := make(chan string)
	go func() { done <- b.exec("create index tb on t (b)") }()
	c.awaitWaits(1)
	a.must("commit")
	if got := <-done; got != "CREATE INDEX\n" {
		t.Fatal(got)
	}
	if got := a.must("select b from t@tb where b > 0"); got != "10\n20\n" {
		t.Errorf("the index has %q", got)
	}
}

// Rows inserted while DDL runs appear in the new index too: writers wait.
func TestWritersDuringDDL(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	defer c.close()
	s := c.session()
	s.must("create table t (a serial primary key, b int)")
	var wg sync.WaitGroup
	for range 3 {
		w := c.session()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 40 {
				w.must("insert into t (b) values (1)")
			}
		}()
	}
	for _, ddl := range []string{
		"create index tb on t (b)", "alter table t add column c int default 5", "drop index tb", "create index tb on t (b) include (c)",
	} {
		s.must(ddl)
	}
	wg.Wait()
	for _, q := range []string{"select count(*) from t", "select count(*) from t@tb where b = 1", "select count(c) from t"} {
		if got := s.must(q); got != "120\n" {
			t.Errorf("%s: %s", q, got)
		}
	}
}

// A long build writes outside the transaction: duplicates are found across
// pages, a failure or rollback leaves spans to clear, and the transaction
// itself sees the new index.
func TestLongBuild(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	defer c.close()
	s := c.session()
	s.must("create table t (a int, b int)")
	const rows = 20000
	for i := range 4 {
		lo, hi := strconv.Itoa(i*rows/4+1), strconv.Itoa((i+1)*rows/4)
		s.must("insert into t select i, (i * 7919) % 20011 from generate_series(" + lo + ", " + hi + ") i")
	}
	s.must("begin; alter table t add primary key (a); create unique index tb on t (b)")
	if got := s.must("select a from t where a = 12345; select count(*) from t@tb where b > 0"); got != "12345\n20000\n" {
		t.Errorf("within the transaction: %q", got)
	}
	s.must("rollback")
	if c.cat.PendingCleanups() == 0 {
		t.Error("nothing is left to clear after the rollback")
	}
	s.must("insert into t values (20000, 0)") // a duplicate of the last row
	if got := s.exec("alter table t add primary key (a)"); !strings.Contains(got, "23505") || !strings.Contains(got, "Key (a)=(20000) is duplicated.") {
		t.Errorf("a duplicate passes: %s", got)
	}
	s.must("delete from t where b = 0; alter table t add primary key (a); create unique index tb on t (b)")
	if got := s.must("select count(*) from t; select a from t where a = 777; select count(*) from t@tb where b > 0"); got != "20000\n777\n20000\n" {
		t.Errorf("after the build: %q", got)
	}
}

// DDL that is rolled back leaves nothing: not after a restart either.
func TestRolledBackDDLAfterRestart(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	s := c.session()
	s.must("create table t (a int primary key, b text); insert into t values (1, 'x')")
	s.must("begin; alter table t add column c int default 1; create index on t (b); drop table t; create table t (z int)")
	c.close() // with the transaction open
	c = newCluster(t, c.disk)
	defer c.close()
	s = c.session()
	if got := s.must("select * from t"); got != "1|x\n" {
		t.Errorf("got %q", got)
	}
	s.must("create index on t (b); insert into t values (2, 'y')")
}
