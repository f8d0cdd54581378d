package sql_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func exec1(s *sql.Session, text string) error {
	return s.Query(context.Background(), text, logictest.NewRows(s))
}

func mustExec(t *testing.T, s *sql.Session, text string) {
	t.Helper()
	if err := exec1(s, text); err != nil {
		t.Fatalf("%s: %v (%s)", text, err, pgerr.CodeOf(err))
	}
}

func value(t *testing.T, s *sql.Session, text string) string {
	t.Helper()
	r := logictest.NewRows(s)
	if err := s.Query(context.Background(), text, r); err != nil {
		t.Fatal(err)
	}
	return r.Lines[0]
}

// atOnce runs work for several workers at once, each in a session of an isolation level.
func atOnce(t *testing.T, n *node, level string, workers int, work func(worker int, s *sql.Session)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := n.session(t)
			defer s.Close()
			if err := exec1(s, fmt.Sprintf("SET default_transaction_isolation = '%s'", level)); err != nil {
				t.Error(err)
			}
			work(w, s)
		})
	}
	wg.Wait()
}

// answer returns the rows of a text, a line each.
func answer(t *testing.T, s *sql.Session, text string) string {
	t.Helper()
	r := logictest.NewRows(s)
	if err := s.Query(context.Background(), text, r); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return strings.Join(r.Lines, "\n")
}

func closeNode(t *testing.T, n *node) {
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// An autocommit statement never surfaces a serialization failure, at any level.
func TestAutocommitIncrements(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	mustExec(t, setup, "CREATE TABLE c (k INT PRIMARY KEY, n INT)")
	mustExec(t, setup, "INSERT INTO c VALUES (1, 0)")
	const workers, each = 12, 40
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := n.session(t)
			defer s.Close()
			level := []string{"serializable", "repeatable read", "read committed"}[w%3]
			if err := exec1(s, fmt.Sprintf("SET default_transaction_isolation = '%s'", level)); err != nil {
				t.Error(err)
			}
			for range each {
				if err := exec1(s, "UPDATE c SET n = n + 1 WHERE k = 1"); err != nil {
					t.Errorf("%s: %v (%s)", level, err, pgerr.CodeOf(err))
				}
			}
		})
	}
	wg.Wait()
	if got := value(t, setup, "SELECT n FROM c"); got != fmt.Sprint(workers*each) {
		t.Errorf("counted %s, want %d", got, workers*each)
	}
}

// Transfers between accounts keep the total, at every level and with readers.
func TestBank(t *testing.T) {
	for _, level := range []string{"SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"} {
		t.Run(level, func(t *testing.T) { bank(t, level) })
	}
}

func bank(t *testing.T, level string) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	const accounts, workers, each = 8, 8, 30
	mustExec(t, setup, "CREATE TABLE a (k INT PRIMARY KEY, v INT)")
	mustExec(t, setup, fmt.Sprintf("INSERT INTO a SELECT g, 100 FROM generate_series(1, %d) AS g", accounts))
	transfer := func(s *sql.Session, from, to int) error {
		err := exec1(s, "BEGIN ISOLATION LEVEL "+level)
		for _, q := range []string{
			fmt.Sprintf("UPDATE a SET v = v - 1 WHERE k = %d", from),
			fmt.Sprintf("UPDATE a SET v = v + 1 WHERE k = %d", to), "COMMIT",
		} {
			if err == nil {
				err = exec1(s, q)
			}
		}
		if err != nil {
			_ = exec1(s, "ROLLBACK")
		}
		return err
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := n.session(t)
			defer s.Close()
			for i := range each {
				from, to := (w+i)%accounts+1, (w*3+i*5+1)%accounts+1
				err := transfer(s, from, to)
				for retry(err) {
					err = transfer(s, from, to)
				}
				if err != nil {
					t.Errorf("transfer: %v (%s)", err, pgerr.CodeOf(err))
				}
				r := logictest.NewRows(s)
				if err := s.Query(context.Background(), "SELECT sum(v) FROM a", r); err != nil {
					t.Errorf("audit: %v", err)
				} else if r.Lines[0] != fmt.Sprint(accounts*100) {
					t.Errorf("the total is %s, want %d", r.Lines[0], accounts*100)
				}
			}
		})
	}
	wg.Wait()
}

func retry(err error) bool {
	c := pgerr.CodeOf(err)
	return c == pgerr.SerializationFailure || c == pgerr.DeadlockDetected
}

// A deadlock ends with 40P01 for one of the two, and the other goes on.
func TestDeadlock(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	a, b := n.session(t), n.session(t)
	defer a.Close()
	defer b.Close()
	mustExec(t, a, "CREATE TABLE d (k INT PRIMARY KEY, v INT)")
	mustExec(t, a, "INSERT INTO d VALUES (1, 0), (2, 0)")
	mustExec(t, a, "BEGIN")
	mustExec(t, b, "BEGIN")
	mustExec(t, a, "UPDATE d SET v = 1 WHERE k = 1")
	mustExec(t, b, "UPDATE d SET v = 2 WHERE k = 2")
	errs := make(chan error, 2)
	finish := func(s *sql.Session, text string) {
		err := exec1(s, text)
		if err == nil {
			err = exec1(s, "COMMIT")
		} else {
			_ = exec1(s, "ROLLBACK")
		}
		errs <- err
	}
	go finish(a, "UPDATE d SET v = 1 WHERE k = 2")
	go finish(b, "UPDATE d SET v = 2 WHERE k = 1")
	one, two := <-errs, <-errs
	if (one == nil) == (two == nil) {
		t.Fatalf("one of two must fail: %v, %v", one, two)
	}
	if one == nil {
		one = two
	}
	if pgerr.CodeOf(one) != pgerr.DeadlockDetected {
		t.Errorf("%v (%s)", one, pgerr.CodeOf(one))
	}
}

// A block that has failed holds nobody up until its client ends it, unless it has a
// savepoint to go on from; what it was told of its transaction stays for AND CHAIN.
func TestFailedBlockReleasesLocks(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	a, b := n.session(t), n.session(t)
	defer a.Close()
	defer b.Close()
	mustExec(t, a, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	mustExec(t, a, "INSERT INTO t VALUES (1, 0)")
	mustExec(t, b, "SET lock_timeout = '1min'")
	fail := func(savepoint string) {
		t.Helper()
		mustExec(t, a, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		if savepoint != "" {
			mustExec(t, a, savepoint)
		}
		mustExec(t, a, "UPDATE t SET v = v + 100 WHERE k = 1")
		if err := exec1(a, "SELECT 1/0"); pgerr.CodeOf(err) != pgerr.DivisionByZero {
			t.Fatal(err)
		}
		if a.Status() != 'E' {
			t.Fatalf("status %c", a.Status())
		}
	}
	fail("")
	mustExec(t, b, "UPDATE t SET v = v + 1 WHERE k = 1")
	if err := exec1(a, "SELECT 1"); pgerr.CodeOf(err) != pgerr.InFailedSQLTransaction {
		t.Error(err)
	}
	mustExec(t, a, "ROLLBACK AND CHAIN")
	r := logictest.NewRows(a)
	if err := a.Query(context.Background(), "SHOW transaction_isolation", r); err != nil || strings.Join(r.Lines, "") != "repeatable read" {
		t.Errorf("after ROLLBACK AND CHAIN: %v %q", err, r.Lines)
	}
	mustExec(t, a, "COMMIT")
	fail("SAVEPOINT s")
	mustExec(t, b, "SET lock_timeout = '1ms'")
	if err := exec1(b, "UPDATE t SET v = v + 1 WHERE k = 1"); pgerr.CodeOf(err) != pgerr.LockNotAvailable {
		t.Errorf("a row that a savepoint may give back: %v", err)
	}
	mustExec(t, a, "ROLLBACK TO s")
	mustExec(t, a, "UPDATE t SET v = v + 10 WHERE k = 1")
	mustExec(t, a, "COMMIT")
	fail("")
	mustExec(t, a, "COMMIT") // rolls back
	r = logictest.NewRows(a)
	if err := a.Query(context.Background(), "SELECT v FROM t", r); err != nil || strings.Join(r.Lines, "") != "11" {
		t.Errorf("%v %q", err, r.Lines)
	}
}
