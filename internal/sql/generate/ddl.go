package generate

import (
	"fmt"
	"strings"
)

// ddlForms are changes of the schema, most of which fail somewhere; {t} stands for
// a table, {c} for one of its columns, {n} for a new name, {y} for a type, {v} for
// a constant.
var ddlForms = []string{
	"CREATE TABLE {t} (a int)", "CREATE TABLE {n} (a int, a text)", "CREATE TABLE {n} (a {y} DEFAULT {v})", "CREATE TABLE {n} (a int PRIMARY KEY, b int PRIMARY KEY)",
	"CREATE TABLE {n} (a int REFERENCES {t}({c}))", "CREATE TABLE {n} (a int CHECK (b > 0))", "CREATE TABLE {n} (a int CHECK (a))", "CREATE TABLE {n} (a nosuchtype)",
	"CREATE TABLE {n} (LIKE {t} INCLUDING ALL)", "CREATE TABLE {n} (LIKE nosuch)", "CREATE TABLE {n} AS SELECT {c} FROM {t}", "CREATE TABLE {n} (a int GENERATED ALWAYS AS (b * 2) STORED, b int)",
	"CREATE TABLE {n} (a int GENERATED ALWAYS AS IDENTITY, b text)", "CREATE TABLE {n} (a int, UNIQUE (a, b))", "CREATE TABLE {n} (a text, FOREIGN KEY (a) REFERENCES {t}(id))",
	"ALTER TABLE {t} ADD COLUMN {n} {y}", "ALTER TABLE {t} ADD COLUMN {c} int", "ALTER TABLE {t} ADD COLUMN {n} {y} DEFAULT {v}", "ALTER TABLE {t} ADD COLUMN {n} {y} NOT NULL", "ALTER TABLE {t} DROP COLUMN {c}",
	"ALTER TABLE {t} DROP COLUMN nosuch", "ALTER TABLE {t} DROP COLUMN IF EXISTS nosuch", "ALTER TABLE {t} ALTER {c} TYPE {y}", "ALTER TABLE {t} ALTER {c} TYPE {y} USING {c}::text::{y}", "ALTER TABLE {t} ALTER {c} SET NOT NULL",
	"ALTER TABLE {t} ALTER {c} DROP NOT NULL", "ALTER TABLE {t} ALTER {c} SET DEFAULT {v}", "ALTER TABLE {t} ALTER {c} DROP DEFAULT", "ALTER TABLE {t} RENAME COLUMN {c} TO {n}", "ALTER TABLE {t} RENAME COLUMN {c} TO id",
	"ALTER TABLE {t} RENAME TO {n}", "ALTER TABLE nosuch RENAME TO {n}", "ALTER TABLE {t} ADD CONSTRAINT {n} CHECK ({c} IS NOT NULL)", "ALTER TABLE {t} ADD CONSTRAINT {n} UNIQUE ({c})", "ALTER TABLE {t} ADD PRIMARY KEY ({c})",
	"ALTER TABLE {t} ADD FOREIGN KEY ({c}) REFERENCES {t}", "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey", "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey CASCADE", "ALTER TABLE {t} DROP CONSTRAINT nosuch", "ALTER TABLE {t} SET SCHEMA nosuch",
	"CREATE INDEX {n} ON {t} ({c})", "CREATE UNIQUE INDEX {n} ON {t} ({c})", "CREATE INDEX {n} ON {t} (nosuch)", "CREATE INDEX {n} ON {t} (lower({c}))", "CREATE INDEX {n} ON {t} ({c}) WHERE id > 3", "CREATE INDEX {n} ON {t} ({c}, {c})",
	"CREATE INDEX ON nosuch (a)", "CREATE INDEX {n} ON {t} ({c}) INCLUDE (id)", "DROP INDEX nosuch", "DROP INDEX {t}_pkey", "DROP TABLE nosuch", "DROP TABLE {t}", "DROP TABLE {t} CASCADE", "DROP VIEW {t}", "DROP TABLE IF EXISTS nosuch",
	"CREATE VIEW {n} AS SELECT * FROM {t}", "CREATE VIEW {t} AS SELECT 1", "CREATE VIEW {n} AS SELECT nosuch FROM {t}", "CREATE OR REPLACE VIEW {n} AS SELECT {c} FROM {t}", "DROP VIEW nosuch", "CREATE VIEW {n} (a, b) AS SELECT 1",
	"CREATE SEQUENCE {n} INCREMENT 0", "CREATE SEQUENCE {n} MINVALUE 5 START 1", "CREATE SEQUENCE {t}", "CREATE SEQUENCE {n} OWNED BY {t}.{c}", "DROP SEQUENCE nosuch", "ALTER SEQUENCE nosuch RESTART", "CREATE TYPE {n} AS ENUM ('a', 'a')",
	"CREATE TYPE {n} AS ENUM ('a', 'b')", "CREATE TYPE {n} AS (a int, b {y})", "CREATE DOMAIN {n} AS int CHECK (VALUE > 0)", "CREATE DOMAIN {n} AS nosuch", "DROP TYPE nosuch", "DROP TYPE {t}", "DROP DOMAIN {t}", "CREATE SCHEMA diff",
	"DROP SCHEMA nosuch", "DROP SCHEMA diff", "COMMENT ON TABLE {t} IS 'x'", "COMMENT ON COLUMN {t}.nosuch IS 'x'", "TRUNCATE {t}", "TRUNCATE {t} CASCADE", "TRUNCATE nosuch", "ALTER TABLE {t} ADD COLUMN {n} int GENERATED ALWAYS AS (id + 1) STORED",
	"ALTER TABLE {t} ALTER id DROP NOT NULL", "ALTER TABLE {t} ALTER {c} ADD GENERATED ALWAYS AS IDENTITY", "CREATE MATERIALIZED VIEW {n} AS SELECT {c} FROM {t}", "REFRESH MATERIALIZED VIEW {t}", "GRANT SELECT ON {t} TO nosuch",
	"CREATE TABLE {n} (a int) PARTITION BY RANGE (b)", "ALTER VIEW {t} RENAME TO {n}", "LOCK TABLE nosuch", "ANALYZE nosuch", "CREATE INDEX {n} ON {t} ((id + 1), ({c} IS NULL))", "ALTER TABLE {t} ADD CHECK (nosuch > 1)",
	"ALTER TABLE {t} VALIDATE CONSTRAINT nosuch", "ALTER TABLE {t} RENAME CONSTRAINT {t}_pkey TO {n}", "ALTER INDEX {t}_pkey RENAME TO {n}", "CREATE TABLE {n} (a {y} UNIQUE, b {y} PRIMARY KEY)", "CREATE TABLE {n} (a int DEFAULT 'x')",
	"CREATE TABLE {n} (a int DEFAULT (SELECT 1))", "CREATE TABLE {n} (a int DEFAULT b)", "CREATE TABLE {n} (a int CHECK (sum(a) > 1))", "CREATE TABLE {n} (ctid int)", "ALTER TABLE {t} ADD UNIQUE ({c}, {c})", "CREATE TABLE {n} (a int, CONSTRAINT x CHECK (a > 0), CONSTRAINT x CHECK (a > 1))",
	"CREATE TABLE {n} (a int, b int, FOREIGN KEY (a, b) REFERENCES {t} MATCH FULL)", "CREATE TABLE {n} (a int, b int, UNIQUE NULLS NOT DISTINCT (a, b))", "CREATE TABLE {n} (a int REFERENCES {t} MATCH FULL ON DELETE SET NULL (a))", "CREATE TABLE {n} (a text COLLATE \"C\", b int COLLATE \"C\")",
	"CREATE TABLE {n} (a int, FOREIGN KEY (a) REFERENCES {t} ON DELETE SET NULL (a) ON UPDATE RESTRICT NOT DEFERRABLE)", "CREATE TABLE {n} (a int CONSTRAINT x NOT NULL NULL)", "CREATE TABLE {n} (a {y} DEFAULT nosuch())", "CREATE TABLE {n} (a int CHECK (a > 0) NO INHERIT)", "CREATE TABLE {n} (a interval DAY TO SECOND(2), b interval(3))",
	"CREATE INDEX {n} ON {t} ({c} COLLATE \"C\" text_pattern_ops DESC)", "CREATE UNIQUE INDEX {n} ON {t} ({c}) NULLS NOT DISTINCT", "TRUNCATE ONLY {t} RESTART IDENTITY CASCADE", "LOCK TABLE {t} IN SHARE ROW EXCLUSIVE MODE NOWAIT", "LOCK TABLE {t}, nosuch", "COMMENT ON TYPE pair IS 'x'", "COMMENT ON DOMAIN posint IS NULL",
	"COMMENT ON CONSTRAINT {t}_pkey ON {t} IS 'x'", "COMMENT ON INDEX {t}_pkey IS 'x'", "COMMENT ON VIEW {t} IS 'x'", "REINDEX TABLE {t}", "REINDEX INDEX nosuch", "CLUSTER {t} USING {t}_pkey", "DISCARD SEQUENCES", "DISCARD PLANS", "DISCARD TEMP", "CLOSE ALL", "UNLISTEN *", "SELECT {c} INTO {n} FROM {t}", "SELECT id INTO TEMP {n} FROM {t}",
	"CREATE SEQUENCE {n} AS smallint CYCLE CACHE 5 NO MINVALUE MAXVALUE 9", "CREATE SEQUENCE {n} AS text", "ALTER SEQUENCE sq AS smallint RESTART 5 INCREMENT BY 2", "CREATE TYPE {t} AS ENUM ()", "CREATE TYPE {t} AS (a {y})", "CREATE DOMAIN {t} AS {y}", "CREATE DOMAIN {n} AS {y} DEFAULT {v} NOT NULL CHECK (VALUE IS NOT NULL)", "CREATE INDEX IF NOT EXISTS {t} ON {t} ({c})",
	"ALTER TABLE {t} ADD CONSTRAINT {n} UNIQUE USING INDEX {t}_pkey", "ALTER TABLE {t} ALTER CONSTRAINT {t}_ref_fkey DEFERRABLE INITIALLY DEFERRED", "ALTER TABLE {t} ALTER {c} TYPE {y} COLLATE \"C\"", "ALTER TABLE {t} ADD COLUMN {n} {y} COLLATE \"C\"", "CREATE TABLE {n} OF pair", "CREATE TABLE {n} (a posint, b mood DEFAULT 'ok', c pair DEFAULT ROW(1, 'x'), d posint[] DEFAULT '{1}')",
}

// form fills in a form of a change.
func (g *Generator) form(form string, t Table) string {
	return strings.NewReplacer("{t}", t.Name, "{c}", t.Cols[g.IntN(len(t.Cols))].Name, "{n}", fmt.Sprintf("n%d", g.IntN(5)), "{y}", TypeSQL(g.Pick(columnTypes...)),
		"{v}", g.SmallLiteral(g.Pick(columnTypes...))).Replace(form)
}

// ddlCase changes the schema within a transaction that is rolled back.
func (g *Generator) ddlCase() Case {
	form := g.Pick(ddlForms...)
	return Case{Key: "ddl " + form, Steps: steps(g.form(form, g.Schema.table(g.Rand)))}
}

// alterActions are actions of ALTER TABLE; {c:type} stands for an expression of the column's
// type, {e} for one of type {y}.
var alterActions = []string{
	"ADD COLUMN {n} {y}", "ADD COLUMN {n} {y} DEFAULT {v}", "DROP COLUMN {c}", "DROP COLUMN {c} CASCADE", "ALTER {c} TYPE text USING {text}", "ALTER {c} TYPE int USING {int4}", "ALTER {c} TYPE varchar(4) USING {varchar(4)}",
	"ALTER {c} TYPE numeric(6,2) USING {numeric}", "ALTER {c} SET NOT NULL", "ALTER {c} DROP NOT NULL", "ALTER {c} SET DEFAULT {v}", "ALTER {c} DROP DEFAULT", "ADD CONSTRAINT {n} CHECK ({bool})", "ADD CONSTRAINT {n} CHECK ({bool}) NOT VALID",
	"ADD CONSTRAINT {n} UNIQUE ({c})", "ADD UNIQUE (id, {c})", "ADD FOREIGN KEY ({c}) REFERENCES {t}", "DROP CONSTRAINT {t}_pkey CASCADE", "ADD COLUMN {n} int GENERATED ALWAYS AS (id + 1) STORED", "ADD COLUMN {n} serial", "ADD COLUMN {n} int CHECK ({n} > 0) DEFAULT 5",
	"ADD COLUMN {n} pair DEFAULT ROW(1, 'a')", "ALTER {c} TYPE {y} USING {c}::text::{y}", "ADD COLUMN {n} int GENERATED BY DEFAULT AS IDENTITY", "ADD PRIMARY KEY ({c})",
}

// alterCase has several actions in one statement; expressions read the row as it was before.
func (g *Generator) alterCase() Case {
	t := g.Schema.table(g.Rand)
	s := &Scope{Cols: t.Cols}
	var list []string
	for range 2 + g.IntN(3) {
		action := g.form(g.Pick(alterActions...), t)
		for i := 0; strings.ContainsRune(action, '{') && i < 3; i++ {
			action = g.noQuery(s, action)
		}
		list = append(list, action)
	}
	c := Case{Steps: steps("ALTER TABLE "+t.Name+" "+strings.Join(list, ", "), "SELECT * FROM "+t.Name)}
	c.Steps = append(c.Steps, describeColumns(t.Name), Step{SQL: "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '" + t.Name + "'::regclass ORDER BY 1", Ordered: true})
	return c
}

// noQuery fills in an action's expressions, which may hold no queries.
func (g *Generator) noQuery(s *Scope, action string) string {
	all := g.expressions
	defer func() { g.expressions = all }()
	g.expressions = nil
	for _, p := range all {
		if p.holds&query == 0 && p.name != "equal expressions" {
			g.expressions = append(g.expressions, p)
		}
	}
	text := g.fill(s, action, 2)
	return text[1 : len(text)-1]
}

// typeCase changes the types that columns have, and reads them.
func (g *Generator) typeCase() Case {
	t := g.Schema.table(g.Rand)
	change := g.Pick("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", "ALTER TYPE mood ADD VALUE 'new' BEFORE 'ok'", "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'sad'", "ALTER TYPE mood ADD VALUE 'ok'", "ALTER TYPE pair ADD ATTRIBUTE c int", "ALTER TYPE pair RENAME ATTRIBUTE b TO z",
		"ALTER TYPE pair DROP ATTRIBUTE b", "ALTER TYPE pair ALTER ATTRIBUTE a TYPE text", "ALTER TYPE pair ADD ATTRIBUTE c int CASCADE", "ALTER DOMAIN posint ADD CHECK (VALUE < 5)", "ALTER DOMAIN posint ADD CONSTRAINT small CHECK (VALUE < 5) NOT VALID", "ALTER DOMAIN posint SET NOT NULL",
		"ALTER DOMAIN posint DROP CONSTRAINT posint_check", "ALTER DOMAIN posint SET DEFAULT 7", "ALTER TYPE mood RENAME TO mood2", "ALTER TYPE pair SET SCHEMA public", "DROP TYPE mood", "DROP DOMAIN posint CASCADE", "DROP TYPE pair", "ALTER TYPE posint RENAME TO p2", "ALTER DOMAIN posint VALIDATE CONSTRAINT posint_check")
	return Case{Key: "ddl " + change, Steps: append(steps(change, "SELECT * FROM "+t.Name), describeColumns(t.Name), Step{SQL: t.insert(g.Rand, 60)}, Step{SQL: "SELECT * FROM " + t.Name})}
}

// tempCase makes a temporary table of a query's rows, with the name of another table at times.
func (g *Generator) tempCase() Case {
	types := g.types()
	name := g.Pick("tt", "tt", "t1")
	list := []string{fmt.Sprintf("CREATE TEMP TABLE %s(%s)%s AS %s", name, names(columnsOf(types)), g.Pick("", " ON COMMIT DROP", " ON COMMIT PRESERVE ROWS"), g.Query(nil, types, 2)), "SELECT * FROM " + name,
		"ALTER TABLE " + name + " ADD COLUMN extra int DEFAULT 3", g.Pick("SAVEPOINT s", "TRUNCATE "+name, "INSERT INTO "+name+" SELECT * FROM "+name), "SELECT * FROM " + name, "DROP TABLE " + name, "SELECT count(*) FROM " + name}
	return Case{Steps: steps(list...)}
}

// lockingCase locks the rows that a query reads.
func (g *Generator) lockingCase() Case {
	t, o := g.Schema.table(g.Rand), g.Schema.table(g.Rand)
	const a, b = "a1001", "a1002" // not those of queries within
	s := t.scope(a).beside(o.scope(b))
	q := fmt.Sprintf("SELECT %[1]s.id, %[2]s.id, %[3]s FROM %[4]s %[1]s %[5]s %[6]s %[2]s ON %[1]s.id = %[2]s.id WHERE %[7]s ORDER BY 1, 2 %[8]s FOR %[9]s OF %[1]s%[10]s", a, b,
		g.Expr(s, g.typ(), 2), t.Name, g.Pick("JOIN", "LEFT JOIN"), o.Name, g.Expr(s, "bool", 2), g.Pick("", "LIMIT 3"), g.Pick("UPDATE", "SHARE", "NO KEY UPDATE", "KEY SHARE"), g.Pick("", ", "+b, " NOWAIT", " SKIP LOCKED"))
	return Case{Steps: []Step{{SQL: q, Ordered: true}}}
}
