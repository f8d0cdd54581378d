package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/builtin"
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
	reader, err := NewTableReader(tab, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.fakeTxn.Scan(context.Background(), reader.next, reader.end, kv.ScanOptions{}, &txn.page); err != nil {
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
			env := &Env{Ctx: context.Background(), Txn: txn, Builtin: &builtin.Context{}, Params: params, Mem: w.mem}
			rows := 0
			sink := func(b *Batch) error { rows += b.Len(); return nil }
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
		env := &Env{Ctx: context.Background(), Txn: txn, Builtin: &builtin.Context{}, Params: params, Mem: w.mem}
		rows := 0
		sink := func(b *Batch) error { rows += b.Len(); return nil }
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
