package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// A scan of several spans returns what gets and scans of each of them do: over
// one and several ranges, with the transaction's own writes, in pages of any size.
func TestScanSpans(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "k030", "k050x", "k080")
	defer c.close()
	db := c.gateway().db
	rng := rand.New(rand.NewPCG(1, 2))
	ctx := context.Background()
	writeKeys(t, db, rng, 120)
	for round := range 400 {
		iso := []kv.Isolation{kv.Serializable, kv.ReadCommitted}[round%2]
		txn := db.Begin(kv.TxnOptions{Isolation: iso})
		txn.BeginStatement()
		for range rng.IntN(3) * 20 { // own writes, or none
			change(t, txn, rng)
		}
		txn.BeginStatement()
		spans := randomSpans(rng)
		o := kv.ScanOptions{MaxRows: rng.IntN(8), MaxBytes: rng.IntN(3) * 64}
		want := eachSpan(t, txn, spans)
		read := txn.ScanSpans
		if round%3 > 0 {
			read = aheadOf(txn, func() { writeKeys(t, db, rng, round%2) })
		}
		got, pages := allSpans(t, read, spans, o)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, %d pages, spans %q:\ngot  %q\nwant %q", round, pages, spans, got, want)
		}
		txn.Rollback(ctx)
	}
}

func rowKey(i int) []byte { return key(fmt.Sprintf("k%03d", i)) }

func change(t *testing.T, txn *kv.Txn, rng *rand.Rand) {
	t.Helper()
	k := rowKey(rng.IntN(100))
	if _, err := txn.Lock(context.Background(), k, lock.Update, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	err := txn.Delete(k)
	if rng.IntN(3) > 0 {
		err = txn.Put(k, fmt.Appendf(nil, "v%d", rng.IntN(1000)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeKeys(t *testing.T, db *kv.DB, rng *rand.Rand, n int) {
	t.Helper()
	for range n {
		err := db.Run(context.Background(), func(_ context.Context, txn *kv.Txn) error {
			change(t, txn, rng)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// randomSpans returns sorted, disjoint spans, some of single keys.
func randomSpans(rng *rand.Rand) []kvpb.Span {
	var spans []kvpb.Span
	for i := rng.IntN(10); i < 100 && len(spans) < 30; i += 1 + rng.IntN(12) {
		s := kvpb.Span{Key: rowKey(i)}
		if rng.IntN(2) == 0 {
			i += 1 + rng.IntN(25)
			s.EndKey = rowKey(i)
		}
		spans = append(spans, s)
	}
	return spans
}

// eachSpan reads the spans one by one.
func eachSpan(t *testing.T, txn *kv.Txn, spans []kvpb.Span) []string {
	t.Helper()
	var rows []string
	for _, s := range spans {
		if len(s.EndKey) == 0 {
			v, found, err := txn.Get(context.Background(), s.Key)
			if err != nil {
				t.Fatal(err)
			}
			if found {
				rows = append(rows, fmt.Sprintf("%x=%s", s.Key, v))
			}
			continue
		}
		var res kv.ScanResult
		for start := s.Key; start != nil; start = res.Resume {
			if err := txn.Scan(context.Background(), start, s.EndKey, kv.ScanOptions{}, &res); err != nil {
				t.Fatal(err)
			}
			rows = appendRows(rows, &res)
		}
	}
	return rows
}

// readPage is Txn.ScanSpans.
type readPage func(context.Context, []kvpb.Span, kv.ScanOptions, *kv.ScanResult) error

// aheadOf reads a page ahead, if that is possible, and does something else before it finishes.
func aheadOf(txn *kv.Txn, between func()) readPage {
	return func(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kv.ScanResult) error {
		a := txn.ReadAhead(ctx, spans, o, res, nil)
		if a == nil {
			return txn.ScanSpans(ctx, spans, o, res)
		}
		between()
		return a.Finish(ctx)
	}
}

// allSpans reads the spans together, page by page.
func allSpans(t *testing.T, read readPage, spans []kvpb.Span, o kv.ScanOptions) (rows []string, pages int) {
	t.Helper()
	var res kv.ScanResult
	left := slices.Clone(spans)
	for len(left) > 0 {
		if err := read(context.Background(), left, o, &res); err != nil {
			t.Fatal(err)
		}
		rows = appendRows(rows, &res)
		if pages++; pages > 1000 {
			t.Fatal("the scan does not end")
		}
		if res.Resume == nil {
			return rows, pages
		}
		for len(left) > 0 && left[0].Before(res.Resume) {
			left = left[1:]
		}
		if len(left) == 0 {
			t.Fatal("a page says that there is more where nothing is left")
		}
		if bytes.Compare(left[0].Key, res.Resume) < 0 {
			left[0].Key = bytes.Clone(res.Resume)
		}
	}
	return rows, pages
}

func appendRows(rows []string, res *kv.ScanResult) []string {
	for i := range res.Len() {
		rows = append(rows, fmt.Sprintf("%x=%s", res.Key(i), res.Value(i)))
	}
	return rows
}

// A transaction that has spilled reads several spans too.
func TestScanSpansSpilled(t *testing.T) {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	val := make([]byte, 1000)
	for i := range 18_000 {
		if err := txn.Put(key(fmt.Sprintf("k%06d", i)), val); err != nil {
			t.Fatal(err)
		}
	}
	txn.BeginStatement()
	spans := []kvpb.Span{
		{Key: key("a"), EndKey: key("b")}, {Key: key("k000100")}, {Key: key("k000200"), EndKey: key("k000300")},
		{Key: key("k0009001")}, {Key: key("k017998"), EndKey: key("z")},
	}
	got, _ := allSpans(t, txn.ScanSpans, spans, kv.ScanOptions{MaxRows: 30})
	if want := eachSpan(t, txn, spans); len(want) != 103 || !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	txn.Rollback(ctx)
}

// writers returns how tests lock and write a key, in a transaction and in one of its own.
func writers(t *testing.T, db *kv.DB) (put func(txn *kv.Txn, k, v string), set func(k, v string)) {
	ctx := context.Background()
	put = func(txn *kv.Txn, k, v string) {
		t.Helper()
		if _, err := txn.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil {
			t.Fatal(err)
		}
		if err := txn.Put(key(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	set = func(k, v string) {
		t.Helper()
		if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error { put(txn, k, v); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return put, set
}

// What is read ahead counts as read once it is finished: a later write of another transaction makes the
// commit fail. A read that was abandoned is none. A write of the transaction itself is seen.
func TestReadAhead(t *testing.T) {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	all := []kvpb.Span{{Key: key("k"), EndKey: key("l")}}
	put, set := writers(t, db)
	set("k1", "old")
	for _, abandoned := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			txn := db.Begin(kv.TxnOptions{})
			txn.BeginStatement()
			var res kv.ScanResult
			if a := txn.ReadAhead(ctx, all, kv.ScanOptions{}, &res, nil); a != nil {
				t.Fatal("the first read of a snapshot is read ahead")
			}
			if _, _, err := txn.Get(ctx, key("a")); err != nil {
				t.Fatal(err)
			}
			a := txn.ReadAhead(ctx, all, kv.ScanOptions{}, &res, nil)
			if own {
				put(txn, "k2", "mine")
				txn.BeginStatement()
			}
			want := 1
			switch {
			case abandoned:
				a.Abandon()
			default:
				if err := a.Finish(ctx); err != nil {
					t.Fatal(err)
				}
				if own {
					want = 2
				}
				if res.Len() != want {
					t.Errorf("own write: %v: %d rows", own, res.Len())
				}
			}
			set("k1", "old")
			if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error { _, _, err := txn.Get(ctx, key("z")); return err }); err != nil {
				t.Fatal(err)
			}
			put(txn, "z", "written") // above the read of z, and so above the write of k1
			if err := txn.Commit(ctx); (err == nil) != abandoned {
				t.Errorf("abandoned: %v, own write: %v: the commit returns %v", abandoned, own, err)
			}
			txn.Rollback(ctx)
			if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error { return txn.Delete(key("k2")) }); err != nil {
				t.Fatal(err)
			}
		}
	}
}
