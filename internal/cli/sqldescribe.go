package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const listRelations = `SELECT n.nspname AS "Schema", c.relname AS "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index'
    WHEN 'S' THEN 'sequence' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' WHEN 'f' THEN 'foreign table' END AS "Type",
  pg_catalog.pg_get_userbyid(c.relowner) AS "Owner"%s
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace%s
WHERE c.relkind IN (%s) AND %s
ORDER BY 1, 2`

// describe shows objects of the database, from pg_catalog.
func (sh *shell) describe(command, arg string) error {
	command, more := strings.CutSuffix(command, "+")
	kinds := ""
	switch command {
	case `\l`:
		return sh.list("List of databases", `SELECT d.datname AS "Name", pg_catalog.pg_get_userbyid(d.datdba) AS "Owner",
  pg_catalog.pg_encoding_to_char(d.encoding) AS "Encoding", d.datcollate AS "Collate", d.datctype AS "Ctype"
FROM pg_catalog.pg_database d ORDER BY 1`)
	case `\dn`:
		return sh.list("List of schemas", `SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner"
FROM pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1`)
	case `\du`:
		return sh.list("List of roles", `SELECT r.rolname AS "Role name", r.rolsuper AS "Superuser", r.rolcreatedb AS "Create DB",
  r.rolcreaterole AS "Create role", r.rolcanlogin AS "Can login" FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1`)
	case `\d`:
		if arg != "" {
			return sh.describeRelation(arg, more)
		}
		kinds = "'r', 'p', 'v', 'm', 'S', 'f'"
	case `\dt`:
		kinds = "'r', 'p'"
	case `\di`:
		kinds = "'i', 'I'"
	case `\dv`:
		kinds = "'v', 'm'"
	case `\ds`:
		kinds = "'S'"
	case `\dT`:
		return sh.list("List of data types", fmt.Sprintf(listTypes, typeCondition(arg)))
	case `\df`:
		return sh.list("List of functions", fmt.Sprintf(listFunctions, functionCondition(arg)))
	default:
		return fmt.Errorf(`unknown command; \? lists them`)
	}
	column, join := "", ""
	if command == `\di` {
		column = `, t.relname AS "Table"`
		join = `
  JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid JOIN pg_catalog.pg_class t ON t.oid = i.indrelid`
	}
	cols, rows, err := sh.fetch(fmt.Sprintf(listRelations, column, join, kinds, nameCondition(arg)))
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		sh.foundNone(arg)
		return nil
	}
	sh.printRows("List of relations", cols, rows)
	return nil
}

const listFunctions = `SELECT n.nspname AS "Schema", p.proname AS "Name", pg_catalog.pg_get_function_result(p.oid) AS "Result data type",
  pg_catalog.pg_get_function_arguments(p.oid) AS "Argument data types",
  CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS "Type"
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE %s
ORDER BY 1, 2, 4`

// functionCondition selects the functions that match a pattern; without a pattern, those of users.
func functionCondition(pattern string) string {
	schema, name, ok := strings.Cut(pattern, ".")
	switch {
	case pattern == "":
		return "n.nspname NOT IN ('pg_catalog', 'information_schema')"
	case !ok:
		return "p.proname ~ " + literal(nameRegexp(pattern)) + " AND pg_catalog.pg_function_is_visible(p.oid)"
	}
	return "n.nspname ~ " + literal(nameRegexp(schema)) + " AND p.proname ~ " + literal(nameRegexp(name))
}

// listTypes leaves out the rows of tables and the arrays of other types.
const listTypes = `SELECT n.nspname AS "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", pg_catalog.obj_description(t.oid, 'pg_type') AS "Description"
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND %s
ORDER BY 1, 2`

// typeCondition selects the types of which one name matches a pattern; without a pattern, those of users.
func typeCondition(pattern string) string {
	schema, name, ok := strings.Cut(pattern, ".")
	switch {
	case pattern == "":
		return "n.nspname NOT IN ('pg_catalog', 'information_schema') AND pg_catalog.pg_type_is_visible(t.oid)"
	case !ok:
		schema, name = "*", pattern
	}
	re := literal(nameRegexp(name))
	return "n.nspname ~ " + literal(nameRegexp(schema)) + " AND (t.typname ~ " + re + " OR pg_catalog.format_type(t.oid, NULL) ~ " + re + ")"
}

// nameCondition selects the relations that match a pattern with * and ?, which may begin with a schema.
func nameCondition(pattern string) string {
	if pattern == "" {
		return `n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'
  AND pg_catalog.pg_table_is_visible(c.oid)`
	}
	schema, name, ok := strings.Cut(pattern, ".")
	if !ok {
		return "c.relname ~ " + literal(nameRegexp(pattern)) + " AND pg_catalog.pg_table_is_visible(c.oid)"
	}
	return "n.nspname ~ " + literal(nameRegexp(schema)) + " AND c.relname ~ " + literal(nameRegexp(name))
}

// nameRegexp converts a pattern to a regular expression. Outside of double quotes it folds letters to lower
// case.
func nameRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString("^(")
	quoted := false
	for _, r := range pattern {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '*' && !quoted:
			b.WriteString(".*")
		case r == '?' && !quoted:
			b.WriteByte('.')
		case strings.ContainsRune(`.\+*?()[]{}|^$`, r):
			b.WriteString(`\` + string(r))
		case quoted:
			b.WriteRune(r)
		default:
			b.WriteString(strings.ToLower(string(r)))
		}
	}
	return b.String() + ")$"
}

// literal quotes a string for SQL.
func literal(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

// list prints a title and the result of a catalog query.
func (sh *shell) list(title, sql string) error {
	cols, rows, err := sh.fetch(sql)
	if err != nil {
		return err
	}
	sh.printRows(title, cols, rows)
	return nil
}

// fetch returns the rows of a query as text; NULL is the empty string.
func (sh *shell) fetch(sql string) (cols []pgconn.FieldDescription, rows [][]string, err error) {
	results := sh.conn.Exec(context.Background(), sql)
	for results.NextResult() {
		r := results.ResultReader()
		cols = slices.Clone(r.FieldDescriptions()) // of an empty result, too
		for r.NextRow() {
			row := make([]string, len(cols))
			for i, v := range r.Values() {
				row[i] = string(v)
			}
			rows = append(rows, row)
		}
	}
	return cols, rows, results.Close()
}

func (sh *shell) printRows(title string, cols []pgconn.FieldDescription, rows [][]string) {
	p := newRowPrinter(sh.effectiveFormat(), sh.out, cols)
	if t, ok := p.(*tablePrinter); ok {
		width := len(cols) - 1
		for i, c := range cols {
			w := cellWidth(c.Name)
			for _, r := range rows {
				w = max(w, cellWidth(r[i]))
			}
			width += w + 2
		}
		fmt.Fprintf(t.w, "%s%s\n", strings.Repeat(" ", max(width-len(title), 0)/2), title)
	}
	for _, r := range rows {
		values := make([][]byte, len(r))
		for i, v := range r {
			values[i] = []byte(v)
		}
		p.row(values)
	}
	// What can't be written to the output can't be reported there.
	_ = p.end()
}

// describeRelation shows the columns, indexes and constraints of a table, the columns of an index or
// of a view, and with more the query of the view.
func (sh *shell) describeRelation(pattern string, more bool) error {
	_, found, err := sh.fetch(`SELECT c.oid, n.nspname, c.relname, c.relkind
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'i', 'I') AND ` + nameCondition(pattern) + ` ORDER BY 2, 3`)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("did not find any relation named %q", pattern)
	}
	kinds := map[string]string{"r": "Table", "p": "Partitioned table", "v": "View", "m": "Materialized view",
		"S": "Sequence", "f": "Foreign table", "i": "Index", "I": "Partitioned index"}
	for _, f := range found {
		oid, kind := f[0], f[3]
		title := fmt.Sprintf(`%s "%s.%s"`, kinds[kind], f[1], f[2])
		if err := sh.describeColumns(title, oid); err != nil {
			return err
		}
		switch kind {
		case "r", "p", "f":
			err = sh.describeTableFooter(oid)
		case "i", "I":
			err = sh.describeIndexFooter(oid)
		case "v", "m":
			if more {
				err = sh.describeViewFooter(oid)
			}
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(sh.out)
	}
	return nil
}

func (sh *shell) describeColumns(title, oid string) error {
	_, rows, err := sh.fetch(`SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  CASE WHEN a.attnotnull THEN 'not null' ELSE '' END, pg_catalog.pg_get_expr(d.adbin, d.adrelid)
FROM pg_catalog.pg_attribute a
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ` + oid + ` AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`)
	if err != nil {
		return err
	}
	cols := make([]pgconn.FieldDescription, 4)
	for i, n := range []string{"Column", "Type", "Nullable", "Default"} {
		cols[i] = pgconn.FieldDescription{Name: n, DataTypeOID: pgtype.TextOID}
	}
	var b strings.Builder
	to := &shell{streams: &streams{out: &b}, format: sh.format, expanded: sh.expanded}
	to.printRows(title, cols, rows)
	text := strings.TrimSuffix(b.String(), rowCount(len(rows))+"\n\n")
	_, err = fmt.Fprint(sh.out, text)
	return err
}

func (sh *shell) describeTableFooter(oid string) error {
	_, rows, err := sh.fetch(`SELECT c.relname, CASE WHEN i.indisprimary THEN 'PRIMARY KEY, ' WHEN i.indisunique THEN 'UNIQUE, ' ELSE '' END,
  pg_catalog.pg_get_indexdef(i.indexrelid)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = ` + oid + ` ORDER BY i.indisprimary DESC, i.indisunique DESC, c.relname`)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		fmt.Fprintln(sh.out, "Indexes:")
	}
	for _, r := range rows {
		def := r[2]
		if i := strings.Index(def, " USING "); i >= 0 {
			def = def[i+len(" USING "):]
		}
		fmt.Fprintf(sh.out, "    %q %s%s\n", r[0], r[1], def)
	}
	for _, part := range []struct{ title, of, condition string }{
		{"Check constraints", "''", "r.contype = 'c' AND r.conrelid = " + oid},
		{"Foreign-key constraints", "''", "r.contype = 'f' AND r.conrelid = " + oid},
		{"Referenced by", `'TABLE "' || r.conrelid::pg_catalog.regclass::pg_catalog.text || '" CONSTRAINT '`, "r.contype = 'f' AND r.confrelid = " + oid},
	} {
		_, rows, err := sh.fetch(`SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true), ` + part.of + `
FROM pg_catalog.pg_constraint r WHERE ` + part.condition + ` ORDER BY 3, 1`)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			fmt.Fprintln(sh.out, part.title+":")
		}
		for _, r := range rows {
			fmt.Fprintf(sh.out, "    %s%q %s\n", r[2], r[0], r[1])
		}
	}
	return nil
}

func (sh *shell) describeViewFooter(oid string) error {
	_, rows, err := sh.fetch("SELECT pg_catalog.pg_get_viewdef(" + oid + ", true)")
	for _, r := range rows {
		fmt.Fprintf(sh.out, "View definition:\n%s\n", r[0])
	}
	return err
}

func (sh *shell) describeIndexFooter(oid string) error {
	_, rows, err := sh.fetch(`SELECT CASE WHEN i.indisprimary THEN 'primary key, ' WHEN i.indisunique THEN 'unique, ' ELSE '' END, t.relname
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid WHERE i.indexrelid = ` + oid)
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprintf(sh.out, "%sfor table %q\n", r[0], r[1])
	}
	return nil
}

// foundNone tells that a list is empty. As in psql that is an answer, and no error that ends a script.
func (sh *shell) foundNone(pattern string) {
	if pattern == "" {
		fmt.Fprintln(sh.err, "Did not find any relations.")
		return
	}
	fmt.Fprintf(sh.err, "Did not find any relation named %q.\n", pattern)
}
