package ddl_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// inspected is a table with an index of each kind.
func inspected(t *testing.T) (*cluster, *session) {
	c := newCluster(t, fs.NewMem())
	s := c.session()
	s.must("create table t (a int primary key, b int, c text, d jsonb, family (a, b), family (c, d))")
	s.must("create index plain on t (b desc, c)")
	s.must("create unique index only_one on t (c) include (b)")
	s.must("create index evens on t (b) where b % 2 = 0")
	s.must("create index lowered on t (lower(c))")
	s.must("create index sharded on t (b) using hash")
	s.must("create inverted index tokens on t (d)")
	for i := range 3 {
		s.must(fmt.Sprintf(`insert into t select i, nullif(i %% 100, 7), 'C' || i, '{"x": 1, "y": "z"}' from generate_series(%d, %d) i`, i*1000+1, (i+1)*1000))
	}
	return c, s
}

// inspect returns the differences, a line each, and the number of rows.
func (s *session) inspect(t *testing.T, name string) (string, int64) {
	t.Helper()
	ctx := context.Background()
	if !s.block {
		s.open()
	}
	s.txn.BeginStatement()
	s.coll.BeginStatement()
	var out strings.Builder
	tab, err := s.coll.ResolveTable(ctx, "", "", name)
	if err != nil {
		t.Fatal(err)
	}
	var indexes []int
	for i := range tab.Indexes[1:] {
		indexes = append(indexes, i+1)
	}
	rows, err := backfill.Inspect(ctx, s.env(), tab, indexes, func(p backfill.Problem) error {
		fmt.Fprintf(&out, "%s: %s %s\n", p.Index.Name, p.Kind, p.Key)
		return nil
	})
	if !s.block {
		err = s.end(ctx, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), rows
}

// entriesOf returns the keys and values of an index, in order.
func (c *cluster) entriesOf(t *testing.T, s *session, index string) (out [][2][]byte) {
	t.Helper()
	ctx := context.Background()
	var tab *catalog.Table
	for _, d := range s.coll.Listing().Relations {
		if d.Name == "t" {
			tab = d
		}
	}
	i := 0
	for i = range tab.Indexes {
		if tab.Indexes[i].Name == index {
			break
		}
	}
	prefix := rowcodec.IndexPrefix(tab, &tab.Indexes[i])
	err := c.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		var page kvpb.ScanResponse
		for start := prefix; start != nil; start = bytes.Clone(page.Resume) {
			page.Reset()
			if err := txn.Scan(ctx, start, keys.PrefixEnd(prefix), kv.ScanOptions{}, &page); err != nil {
				return err
			}
			for i := range page.Len() {
				out = append(out, [2][]byte{bytes.Clone(page.Key(i)), bytes.Clone(page.Value(i))})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write changes a key below SQL.
func (c *cluster) write(t *testing.T, key, value []byte) {
	t.Helper()
	err := c.db.Run(context.Background(), func(_ context.Context, txn *kv.Txn) error {
		if value == nil {
			return txn.Delete(key)
		}
		return txn.Put(key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Inspect finds an entry that is missing, one with other values, and one without a row, in every kind of index, and
// nothing else.
func TestInspect(t *testing.T) {
	c, s := inspected(t)
	defer c.close()
	if got, rows := s.inspect(t, "t"); got != "" || rows != 3000 {
		t.Fatalf("%d rows, and a table as it should be has the problems\n%s", rows, got)
	}
	for _, index := range []string{"plain", "only_one", "evens", "lowered", "sharded", "tokens"} {
		list := c.entriesOf(t, s, index)
		if len(list) < 100 {
			t.Fatalf("%s has %d entries", index, len(list))
		}
		at := list[len(list)/2]
		c.write(t, at[0], nil)
		if got, _ := s.inspect(t, "t"); !strings.HasPrefix(got, index+": missing entry") || strings.Count(got, "\n") != 1 {
			t.Errorf("an entry of %s is missing:\n%s", index, got)
		}
		c.write(t, at[0], append(bytes.Clone(at[1]), 0))
		if got, _ := s.inspect(t, "t"); !strings.HasPrefix(got, index+": wrong entry") || strings.Count(got, "\n") != 1 {
			t.Errorf("an entry of %s has another value:\n%s", index, got)
		}
		c.write(t, at[0], at[1])
		s.must(`insert into t values (9999, 9998, 'gone', '{"gone": 1}')`)
		back := newEntry(t, list, c.entriesOf(t, s, index))
		s.must("delete from t where a = 9999")
		c.write(t, back[0], back[1])
		if got, _ := s.inspect(t, "t"); !strings.HasPrefix(got, index+": dangling entry") || strings.Count(got, "\n") != 1 {
			t.Errorf("an entry of %s has no row:\n%s", index, got)
		}
		c.write(t, back[0], nil)
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Fatalf("after %s was mended:\n%s", index, got)
		}
	}
}

// newEntry returns one of the entries in after that are not in before.
func newEntry(t *testing.T, before, after [][2][]byte) [2][]byte {
	t.Helper()
	for _, e := range after {
		if !slices.ContainsFunc(before, func(o [2][]byte) bool { return bytes.Equal(o[0], e[0]) }) {
			return e
		}
	}
	t.Fatal("a new row has no entry")
	return [2][]byte{}
}

// Changes that others commit while it runs are no differences, nor is what its own transaction has written.
func TestInspectBesideWriters(t *testing.T) {
	c, s := inspected(t)
	defer c.close()
	stop := make(chan struct{})
	done := make(chan struct{})
	w := c.session()
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			w.exec(fmt.Sprintf("update t set b = %d, c = 'W' || a || '/%d' where a = %d", n, n, 1+n*37%3000))
		}
	}()
	for range 5 {
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("beside a writer:\n%s", got)
		}
	}
	close(stop)
	<-done
	s.must("begin")
	s.must("update t set b = b + 1, c = c || '!' where a < 200; delete from t where a > 2900")
	if got, _ := s.inspect(t, "t"); got != "" {
		t.Errorf("beside writes of its own:\n%s", got)
	}
	s.must("rollback")
}
