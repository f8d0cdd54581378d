//go:build plants

package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/plant"
)

// policed makes a table of which joe sees the row 1 only.
const policed = "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); CREATE POLICY p ON t USING (a + 0 + 0 = 1); " +
	"ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE ROLE joe; GRANT ALL ON t TO joe; "

// logged makes a table that a trigger's function writes to.
const logged = "CREATE TABLE log (n SERIAL, w TEXT); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log (w) VALUES (TG_OP); RETURN NEW; END'; "

// TestPlantsAnswers plants the bugs that statements have to be written for, and requires that the
// answer of each shows it.
func TestPlantsAnswers(t *testing.T) {
	for _, c := range []struct {
		plant              plant.Name
		setup, query, want string
	}{
		{plant.RoundForgotten, "", "WITH RECURSIVE r AS (SELECT 1 a UNION ALL (WITH w AS (SELECT a FROM r WHERE a < 4) SELECT (SELECT a FROM w) + 1 FROM w)) SELECT sum(a) FROM (SELECT a FROM r LIMIT 4) s", "10"},
		{plant.KeysMerged, "", "SELECT count(*) FROM (SELECT i, i FROM generate_series(1, 2) i GROUP BY ROLLUP (1, 2)) s(a, b) WHERE b IS NULL", "3"},
		{plant.RowOfNulls, "", "SELECT count(s), count(*) FROM (VALUES (1), (2)) v(x) LEFT JOIN (SELECT 1 AS x) s USING (x)", "1  2"},
		{plant.VolatileEarly, "CREATE SEQUENCE q", "SELECT nextval('q'), i FROM generate_series(1, 9) i ORDER BY i DESC LIMIT 1", "1  9"},
		{plant.RowPerField, "CREATE SEQUENCE q; CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 1)", "UPDATE t SET (a, b) = (SELECT n, n FROM (SELECT nextval('q') n WHERE a > 0) s) RETURNING a - b", "0"},
		{plant.TypesInTurn, "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2); ALTER TABLE t ALTER a TYPE INT USING b, ALTER b TYPE INT USING a", "SELECT * FROM t", "2  1"},
		{plant.ImpliedUnchecked, "CREATE TABLE a (x INT); CREATE TABLE b (x INT); CREATE TABLE c (x INT); INSERT INTO a VALUES (1), (2), (3); INSERT INTO b VALUES (2), (3), (4); INSERT INTO c VALUES (3), (4), (5)", "SELECT a.x, b.x, c.x FROM a, b, c WHERE a.x = b.x AND b.x = c.x", "3  3  3"},
		{plant.UnmatchedByAny, "CREATE TABLE l (id INT); CREATE TABLE r (id INT, x INT); INSERT INTO l VALUES (1), (2); INSERT INTO r VALUES (1, NULL)", "SELECT l.id FROM l LEFT JOIN r ON r.id = l.id WHERE r.x IS NULL AND l.id < 2", "1"},
		{plant.RunsUnmerged, "SET work_mem = '64kB'", "SELECT count(*) FROM (SELECT a, lag(a) OVER (ORDER BY a) p FROM (SELECT g * 7919 % 10007 a FROM generate_series(1, 10006) g) s) t WHERE a <> p + 1", "0"},
		{plant.PartitionLost, "SET work_mem = '64kB'", "SELECT count(*), sum(n) FROM (SELECT g % 5003, count(*) n FROM generate_series(1, 10006) g GROUP BY 1) s", "5003  10006"},
		{plant.MatchForgotten, "SET work_mem = '64kB'", "SELECT count(*) FROM generate_series(1, 3) a WHERE EXISTS (SELECT FROM generate_series(1, 10000) b WHERE b % 1 + 1 = a)", "1"},
		{plant.BarrierPassed, policed + "CREATE FUNCTION saw(int) RETURNS bool LANGUAGE plpgsql COST 0.001 AS $$ BEGIN IF $1 > 1 THEN RAISE EXCEPTION 'saw %', $1; END IF; RETURN true; END $$; CREATE FUNCTION sees() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM t WHERE saw(a)); EXCEPTION WHEN raise_exception THEN RETURN SQLERRM; END $$; SET ROLE joe", "SELECT sees()", "1"},
		{plant.PolicyUnchecked, policed + "SET ROLE joe; DO $$ BEGIN INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 5; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; RESET ROLE", "SELECT count(*) FROM t WHERE a = 5", "0"},
		{plant.PolicyUnchecked, policed + "SET ROLE joe; DO $$ BEGIN INSERT INTO t SELECT g FROM generate_series(10, 20000) g; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; RESET ROLE", "SELECT count(*) FROM t", "2"},
		{plant.TriggersLoaded, logged + "CREATE TABLE t (a INT PRIMARY KEY); CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()", "TRUNCATE t; INSERT INTO t SELECT generate_series(1, 20); SELECT count(*) FROM log", "20"},
		{plant.TriggersEarly, "CREATE TABLE t (a INT PRIMARY KEY, b INT); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := (SELECT count(*) FROM t); RETURN NEW; END'; CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()", "INSERT INTO t SELECT generate_series(1, 20); SELECT max(b) FROM t", "19"},
		{plant.TriggersBlind, logged + "CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 1); CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note()", "UPSERT INTO t VALUES (1, 2); SELECT w FROM log", "UPDATE"},
		{plant.TriggerKeysUnwatched, "CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE t (a INT PRIMARY KEY REFERENCES p ON UPDATE CASCADE, b INT); INSERT INTO p VALUES (1); INSERT INTO t VALUES (1, 1); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.a := 7; RETURN NEW; EXCEPTION WHEN others THEN RETURN NULL; END'; CREATE TRIGGER f BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f(); CREATE FUNCTION try() RETURNS text LANGUAGE plpgsql AS 'BEGIN UPDATE t SET b = 2; RETURN ''stored''; EXCEPTION WHEN foreign_key_violation THEN RETURN ''refused''; END'", "SELECT try()", "refused"},
		{plant.TriggerChangesLost, "CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t SELECT i, 0 FROM generate_series(1, 3000) i; CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.a = 1 THEN UPDATE t SET b = 1 WHERE a = 2500; END IF; RETURN NEW; END'; CREATE TRIGGER f BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f(); CREATE FUNCTION try() RETURNS text LANGUAGE plpgsql AS 'BEGIN UPDATE t SET b = 2; RETURN ''stored''; EXCEPTION WHEN triggered_data_change_violation THEN RETURN ''refused''; END'", "SELECT try()", "refused"},
		{plant.TriggersForgotten, logged + "CREATE TABLE t (a INT PRIMARY KEY); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.a < 3 THEN INSERT INTO t VALUES (NEW.a + 1); END IF; INSERT INTO log (w) VALUES (TG_OP); RETURN NULL; END'; CREATE CONSTRAINT TRIGGER f AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()", "BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT count(*) FROM log", "3"},
	} {
		t.Run(string(c.plant), func(t *testing.T) {
			answerOf := func(name plant.Name) string {
				defer plant.Choose(name)()
				n := newNode(t, fs.NewMem())
				defer closeNode(t, n)
				s := n.session(t)
				defer s.Close()
				if c.setup != "" {
					answer(t, s, c.setup)
				}
				return answer(t, s, c.query)
			}
			if got := answerOf(""); got != c.want {
				t.Errorf("%s: %s; want %s", c.query, got, c.want)
			}
			if got := answerOf(c.plant); got == c.want {
				t.Errorf("%s: not found by %s", c.plant, c.query)
			}
		})
	}
}
