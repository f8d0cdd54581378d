package generate

import (
	"fmt"
	"slices"
	"strings"
)

// Step is one statement.
type Step struct {
	SQL     string
	Ordered bool // its rows have a total order
}

// Case is what is compared at once: a few statements that belong together.
type Case struct {
	Key   string // what it tries: differences with the same key are told once
	Steps []Step
	// Changes says that what it writes is to stay, and Blocks that it begins and ends
	// transactions itself. Any other case runs in a block that is rolled back.
	Changes, Blocks bool
}

// statementProduction writes a case.
type statementProduction struct {
	name   string
	holds  kind
	weight int
	write  func(*Generator) Case
}

func statements() []statementProduction {
	return []statementProduction{
		{"query", query, 12, (*Generator).queryCase},
		{"INSERT", expression | query, 3, (*Generator).insertCase},
		{"ON CONFLICT", expression, 2, (*Generator).conflictCase},
		{"UPDATE", expression | query, 4, (*Generator).updateCase},
		{"DELETE", expression, 1, (*Generator).deleteCase},
		{"MERGE", expression, 1, (*Generator).mergeCase},
		{"data-modifying WITH", query, 2, (*Generator).modifyingWith},
		{"DDL", 0, 4, (*Generator).ddlCase},
		{"several ALTER actions", expression, 2, (*Generator).alterCase},
		{"transaction", 0, 2, (*Generator).transactionCase},
		{"session", query, 1, (*Generator).sessionCase},
		{"cursor", query, 2, (*Generator).cursorCase},
		{"PREPARE over DDL", query, 2, (*Generator).prepareCase},
		{"CREATE VIEW", query, 2, (*Generator).viewCase},
		{"CREATE TABLE AS", query, 2, (*Generator).createAsCase},
		{"sequence under LIMIT", expression, 1, (*Generator).sequenceCase},
		{"WITH before DML", query | expression, 2, (*Generator).namedChange},
		{"changes through a view", expression, 2, (*Generator).viewChangeCase},
		{"ALTER of a type", 0, 1, (*Generator).typeCase},
		{"temporary table", query, 1, (*Generator).tempCase},
		{"locking", expression, 1, (*Generator).lockingCase},
		{"routine", expression | query, 4, (*Generator).routineCase},
		{"trigger", expression, 3, (*Generator).triggerCase},
		{"policy", expression, 2, (*Generator).policyCase},
	}
}

// Productions are the names of the productions of statements.
func Productions() []string {
	var names []string
	for _, p := range statements() {
		names = append(names, p.name)
	}
	return names
}

// Case draws a case. Kinds are names of productions to draw from (Productions), all if there is none.
func (g *Generator) Case(kinds ...string) (c Case) {
	var list []statementProduction
	for _, p := range g.statements {
		if len(kinds) > 0 && !slices.Contains(kinds, p.name) {
			continue
		}
		for range p.weight {
			list = append(list, p)
		}
	}
	p := list[g.IntN(len(list))]
	g.in(p.name, func() string {
		c = p.write(g)
		return p.name
	})
	if c.Key == "" {
		c.Key = p.name
	}
	return c
}

func steps(list ...string) []Step {
	var s []Step
	for _, sql := range list {
		s = append(s, Step{SQL: sql})
	}
	return s
}

// queryDepth is how deep queries nest.
const queryDepth = 4

// ordered is a query with an order that leaves no choice, if its types have one.
func (g *Generator) orderedQuery(types []string, depth int) Step {
	q := g.Query(nil, types, depth)
	if !ordered(types) || g.OneIn(3) {
		return Step{SQL: q}
	}
	st := Step{SQL: fmt.Sprintf("SELECT * FROM (%s) %s ORDER BY %s", q, g.name("o"), g.totalOrder(len(types))), Ordered: true}
	if g.OneIn(3) {
		st.SQL += g.limit()
	}
	return st
}

func (g *Generator) queryCase() Case {
	return Case{Steps: []Step{g.orderedQuery(g.types(), 1+g.IntN(queryDepth))}}
}

// cursorCase reads a query through a cursor.
func (g *Generator) cursorCase() Case {
	types := g.types()
	for !ordered(types) {
		types = g.types()
	}
	q := fmt.Sprintf("SELECT * FROM (%s) o ORDER BY %s", g.Query(nil, types, 3), g.totalOrder(len(types)))
	list := []Step{{SQL: "DECLARE cu " + g.Pick("", "SCROLL ", "SCROLL ", "NO SCROLL ", "BINARY SCROLL ") + "CURSOR " + g.Pick("", "WITH HOLD ", "WITHOUT HOLD ") + "FOR " + q}}
	for range 2 + g.IntN(4) {
		list = append(list, Step{SQL: g.Pick("FETCH", "FETCH", "MOVE") + " " + g.Pick("NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE 2", "ABSOLUTE -1", "RELATIVE 2", "RELATIVE 0", "3", "ALL", "FORWARD 2", "BACKWARD 2", "BACKWARD ALL", "0") + " FROM cu", Ordered: true})
	}
	if g.OneIn(3) {
		list = append(list, Step{SQL: "SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors WHERE name = 'cu'"})
	}
	return Case{Steps: append(list, Step{SQL: "CLOSE cu"})}
}

// prepareCase prepares a statement, changes what it reads, and executes it again.
func (g *Generator) prepareCase() Case {
	t := g.Schema.table(g.Rand)
	s := t.scope("t")
	s.Cols = append(s.Cols, Column{"$1", "int4"})
	types := g.types()
	q := fmt.Sprintf("SELECT %s FROM %s t WHERE %s", g.items(types, func(typ string) string { return g.Expr(s, typ, 2) }), t.Name, g.Expr(s, "bool", 2))
	switch g.IntN(4) {
	case 0:
		q = fmt.Sprintf("SELECT * FROM %s t WHERE id < $1", t.Name)
	case 1:
		q = g.Query(&Scope{Cols: []Column{{"$1", "int4"}}}, types, 3)
	case 2:
		q = fmt.Sprintf("UPDATE %s t SET %s WHERE %s RETURNING *", t.Name, g.assignments(t, s, 2), g.Expr(s, "bool", 2))
	}
	list := []string{"PREPARE p(int4) AS " + q, "EXECUTE p(" + g.constant("int4") + ")"}
	for range 1 + g.IntN(2) {
		list = append(list, g.change(t), "EXECUTE p("+g.constant("int4")+")", "EXECUTE p(NULL)")
	}
	return Case{Steps: steps(append(list, "DEALLOCATE p")...)}
}

// change is a change of the schema that prepared statements must notice.
func (g *Generator) change(t Table) string {
	c := t.Cols[g.IntN(len(t.Cols))]
	return strings.NewReplacer("{t}", t.Name, "{c}", c.Name).Replace(g.Pick("ALTER TABLE {t} ADD COLUMN extra int DEFAULT 7", "ALTER TABLE {t} DROP COLUMN {c} CASCADE", "CREATE INDEX ON {t} ({c})",
		"ALTER TABLE {t} ALTER {c} TYPE text USING {c}::text", "ALTER TABLE {t} RENAME COLUMN {c} TO other", "ALTER TABLE {t} RENAME TO tx", "TRUNCATE {t} CASCADE", "DROP TABLE {t} CASCADE", "ALTER TABLE {t} ALTER {c} DROP NOT NULL",
		"SET search_path = public", "DELETE FROM {t} WHERE id > 4", "CREATE TEMP TABLE {t} (id int, c0 int)", "ALTER TABLE {t} SET SCHEMA public", "CREATE OR REPLACE VIEW vx AS SELECT 1", "UPDATE {t} SET id = id + 100"))
}

// viewCase stores a query and reads it back, as rows and as text.
func (g *Generator) viewCase() Case {
	types := g.types()
	q := g.Query(nil, types, 3)
	if g.OneIn(4) {
		return Case{Steps: steps("CREATE MATERIALIZED VIEW vx("+names(columnsOf(types))+") AS "+q, "SELECT * FROM vx", "REFRESH MATERIALIZED VIEW vx", "SELECT * FROM vx")}
	}
	return Case{Steps: steps("CREATE VIEW vx("+names(columnsOf(types))+") AS "+q, "SELECT * FROM vx", "SELECT pg_get_viewdef('vx'::regclass)")}
}

// describeColumns tells the columns of a relation.
func describeColumns(relation string) Step {
	return Step{SQL: "SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute WHERE attrelid = '" + relation + "'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum", Ordered: true}
}

// createAsCase writes what a query returns, and reads it.
func (g *Generator) createAsCase() Case {
	types := g.types()
	q := g.Query(nil, types, 3)
	list := steps("CREATE TABLE cx("+names(columnsOf(types))+") AS "+q, "SELECT * FROM cx")
	list = append(list, describeColumns("cx"))
	return Case{Steps: append(list, steps("INSERT INTO cx SELECT * FROM ("+q+") s", "SELECT * FROM cx")...)}
}

// sequenceCase counts how often a volatile function is called: for the rows that a LIMIT leaves.
func (g *Generator) sequenceCase() Case {
	from, s := g.From(nil, 2)
	typ := g.comparable()
	order := names(s.Cols)
	q := ""
	switch g.IntN(4) {
	case 0:
		q = fmt.Sprintf("SELECT nextval('sq'), %s FROM %s%s ORDER BY 2 LIMIT %s", g.Expr(s, typ, 2), from, g.where(s, 1), g.Pick("0", "1", "3"))
	case 1:
		q = fmt.Sprintf("SELECT CASE WHEN %s THEN nextval('sq') END IS NULL FROM %s", g.Expr(s, "bool", 2), from)
	case 2:
		q = fmt.Sprintf("WITH w AS MATERIALIZED (SELECT nextval('sq') n, %s x FROM %s) SELECT count(*), (SELECT count(n) FROM w) FROM w", g.Expr(s, typ, 2), from)
	default:
		q = fmt.Sprintf("SELECT count(n) FROM (SELECT nextval('sq') n FROM %s ORDER BY %s LIMIT 2) s", from, order)
	}
	list := steps("SELECT setval('sq', 100)", q, "SELECT nextval('sq')")
	return Case{Steps: list}
}

// sessionCase changes settings and looks at what they do.
func (g *Generator) sessionCase() Case {
	if g.OneIn(3) {
		return Case{Steps: steps("BEGIN "+g.Pick("", "ISOLATION LEVEL READ UNCOMMITTED", "ISOLATION LEVEL SERIALIZABLE, READ ONLY", "READ ONLY", "READ WRITE", "NOT DEFERRABLE"),
			g.Pick("SELECT 1", "SAVEPOINT a"), g.mode(), g.showMode(), g.Pick("ROLLBACK TO a", "SAVEPOINT a", "RELEASE a"), g.mode(), g.showMode(), "SAVEPOINT b", g.mode(), "ROLLBACK TO b", g.showMode(), "COMMIT", g.showMode(), "ROLLBACK"), Blocks: true}
	}
	name, value := g.setting()
	list := []string{g.Pick("SET ", "SET LOCAL ", "SET SESSION ") + name + g.Pick(" TO ", " = ") + value, "SHOW " + name, "SELECT current_setting('" + name + "')"}
	switch g.IntN(3) {
	case 0:
		list = append(list, g.Query(nil, []string{"timestamptz", "interval", "date", "text", "bytea", "float8"}, 2))
	case 1:
		list = append(list, `SELECT 'a\nb', '1 day 02:00'::interval, '2024-02-01'::date, '01/02/2024'::date, '2024-07-01 12:00'::timestamptz, 0.1::float8 + 0.2, '\x41'::bytea`)
	}
	list = append(list, g.Pick("RESET "+name, "SET "+name+" TO DEFAULT", "SAVEPOINT s", "RESET ALL"), "SHOW "+name, "SELECT name, setting, boot_val, reset_val = boot_val FROM pg_settings WHERE lower(name) = '"+name+"'")
	return Case{Steps: steps(list[:len(list)-1]...)}
}

func (g *Generator) mode() string {
	return g.Pick("SET TRANSACTION ", "SET LOCAL transaction_read_only TO on --", "SET TRANSACTION ", "SET SESSION CHARACTERISTICS AS TRANSACTION ") + g.Pick("READ ONLY", "READ WRITE", "ISOLATION LEVEL REPEATABLE READ", "ISOLATION LEVEL READ UNCOMMITTED", "DEFERRABLE", "NOT DEFERRABLE", "READ ONLY, DEFERRABLE")
}

func (g *Generator) showMode() string {
	return g.Pick("SHOW transaction_read_only", "SHOW transaction_isolation", "SHOW transaction_deferrable", "SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation'), current_setting('default_transaction_read_only')")
}

// setting draws a setting and a value for it.
func (g *Generator) setting() (name, value string) {
	list := [][]string{
		{"datestyle", "dmy", "'iso, dmy'", "'sql, mdy'", "german", "'postgres, ymd'", "iso", "default", "'german, nosuch'"},
		{"intervalstyle", "iso_8601", "sql_standard", "postgres_verbose", "nosuch"},
		{"timezone", "'Europe/Berlin'", "'+3'", "-7", "'UTC'", "INTERVAL '+02:00' HOUR TO MINUTE", "'nosuch/zone'"},
		{"search_path", "public, diff", `"a b", diff`, `'"x", diff'`, "''", `"$user", public`, "diff"},
		{"extra_float_digits", "0", "-3", "3", "17"}, {"bytea_output", "escape", "hex"}, {"standard_conforming_strings", "off", "on"}, {"escape_string_warning", "off"}, {"backslash_quote", "on"},
		{"statement_timeout", "'10s'", "20000", "'1min'", "-1"}, {"work_mem", "'4MB'", "65536", "'1TB'"}, {"default_transaction_isolation", "'read committed'", "serializable", "'x'"},
		{"default_transaction_read_only", "on", "off"}, {"application_name", "x", "'ü'", "''"}, {"client_min_messages", "error", "warning"}, {"array_nulls", "off", "on"}, {"transform_null_equals", "on", "off"},
		{"quote_all_identifiers", "on", "off"}, {"row_security", "off"}, {"my.own", "1", "'x y'"}, {"lock_timeout", "100", "'1s'"}, {"enable_seqscan", "off"}, {"xmloption", "document"},
	}
	s := list[g.IntN(len(list))]
	return s[0], s[1+g.IntN(len(s)-1)]
}
