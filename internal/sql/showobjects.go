package sql

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The dialect's SHOW statements are queries over pg_catalog. %T stands for the
// named relation as a regclass literal.
var showQueries = map[ast.ShowKind]string{
	ast.ShowDatabases: `SELECT d.datname AS database_name, r.rolname AS owner
		FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles r ON r.oid = d.datdba ORDER BY 1`,
	ast.ShowSchemas: `SELECT n.nspname AS schema_name, r.rolname AS owner
		FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner ORDER BY 1`,
	ast.ShowTables: `SELECT n.nspname AS schema_name, c.relname AS table_name,
		CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' END AS type
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'lichen_internal') ORDER BY 1, 2`,
	ast.ShowSequences: `SELECT n.nspname AS sequence_schema, c.relname AS sequence_name
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'S' ORDER BY 1, 2`,
	ast.ShowUsers: `SELECT rolname AS username FROM pg_catalog.pg_roles ORDER BY 1`,
	ast.ShowRoles: `SELECT rolname AS username FROM pg_catalog.pg_roles ORDER BY 1`,
	ast.ShowSessions: `SELECT node_id, session_id, pid, user_name, database_name, application_name, client_address, state, query,
		session_start, txn_start FROM lichen_internal.cluster_sessions ORDER BY node_id, pid`,
	ast.ShowQueries: `SELECT query_id, node_id, session_id, user_name, query_start, duration, waiting, query
		FROM lichen_internal.cluster_queries ORDER BY query_start`,
	ast.ShowTransactions: `SELECT txn_id, node_id, session_id, user_name, txn_start, duration, state, query
		FROM lichen_internal.cluster_transactions ORDER BY txn_start`,
}

// showTableQueries are those about one relation.
var showTableQueries = map[ast.ShowKind]string{
	ast.ShowColumns: `SELECT a.attname AS column_name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS data_type,
		NOT a.attnotnull AS is_nullable, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS column_default
		FROM pg_catalog.pg_attribute a
		LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = %T AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
	ast.ShowIndexes: `SELECT i.relname AS index_name, NOT x.indisunique AS non_unique,
		pg_catalog.pg_get_indexdef(x.indexrelid) AS definition
		FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
		WHERE x.indrelid = %T ORDER BY 1`,
	ast.ShowConstraints: `SELECT conname AS constraint_name,
		CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'c' THEN 'CHECK' ELSE 'FOREIGN KEY' END AS constraint_type,
		pg_catalog.pg_get_constraintdef(oid) AS details
		FROM pg_catalog.pg_constraint WHERE conrelid = %T ORDER BY 1`,
}

// rewriteShow turns a dialect SHOW into the query that answers it.
func rewriteShow(p parser.Statement) (parser.Statement, error) {
	st, ok := p.AST.(*ast.ShowObjects)
	if !ok || placementColumns(st) != nil {
		return p, nil
	}
	text, ok := showQueries[st.Kind]
	if t, about := showTableQueries[st.Kind]; about && st.Name != nil {
		text, ok = replaceTable(t, st.Name), true
	} else if st.Name != nil {
		ok = false
	}
	if !ok || st.WithComment || st.WithDetails || st.All {
		return p, pgerr.Unsupported("SHOW %s is not supported in this form", st.Kind).At(st.Pos)
	}
	stmts, err := parser.Parse(text)
	if err != nil {
		return p, err
	}
	return stmts[0], nil
}

func replaceTable(text string, name *ast.TableName) string {
	var parts []string
	for _, p := range []string{name.Schema, name.Table} {
		if p != "" {
			parts = append(parts, ast.QuoteIdent(p))
		}
	}
	literal := ast.QuoteLiteral(strings.Join(parts, ".")) + "::pg_catalog.regclass"
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '%' && text[i+1] == 'T' {
			return text[:i] + literal + text[i+2:]
		}
	}
	return text
}
