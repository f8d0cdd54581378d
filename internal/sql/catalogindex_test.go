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
