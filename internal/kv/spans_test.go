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
		got, pages := allSpans(t, txn, spans, o)
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

// allSpans reads the spans together, page by page.
func allSpans(t *testing.T, txn *kv.Txn, spans []kvpb.Span, o kv.ScanOptions) (rows []string, pages int) {
	t.Helper()
	var res kv.ScanResult
	left := slices.Clone(spans)
	for len(left) > 0 {
		if err := txn.ScanSpans(context.Background(), left, o, &res); err != nil {
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
	got, _ := allSpans(t, txn, spans, kv.ScanOptions{MaxRows: 30})
	if want := eachSpan(t, txn, spans); len(want) != 103 || !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	txn.Rollback(ctx)
}
