package main

import (
	"fmt"
	"strings"
)

// dmlStatement draws a statement that changes rows.
func dmlStatement(r rng, s *schema) statement {
	t := s.table(r)
	st := statement{key: "dml", changes: true}
	switch r.IntN(9) {
	case 0, 1:
		st.sql = t.insert(r, r.IntN(30))
	case 2, 3:
		st.sql = t.insert(r, r.IntN(20)) + t.onConflict(r, s)
	case 4, 5:
		st.sql = t.update(r, s)
	case 6:
		st.sql = t.deletion(r, s)
	case 7:
		st.sql = t.merge(r, s)
		return st
	case 8:
		st.sql = t.insertSelect(r, s)
	}
	if r.oneIn(2) {
		st.sql += " RETURNING " + r.pick("*", t.name+".id", "id, "+t.cols[1].name)
	}
	if r.oneIn(10) && !strings.Contains(st.sql, "RETURNING") {
		st.sql = fmt.Sprintf("WITH ch AS (%s RETURNING *) SELECT count(*) FROM ch", st.sql)
	}
	return st
}

// transaction draws a block with savepoints, some statements of which fail.
func transaction(r rng, s *schema) []statement {
	do := func(sql string) statement { return statement{sql: sql, key: "transaction", changes: true} }
	list := []statement{do("BEGIN" + r.pick("", " ISOLATION LEVEL READ COMMITTED", " ISOLATION LEVEL REPEATABLE READ", " READ ONLY"))}
	for range 2 + r.IntN(5) {
		switch r.IntN(6) {
		case 0:
			list = append(list, do("SAVEPOINT "+r.pick("a", "b")))
		case 1:
			list = append(list, do("ROLLBACK TO "+r.pick("a", "b")))
		case 2:
			list = append(list, do(r.pick("RELEASE a", "RELEASE b", "SELECT count(*) FROM "+s.table(r).name)))
		default:
			list = append(list, dmlStatement(r, s))
		}
	}
	return append(list, do(r.pick("COMMIT", "COMMIT", "ROLLBACK")))
}

func (t table) scope(s *schema, alias string) scope {
	return scope{schema: s, cols: qualified(t, alias)}
}

func (t table) assignments(r rng, sc scope) string {
	var list []string
	used := map[string]bool{}
	for range 1 + r.IntN(2) {
		c := t.cols[r.IntN(len(t.cols))]
		if used[c.name] {
			continue
		}
		used[c.name] = true
		value := sc.expr(r, c.typ, 2)
		if r.oneIn(10) {
			value = "DEFAULT"
		}
		list = append(list, c.name+" = "+value)
	}
	return strings.Join(list, ", ")
}

func (t table) onConflict(r rng, s *schema) string {
	if r.oneIn(3) {
		return " ON CONFLICT DO NOTHING"
	}
	sc := t.scope(s, t.name)
	sc.cols = append(sc.cols, qualified(t, "excluded")...)
	action := "DO UPDATE SET " + t.assignments(r, sc)
	if r.oneIn(3) {
		action += " WHERE " + sc.expr(r, "bool", 2)
	}
	return " ON CONFLICT (" + r.pick("id", "id", "id", t.cols[1].name) + ") " + action
}

// update is an UPDATE, at times of rows joined with another table's where each
// meets one row at most.
func (t table) update(r rng, s *schema) string {
	sc := t.scope(s, t.name)
	if !r.oneIn(3) {
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.name, t.assignments(r, sc), sc.expr(r, "bool", 2))
	}
	o := s.table(r)
	sc.cols = append(sc.cols, qualified(o, "o")...)
	return fmt.Sprintf("UPDATE %s SET %s FROM %s o WHERE o.id = %s.id AND %s", t.name, t.assignments(r, sc), o.name, t.name, sc.expr(r, "bool", 2))
}

func (t table) deletion(r rng, s *schema) string {
	sc := t.scope(s, t.name)
	if !r.oneIn(3) {
		return fmt.Sprintf("DELETE FROM %s WHERE %s", t.name, sc.expr(r, "bool", 3))
	}
	o := s.table(r)
	sc.cols = append(sc.cols, qualified(o, "o")...)
	return fmt.Sprintf("DELETE FROM %s USING %s o WHERE o.id = %s.id AND %s", t.name, o.name, t.name, sc.expr(r, "bool", 2))
}

func (t table) merge(r rng, s *schema) string {
	o := s.table(r)
	both := scope{schema: s, cols: append(qualified(t, "t"), qualified(o, "o")...)}
	source := scope{schema: s, cols: qualified(o, "o")}
	var b strings.Builder
	fmt.Fprintf(&b, "MERGE INTO %s t USING %s o ON t.id = o.id", t.name, o.name)
	if r.oneIn(2) {
		fmt.Fprintf(&b, " WHEN MATCHED AND %s THEN DELETE", both.expr(r, "bool", 2))
	}
	if r.oneIn(2) {
		fmt.Fprintf(&b, " WHEN MATCHED THEN UPDATE SET %s", t.assignments(r, both))
	}
	if r.oneIn(2) {
		fmt.Fprintf(&b, " WHEN NOT MATCHED AND %s THEN DO NOTHING", source.expr(r, "bool", 2))
	}
	if c := t.cols[1+r.IntN(len(t.cols)-1)]; r.oneIn(2) {
		fmt.Fprintf(&b, " WHEN NOT MATCHED THEN INSERT (id, %s) VALUES (o.id, %s)", c.name, source.expr(r, c.typ, 1))
	} else {
		b.WriteString(" WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)")
	}
	return b.String()
}

func (t table) insertSelect(r rng, s *schema) string {
	o := s.table(r)
	sc := scope{schema: s, cols: qualified(o, "o")}
	c := t.cols[1+r.IntN(len(t.cols)-1)]
	return fmt.Sprintf("INSERT INTO %s (id, %s) SELECT o.id + 20, %s FROM %s o WHERE %s", t.name, c.name, sc.expr(r, c.typ, 2), o.name, sc.expr(r, "bool", 2))
}
