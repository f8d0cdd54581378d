package catalog

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/store"
)

type node struct {
	disk  fs.FS
	store *store.Store
	db    *kv.DB
	cat   *Store
}

func openNode(t testing.TB, disk fs.FS) *node {
	t.Helper()
	return openNodeBehind(t, disk, func(s kvpb.Sender) kvpb.Sender { return s })
}

// openNodeBehind is openNode with what wrap returns between the catalog and the ranges.
func openNodeBehind(t testing.TB, disk fs.FS, wrap func(kvpb.Sender) kvpb.Sender) *node {
	t.Helper()
	c := clustertest.OpenBehind(t, disk, nil, wrap)
	n := &node{disk: disk, store: c.Store, db: c.DB, cat: NewStore(Options{DB: c.DB, Waits: c.Store.Waits()})}
	if err := n.cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) close(t testing.TB) {
	t.Helper()
	if err := n.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// path is a search_path.
type path []string

func (p path) SearchPathSetting() []string { return p }

// session is a Collection with a transaction.
type session struct {
	*Collection
	n *node
	t testing.TB
}

func (n *node) session(t testing.TB) *session {
	t.Helper()
	c := n.cat.NewCollection()
	db, err := n.cat.DatabaseByName(context.Background(), "defaultdb")
	if err != nil {
		t.Fatal(err)
	}
	c.SetSession(db, path{"public"})
	return &session{Collection: c, n: n, t: t}
}

func (s *session) begin(o kv.TxnOptions) {
	s.Begin(s.n.db.Begin(o))
	s.statement()
}

func (s *session) statement() {
	s.txn.BeginStatement()
	s.BeginStatement()
}

func (s *session) commit() {
	s.t.Helper()
	ctx := context.Background()
	if err := s.PreCommit(ctx); err != nil {
		s.t.Fatal(err)
	}
	if err := s.txn.Commit(ctx); err != nil {
		s.t.Fatal(err)
	}
	s.Committed(ctx)
}

func (s *session) rollback() {
	s.txn.Rollback(context.Background())
	s.RolledBack(context.Background())
}

// create makes a table in schema public; its transaction must be open.
func (s *session) create(name string) *Table {
	s.t.Helper()
	ctx := context.Background()
	schema, err := s.FindSchema(ctx, "public")
	if err != nil {
		s.t.Fatal(err)
	}
	t := newTable(name)
	t.Database, t.Schema = schema.Database, schema.ID
	if t.ID, err = s.NewID(ctx); err != nil {
		s.t.Fatal(err)
	}
	if t.Oid, err = s.NewOid(ctx); err != nil {
		s.t.Fatal(err)
	}
	taken, err := s.AddName(ctx, NameKey{t.Database, t.Schema, name}, NameEntry{ID: t.ID})
	if err != nil || taken {
		s.t.Fatalf("name %s: taken %v, %v", name, taken, err)
	}
	if err := s.Put(ctx, t); err != nil {
		s.t.Fatal(err)
	}
	return t
}

func newTable(name string) *Table {
	return &Table{
		Name: name, Owner: RootOid, Kind: KindTable, NextColumnID: 3, NextIndexID: 2, NextAttnum: 3,
		Columns: []Column{
			{ID: 1, Attnum: 1, Name: "a", Type: types.Int4, NotNull: true},
			{ID: 2, Attnum: 2, Name: "b", Type: types.Varchar.WithTypmod(14), Default: "'x'", Comment: "a column"},
		},
		Indexes: []Index{{ID: 1, Name: name + "_pkey", Unique: true, Primary: true, Columns: []IndexColumn{{Column: 1}}, Stored: []ColumnID{2}}},
		Checks:  []Check{{Oid: 7, Name: "c", Expr: "a > 0", Columns: []ColumnID{1}}},
	}
}

func (s *session) find(name string) *Table {
	s.t.Helper()
	t, _, err := s.FindRelation(context.Background(), "", "", name)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}
