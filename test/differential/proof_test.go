package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// madeUp returns a tester whose databases answer what tables of statements say, by the texts that statements
// contain; what no text matches succeeds with a row.
func madeUp(theirs, ours map[string]answer) *tester {
	answering := func(list map[string]answer) *server {
		return &server{made: func(sql string) answer {
			found, length := answer{rows: []string{"1"}}, 0
			for text, a := range list {
				if strings.Contains(sql, text) && len(text) > length {
					found, length = a, len(text)
				}
			}
			return found
		}}
	}
	return &tester{postgres: answering(theirs), lichen: answering(ours), explainUntil: time.Now().Add(time.Minute)}
}

var (
	zero = answer{code: "22012", message: "division by zero"}
	text = answer{code: "22P02", message: "invalid input"}
	none = answer{}
)

// TestPartFails checks what the proof by parts excuses, and that it excuses no error that PostgreSQL does not
// have of the part, none behind CASE or COALESCE, and none of a select list.
func TestPartFails(t *testing.T) {
	part := map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "SELECT f(t1.a) FROM t1": zero}
	byRow := map[string]answer{"SELECT (f(t1.a)) FROM t1": text, "OFFSET 3) t1": zero, "OFFSET 4) t1": text}
	otherOrder := map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "OFFSET 3) t1": zero, "OFFSET 4) t1": text}
	for _, c := range []struct {
		name, sql        string
		theirs, ours     answer
		postgres, lichen map[string]answer
		excused          bool
	}{
		{"in a condition", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", none, zero, part, part, true},
		{"only PostgreSQL computes it", "SELECT (f(t1.a)) FROM t1", zero, none, part, part, true},
		{"PostgreSQL has no error of the part", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", none, zero, nil, part, false},
		{"Lichen has no error of the part", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", zero, none, part, nil, false},
		{"another error of the part", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", none, text, part, part, false},
		{"behind CASE", "SELECT 1 FROM t1 WHERE CASE WHEN b THEN (f(t1.a)) END > 1", none, zero, part, part, false},
		{"behind COALESCE", "SELECT 1 FROM t1 WHERE coalesce(b, (f(t1.a))) > 1", none, zero, part, part, false},
		{"in a select list", "SELECT (f(t1.a)) FROM t1", none, zero, part, part, false},
		{"in a select list beside another error", "SELECT g(t1.b), (f(t1.a)) FROM t1 WHERE (h(t1.b))", text, zero,
			map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "SELECT (h(t1.b)) FROM t1": text, "SELECT h(t1.b) FROM t1": text},
			map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "SELECT (h(t1.b)) FROM t1": text, "SELECT h(t1.b) FROM t1": text}, true},
		{"behind CASE beside another error", "SELECT CASE WHEN t1.c THEN (f(t1.a)) END FROM t1 WHERE (h(t1.b))", text, zero,
			map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "SELECT (h(t1.b)) FROM t1": text},
			map[string]answer{"SELECT (f(t1.a)) FROM t1": zero, "SELECT (h(t1.b)) FROM t1": text}, false},
		{"another row first", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", text, zero, byRow, otherOrder, true},
		{"no row has Lichen's error", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", text, zero, map[string]answer{"(f(t1.a))": text}, otherOrder, false},
		{"an error that is not of values", "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", none, answer{code: "XX000"}, part, part, false},
	} {
		x := madeUp(c.postgres, c.lichen)
		d := difference{statement: statement{sql: c.sql}, theirs: c.theirs, ours: c.ours}
		if got := partFails(context.Background(), x, d); got != c.excused {
			t.Errorf("%s: %s: excused %v", c.name, c.sql, got)
		}
	}
}

// TestRowsAreNotParts checks that the proofs by parts are not asked about rows that differ.
func TestRowsAreNotParts(t *testing.T) {
	failing := map[string]answer{"SELECT ": zero}
	d := difference{statement: statement{sql: "SELECT 1 FROM t1 WHERE (f(t1.a)) > 1", key: "query"}, what: "rows", theirs: answer{rows: []string{"1"}}, ours: answer{rows: []string{"2"}}}
	if k := madeUp(failing, failing).knownAs(context.Background(), d); k != "" {
		t.Errorf("rows that differ are known as %s", k)
	}
}

// TestVolatileKeys checks that rows are excused only where PostgreSQL has those of Lichen for volatile keys.
func TestVolatileKeys(t *testing.T) {
	d := difference{statement: statement{sql: "SELECT (k) + 1 FROM t1 GROUP BY GROUPING SETS ((k), ())"}, theirs: answer{rows: []string{"4"}}, ours: answer{rows: []string{"NULL"}}}
	for rows, want := range map[string]bool{"NULL": true, "4": false} {
		x := madeUp(map[string]answer{"random() < 2 THEN (k) END": {rows: []string{rows}}}, nil)
		if got := volatileKeys(context.Background(), x, d); got != want {
			t.Errorf("%s: excused %v", rows, got)
		}
	}
}

// TestWithoutRows checks that an ALTER TABLE is excused only where PostgreSQL has Lichen's error without rows.
func TestWithoutRows(t *testing.T) {
	refused := answer{code: "42804", message: "foreign key"}
	d := difference{statement: statement{sql: "ALTER TABLE t1 ADD PRIMARY KEY (a)"}, theirs: answer{code: "23505"}, ours: refused}
	for _, a := range []answer{refused, none, {code: "42804", message: "another"}} {
		truncated := false
		x := madeUp(nil, nil)
		x.postgres.made = func(sql string) answer {
			truncated = truncated || sql == "TRUNCATE t1 CASCADE"
			if truncated {
				return a
			}
			return d.theirs
		}
		if got := withoutRows(context.Background(), x, d); got != (a.code == refused.code && a.message == refused.message) {
			t.Errorf("%v: excused %v", a, got)
		}
	}
}
