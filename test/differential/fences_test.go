package main

import (
	"slices"
	"testing"
)

// TestFenced checks where fences stand.
func TestFenced(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT 1 FROM t1 a1", nil},
		{"SELECT 1 FROM v1 a1", []string{"SELECT 1 FROM (SELECT * FROM v1 OFFSET 0) a1"}},
		{"UPDATE v1 a1 SET x = 1", nil},
		{"SELECT 1 FROM (SELECT x FROM t1) a1, v2 a2", []string{
			"SELECT 1 FROM (SELECT * FROM (SELECT x FROM t1) fenced OFFSET 0) a1, (SELECT * FROM v2 OFFSET 0) a2",
			"SELECT 1 FROM (SELECT * FROM (SELECT x FROM t1) fenced OFFSET 0) a1, v2 a2",
			"SELECT 1 FROM (SELECT x FROM t1) a1, (SELECT * FROM v2 OFFSET 0) a2",
		}},
		{"SELECT 1 WHERE 1 IN (SELECT x FROM (SELECT 2 AS x) a1)", []string{
			"SELECT 1 WHERE 1 IN (SELECT * FROM (SELECT x FROM (SELECT * FROM (SELECT 2 AS x) fenced OFFSET 0) a1) fenced OFFSET 0)",
			"SELECT 1 WHERE 1 IN (SELECT x FROM (SELECT * FROM (SELECT 2 AS x) fenced OFFSET 0) a1)",
			"SELECT 1 WHERE 1 IN (SELECT * FROM (SELECT x FROM (SELECT 2 AS x) a1) fenced OFFSET 0)",
		}},
	} {
		if got := fenced(c.sql); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.sql, got, c.want)
		}
	}
}
