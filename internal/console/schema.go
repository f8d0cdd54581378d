package console

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ast"
)

// DatabaseInfo is a database.
type DatabaseInfo struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Bytes int64  `json:"bytes"`
}

// Databases are those of the cluster.
type Databases struct {
	Databases []DatabaseInfo `json:"databases"`
}

func getDatabases(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, defaultDatabase, `SELECT d.datname AS name, a.rolname AS owner,
		CASE WHEN pg_catalog.has_database_privilege(d.oid, 'CONNECT') THEN pg_catalog.pg_database_size(d.oid) END AS bytes
		FROM pg_catalog.pg_database d LEFT JOIN pg_catalog.pg_roles a ON a.oid = d.datdba WHERE NOT d.datistemplate ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	out := &Databases{Databases: []DatabaseInfo{}}
	found.each(func(x row) {
		out.Databases = append(out.Databases, DatabaseInfo{Name: x.text("name"), Owner: x.text("owner"), Bytes: x.int("bytes")})
	})
	return out, nil
}

// TableInfo is a table, a view or a sequence.
type TableInfo struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Owner   string `json:"owner"`
	Rows    int64  `json:"rows"` // estimated
	Bytes   int64  `json:"bytes"`
	Indexes int64  `json:"indexes"`
	Columns int64  `json:"columns"`
}

// Tables are those of a database.
type Tables struct {
	Tables []TableInfo `json:"tables"`
	// Sized says that Bytes were found out: where there are very many tables they are not.
	Sized bool `json:"sized"`
	Cut   bool `json:"cut"`
}

// maxSized is how many tables a database may have for the sizes of all to be found out in its list.
const maxSized = 300

// notSystem leaves out the schemas of the system.
const notSystem = ` n.nspname NOT IN ('pg_catalog', 'information_schema', 'lichen_internal') AND n.nspname NOT LIKE 'pg\_temp%'`

func getTables(c *Console, r *request) (any, error) {
	out := &Tables{Tables: []TableInfo{}}
	err := c.use(r, r.login, r.param("database"), func(s *sql.Session) error {
		n, err := runIn(r, s, `SELECT count(*) AS n FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'm') AND`+notSystem, 1)
		if err != nil {
			return err
		}
		n.each(func(x row) { out.Sized = x.int("n") <= maxSized })
		bytes := "0"
		if out.Sized {
			bytes = "CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_total_relation_size(c.oid) END"
		}
		found, err := runIn(r, s, `SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view'
			WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' END AS kind, a.rolname AS owner, greatest(c.reltuples, 0)::bigint AS rows,
			`+bytes+` AS bytes, coalesce(x.n, 0) AS indexes, c.relnatts AS columns
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_roles a ON a.oid = c.relowner
			LEFT JOIN (SELECT indrelid, count(*) AS n FROM pg_catalog.pg_index GROUP BY indrelid) x ON x.indrelid = c.oid
			WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND`+notSystem+` ORDER BY 1, 2`, maxRows)
		if err != nil {
			return err
		}
		out.Cut = found.cut
		found.each(func(x row) {
			out.Tables = append(out.Tables, TableInfo{
				Schema: x.text("schema"), Name: x.text("name"), Kind: x.text("kind"), Owner: x.text("owner"), Rows: x.int("rows"), Bytes: x.int("bytes"),
				Indexes: x.int("indexes"), Columns: x.int("columns"),
			})
		})
		return nil
	})
	return out, err
}

// Column is a column of a table.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	Default  string `json:"default"`
}

// Index is an index of a table.
type Index struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	Primary    bool   `json:"primary"`
	Unique     bool   `json:"unique"`
	Bytes      int64  `json:"bytes"`
	// Reads counts the executions of statements that have read it since the nodes started, FullReads those that read all of it.
	Reads     int64 `json:"reads"`
	FullReads int64 `json:"fullReads"`
	LastRead  int64 `json:"lastRead"` // milliseconds since 1970; 0: never
}

// IndexAdvice is a change of indexes that the statements of the cluster speak for.
type IndexAdvice struct {
	Schema    string   `json:"schema"`
	Table     string   `json:"table"`
	Kind      string   `json:"kind"` // create or drop
	Statement string   `json:"statement"`
	Reason    string   `json:"reason"`
	Queries   []string `json:"queries"` // the fingerprints that it is for
	Time      float64  `json:"time"`    // seconds that these have taken
}

// IndexAdviceList has all of a database.
type IndexAdviceList struct {
	Advice  []IndexAdvice `json:"advice"`
	Notices []string      `json:"notices"`
}

func getAdvice(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, r.param("database"), `SELECT schema_name, table_name, kind, statement, reason, `+joined("queries")+` AS texts, extract(epoch FROM total_time) AS seconds
		FROM lichen_internal.index_recommendations ORDER BY kind, total_time DESC, statement`)
	if err != nil {
		return nil, err
	}
	out := &IndexAdviceList{Advice: []IndexAdvice{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Advice = append(out.Advice, IndexAdvice{
			Schema: x.text("schema_name"), Table: x.text("table_name"), Kind: x.text("kind"), Statement: x.text("statement"), Reason: x.text("reason"),
			Queries: x.texts("texts"), Time: x.float("seconds"),
		})
	})
	return out, nil
}

// Grant says what a role may do with a table.
type Grant struct {
	Role       string   `json:"role"`
	Privileges []string `json:"privileges"`
}

// TableRange is a range of a table.
type TableRange struct {
	ID       int64   `json:"id"`
	Start    string  `json:"start"`
	End      string  `json:"end"`
	Bytes    float64 `json:"bytes"`
	Leader   int64   `json:"leader"` // store
	Replicas []int64 `json:"replicas"`
}

// TableDetail is all about a table.
type TableDetail struct {
	TableInfo
	Create        string             `json:"create"`
	ColumnList    []Column           `json:"columnList"`
	Statistics    []ColumnStatistics `json:"statistics"`
	Analyzed      int64              `json:"analyzed"` // milliseconds since 1970; 0: it was not
	IndexList     []Index            `json:"indexList"`
	Grants        []Grant            `json:"grants"`
	Ranges        []TableRange       `json:"ranges"`
	RangesUnknown string             `json:"rangesUnknown,omitempty"` // why there are none
}

// ColumnStatistics are what the optimizer knows of the values of a column.
type ColumnStatistics struct {
	Column string  `json:"column"`
	Nulls  float64 `json:"nulls"` // share
	Width  int64   `json:"width"` // bytes, on average
	// Distinct is how many values there are; negative: as a share of the rows.
	Distinct float64 `json:"distinct"`
	// Common are the most common values, as a list, and Histogram the bounds of equally many others.
	Common    string `json:"common"`
	Histogram string `json:"histogram"`
}

// getTable returns all about a table.
func getTable(c *Console, r *request) (any, error) {
	out := &TableDetail{ColumnList: []Column{}, Statistics: []ColumnStatistics{}, IndexList: []Index{}, Grants: []Grant{}, Ranges: []TableRange{}}
	out.Schema, out.Name = r.param("schema"), r.param("table")
	name := ast.QuoteIdent(out.Schema) + "." + ast.QuoteIdent(out.Name)
	oid := quote(name) + "::pg_catalog.regclass"
	err := c.use(r, r.login, r.param("database"), func(s *sql.Session) error {
		found, err := runIn(r, s, `SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' END AS kind,
			pg_catalog.pg_get_userbyid(c.relowner) AS owner, greatest(c.reltuples, 0)::bigint AS rows, c.relnatts AS columns,
			CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_total_relation_size(c.oid) END AS bytes,
			(SELECT create_statement FROM lichen_internal.create_statements WHERE descriptor_id = c.oid) AS create
			FROM pg_catalog.pg_class c WHERE c.oid = `+oid, 1)
		if err != nil {
			return err
		}
		found.each(func(x row) {
			out.Kind, out.Owner, out.Rows, out.Columns, out.Bytes, out.Create = x.text("kind"), x.text("owner"), x.int("rows"), x.int("columns"), x.int("bytes"), x.text("create")
		})
		if err := out.readColumns(r, s, oid); err != nil {
			return err
		}
		if err := out.readStatistics(r, s, oid); err != nil {
			return err
		}
		if err := out.readIndexes(r, s, oid); err != nil {
			return err
		}
		if err := out.readGrants(r, s, oid); err != nil {
			return err
		}
		if out.Kind == "table" || out.Kind == "materialized view" {
			out.readRanges(r, s, name)
		}
		return nil
	})
	return out, err
}

func (t *TableDetail) readColumns(r *request, s *sql.Session, oid string) error {
	found, err := runIn(r, s, `SELECT column_name, column_type, nullable, coalesce(default_expr, generation_expr) AS expr
		FROM lichen_internal.table_columns WHERE descriptor_id = `+oid+` AND NOT hidden ORDER BY column_id`, maxRows)
	if err == nil {
		found.each(func(x row) {
			t.ColumnList = append(t.ColumnList, Column{x.text("column_name"), x.text("column_type"), x.flag("nullable"), x.text("expr")})
		})
	}
	return err
}

// maxShownValues bounds the texts of values in statistics, in characters.
const maxShownValues = "300"

func (t *TableDetail) readStatistics(r *request, s *sql.Session, oid string) error {
	found, err := runIn(r, s, `SELECT x.attname, x.null_frac, x.avg_width, x.n_distinct, left(x.most_common_vals::text, `+maxShownValues+`) AS common,
		left(x.histogram_bounds::text, `+maxShownValues+`) AS histogram
		FROM pg_catalog.pg_stats x JOIN pg_catalog.pg_class c ON c.relname = x.tablename AND c.relnamespace::pg_catalog.regnamespace::text = pg_catalog.quote_ident(x.schemaname)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = x.attname WHERE c.oid = `+oid+` ORDER BY a.attnum`, maxRows)
	if err != nil {
		return err
	}
	found.each(func(x row) {
		t.Statistics = append(t.Statistics, ColumnStatistics{
			Column: x.text("attname"), Nulls: x.float("null_frac"), Width: x.int("avg_width"), Distinct: x.float("n_distinct"), Common: x.text("common"), Histogram: x.text("histogram"),
		})
	})
	found, err = runIn(r, s, `SELECT `+millis("greatest(last_analyze, last_autoanalyze)")+` AS analyzed FROM pg_catalog.pg_stat_all_tables WHERE relid = `+oid, 1)
	if err == nil {
		found.each(func(x row) { t.Analyzed = x.int("analyzed") })
	}
	return err
}

func (t *TableDetail) readIndexes(r *request, s *sql.Session, oid string) error {
	found, err := runIn(r, s, `SELECT i.relname AS name, pg_catalog.pg_get_indexdef(i.oid) AS definition, x.indisprimary AS "primary", x.indisunique AS "unique",
		pg_catalog.pg_relation_size(i.oid) AS bytes, u.reads, u.full_reads, `+millis("u.last_read")+` AS last_read
		FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
		LEFT JOIN (SELECT index_id, sum(reads)::bigint AS reads, sum(full_reads)::bigint AS full_reads, max(last_read) AS last_read
			FROM lichen_internal.cluster_index_usage GROUP BY 1) u ON u.index_id = i.oid WHERE x.indrelid = `+oid+` ORDER BY x.indisprimary DESC, 1`, maxRows)
	if err == nil {
		found.each(func(x row) {
			t.IndexList = append(t.IndexList, Index{x.text("name"), x.text("definition"), x.flag("primary"), x.flag("unique"), x.int("bytes"), x.int("reads"), x.int("full_reads"), x.int("last_read")})
		})
		t.Indexes = int64(len(t.IndexList))
	}
	return err
}

func (t *TableDetail) readGrants(r *request, s *sql.Session, oid string) error {
	found, err := runIn(r, s, `SELECT CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(x.grantee)::text END AS role,
		string_agg(x.privilege_type, ',' ORDER BY x.privilege_type) AS privileges
		FROM pg_catalog.pg_class c, LATERAL pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))) x
		WHERE c.oid = `+oid+` GROUP BY 1 ORDER BY 1`, maxRows)
	if err == nil {
		found.each(func(x row) {
			t.Grants = append(t.Grants, Grant{x.text("role"), strings.Split(x.text("privileges"), ",")})
		})
	}
	return err
}

// maxTableRanges bounds the ranges of a table that are told.
const maxTableRanges = 500

func (t *TableDetail) readRanges(r *request, s *sql.Session, name string) {
	found, err := runIn(r, s, "SHOW RANGES FROM TABLE "+name, maxTableRanges)
	if err != nil {
		t.RangesUnknown = err.Error()
		return
	}
	const megabyte = 1e6
	found.each(func(x row) {
		t.Ranges = append(t.Ranges, TableRange{
			ID: x.int("range_id"), Start: x.text("start_key"), End: x.text("end_key"), Bytes: x.float("range_size_mb") * megabyte, Leader: x.int("lease_holder"), Replicas: x.ints("replicas"),
		})
	})
}
