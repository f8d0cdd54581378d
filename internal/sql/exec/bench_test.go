package exec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cannedScan answers every Scan with the same page.
type cannedScan struct {
	*fakeTxn
	page kv.ScanResult
}

func (c *cannedScan) Scan(_ context.Context, _, _ []byte, _ kv.ScanOptions, res *kv.ScanResult) error {
	res.Reset()
	res.Arena = append(res.Arena, c.page.Arena...)
	res.Offsets = append(res.Offsets, c.page.Offsets...)
	return nil
}

// tableSpan is where the rows of a table lie.
func tableSpan(t testing.TB, tab *catalog.Table) kvpb.Span {
	x, err := rowcodec.Compile(tab, tab.Primary())
	if err != nil {
		t.Fatal(err)
	}
	return kvpb.Span{Key: x.Prefix(), EndKey: keys.PrefixEnd(x.Prefix())}
}

// sysbenchWorld has a table of 100 rows as sysbench fills it.
func sysbenchWorld(t testing.TB) (*world, *cannedScan) {
	w := newWorld(t)
	w.optimize = true
	tab := w.table("sbtest1", "id int4; k int4 not null; c bpchar not null; pad bpchar not null; primary (id); index (k)")
	for i := range 100 {
		w.must(fmt.Sprintf("insert into sbtest1 values (%d, %d, '%s', '%s')", i, i*37%101,
			strings.Repeat(fmt.Sprintf("%011d-", i*7919%10007), 10), strings.Repeat("67847967377-", 5)))
	}
	txn := &cannedScan{fakeTxn: w.store.begin(w.iso)}
	rows := tableSpan(t, tab)
	if err := txn.fakeTxn.Scan(context.Background(), rows.Key, rows.EndKey, kv.ScanOptions{}, &txn.page); err != nil {
		t.Fatal(err)
	}
	return w, txn
}

var sysbenchRanges = map[string]string{
	"simple":   "select c from sbtest1 where id between $1 and $2",
	"sum":      "select sum(k) from sbtest1 where id between $1 and $2",
	"order":    "select c from sbtest1 where id between $1 and $2 order by c",
	"distinct": "select distinct c from sbtest1 where id between $1 and $2 order by c",
	"count":    "select count(*) from sbtest1",
}

func BenchmarkRanges(b *testing.B) {
	for name, sql := range sysbenchRanges {
		b.Run(name, func(b *testing.B) {
			w, txn := sysbenchWorld(b)
			pr, params := rangeProgram(b, w, sql)
			env := &operator.Env{Ctx: context.Background(), Txn: txn, Builtin: &call.Context{}, Params: params, Mem: w.mem}
			rows := 0
			sink := func(b *rowcontainer.Batch) error { rows += b.Len(); return nil }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pr.Run(env, sink); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func rangeProgram(t testing.TB, w *world, sql string) (*Program, []types.Datum) {
	params := []types.Datum{types.NewInt(0), types.NewInt(1000)}
	if !strings.Contains(sql, "$") {
		params = nil
	}
	p, err := w.plan(sql, params)
	if err != nil {
		t.Fatal(err)
	}
	pr, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return pr, params
}

func TestRangeAllocations(t *testing.T) {
	for name, sql := range sysbenchRanges {
		w, txn := sysbenchWorld(t)
		pr, params := rangeProgram(t, w, sql)
		env := &operator.Env{Ctx: context.Background(), Txn: txn, Builtin: &call.Context{}, Params: params, Mem: w.mem}
		rows := 0
		sink := func(b *rowcontainer.Batch) error { rows += b.Len(); return nil }
		n := testing.AllocsPerRun(10, func() {
			if _, err := pr.Run(env, sink); err != nil {
				t.Fatal(err)
			}
		})
		if n > 10 || rows == 0 {
			t.Errorf("%s: %v allocations, %d rows", name, n, rows)
		}
	}
}

// cannedPoint answers point reads and locks of the primary index with one row.
type cannedPoint struct {
	*fakeTxn
	key, value []byte
	writes     int
}

func (c *cannedPoint) Get(context.Context, []byte) ([]byte, bool, error) { return c.value, true, nil }
func (c *cannedPoint) Lock(_ context.Context, key []byte, _ lock.Strength, _ lock.WaitPolicy) (kv.LockResult, error) {
	return kv.LockResult{Value: c.value, Found: bytes.Equal(key, c.key)}, nil
}
func (c *cannedPoint) Put(_, _ []byte) error { c.writes++; return nil }
func (c *cannedPoint) Delete([]byte) error   { c.writes++; return nil }

// pointStatements are those of the usual benchmarks, with whether they write.
var pointStatements = []struct {
	sql    string
	writes int
}{
	{"select c from sbtest1 where id = $1", 0},
	{"update sbtest1 set k = k + 1 where id = $1", 3},
	{"update sbtest1 set c = $2 where id = $1", 1},
	{"delete from sbtest1 where id = $1", 2},
	{"insert into sbtest1 (id, k, c, pad) values ($1 + 1, 5, $2, 'p')", 2},
}

func TestPointStatements(t *testing.T) {
	w, _ := sysbenchWorld(t)
	rows := tableSpan(t, w.tables["sbtest1"])
	for _, c := range pointStatements {
		params := []types.Datum{types.NewInt(0), types.NewString("new")}
		if !strings.Contains(c.sql, "$2") {
			params = params[:1]
		}
		p, err := w.plan(c.sql, params)
		if err != nil {
			t.Fatal(err)
		}
		pr, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		txn := &cannedPoint{fakeTxn: w.store.begin(w.iso)}
		var page kv.ScanResult
		if err := txn.Scan(context.Background(), rows.Key, rows.EndKey, kv.ScanOptions{MaxRows: 1}, &page); err != nil {
			t.Fatal(err)
		}
		txn.key, txn.value = page.Key(0), page.Value(0)
		scans := w.store.scans
		env := &operator.Env{Ctx: context.Background(), Txn: txn, Builtin: &call.Context{}, Params: params, Mem: w.mem}
		sink := func(*rowcontainer.Batch) error { return nil }
		runs := 0
		n := testing.AllocsPerRun(20, func() {
			runs++
			if _, err := pr.Run(env, sink); err != nil {
				t.Fatal(c.sql, err)
			}
		})
		if n > 1 || w.store.scans != scans || txn.writes != runs*c.writes {
			t.Errorf("%s: %v allocations, %d scans, %d writes in %d runs", c.sql, n, w.store.scans-scans, txn.writes, runs)
		}
	}
}
