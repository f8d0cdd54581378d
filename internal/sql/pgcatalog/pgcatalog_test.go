package pgcatalog

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

type path []string

func (p path) SearchPathSetting() []string { return p }

// newCatalog returns the Catalog of a session in a new cluster.
func newCatalog(t *testing.T) *Catalog {
	t.Helper()
	n := clustertest.Open(t, fs.NewMem())
	t.Cleanup(n.Close)
	cat := catalog.NewStore(catalog.Options{DB: n.DB, Waits: n.Store.Waits(), Virtual: Schemas()})
	if err := cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	coll := cat.NewCollection()
	d, err := cat.DatabaseByName(context.Background(), "defaultdb")
	if err != nil {
		t.Fatal(err)
	}
	coll.SetSession(d, path{"public"})
	txn := n.DB.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	coll.Begin(txn)
	return New(Host{Coll: coll})
}

// column reads one column of a relation.
func column(t *testing.T, c *Catalog, table, column string) []types.Datum {
	t.Helper()
	schema, name, _ := strings.Cut(table, ".")
	tab, err := c.h.Coll.ResolveTable(context.Background(), "", schema, name)
	if err != nil {
		t.Fatal(err)
	}
	ord, ok := tab.ColumnByName(column)
	if !ok {
		t.Fatalf("%s has no column %s", table, column)
	}
	var out []types.Datum
	err = c.VirtualRows(context.Background(), &operator.VirtualRequest{Table: tab}, func(r types.Row) error { out = append(out, r[ord]); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every column has its PostgreSQL name and number, and a relation with rows has
// no NULL where PostgreSQL has none.
func TestColumns(t *testing.T) {
	c := newCatalog(t)
	seen := map[uint32]string{}
	for _, s := range Schemas() {
		for _, tab := range s.Tables {
			if o := seen[tab.Oid]; o != "" {
				t.Errorf("%s and %s share oid %d", o, tab.Name, tab.Oid)
			}
			seen[tab.Oid] = tab.Name
			for i := range tab.Columns {
				if tab.Columns[i].Attnum != int16(i+1) {
					t.Errorf("%s: column %d has number %d", tab.Name, i+1, tab.Columns[i].Attnum)
				}
			}
			err := c.VirtualRows(context.Background(), &operator.VirtualRequest{Table: tab}, func(r types.Row) error {
				for i := range r {
					col := &tab.Columns[i]
					switch {
					case r[i].IsNull():
						if col.NotNull {
							t.Errorf("%s.%s is NULL", tab.Name, col.Name)
						}
					case r[i].Family() != col.Type.Family:
						t.Errorf("%s.%s holds a value of family %d", tab.Name, col.Name, r[i].Family())
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", tab.Name, err)
			}
		}
	}
	for name := range generators() {
		schema, table, _ := strings.Cut(name, ".")
		if _, err := c.h.Coll.ResolveTable(context.Background(), "", schema, table); err != nil {
			t.Errorf("rows without a relation: %v", err)
		}
	}
}

// Oids that refer to another relation are found there.
func TestReferences(t *testing.T) {
	c := newCatalog(t)
	for _, r := range []struct{ table, column, ref string }{
		{"pg_catalog.pg_class", "relnamespace", "pg_catalog.pg_namespace"},
		{"pg_catalog.pg_class", "relam", "pg_catalog.pg_am"},
		{"pg_catalog.pg_class", "relowner", "pg_catalog.pg_authid"},
		{"pg_catalog.pg_attribute", "attrelid", "pg_catalog.pg_class"},
		{"pg_catalog.pg_attribute", "atttypid", "pg_catalog.pg_type"},
		{"pg_catalog.pg_attribute", "attcollation", "pg_catalog.pg_collation"},
		{"pg_catalog.pg_type", "typnamespace", "pg_catalog.pg_namespace"},
		{"pg_catalog.pg_type", "typelem", "pg_catalog.pg_type"},
		{"pg_catalog.pg_type", "typarray", "pg_catalog.pg_type"},
		{"pg_catalog.pg_type", "typinput", "pg_catalog.pg_proc"},
		{"pg_catalog.pg_type", "typoutput", "pg_catalog.pg_proc"},
		{"pg_catalog.pg_type", "typreceive", "pg_catalog.pg_proc"},
		{"pg_catalog.pg_type", "typsend", "pg_catalog.pg_proc"},
		{"pg_catalog.pg_type", "typcollation", "pg_catalog.pg_collation"},
		{"pg_catalog.pg_proc", "prorettype", "pg_catalog.pg_type"},
		{"pg_catalog.pg_proc", "prolang", "pg_catalog.pg_language"},
		{"pg_catalog.pg_operator", "oprleft", "pg_catalog.pg_type"},
		{"pg_catalog.pg_operator", "oprright", "pg_catalog.pg_type"},
		{"pg_catalog.pg_operator", "oprresult", "pg_catalog.pg_type"},
		{"pg_catalog.pg_database", "dattablespace", "pg_catalog.pg_tablespace"},
		{"pg_catalog.pg_opclass", "opcmethod", "pg_catalog.pg_am"},
		{"pg_catalog.pg_opclass", "opcfamily", "pg_catalog.pg_opfamily"},
	} {
		have := map[int64]bool{0: true}
		for _, d := range column(t, c, r.ref, "oid") {
			have[d.Int()] = true
		}
		for _, d := range column(t, c, r.table, r.column) {
			if !have[d.Int()] {
				t.Errorf("%s.%s is %d, which %s does not have", r.table, r.column, d.Int(), r.ref)
			}
		}
	}
}

// Oids are unique within a relation.
func TestOidsAreUnique(t *testing.T) {
	c := newCatalog(t)
	for _, table := range []string{"pg_class", "pg_type", "pg_proc", "pg_operator", "pg_namespace", "pg_database", "pg_collation"} {
		seen := map[int64]bool{}
		for _, d := range column(t, c, "pg_catalog."+table, "oid") {
			if seen[d.Int()] {
				t.Errorf("%s: oid %d twice", table, d.Int())
			}
			seen[d.Int()] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s is empty", table)
		}
	}
}

func TestRegNames(t *testing.T) {
	c := newCatalog(t)
	for _, r := range []struct {
		typ        *types.T
		text, back string
	}{
		{types.Regclass, "pg_class", "pg_class"},
		{types.Regclass, "pg_catalog.pg_type", "pg_type"},
		{types.Regclass, "information_schema.tables", "information_schema.tables"},
		{types.Regtype, "int", "integer"},
		{types.Regtype, "character varying", "character varying"},
		{types.Regtype, "_text", "text[]"},
		{types.Regnamespace, "public", "public"},
		{types.Regproc, "now", "now"},
		{types.Regproc, "pg_catalog.array_in", "array_in"},
	} {
		oid, err := c.OidOf(r.typ, r.text)
		if err != nil {
			t.Errorf("%s %s: %v", r.typ.Name, r.text, err)
			continue
		}
		if got, ok := c.NameOf(r.typ, oid); !ok || got != r.back {
			t.Errorf("%s %s: prints %q", r.typ.Name, r.text, got)
		}
	}
	for _, r := range []struct {
		typ  *types.T
		text string
		code pgerr.Code
	}{
		{types.Regclass, "nosuch", pgerr.UndefinedTable},
		{types.Regclass, `"unclosed`, pgerr.InvalidName},
		{types.Regtype, "nosuch", pgerr.UndefinedObject},
		{types.Regnamespace, "nosuch", pgerr.InvalidSchemaName},
		{types.Regproc, "nosuch", pgerr.UndefinedFunction},
		{types.Regproc, "lower.x", pgerr.InvalidSchemaName},
		{types.Regproc, "length", pgerr.AmbiguousFunction},
	} {
		if _, err := c.OidOf(r.typ, r.text); pgerr.CodeOf(err) != r.code {
			t.Errorf("%s %s: %v, want %s", r.typ.Name, r.text, err, r.code)
		}
	}
}

func TestPrivileges(t *testing.T) {
	c := newCatalog(t)
	check := func(req call.PrivilegeCheck, has, ok bool, code pgerr.Code) {
		t.Helper()
		h, o, err := c.HasPrivilege(req)
		if h != has || o != ok || pgerr.CodeOf(err) != code {
			t.Errorf("%+v: %v %v %v", req, h, o, err)
		}
	}
	check(call.PrivilegeCheck{Kind: "table", Object: "pg_class", Privilege: "select, INSERT with grant option"}, true, true, "")
	check(call.PrivilegeCheck{Kind: "table", Object: "nosuch"}, false, false, pgerr.UndefinedTable)
	check(call.PrivilegeCheck{Kind: "table", ObjectOid: 1, Privilege: "select"}, false, false, "")
	check(call.PrivilegeCheck{Kind: "column", Object: "pg_class", Column: "relname", Privilege: "select"}, true, true, "")
	check(call.PrivilegeCheck{Kind: "column", Object: "pg_class", Column: "nosuch", Privilege: "select"}, false, false, pgerr.UndefinedColumn)
	check(call.PrivilegeCheck{Kind: "sequence", Object: "pg_class", Privilege: "usage"}, false, false, pgerr.WrongObjectType)
	check(call.PrivilegeCheck{Kind: "server", Object: "nosuch", Privilege: "usage"}, false, false, pgerr.UndefinedObject)
	check(call.PrivilegeCheck{Kind: "database", Object: "nosuch"}, false, false, pgerr.InvalidCatalogName)
	check(call.PrivilegeCheck{Kind: "schema", Object: "public", User: "nobody"}, false, false, pgerr.UndefinedObject)
	if _, _, err := c.HasPrivilege(call.PrivilegeCheck{Kind: "table", Object: "pg_class", Privilege: "execute"}); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Errorf("a privilege that tables do not have: %v", err)
	}
}

// A lookup yields the rows with its keys, and reads no list of all objects.
func TestLookup(t *testing.T) {
	c := newCatalog(t)
	tab, err := c.h.Coll.ResolveTable(context.Background(), "", "pg_catalog", "pg_attribute")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tab.Indexes, func(ix catalog.Index) bool { return ix.Name == "pg_attribute_attrelid_index" })
	var names []string
	req := &operator.VirtualRequest{Table: tab, Index: &tab.Indexes[i], Keys: []types.Row{{types.NewInt(oidPgAttrdef)}, {types.NewInt(-1)}}}
	err = c.VirtualRows(context.Background(), req, func(r types.Row) error { names = append(names, r[1].Str()); return nil })
	if err != nil || !slices.Equal(names, []string{"oid", "adrelid", "adnum", "adbin"}) {
		t.Errorf("got %v, %v", names, err)
	}
}
