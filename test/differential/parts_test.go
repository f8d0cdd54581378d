package main

import (
	"slices"
	"strings"
	"testing"
)

// TestParts checks what is asked of parts, and of which ones SQL leaves open when they are computed.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		sql, query string
		open       bool
	}{
		{"SELECT 1 FROM jsonb_to_recordset(f(1)) AS a(a int), t1", "SELECT * FROM jsonb_to_recordset(f(1)) AS a(a int)", true},
		{"SELECT 1 FROM ROWS FROM (unnest(f(2))) a", "SELECT * FROM ROWS FROM (unnest(f(2)))", true},
		{"SELECT (f(3)) FROM t1", "SELECT f(3)", false},
		{"SELECT 1 FROM t1 a1 WHERE (f(a1.c0)) > 1", "SELECT f(a1.c0) FROM t1 a1", true},
		{"SELECT 1 FROM t1 WHERE CASE WHEN true THEN f(4) END", "SELECT f(4)", false},
		{"SELECT 1 FROM t1 WHERE CASE WHEN true THEN 1 END = f(5)", "SELECT f(5)", true},
		{"SELECT 1 FROM t1 WHERE CASE f(9) WHEN 1 THEN 2 END", "SELECT f(9)", true},
		{"SELECT 1 FROM t1 WHERE CASE c0 WHEN f(9) THEN 2 WHEN 3 THEN 4 END", "SELECT f(9)", true},
		{"SELECT 1 FROM t1 WHERE CASE c0 WHEN 3 THEN 4 WHEN f(9) THEN 2 END", "SELECT f(9)", false},
		{"SELECT 1 FROM t1 WHERE coalesce(c0, f(6))", "SELECT f(6)", false},
		{"SELECT (SELECT f(7) FROM t2) FROM t1", "SELECT * FROM (SELECT f(7) FROM t2) p", false},
		{"SELECT 1 FROM (SELECT f(8)) s", "SELECT * FROM (SELECT f(8)) p", true},
		{"SELECT 1 FROM (SELECT x FROM t1) s, LATERAL (SELECT f(s.x)) r", "SELECT f(s.x) FROM LATERAL (SELECT x FROM t1) s", true},
		{"SELECT f(a1.x) FROM LATERAL (VALUES (1)) a1(x)", "SELECT f(a1.x) FROM LATERAL (VALUES (1)) a1(x)", false},
		{"SELECT f(a1::text) FROM ROWS FROM (unnest(1)) a1(x)", "SELECT f(a1::text) FROM ROWS FROM (unnest(1)) a1(x)", false},
		{"SELECT f(a1.x) FROM g(1) WITH ORDINALITY a1(x, y)", "SELECT f(a1.x) FROM g(1) WITH ORDINALITY a1(x, y)", false},
		{"SELECT f(a2.x) FROM t1 a1, g(a1.y) AS a2(x)", "SELECT f(a2.x) FROM t1 a1, g(a1.y) AS a2(x)", false},
		{"SELECT 1 FROM g((SELECT e.x FROM (SELECT f(1)) e(x))) a1", "SELECT * FROM (SELECT e.x FROM (SELECT f(1)) e(x)) p", true},
		{
			"WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 2), x AS (SELECT n FROM r) SELECT f(a1.n) FROM x a1",
			"SELECT f(a1.n) FROM LATERAL (WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 2), x AS (SELECT n FROM r) SELECT * FROM x) a1", false,
		},
		{"SELECT 1 FROM (SELECT 1 AS x UNION SELECT 2) a1 WHERE (f(a1.x)) > 1", "SELECT f(a1.x) FROM LATERAL (SELECT 1 AS x UNION SELECT 2) a1", true},
		{"SELECT 1 FROM LATERAL ((SELECT x FROM t1) INTERSECT ALL (SELECT 2)) a1 WHERE (f(a1.x)) > 1", "SELECT f(a1.x) FROM LATERAL (SELECT x FROM t1) a1", true},
		{"SELECT 1 FROM LATERAL ((SELECT x FROM t1) INTERSECT ALL (SELECT 2)) a1(x) WHERE (f(a1.x)) > 1", "SELECT f(a1.x) FROM LATERAL (SELECT 2) a1(x)", true},
		{"SELECT f(a1.x OPERATOR(pg_catalog.=) 1) FROM t1 a1", "SELECT f(a1.x OPERATOR(pg_catalog.=) 1) FROM t1 a1", false},
	} {
		tokens := tokenPattern.FindAllString(c.sql, -1)
		var open, asked bool
		for _, p := range partsOf(tokens) {
			if slices.Contains(p.alone(tokens), c.query) {
				open, asked = p.orderIsOpen(tokens), true
			}
			for _, q := range p.alone(tokens) {
				if c.query == "" && strings.Contains(q, "f(s.x)") && !strings.Contains(q, "SELECT f(s.x)") {
					t.Errorf("%s: asked %s, whose table nobody knows", c.sql, q)
				}
			}
		}
		if asked != (c.query != "") || open != c.open {
			t.Errorf("%s: asked %v, the turn is open %v", c.sql, asked, open)
		}
	}
}

func TestInSetOperation(t *testing.T) {
	for sql, want := range map[string]bool{
		"(SELECT f(1)) EXCEPT SELECT 2":                                true,
		"SELECT 2 UNION ALL (SELECT f(1) FROM (SELECT 1) s)":           true,
		"SELECT f(1) FROM (SELECT 1 UNION SELECT 2) s":                 false,
		"SELECT (SELECT f(1)), (SELECT 1 INTERSECT SELECT 2)":          false,
		"SELECT 1 WHERE ((SELECT f(1)) IN (SELECT 1)) EXCEPT SELECT 3": true,
	} {
		tokens := tokenPattern.FindAllString(sql, -1)
		for _, p := range partsOf(tokens) {
			if p.open > 0 && tokens[p.open-1] == "f" && p.inSetOperation(tokens) != want {
				t.Errorf("%s: want %v", sql, want)
			}
		}
	}
}

// TestWithoutColumns checks that a row's values are told apart whatever is in them.
func TestWithoutColumns(t *testing.T) {
	a := answer{columns: []column{{name: "a"}, {name: "n"}, {name: "b"}}, rows: []string{rowText([][]byte{[]byte(`x" | y`), []byte("1"), nil})}}
	rest, values := a.without(map[string]bool{"n": true})
	if len(rest) != 1 || rest[0] != `"x\" | y" | NULL` || values[0] != `"1"` {
		t.Errorf("%q, %q", rest, values)
	}
}
