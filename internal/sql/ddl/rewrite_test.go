package ddl_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestRowsStay: which changes of a table write its rows anew, in a primary index with another id.
func TestRowsStay(t *testing.T) {
	c := newCluster(t, fs.NewMem())
	defer c.close()
	s := c.session()
	s.must("create table t (a int primary key, b int, n numeric(6,2), v varchar(5)); insert into t values (1, 2, 3, 'x')")
	primary := func() uint64 {
		t.Helper()
		s.open()
		defer s.rollback(context.Background())
		tab, _, err := s.coll.FindRelation(context.Background(), "", "", "t")
		if err != nil {
			t.Fatal(err)
		}
		return uint64(tab.Primary().ID)
	}
	for _, c := range []struct {
		change string
		anew   bool
	}{
		{change: "add c int not null default 5"},
		{change: "add d text default 'x' || 'y'"},
		{change: "add e timestamptz default now()"},
		{change: "add f int"},
		{change: "add g float default random()", anew: true},
		{change: "add h int generated always as (b + 1) stored", anew: true},
		{change: "drop f"},
		{change: "alter a type bigint"},
		{change: "alter a type int", anew: true},
		{change: "alter n type numeric(8,2)"},
		{change: "alter n type numeric(9,3)", anew: true},
		{change: "alter v type text"},
		{change: "alter v type varchar(5)", anew: true},
		{change: "alter c type bigint using c", anew: true},
		{change: "alter d set default 'z'"},
		{change: "rename d to dd"},
		{change: "alter c drop not null"},
	} {
		before := primary()
		s.must("alter table t " + c.change)
		if anew := primary() != before; anew != c.anew {
			t.Errorf("%s: rows written anew: %v", c.change, anew)
		}
	}
}
