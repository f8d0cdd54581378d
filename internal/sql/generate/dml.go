package generate

import (
	"fmt"
	"strings"
)

// dml is a case of one statement that changes rows.
func (g *Generator) dml(sql string, t Table) Case {
	if g.OneIn(2) {
		s := t.scope(t.Name)
		sql += " RETURNING " + g.Pick("*", t.Name+".id", "id, "+t.Cols[1].Name, g.Expr(s, "int4", 2)+", "+g.Expr(s, "text", 2), t.Name, "id, (SELECT count(*) FROM "+t.Name+" b)",
			t.Name+".*, (SELECT min(b.id) FROM "+t.Name+" b WHERE b.id >= "+t.Name+".id) AS before", "(SELECT array_agg(b ORDER BY b.id)::text FROM "+t.Name+" b WHERE b.id = "+t.Name+".id)")
	}
	return Case{Key: "dml", Steps: steps(sql, "SELECT * FROM "+t.Name), Changes: true}
}

// insertion is an INSERT of literals, of computed values or of a query's rows.
func (g *Generator) insertion(t Table) string {
	c := t.Cols[1+g.IntN(len(t.Cols)-1)]
	switch g.IntN(5) {
	case 4:
		return g.insertParts(t)
	case 0:
		return t.insert(g.Rand, g.IntN(30))
	case 1:
		d := t.Cols[1+g.IntN(len(t.Cols)-1)]
		if d == c {
			return fmt.Sprintf("INSERT INTO %s (id, %s) VALUES (%d, %s)", t.Name, c.Name, 16+g.IntN(20), g.untyped(&Scope{}, c.Type, 2))
		}
		return fmt.Sprintf("INSERT INTO %s (id, %s, %s) VALUES (%d, %s, %s), (%d, DEFAULT, %s)", t.Name, c.Name, d.Name, 16+g.IntN(20), g.untyped(&Scope{}, c.Type, 2), g.untyped(&Scope{}, d.Type, 2), 16+g.IntN(20), g.untyped(&Scope{}, d.Type, 2))
	case 2:
		return fmt.Sprintf("INSERT INTO %s (id, %s) SELECT 20 + row_number() OVER (ORDER BY x), x FROM (%s) s(x)", t.Name, c.Name, g.Query(nil, []string{c.Type}, 3))
	}
	o := g.Schema.table(g.Rand)
	s := o.scope("o")
	return fmt.Sprintf("INSERT INTO %s (id, %s) SELECT o.id + 20, %s FROM %s o WHERE %s", t.Name, c.Name, g.Expr(s, c.Type, 3), o.Name, g.Expr(s, "bool", 2))
}

func (g *Generator) insertCase() Case {
	t := g.Schema.table(g.Rand)
	return g.dml(g.insertion(t), t)
}

func (g *Generator) conflictCase() Case {
	t := g.Schema.table(g.Rand)
	return g.dml(t.insert(g.Rand, g.IntN(20))+g.onConflict(t), t)
}

func (g *Generator) onConflict(t Table) string {
	if g.OneIn(3) {
		return " ON CONFLICT DO NOTHING"
	}
	s := t.scope(t.Name)
	s.Cols = append(s.Cols, qualified(t.Cols, "excluded")...)
	action := "DO UPDATE SET " + g.assignments(t, s, 2)
	if g.OneIn(3) {
		action += " WHERE " + g.Expr(s, "bool", 2)
	}
	target := g.Pick("(id)", "(id)", "(id)", "("+t.Cols[1].Name+")", "ON CONSTRAINT "+t.Name+"_pkey", "ON CONSTRAINT nosuch", "((id + 0))", `(id COLLATE "C")`, "(id int4_ops)")
	if t.computed != "" && g.OneIn(3) {
		target = "((" + t.computed + "))"
	}
	if t.partial != "" && g.OneIn(2) {
		target = "(" + t.partial + ") WHERE id > " + g.Pick("5", "5", "6", "3") + g.Pick("", " AND id < 100")
	}
	return " ON CONFLICT " + target + " " + action
}

// assignments is a SET clause.
func (g *Generator) assignments(t Table, s *Scope, depth int) string {
	var list []string
	used := map[string]bool{}
	for range 1 + g.IntN(2) {
		c := t.Cols[g.IntN(len(t.Cols))]
		if used[c.Name] {
			continue
		}
		used[c.Name] = true
		value := g.untyped(s, c.Type, depth)
		switch {
		case g.OneIn(3) && len(columnParts[c.Type]) > 0:
			list = append(list, g.partAssignments(c, s, depth)...)
			continue
		case g.OneIn(10):
			value = "DEFAULT"
		}
		list = append(list, c.Name+" = "+value)
	}
	if c := t.Cols[len(t.Cols)-1]; !used[c.Name] && len(t.Cols) > 2 && g.OneIn(6) {
		if d := t.Cols[len(t.Cols)-2]; !used[d.Name] {
			list = append(list, g.Pick(fmt.Sprintf("(%s, %s) = (SELECT * FROM (%s) m ORDER BY m::text LIMIT 1)", c.Name, d.Name, g.Query(s, []string{c.Type, d.Type}, depth)),
				fmt.Sprintf("(%s, %s) = (%s, DEFAULT)", c.Name, d.Name, g.untyped(s, c.Type, depth)), fmt.Sprintf("(%s, %s) = ROW(DEFAULT, %s)", c.Name, d.Name, g.untyped(s, d.Type, depth))))
		}
	}
	return strings.Join(list, ", ")
}

// part is a part of a column that may be assigned to, with its type.
type part struct{ path, typ string }

// columnParts are the parts of columns by type: elements, slices, fields and keys.
var columnParts = map[string][]part{
	"_int4": {{"[1]", "int4"}, {"[3]", "int4"}, {"[-1]", "int4"}, {"[2:3]", "_int4"}, {"[:2]", "_int4"}, {"[1:]", "_int4"}, {"[NULL]", "int4"}, {"[2:1]", "_int4"}, {"['2']", "int4"}},
	"_text": {{"[1]", "text"}, {"[2:3]", "_text"}, {"[id]", "text"}, {"[id % 2 + 1]", "varchar"}},
	"jsonb": {{"['a']", "jsonb"}, {"['a']['b']", "jsonb"}, {"['a'][0]", "jsonb"}, {"[1]", "jsonb"}, {"[-1]", "jsonb"}, {"['x']['y'][2]", "jsonb"}, {"[NULL]", "jsonb"}},
	"pair":  {{".a", "int4"}, {".b", "text"}, {".nosuch", "int4"}},
	"point": {{"[0]", "float8"}, {"[1]", "float8"}, {"[2]", "float8"}, {"[NULL]", "float8"}},
	"box":   {{"[0]", "point"}, {"[1]", "point"}},
	"lseg":  {{"[1]", "point"}},
	"_pair": {{"[1]", "pair"}, {"[2].a", "int4"}, {"[1].b", "text"}, {"[1:2]", "_pair"}},
}

// partAssignments assigns to one or two parts of a column.
func (g *Generator) partAssignments(c Column, s *Scope, depth int) []string {
	var list []string
	for range 1 + g.IntN(2) {
		p := columnParts[c.Type][g.IntN(len(columnParts[c.Type]))]
		list = append(list, c.Name+p.path+" = "+g.untyped(s, p.typ, depth))
	}
	return list
}

// insertParts inserts parts of columns, or nothing but defaults.
func (g *Generator) insertParts(t Table) string {
	targets, values := []string{"id"}, []string{fmt.Sprint(16 + g.IntN(20))}
	for _, c := range t.Cols[1:] {
		if list := columnParts[c.Type]; len(list) > 0 {
			p := list[g.IntN(len(list))]
			targets, values = append(targets, c.Name+p.path), append(values, g.untyped(&Scope{}, p.typ, 2))
		}
	}
	if len(targets) == 1 {
		return "INSERT INTO " + t.Name + " " + g.Pick("DEFAULT VALUES", "AS x (id) OVERRIDING USER VALUE VALUES (40)", "(id) OVERRIDING SYSTEM VALUE TABLE "+t.Name)
	}
	source := "VALUES (" + strings.Join(values, ", ") + ")"
	if g.OneIn(3) {
		source = "SELECT " + strings.Join(values, ", ")
	}
	return fmt.Sprintf("INSERT INTO %s (%s) %s", t.Name, strings.Join(targets, ", "), source)
}

// updateCase is an UPDATE, at times of rows joined with another table's where each meets one row
// at most.
func (g *Generator) updateCase() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope(t.Name)
	if !g.OneIn(3) {
		return g.dml(fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.Name, g.assignments(t, s, 3), g.Expr(s, "bool", 3)), t)
	}
	o := g.Schema.table(g.Rand)
	s.Cols = append(s.Cols, qualified(o.Cols, "o")...)
	sql := fmt.Sprintf("UPDATE %s SET %s FROM %s o WHERE o.id = %s.id AND %s", t.Name, g.assignments(t, s, 3), o.Name, t.Name, g.operand(s, "bool", 2))
	return g.dml(sql, t)
}

func (g *Generator) deleteCase() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope(t.Name)
	if !g.OneIn(3) {
		return g.dml(fmt.Sprintf("DELETE FROM %s WHERE %s", t.Name, g.Expr(s, "bool", 3)), t)
	}
	o := g.Schema.table(g.Rand)
	s.Cols = append(s.Cols, qualified(o.Cols, "o")...)
	return g.dml(fmt.Sprintf("DELETE FROM %s USING %s o WHERE o.id = %s.id AND %s", t.Name, o.Name, t.Name, g.operand(s, "bool", 2)), t)
}

func (g *Generator) mergeCase() Case {
	t, o := g.Schema.table(g.Rand), g.Schema.table(g.Rand)
	source := o.scope("o")
	both := t.scope("t").beside(source)
	var b strings.Builder
	using := g.Pick(o.Name, o.Name, "(SELECT * FROM "+o.Name+" WHERE id > 2)")
	fmt.Fprintf(&b, "%sMERGE INTO %s t USING %s o ON t.id = o.id", g.Pick("", "", "WITH w AS (SELECT 1) "), t.Name, using)
	if g.OneIn(2) {
		fmt.Fprintf(&b, " WHEN MATCHED AND %s THEN DELETE", g.Expr(both, "bool", 2))
	}
	if g.OneIn(2) {
		fmt.Fprintf(&b, " WHEN MATCHED THEN UPDATE SET %s", g.assignments(t, both, 2))
	}
	if g.OneIn(5) {
		b.WriteString(" WHEN MATCHED THEN DO NOTHING")
	}
	if g.OneIn(2) {
		fmt.Fprintf(&b, " WHEN NOT MATCHED AND %s THEN DO NOTHING", g.Expr(source, "bool", 2))
	}
	if c := t.Cols[1+g.IntN(len(t.Cols)-1)]; g.OneIn(2) {
		fmt.Fprintf(&b, " WHEN NOT MATCHED THEN INSERT (id, %s) VALUES (o.id, %s)", c.Name, g.untyped(source, c.Type, 2))
	} else if g.OneIn(3) {
		b.WriteString(" WHEN NOT MATCHED AND o.id < 100 THEN INSERT (id) OVERRIDING USER VALUE VALUES (o.id + 50) WHEN NOT MATCHED THEN INSERT DEFAULT VALUES")
	} else {
		b.WriteString(" WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)")
	}
	return Case{Key: "dml", Steps: steps(b.String(), "SELECT * FROM "+t.Name), Changes: true}
}

// modifyingWith changes rows in WITH, whose main query does not see the changes.
func (g *Generator) modifyingWith() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope(t.Name)
	change := g.Pick("DELETE FROM "+t.Name+" WHERE "+g.Expr(s, "bool", 2), "UPDATE "+t.Name+" SET "+g.assignments(t, s, 2)+" WHERE "+g.Expr(s, "bool", 2), g.insertion(t))
	ch := cte{name: "ch", cols: t.Cols}
	types := g.types()
	return Case{Key: "dml", Changes: true, Steps: steps(fmt.Sprintf("WITH ch AS (%s RETURNING %s) %s", change, names(t.Cols), g.Query(&Scope{ctes: []cte{ch}}, types, 3)), "SELECT * FROM "+t.Name)}
}

// namedChange names a query that a change reads, in its own queries too.
func (g *Generator) namedChange() Case {
	t := g.Schema.table(g.Rand)
	w := cte{name: "w", cols: columnsOf(append([]string{"int4"}, g.types()...))}
	with := fmt.Sprintf("WITH w(%s) AS %s(%s) ", names(w.cols), g.Pick("", "MATERIALIZED "), g.Query(nil, typesOf(w.cols), 2))
	s := t.scope(t.Name)
	s.ctes = []cte{w}
	inner := &Scope{Cols: qualified(w.cols, "w"), rows: []string{"w"}, outer: &Scope{ctes: []cte{w}}}
	c := t.Cols[1+g.IntN(len(t.Cols)-1)]
	switch g.IntN(4) {
	case 0:
		return g.dml(with+fmt.Sprintf("INSERT INTO %s (id, %s) SELECT 40 + row_number() OVER (ORDER BY x), x FROM (SELECT %s FROM w) s(x)", t.Name, c.Name, g.Expr(inner, c.Type, 2)), t)
	case 1:
		return g.dml(with+fmt.Sprintf("DELETE FROM %s WHERE %s", t.Name, g.Expr(s, "bool", 3)), t)
	case 2:
		return g.dml(with+fmt.Sprintf("UPDATE %s SET %s FROM (SELECT x0, count(*) n FROM w GROUP BY x0) s WHERE s.x0 = %s.id", t.Name, g.assignments(t, s, 2), t.Name), t)
	}
	return g.dml(with+fmt.Sprintf("UPDATE %s SET %s WHERE %s", t.Name, g.assignments(t, s, 3), g.Expr(s, "bool", 2)), t)
}

// viewChangeCase changes a table through a view of some of its rows.
func (g *Generator) viewChangeCase() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope(t.Name)
	v := Table{Name: "vt", Cols: []Column{{"id", "int4"}}}
	items := []string{t.Name + ".id"}
	for _, c := range t.Cols[1:] {
		if !g.OneIn(3) {
			v.Cols = append(v.Cols, Column{"v" + c.Name, c.Type})
			items = append(items, t.Name+"."+c.Name+" AS v"+c.Name)
		}
	}
	list := steps(fmt.Sprintf("CREATE VIEW vt AS SELECT %s FROM %s WHERE %s%s", strings.Join(items, ", "), t.Name, g.noQuery(s, "{bool}"), g.Pick("", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION")))
	vs := v.scope("vt")
	for range 1 + g.IntN(2) {
		sql := ""
		switch {
		case g.OneIn(3):
			sql = v.insert(g.Rand, 20+g.IntN(10))
		case g.OneIn(3):
			sql = "DELETE FROM vt WHERE " + g.Expr(vs, "bool", 2)
		default:
			sql = fmt.Sprintf("UPDATE vt SET %s WHERE %s", g.assignments(v, vs, 2), g.Expr(vs, "bool", 2))
		}
		list = append(list, Step{SQL: sql + g.Pick("", " RETURNING *", " RETURNING vt")})
	}
	return Case{Key: "dml through a view", Steps: append(list, steps("SELECT * FROM vt", "SELECT * FROM "+t.Name)...)}
}

// transactionCase is a block with savepoints, some statements of which fail.
func (g *Generator) transactionCase() Case {
	list := steps("BEGIN" + g.Pick("", " ISOLATION LEVEL READ COMMITTED", " ISOLATION LEVEL REPEATABLE READ", " READ ONLY", " ISOLATION LEVEL SERIALIZABLE"))
	for range 2 + g.IntN(5) {
		switch g.IntN(7) {
		case 0:
			list = append(list, Step{SQL: "SAVEPOINT " + g.Pick("a", "b")})
		case 1:
			list = append(list, Step{SQL: "ROLLBACK TO " + g.Pick("a", "b")})
		case 2:
			list = append(list, Step{SQL: g.Pick("RELEASE a", "RELEASE b", "SELECT count(*) FROM "+g.Schema.table(g.Rand).Name, "SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS t2_ref_fkey DEFERRED", "SET CONSTRAINTS diff.t2_ref_fkey, t3_ref_fkey IMMEDIATE", g.showMode(), g.mode())})
		default:
			list = append(list, g.Case("INSERT", "ON CONFLICT", "UPDATE", "DELETE").Steps...)
		}
	}
	return Case{Steps: append(list, Step{SQL: g.Pick("COMMIT", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN")}, Step{SQL: "ROLLBACK"}), Blocks: true}
}
