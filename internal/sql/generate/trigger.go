package generate

import (
	"fmt"
	"strings"
)

// triggerCase puts triggers on a table or a view, changes rows, and looks at what the triggers have noted in the table lg. Rows
// change in no particular order, so that what a row's trigger does depends on that row alone.
func (g *Generator) triggerCase() Case {
	t := g.Schema.table(g.Rand)
	on, list := t.Name, steps("CREATE TABLE lg (what text)")
	view := g.OneIn(6)
	if view {
		on = "vt"
		list = append(list, steps("CREATE VIEW vt AS SELECT "+names(t.Cols)+" FROM "+t.Name)...)
	}
	for i := range 1 + g.IntN(2) {
		list = append(list, g.trigger(i, t, on, view)...)
	}
	list = append(list, Step{SQL: "SELECT tgname, pg_get_triggerdef(oid), tgenabled, tgdeferrable FROM pg_trigger WHERE tgrelid = '" + on + "'::regclass AND NOT tgisinternal"})
	target := t
	target.Name = on
	for range 1 + g.IntN(3) {
		list = append(list, Step{SQL: g.fires(target)})
		if g.OneIn(4) {
			list = append(list, Step{SQL: g.Pick("SET CONSTRAINTS ALL IMMEDIATE", "ALTER TABLE "+t.Name+" DISABLE TRIGGER USER", "ALTER TABLE "+t.Name+" ENABLE TRIGGER ALL", "SET session_replication_role = replica",
				"SET session_replication_role = origin", "ALTER TABLE "+t.Name+" ENABLE ALWAYS TRIGGER tg0", "DROP TRIGGER IF EXISTS tg0 ON "+on, "ALTER TRIGGER tg0 ON "+on+" RENAME TO zz")})
		}
	}
	list = append(list, steps("SET CONSTRAINTS ALL IMMEDIATE", "SELECT what FROM lg")...)
	for _, o := range g.Schema.Tables {
		list = append(list, Step{SQL: "SELECT * FROM " + o.Name})
	}
	return Case{Key: "trigger", Steps: list}
}

// fires is a change of rows.
func (g *Generator) fires(t Table) string {
	s := t.scope(t.Name)
	c := t.Cols[1+g.IntN(len(t.Cols)-1)]
	returning := g.Pick("", "", " RETURNING *", " RETURNING id")
	switch g.IntN(6) {
	case 0:
		return t.insert(g.Rand, 20+g.IntN(10)) + returning
	case 1:
		return fmt.Sprintf("INSERT INTO %s (id, %s) SELECT 30 + n, %s FROM generate_series(1, 3) n%s", t.Name, c.Name, g.SmallLiteral(c.Type), returning)
	case 2:
		return fmt.Sprintf("DELETE FROM %s WHERE id %s %d%s", t.Name, g.Pick("=", ">", "<"), g.IntN(8), returning)
	case 3:
		return t.insert(g.Rand, g.IntN(20)) + g.Pick(" ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET "+c.Name+" = excluded."+c.Name) + returning
	}
	return fmt.Sprintf("UPDATE %s SET %s = %s WHERE id %s %d%s", t.Name, c.Name, g.untyped(s, c.Type, 1), g.Pick("=", ">", "<"), g.IntN(8), returning)
}

// trigger makes a function and a trigger that calls it.
func (g *Generator) trigger(i int, t Table, on string, view bool) []Step {
	name, events := fmt.Sprintf("tg%d", i), g.Pick("INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE", "UPDATE OR DELETE", "INSERT OR UPDATE OR DELETE")
	if g.OneIn(5) && strings.HasSuffix(events, "UPDATE") {
		events += " OF " + t.Cols[g.IntN(len(t.Cols))].Name
	}
	when, level := g.Pick("BEFORE", "AFTER"), g.Pick("ROW", "ROW", "ROW", "STATEMENT")
	if view {
		when, level = "INSTEAD OF", "ROW"
	}
	create, rest, tables := "CREATE TRIGGER", "", false
	switch {
	case when == "AFTER" && level == "ROW" && g.OneIn(4):
		create, rest = "CREATE CONSTRAINT TRIGGER", g.Pick("", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED", " NOT DEFERRABLE")
	case when == "AFTER" && g.OneIn(3):
		tables = true
		rest = " REFERENCING " + map[string]string{"INSERT": "NEW TABLE AS nt", "UPDATE": "NEW TABLE AS nt OLD TABLE AS ot", "DELETE": "OLD TABLE AS ot"}[events]
		if strings.HasSuffix(rest, "ING ") {
			rest, tables = "", false
		}
	}
	body := g.triggerBody(t, events, when, level, tables)
	condition := ""
	if level == "ROW" && !view && g.OneIn(3) {
		condition = " WHEN (" + g.noQuery(rowScope(t, events), "{bool}") + ")"
	}
	return steps(fmt.Sprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $f$%s$f$", name, body),
		fmt.Sprintf("%s %s %s %s ON %s%s FOR EACH %s%s EXECUTE %s %s(%s)", create, name, when, events, on, rest, level, condition, g.Pick("FUNCTION", "PROCEDURE"), name, g.Pick("", "'x', 7")))
}

// rowScope is what a condition, or a function, of a row's trigger may use.
func rowScope(t Table, events string) *Scope {
	s := &Scope{}
	if events != "DELETE" {
		s.Cols = append(s.Cols, qualified(t.Cols, "new")...)
	}
	if !strings.HasPrefix(events, "INSERT") {
		s.Cols = append(s.Cols, qualified(t.Cols, "old")...)
	}
	return s
}

// triggerBody notes what fired, and may change the row.
func (g *Generator) triggerBody(t Table, events, when, level string, tables bool) string {
	note := "tg_op || ' ' || tg_when || ' ' || tg_level || ' ' || tg_name || ' ' || tg_table_name || ' ' || tg_nargs || coalesce(tg_argv[0], '-')"
	if level == "STATEMENT" {
		text := "INSERT INTO lg VALUES (" + note + "); "
		if tables {
			c := t.Cols[g.IntN(len(t.Cols))].Name
			if events != "DELETE" {
				text += "INSERT INTO lg SELECT 'new ' || nt.id || coalesce(nt." + c + "::text, '-') FROM nt; "
			}
			if events != "INSERT" {
				text += "INSERT INTO lg SELECT 'old ' || count(*) FROM ot; "
			}
		}
		return "BEGIN " + text + "RETURN NULL; END"
	}
	s := rowScope(t, events)
	note += fmt.Sprintf(" || coalesce((%s)::text, '-')", g.Expr(s, g.Pick("int4", "text", "bool"), 1))
	if tables {
		note += " || (SELECT count(*) FROM " + g.Pick(map[string][]string{"INSERT": {"nt"}, "UPDATE": {"nt", "ot"}, "DELETE": {"ot"}}[events]...) + ")"
	}
	returned := g.Pick("NEW", "NEW", "NEW", "NULL", "OLD")
	if events == "DELETE" {
		returned = g.Pick("OLD", "OLD", "OLD", "NULL")
	}
	b := g.body(s.Cols)
	b.trigger = returned
	if when == "AFTER" || events == "DELETE" || g.OneIn(3) {
		return "BEGIN INSERT INTO lg VALUES (" + note + "); " + b.returning(1) + " END"
	}
	if g.OneIn(3) {
		return b.text()
	}
	c := t.Cols[1+g.IntN(len(t.Cols)-1)]
	return fmt.Sprintf("BEGIN INSERT INTO lg VALUES (%s); IF tg_op <> 'DELETE' THEN new.%s := %s; END IF; %s END", note, c.Name, g.untyped(s, c.Type, 1), b.returning(1))
}

// policyCase puts policies on a table and has another role read and change it.
func (g *Generator) policyCase() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope(t.Name)
	list := steps("CREATE ROLE diff_user", "GRANT USAGE ON SCHEMA diff TO diff_user", "GRANT ALL ON ALL TABLES IN SCHEMA diff TO diff_user",
		"ALTER TABLE "+t.Name+" ENABLE ROW LEVEL SECURITY")
	for i := range 1 + g.IntN(3) {
		text := fmt.Sprintf("CREATE POLICY p%d ON %s%s%s%s", i, t.Name, g.Pick("", "", " AS PERMISSIVE", " AS RESTRICTIVE"), g.Pick("", " FOR ALL", " FOR SELECT", " FOR INSERT", " FOR UPDATE", " FOR DELETE"),
			g.Pick("", " TO PUBLIC", " TO diff_user", " TO diff_user, CURRENT_USER"))
		if !strings.Contains(text, "FOR INSERT") {
			text += " USING (" + g.Expr(s, "bool", 2) + ")"
		}
		if !strings.Contains(text, "FOR SELECT") && !strings.Contains(text, "FOR DELETE") && (g.OneIn(2) || strings.Contains(text, "FOR INSERT")) {
			text += " WITH CHECK (" + g.Expr(s, "bool", 2) + ")"
		}
		list = append(list, Step{SQL: text})
	}
	list = append(list, steps("SELECT policyname, permissive, cmd, roles FROM pg_policies WHERE tablename = '"+t.Name+"'", "SET ROLE diff_user", "SELECT * FROM "+t.Name)...)
	for range 1 + g.IntN(3) {
		list = append(list, Step{SQL: g.fires(t)}, Step{SQL: "SELECT * FROM " + t.Name})
	}
	list = append(list, Step{SQL: fmt.Sprintf("SELECT count(*) FROM %s a JOIN %s b ON a.id = b.id WHERE %s", t.Name, g.Schema.table(g.Rand).Name, g.Expr(t.scope("a"), "bool", 1))})
	if g.OneIn(3) {
		list = append(list, steps("RESET ROLE", g.Pick("ALTER TABLE "+t.Name+" FORCE ROW LEVEL SECURITY", "ALTER TABLE "+t.Name+" DISABLE ROW LEVEL SECURITY", "DROP POLICY p0 ON "+t.Name, "ALTER POLICY p0 ON "+t.Name+" USING (true)", "ALTER TABLE "+t.Name+" OWNER TO diff_user"),
			"SET ROLE diff_user", "SELECT * FROM "+t.Name, "SET row_security = off", "SELECT * FROM "+t.Name)...)
	}
	return Case{Key: "policy", Steps: append(list, steps("RESET ROLE", "SELECT * FROM "+t.Name)...)}
}
