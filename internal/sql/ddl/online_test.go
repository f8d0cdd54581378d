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

// parents returns a node with a table of many rows that refer to another one.
func parents(t testing.TB) (*cluster, *session) {
	c, s := filled(t)
	s.must("create table p (k int primary key, u int unique); insert into p select i, -i from generate_series(1, 100) i")
	s.must("alter table t add column r int; update t set r = 1 + a % 100 where a <= 3000")
	return c, s
}

// besideUser changes rows that a constraint is about while a statement waits for the table, in ways that obey the constraint, or
// that violate it, and returns what the statement says.
func besideUser(t *testing.T, statement, change, pass string) (*cluster, *session, string) {
	t.Helper()
	c, s := parents(t)
	a := c.session()
	a.must("begin; insert into t (a, b, c, r) values (0, -3, 'first', 7)")
	done := c.beside(statement)
	s.must(pass) // it does not wait for a
	a.must(change + "; commit")
	return c, s, <-done
}

// Constraints come while others use the table: rows that these write are verified, whenever they do.
func TestOnlineConstraints(t *testing.T) {
	for _, x := range []struct {
		statement, change, pass, want, after, refused string
	}{
		{"alter table t add check (b <> 34)", "update t set b = 35 where a = 5", "update t set b = 36 where a = 6", "ALTER TABLE\n",
			"insert into t values (-1, 34)", "23514"},
		{"alter table t add check (b <> 34)", "update t set b = 34 where a = 5", "update t set b = 36 where a = 6", "23514", "", ""},
		{"alter table t alter c set not null", "update t set c = 'z' where a = 5", "insert into t values (-5, 1, 'x')", "ALTER TABLE\n",
			"insert into t values (-1, 34, null)", "23502"},
		{"alter table t alter c set not null", "update t set c = null where a = 5", "insert into t values (-5, 1, 'x')", "23502", "", ""},
		{"alter table t add unique (b)", "update t set b = b + 1 where a between 1 and 8", "insert into t values (-5, 1, 'x')", "ALTER TABLE\n",
			"insert into t values (-1, 60)", "23505"},
		{"alter table t add unique (b)", "update t set b = b + 3 where a = 9", "insert into t values (-5, 1, 'x')", "23505", "", ""},
		{"alter table t add foreign key (r) references p", "insert into p values (200, 200); update t set r = 200 where a = 7",
			"update t set r = null where a = 8", "ALTER TABLE\n", "update t set r = 999 where a = 5000", "23503"},
		{"alter table t add foreign key (r) references p", "delete from p where k = 5", "update t set r = null where a = 8", "23503", "", ""},
		{"alter table t add foreign key (r) references p", "update t set r = 6 where r = 5; delete from p where k = 5",
			"select count(*) from t where a = 1", "ALTER TABLE\n", "delete from p where k = 6", "23503"},
		{"alter table t add foreign key (r) references p", "update t set r = 101 where a = 5", "update t set r = null where a = 8", "23503", "", ""},
		{"alter table t add foreign key (r) references p (k) , add check (a > -100), alter b set not null",
			"update t set b = 7 where a = 5", "update t set r = null where a = 8", "ALTER TABLE\n", "update t set r = 999 where a = 5000", "23503"},
	} {
		c, s, got := besideUser(t, x.statement, x.change, x.pass)
		if !strings.Contains(got, x.want) {
			t.Errorf("%s beside %s: %s", x.statement, x.change, got)
		}
		if x.after != "" {
			if got := s.exec(x.after); !strings.Contains(got, x.refused) {
				t.Errorf("%s after %s: %s", x.after, x.statement, got)
			}
		}
		if x.after == "" {
			if got := s.must("select count(*) from pg_constraint where conrelid = 't'::regclass and contype <> 'p'"); got != "0\n" {
				t.Errorf("%s failed, and left %s constraints", x.statement, got)
			}
		}
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("after %s:\n%s", x.statement, got)
		}
		c.close()
	}
}

// VALIDATE looks at one snapshot: what is written since obeys the constraint.
func TestOnlineValidate(t *testing.T) {
	c, s := parents(t)
	defer c.close()
	s.must("alter table t add constraint positive check (b > -100) not valid; alter table t add constraint refers foreign key (r) references p not valid")
	for _, name := range []string{"positive", "refers"} {
		a := c.session()
		a.must("begin; update t set b = b + 1, r = 9 where a = 3")
		done := c.beside("alter table t validate constraint " + name)
		s.must("update t set b = b + 1, r = 10 where a = 4")
		a.must("commit")
		if got := <-done; got != "ALTER TABLE\n" {
			t.Error(name, got)
		}
		if got := s.must("select convalidated from pg_constraint where conname = '" + name + "'"); got != "t\n" {
			t.Error(name, got)
		}
	}
}

// The rows of a table get another form while others come, change and go.
func TestOnlineRewrite(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	s.must("create index tb on t (b); create unique index tu on t (a, b)")
	stop, done := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	var rows atomic.Int64
	rows.Store(manyRows)
	for w := range 2 {
		ws, rng := c.session(), rand.New(rand.NewPCG(3, uint64(w)))
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a := 1 + rng.IntN(manyRows)
				switch rng.IntN(3) {
				case 0:
					if got := ws.exec(fmt.Sprintf("insert into t (a, b, c) values (%d, %d, 'more')", manyRows*(w+2)+n, n)); !strings.Contains(got, "ERROR") {
						rows.Add(1)
					} else if !strings.Contains(got, "40001") && !strings.Contains(got, "40P01") {
						t.Error(got)
					}
				case 1:
					ws.exec(fmt.Sprintf("update t set b = %d, c = 'x' || %d where a = %d", n, n, a))
				default:
					ws.exec(fmt.Sprintf("begin; update t set a = -a where a = %d; commit", a))
				}
			}
		})
	}
	go func() { defer close(done); writers.Wait() }()
	for _, change := range []string{
		"alter table t alter b type text", "alter table t alter b type bigint using b::bigint", "alter table t add v float default random()",
		"alter table t add d bigint generated always as (b * 2) stored", "alter table t alter primary key using columns (a, c)",
		"alter table t alter primary key using columns (a)", "alter table t drop constraint t_pkey, drop column d, add primary key (a, b)",
		"alter table t drop constraint t_pkey, alter b type int using b - 0, add primary key (a)", "alter table t add s serial", "alter table t alter b type int using b + 1 - 1",
	} {
		if strings.Contains(change, " b type") {
			s.exec("alter table t drop column d")
		}
		s.must(change)
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Fatalf("after %s:\n%s", change, got)
		}
	}
	close(stop)
	<-done
	if got := s.must("select count(*), count(v), count(distinct s) = count(*) from t"); got != fmt.Sprintf("%d|%d|t\n", rows.Load(), rows.Load()) {
		t.Errorf("%d rows: %s", rows.Load(), got)
	}
	if got := s.must("select count(*) from t@tb where b > -1000000"); got != fmt.Sprintf("%d\n", rows.Load()) {
		t.Errorf("%d rows, in the index %s", rows.Load(), got)
	}
}

// Rows that are alike but for their ids are duplicates under a primary key, whichever form saw them first.
func TestOnlinePrimaryKeyOfEqualRows(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	defer c.close()
	s := c.session()
	s.must("create table t (a int, b int)")
	s.must(fmt.Sprintf("insert into t select i, i from generate_series(1, %d) i", manyRows))
	a := c.session()
	a.must("begin; insert into t values (-1, 5), (-1, 5)")
	done := c.beside("alter table t add primary key (a)")
	a.must("commit")
	if got := <-done; !strings.Contains(got, "Key (a)=(-1) is duplicated.") {
		t.Error(got)
	}
	a.must("delete from t where a = -1; begin; insert into t values (3, 3)")
	done = c.beside("alter table t add primary key (a)")
	a.must("commit")
	if got := <-done; !strings.Contains(got, "Key (a)=(3) is duplicated.") {
		t.Error(got)
	}
}

// A change that waits for a transaction lets others use the table meanwhile, whatever it changes.
func TestWaitingChangeLetsOthersPass(t *testing.T) {
	c, s := filled(t)
	defer c.close()
	for _, change := range []string{
		"alter table t add column d int", "alter table t drop column d", "alter table t rename c to cc", "truncate t", "drop table t",
	} {
		a := c.session()
		a.must("begin; select count(*) from t where a = 1")
		done := c.beside(change)
		s.must("insert into t (a, b) values (0, 1); delete from t where a = 0")
		a.must("commit")
		if got := <-done; strings.Contains(got, "ERROR") {
			t.Errorf("%s: %s", change, got)
		}
	}
}

// Who drops a foreign key waits for users of the table that it refers to, and keeps nobody from the one that has it meanwhile.
func TestDropKeyLetsOthersPass(t *testing.T) {
	c, s := parents(t)
	defer c.close()
	s.must("alter table t add constraint fk foreign key (r) references p")
	a := c.session()
	a.must("begin; select count(*) from p where k = 1")
	done := c.beside("alter table t drop constraint fk")
	s.must("insert into t (a, b, r) values (0, 1, 2); update p set u = u - 1000 where k = 3")
	a.must("commit")
	if got := <-done; got != "ALTER TABLE\n" {
		t.Error(got)
	}
	s.must("insert into t (a, b, r) values (-1, 1, 999); delete from p where k = 2")
}

// A change for which the disk has no room fails, leaves the table as it was, and succeeds once there is room.
func TestOnlineDiskFull(t *testing.T) {
	quota := fs.NewQuota(1 << 40)
	c := newCluster(t, fs.WithHooks(fs.NewMem(), quota.Hook))
	defer c.close()
	s := c.session()
	s.must("create table t (a int primary key, b int, c text)")
	for i := range 3 {
		s.must(fmt.Sprintf("insert into t select i, i * 3, repeat('x', 1000) from generate_series(%d, %d) i", i*4000+1, (i+1)*4000))
	}
	for _, change := range []string{"alter table t alter b type text", "alter table t add unique (c, a)"} {
		if err := c.store.Engine().CompactAll(t.Context()); err != nil { // see TestDiskFull in kv
			t.Fatal(err)
		}
		quota.Set(0)
		if got := s.exec(change); !strings.Contains(got, "out of disk space") {
			t.Errorf("%s: %s", change, got)
		}
		if got := s.must("select count(*), sum(b::int) from t"); got != "12000|216018000\n" {
			t.Errorf("after %s: %s", change, got)
		}
		quota.Set(1 << 40)
		for err := c.store.Engine().Flush(); err != nil; err = c.store.Engine().Flush() {
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
		s.must(change)
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("after %s:\n%s", change, got)
		}
		if got := s.must("select count(*), sum(b::int) from t"); got != "12000|216018000\n" {
			t.Errorf("after %s: %s", change, got)
		}
	}
}

// plain returns a node with a table of many rows without families, whose rows can get ids.
func plain(t testing.TB) (*cluster, *session) {
	c := newCluster(t, fs.NewMem())
	s := c.session()
	s.must("create table t (a int, b int, c text, d int default 4, n serial, k int default 5, primary key (a, k))")
	s.must(fmt.Sprintf("insert into t select i, i * 3, 'x' || i from generate_series(1, %d) i", manyRows))
	return c, s
}

// What writes all rows does so before it locks the table, whatever it changes, and once for all that a statement changes.
func TestRewritesShareFirst(t *testing.T) {
	for _, x := range []struct {
		change string
		filled int
		ids    bool
	}{
		{"alter table t drop constraint t_pkey", 1, true},
		{"alter table t add unique (b) deferrable", 1, false},
		{"alter table t alter b type text, add column r float default random(), add unique (c, a)", 1, false},
		{"alter table t add column r float default random(), add column g int generated always as (b + 1) stored, add check (b > -100)", 1, false},
		{"alter table t alter b type bigint using b + 0, add s serial, alter c set not null", 1, false},
		{"alter table t drop column d, alter b type text", 1, false},
		{"alter table t drop column n, alter b type text, alter c drop not null, alter c set default 'z'", 1, false},
		{"alter table t drop column d, add column r float default random(), add unique (c, a)", 1, false},
		{"alter table t drop constraint t_pkey, add primary key (a, b)", 1, false},
		{"alter table t drop constraint t_pkey, alter b type text", 1, true},
		{"alter table t drop constraint t_pkey, drop column d, alter b type bigint using a + b - a, add primary key (a, c)", 1, false},
		{"alter table t drop constraint t_pkey, add column v int default 7, add primary key (a, v)", 1, false},
		{"alter table t drop column k, alter b type text", 1, true},
		{"alter table t drop column k, add column r float default random(), add check (b > -100)", 1, true},
		{"alter table t drop constraint t_pkey, alter k type text, alter b type text", 1, true},
		{"alter table t drop column k, add column r float default random(), add unique (c, n)", 1, true},
		{"alter table t alter primary key using columns (a, c), drop column d, add column g int generated always as (b + 1) stored", 1, false},
	} {
		c, s := plain(t)
		a, b := c.session(), c.session()
		a.must("begin; insert into t (a, b, c) values (0, -3, 'first'); update t set b = -6, c = 'y' where a = 7; delete from t where a = 8; update t set a = -9 where a = 9")
		a.must("update t set c = c || 'z' where a between 1000 and 1900") // more than are followed at once
		result := make(chan string, 1)
		go func() { result <- b.exec(x.change) }()
		c.awaitWaitOf(result)
		if spans, err := c.cat.Cleanups(t.Context()); err != nil || len(spans) == 0 {
			t.Errorf("%s has written nothing before it waits", x.change)
		}
		s.must("insert into t (a, b, c) values (-1, -12, 'second'); update t set b = -15 where a = 10; delete from t where a = 11")
		a.must("commit")
		if got := <-result; got != "ALTER TABLE\n" {
			t.Errorf("%s: %s", x.change, got)
		}
		if b.filled != x.filled {
			t.Errorf("%s: rows were written %d times", x.change, b.filled)
		}
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("after %s:\n%s", x.change, got)
		}
		want := fmt.Sprintf("%d|%d\n", manyRows, manyRows*(manyRows+1)/2-8-9-9-11-1)
		if got := s.must("select count(*), sum(a) from t"); got != want {
			t.Errorf("after %s: %s, not %s", x.change, got, want)
		}
		if got := s.must("select count(*) from t where a = 7 and b::int = -6 or a = 10 and b::int = -15 or a = 12 and b::int = 36"); got != "3\n" {
			t.Errorf("after %s: %s of the changed rows", x.change, got)
		}
		if x.ids {
			s.must("insert into t (a, b, c) select a, b, c from t where a < 10")
			if got := s.must("select count(distinct rowid) = count(*) from t"); got != "t\n" {
				t.Error("row ids are not unique")
			}
		}
		c.close()
	}
}

// What comes to use a column, or the sequence that goes with it, while rows are written keeps the column from being dropped.
func TestOnlineDropColumn(t *testing.T) {
	c, s := plain(t)
	defer c.close()
	for _, x := range []struct{ meanwhile, change, want, look, sees string }{
		{"create view v as select a, d from t", "drop column d", "ERROR 2BP01: cannot drop column d of table t", "select count(*) from v where d = 4", "12000\n"},
		{"create table o (x int default nextval('t_n_seq'::regclass))", "drop column n", "ERROR 2BP01", "select count(*) from t where n > 0", "12000\n"},
		{"create policy p on o using (exists (select from t where d = 1))", "drop column d", "ERROR 2BP01", "select count(*) from t where d = 4", "12000\n"},
		{"create view w as select p, r from t x (p, q, r, s, n, u)", "drop column k", "ALTER TABLE", "select * from w where p = 12", "12|x12\n"},
	} {
		a, b := c.session(), c.session()
		s.exec("drop view v")
		s.exec("drop policy p on o")
		a.must("begin; insert into t (a, b, c) values (0, -3, 'first')")
		result := make(chan string, 1)
		go func() { result <- b.exec("alter table t " + x.change + ", alter b type text") }()
		c.awaitWaitOf(result)
		s.must(x.meanwhile)
		a.must("rollback")
		if got := <-result; !strings.Contains(got, x.want) {
			t.Errorf("%s beside %s: %s", x.change, x.meanwhile, got)
		}
		if got := s.must(x.look); got != x.sees {
			t.Errorf("%s beside %s: %s returns %s", x.change, x.meanwhile, x.look, got)
		}
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("%s beside %s:\n%s", x.change, x.meanwhile, got)
		}
	}
}

// A duplicate in a deferrable key that comes during the build is found; rows may swap their keys.
func TestOnlineDeferrable(t *testing.T) {
	for _, x := range []struct{ change, want string }{
		{"update t set b = 33 where a = 5", "23505"},
		{"insert into t values (-1, -3, 'one'), (-2, -3, 'another')", "23505"},
		{"update t set b = -1 where a = 5; update t set b = 15 where a = 6", "ALTER TABLE"},
		{"delete from t where a = 5; insert into t values (-5, 15, 'back'), (-6, null, 'x'), (-7, null, 'x')", "ALTER TABLE"},
	} {
		c, s := plain(t)
		a := c.session()
		a.must("begin; " + x.change)
		done := c.beside("alter table t add constraint k unique (b) deferrable")
		a.must("commit")
		if got := <-done; !strings.Contains(got, x.want) {
			t.Errorf("beside %s: %s", x.change, got)
		}
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("beside %s:\n%s", x.change, got)
		}
		c.close()
	}
}
