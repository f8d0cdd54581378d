package sql_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// everyKind makes objects of all kinds that the catalogs list, in one database and another.
var everyKind = []string{
	"create schema other",
	"create type mood as enum ('sad', 'glad')", "create type other.mood as enum ('sad')",
	"create type pair as (a int, b mood)", "create domain pos as int default 1 constraint plus check (value > 0)",
	"create type span as range (subtype = float8)",
	"create collation german (provider = icu, locale = 'de')",
	"create sequence seq", "create sequence other.seq",
	"create table parent (id serial primary key, name varchar(20) not null unique, m mood default 'sad', constraint named check (id > 0))",
	`create table child (id int generated always as identity primary key, parent int references parent on delete cascade,
		p pos, t text collate german, n bigint default nextval('seq'), g int generated always as (parent + 1) stored, gone int)`,
	"alter table child drop column gone",
	"create table other.child (id int, parent int references public.child, unique (id, parent))",
	"create table plain (a int, b pair)", "create table rows (p plain, ps plain[] default '{}', m mood default 'glad', r regclass default 'seq')",
	"create domain moody as mood check (value <> 'sad')", "create view named as select null::pair as p, 'child'::regclass as c where 'x' < 'y' collate german",
	"create view fields as select (b).a, (b).b = 'sad' as sad from plain", "create view settings as select name from pg_settings",
	"create index child_lower on child (lower(t), parent) include (n) where n > 3",
	"create view v as select p.id, c.t from parent p join child c on c.parent = p.id",
	"create view other.v as select * from v", "create materialized view mv as select 1 as one",
	"create index mv_one on mv (one)",
	"create temporary table tmp (a int primary key)",
	"comment on table child is 'a child'", "comment on column child.t is 'a text'", "comment on schema other is 'another'",
	"comment on type mood is 'moods'", "comment on constraint named on parent is 'a check'", "comment on index child_lower is 'lower'",
	"comment on collation german is 'german'",
}

// TestCatalogIndexes reads every virtual table as a whole and by each key of each of its
// indexes: the rows are the same, in the transaction that made the objects and after it.
func TestCatalogIndexes(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := n.session(t)
	t.Cleanup(s.Close)
	mustExec(t, s, "CREATE DATABASE elsewhere")
	mustExec(t, s, "BEGIN")
	for _, stmt := range everyKind {
		mustExec(t, s, stmt)
	}
	eachCatalogIndex(t, s)
	mustExec(t, s, "SAVEPOINT a")
	mustExec(t, s, "ALTER TABLE child RENAME TO renamed")
	mustExec(t, s, "DROP VIEW v CASCADE")
	eachCatalogIndex(t, s)
	mustExec(t, s, "ROLLBACK TO a")
	mustExec(t, s, "COMMIT")
	eachCatalogIndex(t, s)
}

func eachCatalogIndex(t *testing.T, s *sql.Session) {
	t.Helper()
	for _, v := range pgcatalog.Schemas() {
		for _, table := range v.Tables {
			for i := range table.Indexes[1:] {
				checkCatalogIndex(t, s, v.Schema.Name+"."+table.Name, table, &table.Indexes[i+1])
				checkCatalogRanges(t, s, v.Schema.Name+"."+table.Name, table, &table.Indexes[i+1])
			}
		}
	}
}

// mostKeys is how many keys of an index are looked up.
const mostKeys = 400

func checkCatalogIndex(t *testing.T, s *sql.Session, name string, table *catalog.Table, ix *catalog.Index) {
	t.Helper()
	var equal []string
	for _, c := range ix.Columns {
		col := table.Columns[table.ColumnByID(c.Column)]
		text := "::text"
		if col.Type.Family == types.IntFamily {
			text = "::bigint::text" // regproc prints names that are not unique
		}
		equal = append(equal, ast.QuoteLiteral(col.Name+" = ")+" || quote_literal("+col.Name+text+")")
	}
	byKey := map[string][]string{}
	for _, line := range lines(t, s, "SELECT concat_ws(' and ', "+strings.Join(equal, ", ")+") || '§' || t::text FROM "+name+" t") {
		key, row, _ := strings.Cut(line, "§")
		byKey[key] = append(byKey[key], row)
	}
	keys := make([]string, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	step := len(keys)/mostKeys + 1
	for i := 0; i < len(keys); i += step {
		q := "SELECT t::text FROM " + name + " t WHERE " + keys[i]
		if i == 0 {
			plan := strings.Join(lines(t, s, "EXPLAIN "+q), "\n")
			if !strings.Contains(plan, "Index Scan using "+table.Name+"_") {
				t.Errorf("%s uses no index:\n%s", q, plan)
			}
		}
		got, want := lines(t, s, q), byKey[keys[i]]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got  %v\n want %v", q, got, want)
		}
		if ix.Unique && len(want) > 1 {
			t.Errorf("%s: %d rows by a unique index", q, len(want))
		}
	}
}

func lines(t *testing.T, s *sql.Session, text string) []string {
	t.Helper()
	r := logictest.NewRows(s)
	if err := s.Query(context.Background(), text, r); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r.Lines
}

// rangesOf are conditions on a column x, with values of it for a, b and c in this order.
var rangesOf = []string{
	"x > a AND x < b", "x >= a", "x > a", "x < b", "x <= b", "x BETWEEN a AND b", "x < a OR x > b OR x = b", "x BETWEEN a AND c OR x BETWEEN b AND c OR x IN (a, b)",
	"x > b AND x < a", "x >= a AND x <= a",
}

const narrowRange = 0 // of rangesOf: no table is so small that its index is not worth it

// prefixesOf are those of texts.
var prefixesOf = []string{"x LIKE 'p%'", "x LIKE 'pg_cl%s'", "x LIKE 'ch_l%'", "x LIKE '\\_ch%'", "x LIKE '\\_%'", "x ~ '^(pl.*)$'", "x LIKE 'm%' OR x LIKE 'mo_d' OR x = ANY (ARRAY['v', 'seq'])"}

// checkCatalogRanges compares reading ranges of an index that is in order with reading everything.
func checkCatalogRanges(t *testing.T, s *sql.Session, name string, table *catalog.Table, ix *catalog.Index) {
	t.Helper()
	if ix.HashColumns > 0 {
		return
	}
	col := table.Columns[table.ColumnByID(ix.Columns[0].Column)]
	text := "::text"
	if col.Type.Family == types.IntFamily {
		text = "::bigint::text"
	}
	values := lines(t, s, "SELECT DISTINCT quote_literal("+col.Name+text+") FROM "+name+" WHERE "+col.Name+" IS NOT NULL ORDER BY 1")
	if len(values) == 0 {
		return
	}
	conds := slices.Clone(rangesOf)
	if col.Type.Family == types.StringFamily {
		conds = append(conds, prefixesOf...)
	}
	at := func(i int) string { return values[len(values)*i/4] }
	words := strings.NewReplacer("x ", col.Name+" ", " a", " "+at(1), " b", " "+at(2), " c", " "+at(3), "(a", "("+at(1))
	for i, cond := range conds {
		if i < len(rangesOf) {
			cond = words.Replace(cond)
		} else {
			cond = strings.ReplaceAll(cond, "x ", col.Name+" ")
		}
		q := "SELECT t::text FROM " + name + " t WHERE "
		if plan := strings.Join(lines(t, s, "EXPLAIN "+q+cond), "\n"); i == narrowRange && !strings.Contains(plan, "Index Scan using "+table.Name+"_") {
			t.Errorf("%s uses no index:\n%s", q+cond, plan)
		}
		got, want := lines(t, s, q+cond), lines(t, s, q+"("+cond+") IS TRUE")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got  %v\n want %v", q+cond, got, want)
		}
	}
}
