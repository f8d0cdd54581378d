package kv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/store"
)

func open(t testing.TB, f fs.FS) (*store.Store, *kv.DB) {
	t.Helper()
	n := clustertest.Open(t, f)
	return n.Store, n.DB
}

func key(s string) []byte { return append(keys.TablePrefix(1, 1), s...) }

func TestPutGetReopen(t *testing.T) {
	ctx := context.Background()
	f := fs.NewMem()
	s, db := open(t, f)
	for i := range 100 {
		err := db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
			k := key(fmt.Sprint("k", i%10))
			if _, err := txn.Lock(ctx, k, lock.Update, lock.WaitBlock); err != nil {
				return err
			}
			return txn.Put(k, []byte(fmt.Sprint("v", i)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(db *kv.DB) {
		txn := db.Begin(kv.TxnOptions{ReadOnly: true})
		txn.BeginStatement()
		v, ok, err := txn.Get(ctx, key("k3"))
		if err != nil || !ok || string(v) != "v93" {
			t.Fatalf("got %q %v %v", v, ok, err)
		}
		var res kv.ScanResult
		if err := txn.Scan(ctx, key("k2"), key("k5"), kv.ScanOptions{}, &res); err != nil {
			t.Fatal(err)
		}
		if res.Len() != 3 || string(res.Value(0)) != "v92" {
			t.Fatalf("scan: %d rows", res.Len())
		}
		txn.Rollback(ctx)
	}
	check(db)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, db = open(t, f)
	check(db)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIncrement(t *testing.T) {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	var wg sync.WaitGroup
	const workers, each = 16, 50
	for range workers {
		wg.Go(func() {
			for range each {
				err := db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
					r, err := txn.Lock(ctx, key("n"), lock.Update, lock.WaitBlock)
					if err != nil {
						return err
					}
					n := 0
					if r.Found {
						fmt.Sscan(string(r.Value), &n)
					}
					return txn.Put(key("n"), []byte(fmt.Sprint(n+1)))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	v, _, err := txn.Get(ctx, key("n"))
	if err != nil || string(v) != fmt.Sprint(workers*each) {
		t.Fatalf("%q %v", v, err)
	}
	txn.Rollback(ctx)
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprint("clients=", n), func(b *testing.B) {
			ctx := context.Background()
			d := b.TempDir()
			c := hlc.NewSystem(0)
			s, err := store.Open(store.Options{Bootstrap: true, FS: fs.Disk(), Dir: d, Clock: c})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Start(); err != nil {
				b.Fatal(err)
			}
			db := kv.NewDB(dist.New(s, nil), c, 1)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for w := range n {
				wg.Go(func() {
					txn := db.Begin(kv.TxnOptions{})
					val := make([]byte, 100)
					for i := range b.N / n {
						txn.BeginStatement()
						k := key(fmt.Sprint("k", w, i%1000))
						if _, err := txn.Lock(ctx, k, lock.NoKeyUpdate, lock.WaitBlock); err != nil {
							b.Error(err)
						}
						_ = txn.Put(k, val)
						if err := txn.Commit(ctx); err != nil {
							b.Error(err)
						}
						txn.Reset(kv.TxnOptions{})
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkUpdateTwoRanges commits in two ranges.
func BenchmarkUpdateTwoRanges(b *testing.B) {
	ctx := context.Background()
	c := hlc.NewSystem(0)
	s, err := store.Open(store.Options{Bootstrap: true, FS: fs.Disk(), Dir: b.TempDir(), Clock: c})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	_, d, err := s.Lookup(key("m"))
	if err != nil {
		b.Fatal(err)
	}
	r, _ := s.Replica(d.RangeID)
	if err := r.Split(ctx, key("m"), 2); err != nil {
		b.Fatal(err)
	}
	txn := kv.NewDB(dist.New(s, nil), c, 1).Begin(kv.TxnOptions{})
	val := make([]byte, 100)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		txn.BeginStatement()
		for _, k := range []string{"k", "z"} {
			if err := txn.Put(key(fmt.Sprint(k, i%1000)), val); err != nil {
				b.Fatal(err)
			}
		}
		if err := txn.Commit(ctx); err != nil {
			b.Fatal(err)
		}
		txn.Reset(kv.TxnOptions{})
	}
}
