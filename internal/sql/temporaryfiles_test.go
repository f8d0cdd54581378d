package sql_test

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// spilling are statements that go through temporary files where work_mem is small.
var spilling = []string{
	"SELECT g FROM generate_series(1, 2000) g ORDER BY -g",
	"SELECT g % 1500, count(*) FROM generate_series(1, 2000) g GROUP BY 1",
	"SELECT count(DISTINCT g % 1500) FROM generate_series(1, 2000) g",
	"SELECT DISTINCT g % 1500 FROM generate_series(1, 2000) g",
	"SELECT g FROM generate_series(1, 2000) g UNION SELECT g FROM generate_series(500, 2500) g",
	"SELECT count(*) FROM generate_series(1, 2000) a JOIN generate_series(1, 2000) b ON a = b",
	"SELECT count(*) FROM generate_series(1, 2000) a FULL JOIN generate_series(1, 2000) b ON a = b % 3",
	"SELECT count(*) FROM generate_series(1, 200) a JOIN generate_series(1, 2000) b ON a > b",
	"SELECT g FROM generate_series(1, 2000) g EXCEPT SELECT g FROM generate_series(500, 2500) g",
	"SELECT g FROM generate_series(1, 2000) g INTERSECT ALL SELECT g FROM generate_series(500, 2500) g",
	"WITH q AS MATERIALIZED (SELECT g FROM generate_series(1, 2000) g) SELECT count(*) FROM q a, q b WHERE a.g = b.g + 1",
	"WITH RECURSIVE q AS (SELECT 1 n UNION ALL SELECT n + 1 FROM q WHERE n < 2000) SELECT count(*) FROM q",
	"SELECT sum(g) OVER (ORDER BY g ROWS 3 PRECEDING), rank() OVER (ORDER BY g % 7) FROM generate_series(1, 2000) g",
	"SELECT 5000 > ALL (SELECT g FROM generate_series(1, 2000) g)",
}

// TestTemporaryFileFaults has writes of temporary files fail, or the statement cancelled at one: the
// statement fails with the right code, no file is left, and the next one succeeds.
func TestTemporaryFileFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause error // of a failed write; nil: the statement is cancelled then
		code  pgerr.Code
	}{
		{"disk full", syscall.ENOSPC, pgerr.DiskFull},
		{"broken disk", syscall.EIO, pgerr.IOError},
		{"cancelled", nil, pgerr.QueryCanceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			var strike func() error
			hook := func(op *fs.Op) error {
				if op.Kind == fs.OpWrite && path.Dir(op.Path) == tempDir && strike != nil {
					return strike()
				}
				return nil
			}
			n := openNode(t, fs.WithHooks(fs.NewMem(), hook), nodeOptions{workMem: 1 << 10})
			defer closeNode(t, n)
			s := n.session(t)
			defer s.Close()
			for _, q := range spilling {
				writes := 0
				strike = func() error {
					if writes++; writes < 5 {
						return nil
					}
					if c.cause == nil {
						s.Cancel()
					}
					return c.cause
				}
				err := s.Query(context.Background(), q, logictest.NewRows(s))
				if code := pgerr.CodeOf(err); code != c.code {
					t.Errorf("%s: %v", q, err)
				}
				if n.temp.Files() > 0 || n.temp.Bytes() > 0 {
					t.Errorf("%s: %d files, %d bytes are left", q, n.temp.Files(), n.temp.Bytes())
				}
				strike = nil
				if err := s.Query(context.Background(), q, logictest.NewRows(s)); err != nil || n.temp.Files() > 0 {
					t.Errorf("%s: %v, %d files", q, err, n.temp.Files())
				}
			}
		})
	}
}

// TestSpillsWhenRefused: where the node has less memory than rows need, whatever work_mem says,
// statements go through temporary files and keep within the memory.
func TestSpillsWhenRefused(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 4 << 20})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	for q, want := range map[string]string{
		"SELECT count(*), min(g), max(g) FROM (SELECT g, count(*) FROM generate_series(1, 100000) g GROUP BY g) s":                                            "100000  1  100000",
		"SELECT count(DISTINCT g) FROM generate_series(1, 100000) g":                                                                                          "100000",
		"SELECT count(*) FROM (SELECT DISTINCT md5(g::text) FROM generate_series(1, 100000) g) s":                                                             "100000",
		"SELECT a FROM (SELECT g a, md5(g::text) b FROM generate_series(1, 100000) g) s ORDER BY b OFFSET 99999":                                              "40691",
		"SELECT count(*) FROM (SELECT g FROM generate_series(1, 90000) g UNION SELECT g FROM generate_series(1, 100000) g) s":                                 "100000",
		"SELECT count(*), sum(b) FROM generate_series(1, 100000) a JOIN generate_series(1, 100000) b ON a = b":                                                "100000  5000050000",
		"SELECT count(*), count(b) FROM generate_series(1, 7) a LEFT JOIN generate_series(1, 100000) b ON a = b % 5":                                          "80003  80000",
		"SELECT count(*) FROM generate_series(1, 3) a JOIN generate_series(1, 100000) b ON b > a * 30000":                                                     "120000",
		"SELECT count(*) FROM (SELECT g FROM generate_series(1, 100000) g INTERSECT SELECT g + 10 FROM generate_series(1, 100000) g) s":                       "99990",
		"SELECT count(*) FROM (SELECT g FROM generate_series(1, 100000) g EXCEPT SELECT g * 2 FROM generate_series(1, 100000) g) s":                           "50000",
		"WITH q AS MATERIALIZED (SELECT g FROM generate_series(1, 100000) g) SELECT count(*) FROM q a, q b WHERE a.g = b.g + 1":                               "99999",
		"WITH RECURSIVE q AS (SELECT 1 n UNION ALL SELECT n + 1 FROM q WHERE n < 100000) SELECT sum(n) FROM q":                                                "5000050000",
		"SELECT max(s), max(r) FROM (SELECT sum(g) OVER (ORDER BY g ROWS 3 PRECEDING) s, rank() OVER (ORDER BY g % 7) r FROM generate_series(1, 100000) g) s": "399994  85716",
		"SELECT 200000 > ALL (SELECT g FROM generate_series(1, 100000) g)":                                                                                    "t",
	} {
		if got := answer(t, s, q); got != want {
			t.Errorf("%s: %s; want %s", q, got, want)
		}
	}
	if n.temp.Files() > 0 || n.mem.Peak() > 4<<20 {
		t.Errorf("%d files, %d bytes of memory", n.temp.Files(), n.mem.Peak())
	}
}

// TestManySpillTogether: statements that need far more memory together than the node has all end, as each
// finds enough to begin with and spills at its share.
func TestManySpillTogether(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 16 << 20})
	defer closeNode(t, n)
	queries := map[string]string{
		"SELECT count(*), sum(b) FROM generate_series(1, 30000) a JOIN generate_series(1, 30000) b ON a = b":           "30000  450015000",
		"SELECT count(*), max(c) FROM (SELECT md5(g::text), count(*) c FROM generate_series(1, 30000) g GROUP BY 1) s": "30000  1",
		"SELECT a FROM (SELECT g a FROM generate_series(1, 30000) g ORDER BY md5(g::text)) s WHERE a = 7":              "7",
		"SELECT max(r) FROM (SELECT rank() OVER (ORDER BY g) r FROM generate_series(1, 30000) g) s":                    "30000",
	}
	var wg sync.WaitGroup
	for range 4 {
		for q, want := range queries {
			s := n.session(t)
			wg.Go(func() {
				defer s.Close()
				r := logictest.NewRows(s)
				if err := s.Query(context.Background(), q, r); err != nil || strings.Join(r.Lines, "\n") != want {
					t.Errorf("%s: %v, %v; want %s", q, r.Lines, err, want)
				}
			})
		}
	}
	wg.Wait()
	if n.temp.Files() > 0 || n.mem.Peak() > 16<<20 {
		t.Errorf("%d files, %d bytes of memory", n.temp.Files(), n.mem.Peak())
	}
}

// TestExplainBatches: EXPLAIN ANALYZE says of hash tables that went through temporary files how they did, and
// of others nothing.
func TestExplainBatches(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	batches := regexp.MustCompile(`Batches: [0-9]+  Memory Usage: [1-9][0-9]*kB  Disk Usage: [1-9][0-9]*kB`)
	for _, vectorize := range []string{"off", "on"} {
		for workMem, want := range map[string]int{"64kB": 2, "64MB": 0} {
			answer(t, s, fmt.Sprintf("SET vectorize = '%s'; SET work_mem = '%s'", vectorize, workMem))
			got := answer(t, s, "EXPLAIN (ANALYZE) SELECT a, count(*) FROM generate_series(1, 9000) a JOIN generate_series(1, 9000) b ON a = b GROUP BY a")
			if len(batches.FindAllString(got, -1)) != want {
				t.Errorf("vectorize %s, work_mem %s: %s", vectorize, workMem, got)
			}
		}
	}
}
