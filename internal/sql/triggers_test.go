package sql_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// noteTrigger makes a table whose changes a trigger after each row notes.
const noteTrigger = `
CREATE TABLE log (n SERIAL, what TEXT);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log (what) VALUES (TG_OP); RETURN NULL; END';
CREATE TABLE t (a INT PRIMARY KEY, b INT);
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note()`

// Each way to write rows that is faster than row by row fires the triggers of every row.
func TestTriggersOnFastPaths(t *testing.T) {
	for _, c := range []struct {
		name, setup, text, want string
	}{
		{"point insert", "", "INSERT INTO t VALUES (1, 1)", "INSERT"},
		{"point update", "INSERT INTO t VALUES (1, 1)", "UPDATE t SET b = 2 WHERE a = 1", "UPDATE"},
		{"update that changes nothing", "INSERT INTO t VALUES (1, 1)", "UPDATE t SET b = 1 WHERE a = 1", "UPDATE"},
		{"point delete", "INSERT INTO t VALUES (1, 1)", "DELETE FROM t WHERE a = 1", "DELETE"},
		{"delete of all", "INSERT INTO t VALUES (1, 1), (2, 2)", "DELETE FROM t", "DELETE\nDELETE"},
		{"upsert of a new row", "", "UPSERT INTO t VALUES (1, 1)", "INSERT"},
		{"upsert of a row that is there", "INSERT INTO t VALUES (1, 1)", "UPSERT INTO t VALUES (1, 2)", "UPDATE"},
		{"rows locked ahead", "INSERT INTO t SELECT i, i FROM generate_series(1, 3) i", "UPDATE t SET b = 0 FROM generate_series(1, 3) g WHERE g = a", "UPDATE\nUPDATE\nUPDATE"},
		{"new rows locked ahead", "", "INSERT INTO t SELECT i, i FROM generate_series(1, 4) i", "INSERT\nINSERT\nINSERT\nINSERT"},
		{"referential action", "CREATE TABLE p (a INT PRIMARY KEY); INSERT INTO p VALUES (1); ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES p ON DELETE SET NULL; INSERT INTO t VALUES (1, 1)", "DELETE FROM p", "UPDATE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, fs.NewMem())
			defer closeNode(t, n)
			s := n.session(t)
			defer s.Close()
			mustExec(t, s, noteTrigger)
			if c.setup != "" {
				mustExec(t, s, c.setup)
			}
			mustExec(t, s, "DELETE FROM log")
			mustExec(t, s, c.text)
			if got := answer(t, s, "SELECT what FROM log ORDER BY n"); got != c.want {
				t.Errorf("%s: fired %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// A table with triggers is not loaded: neither by INSERT, as a transaction by itself or into a table that was emptied in it,
// nor anew once the trigger is there.
func TestTriggersWithManyRows(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, noteTrigger)
	blocks := duringLoad(n, nil)
	mustExec(t, s, loadStatement)
	mustExec(t, s, "BEGIN; TRUNCATE t")
	mustExec(t, s, loadStatement)
	mustExec(t, s, "COMMIT")
	if got := value(t, s, "SELECT count(*) FROM log"); got != "40000" || blocks() != 0 {
		t.Errorf("%s rows noted, %d blocks loaded", got, blocks())
	}
	mustExec(t, s, "DROP TRIGGER note ON t; TRUNCATE t")
	mustExec(t, s, loadStatement)
	if blocks() == 0 {
		t.Error("nothing was loaded into a table without triggers")
	}
}

// A table whose triggers do nothing but compute is loaded, with the rows that they return; what a row that is a duplicate, or that a
// trigger refuses, has to say comes first.
func TestComputingTriggersWithManyRows(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, `
CREATE TABLE t (a INT PRIMARY KEY, b INT);
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.a % 2 = 0 THEN RETURN NULL; ELSIF NEW.b < 0 THEN RAISE EXCEPTION 'refused %', NEW.a; END IF;
  NEW.b := NEW.b + 1;
  RETURN NEW;
END $$;
CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`)
	blocks := duringLoad(n, nil)
	mustExec(t, s, "INSERT INTO t SELECT g, g FROM generate_series(1, 40000) g")
	if got := value(t, s, "SELECT count(*) || ' ' || sum(b - a) FROM t"); got != "20000 20000" || blocks() == 0 {
		t.Errorf("rows %s, %d blocks loaded", got, blocks())
	}
	for _, c := range []struct{ text, want string }{
		{"INSERT INTO t SELECT CASE g WHEN 65001 THEN 1 ELSE g END, CASE g WHEN 75001 THEN -1 ELSE g END FROM generate_series(40001, 80001) g", "23505"},
		{"INSERT INTO t SELECT CASE g WHEN 75001 THEN 1 ELSE g END, CASE g WHEN 65001 THEN -1 ELSE g END FROM generate_series(40001, 80001) g", "P0001"},
	} {
		if err := exec1(s, c.text); string(pgerr.CodeOf(err)) != c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// A statement that begins anew, because a row changed while it waited for it, leaves no trace of its first attempt: neither
// rows that its triggers have written, nor their notices.
func TestTriggersOfRetriedStatement(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s, other := n.session(t), n.session(t)
	defer s.Close()
	defer other.Close()
	mustExec(t, s, `
CREATE TABLE log (what TEXT);
CREATE TABLE t (a INT PRIMARY KEY, b INT);
INSERT INTO t VALUES (1, 0), (2, 0);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN RAISE NOTICE ''% %'', OLD.a, OLD.b; INSERT INTO log VALUES (NEW::text); NEW.b := NEW.b + 100; RETURN NEW; END';
CREATE TRIGGER note BEFORE UPDATE ON t FOR EACH ROW WHEN (NEW.b < 50) EXECUTE FUNCTION note()`)
	mustExec(t, other, "BEGIN; UPDATE t SET b = 60 WHERE a = 2; UPDATE t SET b = 5 WHERE a = 2")
	mustExec(t, s, "DELETE FROM log")
	r, done := logictest.NewRows(s), make(chan error, 1)
	go func() {
		done <- s.Query(context.Background(), "UPDATE t SET b = t.b + 1 FROM generate_series(1, 2) g WHERE g = a", r)
	}()
	for n.store.Waits().Len() == 0 && len(done) == 0 {
		runtime.Gosched()
	}
	mustExec(t, other, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// The other transaction's trigger has made 105 of 5, so that the condition no longer holds for the second row.
	if got := answer(t, s, "SELECT b FROM t ORDER BY a"); got != "101\n106" {
		t.Errorf("stored %q", got)
	}
	if got := answer(t, s, "SELECT * FROM log WHERE what LIKE '(1,%'"); got != "(1,1)" {
		t.Errorf("noted %q", got)
	}
	if fmt.Sprint(r.Notices) != "[NOTICE: 1 0]" {
		t.Errorf("notices %q", r.Notices)
	}
}

// A statement is cancelled within its triggers, those that loop and those that fire themselves.
func TestTriggersCancelled(t *testing.T) {
	for name, body := range map[string]string{
		"loop":      "BEGIN LOOP END LOOP; END",
		"recursion": "BEGIN IF pg_trigger_depth() > 50 THEN RETURN NEW; END IF; LOOP INSERT INTO t VALUES (NEW.a); END LOOP; END",
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, fs.NewMem())
			defer closeNode(t, n)
			s := n.session(t)
			defer s.Close()
			mustExec(t, s, "CREATE TABLE t (a INT); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS '"+body+"'; "+
				"CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
			mustExec(t, s, "SET statement_timeout = '20ms'")
			if err := exec1(s, "INSERT INTO t VALUES (1)"); pgerr.CodeOf(err) != pgerr.QueryCanceled {
				t.Errorf("got %v", err)
			}
			mustExec(t, s, "SET statement_timeout = 0")
			if got := value(t, s, "SELECT count(*) FROM t"); got != "0" {
				t.Errorf("%s rows are left", got)
			}
		})
	}
}

// Triggers that fire themselves without end are stopped at the limit of calls.
func TestTriggersRecurse(t *testing.T) {
	for _, timing := range []string{"BEFORE", "AFTER"} {
		n := newNode(t, fs.NewMem())
		s := n.session(t)
		mustExec(t, s, "CREATE TABLE t (a INT); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (NEW.a + 1); RETURN NEW; END'; "+
			"CREATE TRIGGER f "+timing+" INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
		if err := exec1(s, "INSERT INTO t VALUES (1)"); pgerr.CodeOf(err) != pgerr.StatementTooComplex {
			t.Errorf("%s: got %v", timing, err)
		}
		if got := value(t, s, "SELECT count(*) FROM t"); got != "0" {
			t.Errorf("%s: %s rows are left", timing, got)
		}
		s.Close()
		closeNode(t, n)
	}
}
