package main

import (
	"slices"
	"strings"
	"testing"
)

func TestActionsOf(t *testing.T) {
	table, actions := actionsOf("ALTER TABLE t1 ADD CHECK((c0,c1)IN(VALUES(1,2))),DROP c2,ALTER c3 TYPE int USING (ARRAY[1,2])[1]")
	want := []string{"ADD CHECK((c0,c1)IN(VALUES(1,2)))", "DROP c2", "ALTER c3 TYPE int USING (ARRAY[1,2])[1]"}
	if table != "ALTER TABLE t1 " || !slices.Equal(actions, want) {
		t.Errorf("%q, %q", table, actions)
	}
	if _, actions := actionsOf("DROP TABLE t1, t2"); actions != nil {
		t.Errorf("actions of DROP: %q", actions)
	}
}

func TestCaseResults(t *testing.T) {
	tokens := tokenPattern.FindAllString("a + CASE b WHEN 1 THEN CASE WHEN c THEN 2 END ELSE 3 END = 4", -1)
	var got []string
	for _, r := range caseResults(tokens) {
		got = append(got, strings.Join(tokens[:r.begin], "")+strings.TrimSpace(strings.Join(tokens[r.open:r.end], ""))+strings.Join(tokens[r.after:], ""))
	}
	want := []string{"a + CASE b WHEN 1 THEN 2 ELSE 3 END = 4", "a + CASE WHEN c THEN 2 END = 4", "a + 3 = 4"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestTexts checks which views' queries explain a statement.
func TestTexts(t *testing.T) {
	setup := []string{"CREATE VIEW v1(x) AS SELECT f(1)", "CREATE VIEW v2 AS SELECT x FROM v1", "CREATE VIEW v3 AS SELECT 3"}
	for _, c := range []struct {
		sql        string
		open, some []string
	}{
		{"SELECT 1 FROM v2", []string{"FROM (SELECT x FROM v1)", "FROM (SELECT f(1))"}, []string{"FROM (SELECT x FROM v1)", "FROM (SELECT f(1))"}},
		{"SELECT CASE WHEN b THEN (SELECT x FROM v1) END FROM v3", []string{"FROM (SELECT 3)"}, []string{"FROM (SELECT f(1))", "FROM (SELECT 3)"}},
	} {
		x := &tester{setup: setup}
		for open, want := range map[bool][]string{true: c.open, false: c.some} {
			if got := x.texts(difference{statement: statement{sql: c.sql}}, open)[1:]; !slices.Equal(got, want) {
				t.Errorf("%s, open %v: %q", c.sql, open, got)
			}
		}
	}
}
