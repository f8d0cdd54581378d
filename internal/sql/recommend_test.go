package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestIndexUse: executions count which indexes they read, in statements, functions and cursors.
func TestIndexUse(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT); CREATE INDEX tb ON t (b); CREATE INDEX tc ON t (c)")
	mustExec(t, s, "INSERT INTO t SELECT i, i, i FROM generate_series(1, 500) i; ANALYZE t")
	for i := range 3 {
		mustExec(t, s, fmt.Sprintf("SELECT * FROM t WHERE b = %d", i))
	}
	mustExec(t, s, "SELECT count(*) FROM t x JOIN t y ON x.a = y.c WHERE x.b = 7")
	mustExec(t, s, "BEGIN; DECLARE k CURSOR FOR SELECT * FROM t WHERE b = 9; FETCH 1 FROM k; COMMIT")
	mustExec(t, s, "UPDATE t SET b = 0 WHERE a = 3; SELECT sum(c + a) FROM t WHERE c <> 0; SELECT count(*) FROM t WHERE b + c > 7")
	mustExec(t, s, "CREATE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM b FROM t WHERE b = 12; RETURN 1; END $$; SELECT f()")
	if got := value(t, s, `SELECT string_agg(index_name || ' ' || reads || ' ' || full_reads || ' ' || (last_read > counted_since), ', ' ORDER BY index_name) FROM lichen_internal.node_index_usage`); got != "t_pkey 2 1 true, tb 6 0 true, tc 2 1 true" {
		t.Errorf("indexes: %s", got)
	}
	if got := value(t, s, `SELECT string_agg(indexrelname || ' ' || idx_scan, ', ' ORDER BY indexrelname) FROM pg_stat_user_indexes`); got != "t_pkey 2, tb 6, tc 2" {
		t.Errorf("pg_stat_user_indexes: %s", got)
	}
	if got := value(t, s, `SELECT seq_scan || ' ' || idx_scan FROM pg_stat_user_tables WHERE relname = 't'`); got != "1 9" {
		t.Errorf("pg_stat_user_tables: %s", got)
	}
}

// TestMissing: an index is recommended for statements that read all of a large table again and again, if none begins with the columns.
func TestMissing(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, `CREATE TABLE "Ts" (a INT PRIMARY KEY, b INT, c INT, d TEXT, j JSON); CREATE TABLE small (a INT PRIMARY KEY, b INT); INSERT INTO small VALUES (1, 1)`)
	mustExec(t, s, `INSERT INTO "Ts" SELECT i, i, i, 'd', '{}' FROM generate_series(1, 2000) i; ANALYZE "Ts"; ANALYZE small`)
	for i := range 12 {
		mustExec(t, s, fmt.Sprintf(`SELECT a FROM "Ts" WHERE d = 'x' AND c < 3 AND b = %d`, i))
		mustExec(t, s, fmt.Sprintf(`SELECT a FROM "Ts" WHERE b IN (%d, 1, 3) AND c > 7 AND 'x' = d`, i))
		mustExec(t, s, fmt.Sprintf(`UPDATE "Ts" SET c = 0 WHERE d = '%d' || 'z'`, i))
		mustExec(t, s, fmt.Sprintf(`SELECT a FROM "Ts" WHERE b + 1 = %d OR c = 2`, i)) // no index finds that
		mustExec(t, s, `SELECT a FROM "Ts" WHERE b = c AND j IS NULL`)
		mustExec(t, s, fmt.Sprintf(`SELECT a FROM small WHERE b = %d`, i))
	}
	mustExec(t, s, `SELECT a FROM "Ts" WHERE c = 7`) // once only
	const all = `SELECT coalesce(string_agg(concat_ws(' | ', kind, statement, array_length(queries, 1)), E'\n' ORDER BY statement), '-') FROM lichen_internal.index_recommendations`
	want := strings.Join([]string{`create | CREATE INDEX ON public."Ts" (b, d, c) | 2`, `create | CREATE INDEX ON public."Ts" (d) | 1`}, "\n")
	if got := value(t, s, all); got != want {
		t.Errorf("recommended:\n%s\nwant:\n%s", got, want)
	}
	if got := value(t, s, "SELECT reason FROM lichen_internal.index_recommendations WHERE statement LIKE '%(d)'"); got != "all of the table, about 2000 rows, was read 12 times to find the rows that a condition on d lets through" {
		t.Errorf("the reason: %s", got)
	}
	mustExec(t, s, `CREATE INDEX ON public."Ts" (d, b, c)`)
	if got := value(t, s, all); got != "-" {
		t.Errorf("recommended although there is one:\n%s", got)
	}
}
