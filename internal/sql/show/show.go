package show

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
		CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' END AS type
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'lichen_internal') ORDER BY 1, 2`,
	ast.ShowSequences: `SELECT n.nspname AS sequence_schema, c.relname AS sequence_name
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'S' ORDER BY 1, 2`,
	ast.ShowTypes: `SELECT n.nspname AS schema, t.typname AS name, r.rolname AS owner
		FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
		LEFT JOIN pg_catalog.pg_roles r ON r.oid = t.typowner LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'lichen_internal')
		AND (t.typtype IN ('e', 'd', 'r') OR t.typtype = 'c' AND c.relkind = 'c') ORDER BY 1, 2`,
	ast.ShowEnums: `SELECT n.nspname AS schema, t.typname AS name,
		ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder) AS values, r.rolname AS owner
		FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
		LEFT JOIN pg_catalog.pg_roles r ON r.oid = t.typowner WHERE t.typtype = 'e' ORDER BY 1, 2`,
	ast.ShowUsers: `SELECT rolname AS username FROM pg_catalog.pg_roles ORDER BY 1`,
	ast.ShowRoles: `SELECT rolname AS username FROM pg_catalog.pg_roles ORDER BY 1`,
	ast.ShowSessions: `SELECT node_id, session_id, pid, user_name, database_name, application_name, client_address, state, query,
		session_start, txn_start FROM lichen_internal.cluster_sessions ORDER BY node_id, pid`,
	ast.ShowQueries: `SELECT query_id, node_id, session_id, user_name, query_start, duration, waiting, query
		FROM lichen_internal.cluster_queries ORDER BY query_start`,
	ast.ShowSchedules: `SELECT c.oid AS id, 'row-level-ttl: ' || c.oid::pg_catalog.regclass::text AS label,
		CASE WHEN 'ttl_pause=true' = ANY (c.reloptions) THEN 'PAUSED' ELSE 'ACTIVE' END AS schedule_status,
		COALESCE((SELECT substr(o, 14) FROM unnest(c.reloptions) o WHERE o LIKE 'ttl_job_cron=%'), '@daily') AS recurrence,
		(SELECT count(*) FROM lichen_internal.jobs j WHERE j.job_type = 'ROW LEVEL TTL' AND j.status IN ('running', 'paused')
			AND j.description = 'ttl for ' || quote_ident(c.relname) || ' in database ' || quote_ident(current_database())) AS jobsrunning,
		r.rolname AS owner
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
		WHERE c.relkind = 'r' AND 'ttl=on' = ANY (c.reloptions) ORDER BY 1`,
	ast.ShowJobs: `SELECT job_id, job_type, description, user_name, status, rows_read, created, finished, error
		FROM lichen_internal.jobs ORDER BY created, job_id`,
	ast.ShowTransactions: `SELECT txn_id, node_id, session_id, user_name, txn_start, duration, state, query
		FROM lichen_internal.cluster_transactions ORDER BY txn_start`,
}

// showTableQueries are those about one relation.
var showTableQueries = map[ast.ShowKind]string{
	ast.ShowColumns: `SELECT column_name, column_type AS data_type, nullable AS is_nullable, default_expr AS column_default,
		generation_expr AS generation_expression,
		ARRAY(SELECT i.relname::text FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
			WHERE x.indrelid = descriptor_id AND (x.indisprimary OR column_id = ANY (x.indkey)) ORDER BY 1) AS indices,
		hidden AS is_hidden
		FROM lichen_internal.table_columns WHERE descriptor_id = %T ORDER BY column_id`,
	ast.ShowIndexes: `SELECT t.relname AS table_name, i.relname AS index_name, NOT x.indisunique AS non_unique, k.n AS seq_in_index,
		coalesce(a.attname::text, pg_catalog.pg_get_indexdef(i.oid, k.n::int, true)) AS column_name,
		pg_catalog.pg_get_indexdef(i.oid, k.n::int, true) AS definition,
		CASE WHEN k.n > x.indnkeyatts THEN 'N/A' WHEN x.indoption[k.n - 1] & 1 = 1 THEN 'DESC' ELSE 'ASC' END AS direction,
		k.n > x.indnkeyatts AS storing, false AS implicit, true AS visible
		FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
		CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k (attnum, n)
		LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
		WHERE x.indrelid = %T
		UNION ALL SELECT t.relname, i.relname, NOT x.indisunique, x.indnatts + row_number() OVER (PARTITION BY i.oid ORDER BY k.n),
		a.attname::text, pg_catalog.quote_ident(a.attname),
		CASE WHEN x.indisunique THEN 'N/A' WHEN p.indoption[k.n - 1] & 1 = 1 THEN 'DESC' ELSE 'ASC' END, x.indisunique, true, true
		FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
		JOIN pg_catalog.pg_index p ON p.indrelid = x.indrelid AND p.indisprimary
		CROSS JOIN LATERAL unnest(p.indkey) WITH ORDINALITY AS k (attnum, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
		WHERE x.indrelid = %T AND NOT x.indisprimary AND k.n <= p.indnkeyatts AND k.attnum <> ALL (x.indkey)
		ORDER BY index_name, seq_in_index`,
	ast.ShowConstraints: `SELECT t.relname AS table_name, k.conname AS constraint_name,
		CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'c' THEN 'CHECK' WHEN 'x' THEN 'EXCLUDE' ELSE 'FOREIGN KEY' END AS constraint_type,
		pg_catalog.pg_get_constraintdef(k.oid, true) AS details, k.convalidated AS validated
		FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class t ON t.oid = k.conrelid WHERE k.conrelid = %T ORDER BY 1, 2`,
	ast.ShowCreate: `SELECT descriptor_name AS table_name, create_statement
		FROM lichen_internal.create_statements WHERE descriptor_id = %T`,
}

// showCreateQueries are SHOW CREATE of what is no table, and of all of a kind. %N stands for
// the name as a literal.
var showCreateQueries = map[ast.ObjectKind]struct{ one, all string }{
	ast.ObjTable: {all: `SELECT create_statement FROM lichen_internal.create_all_statements ORDER BY position`},
	ast.ObjSchema: {
		one: `SELECT nspname AS schema_name, 'CREATE SCHEMA ' || pg_catalog.quote_ident(nspname) AS create_statement
			FROM pg_catalog.pg_namespace WHERE oid = pg_catalog.quote_ident(%N)::pg_catalog.regnamespace`,
		all: `SELECT 'CREATE SCHEMA ' || pg_catalog.quote_ident(nspname) || ';' AS create_statement FROM pg_catalog.pg_namespace
			WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT IN ('information_schema', 'lichen_internal', 'public') ORDER BY nspname`,
	},
	ast.ObjDatabase: {one: `SELECT CASE WHEN pg_catalog.has_database_privilege(%N, 'CONNECT') THEN %N END AS database_name,
		'CREATE DATABASE ' || pg_catalog.quote_ident(%N) AS create_statement`},
	ast.ObjIndex: {one: `SELECT c.relname AS index_name, pg_catalog.pg_get_indexdef(c.oid) AS create_statement
		FROM pg_catalog.pg_class c WHERE c.oid = %T AND c.relkind = 'i'`},
}

// showCreateQuery returns the query behind SHOW CREATE of a kind of object, "" if there is none.
func showCreateQuery(st *ast.ShowObjects) string {
	q := showCreateQueries[st.Object]
	if st.All || st.Name == nil {
		return q.all
	}
	if q.one == "" {
		return ""
	}
	return strings.ReplaceAll(replaceTable(q.one, st.Name), "%N", ast.QuoteLiteral(st.Name.Table)+"::text")
}

// Rewrite returns the query that answers a statement, in place of it; 0A000 if there is none.
func Rewrite(st *ast.ShowObjects) (parser.Statement, error) {
	text, ok := showQueries[st.Kind]
	if t, about := showTableQueries[st.Kind]; about && st.Name != nil && isRelation(st.Object) {
		text, ok = replaceTable(t, st.Name), true
	} else if st.Name != nil {
		ok = false
	}
	all := st.All
	if st.Kind == ast.ShowCreate && !ok {
		if text = showCreateQuery(st); text != "" {
			ok, all = true, false
		}
	}
	if !ok || st.WithComment || st.WithDetails || all {
		return parser.Statement{}, pgerr.Unsupported("SHOW %s is not supported in this form", st.Kind).At(st.Pos)
	}
	at := st.Pos
	if st.Name != nil {
		at = st.Name.Pos
	}
	return parser.ParseStandIn(text, at)
}

// isRelation reports whether an object of a kind is found by the name of a relation.
func isRelation(k ast.ObjectKind) bool {
	return k == ast.ObjTable || k == ast.ObjView || k == ast.ObjSequence
}

func replaceTable(text string, name *ast.TableName) string {
	var parts []string
	for _, p := range []string{name.Schema, name.Table} {
		if p != "" {
			parts = append(parts, ast.QuoteIdent(p))
		}
	}
	literal := ast.QuoteLiteral(strings.Join(parts, ".")) + "::pg_catalog.regclass"
	return strings.ReplaceAll(text, "%T", literal)
}
