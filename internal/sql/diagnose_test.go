package sql_test

import (
	"archive/zip"
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestDiagnose: EXPLAIN ANALYZE (DEBUG) keeps a bundle with all that tells why a statement took long.
func TestDiagnose(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c TEXT); INSERT INTO t SELECT i, i, 'c' FROM generate_series(1, 100) i; ANALYZE t")
	mustExec(t, s, "EXPLAIN (ANALYZE, DEBUG) SELECT * FROM t WHERE b = 7 AND c <> 'password = ''xyz'''")
	mustExec(t, s, "EXPLAIN (ANALYZE, DEBUG) UPDATE t SET b = 0 WHERE a = 4")
	mustExec(t, s, "BEGIN; EXPLAIN (ANALYZE, DEBUG) SELECT * FROM t WHERE a = 4; SELECT * FROM t WHERE a = 5; COMMIT")
	list := n.sql.Diagnostics()
	if len(list) != 3 || list[0].User != "root" || list[0].Database != "defaultdb" {
		t.Fatalf("%d bundles", len(list))
	}
	for i, want := range []map[string]string{
		{"trace.txt": `(?s)get .*entries: 1`, "plan.txt": `(?s)Index Scan using t_pkey on t .*actual.*Execution Time`},
		{"statement.sql": "UPDATE t SET b = 0", "trace.txt": `(?s)(lock|get).*commit`},
		{
			"statement.sql": `b = 7`, "plan.txt": `Seq Scan on t .*actual time=`, "trace.txt": `(?s)plan.*execute.*scan .*entries: 100`, "schema.sql": `(?s)CREATE TABLE.*b int`,
			"statistics.txt": `(?s)rows: 100.*b \|`, "settings.txt": `(?s)work_mem \|`, "environment.txt": `version: PostgreSQL 15`,
		},
	} {
		z, err := zip.NewReader(bytes.NewReader(list[i].Zip), int64(len(list[i].Zip)))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = string(b)
			if strings.Contains(string(b), "xyz") && f.Name != "plan.txt" {
				t.Errorf("%s has a password: %s", f.Name, b)
			}
		}
		for name, pattern := range want {
			if !regexp.MustCompile(pattern).MatchString(files[name]) {
				t.Errorf("bundle %d, %s:\n%s", i, name, files[name])
			}
		}
		if i == 0 && strings.Count(files["trace.txt"], "get ") != 1 {
			t.Errorf("the trace has what followed: %s", files["trace.txt"])
		}
	}
	for _, bad := range []string{"EXPLAIN (DEBUG) SELECT 1", "EXPLAIN (ANALYZE, DEBUG, FORMAT JSON) SELECT 1"} {
		if err := exec1(s, bad); err == nil || !strings.Contains(err.Error(), "DEBUG requires ANALYZE") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
