package txnintent

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A request that was given up before it began leaves nothing behind, or nothing would ever
// remove it.
func TestEnterGivenUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var table Table
	var records Records
	id := kvpb.TxnID{Lo: 1}
	for range 100 { // which of two ready cases a select takes is not known
		if x, err := table.Enter(ended, id, []byte("a"), began); err == nil {
			table.Leave(x)
		}
		if rec, err := records.Enter(ended, id, []byte("a"), began); err == nil {
			records.Leave(rec)
		}
		if !table.Empty() || len(table.txns) > 0 || records.Len() > 0 {
			t.Fatalf("%d transactions and %d records are left", table.Len(), records.Len())
		}
	}
	x, err := table.Enter(context.Background(), id, []byte("a"), began)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Enter(ended, id, []byte("a"), began); err == nil {
		t.Fatal("two have the latch")
	}
	if table.Get(id) != x {
		t.Fatal("the transaction is gone that another request holds")
	}
	table.Leave(x)
	if !table.Empty() {
		t.Fatalf("%d transactions are left", table.Len())
	}
}

// Whichever comes first, the collection threshold or intents below it, the other one learns
// of it (invariant 8).
func TestProtect(t *testing.T) {
	at := func(wall int64) hlc.Timestamp { return hlc.Timestamp{WallTime: wall} }
	var table Table
	enter := func(lo uint64) *Txn {
		x, err := table.Enter(context.Background(), kvpb.TxnID{Lo: lo}, nil, began)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	stage := func(x *Txn, ts hlc.Timestamp) Result {
		return table.Step(x, Event{Type: Stage, TS: ts, Attempt: 1, Writes: true})
	}
	a := enter(1)
	enter(2) // of which nothing is written yet: it bounds nothing
	if res := stage(a, at(50)); !res.Has(Propose) {
		t.Fatalf("with no threshold a version at 50: %v", res)
	}
	if got := table.Protect(at(80)); got != at(50).Prev() || table.Threshold() != got {
		t.Fatalf("versions up to %v may go under a provisional one at 50", got)
	}
	if res := stage(a, at(60)); !res.Has(Propose) || table.State(a).Lowest != at(50) {
		t.Fatalf("a transaction with versions at 50 and 60: %v, %v", res, table.State(a))
	}
	table.Leave(a)
	if got := table.Protect(at(80)); got != at(80) || table.Threshold() != at(80) {
		t.Fatalf("with no intents versions up to %v may go; the threshold is %v", got, table.Threshold())
	}
	if got := table.Protect(at(30)); got != at(30) || table.Threshold() != at(80) {
		t.Fatalf("the threshold fell to %v", table.Threshold())
	}
	for _, ts := range []hlc.Timestamp{at(50), at(80)} {
		if res := stage(enter(uint64(ts.WallTime)), ts); !res.Has(ReplyTooLow) || res.TS != at(80).Next() {
			t.Fatalf("a version at %v below the threshold: %v", ts, res)
		}
	}
	table.MustLieAbove(at(80))
	mustPanic(t, "a version below a provisional one is dropped", func() {
		stage(enter(3), at(90))
		table.MustLieAbove(at(90))
	})
}

// What is known lies within the range's bounds (invariant 7).
func TestMustLieWithin(t *testing.T) {
	var table Table
	x, err := table.Enter(context.Background(), kvpb.TxnID{Lo: 1}, nil, began)
	if err != nil {
		t.Fatal(err)
	}
	table.Step(x, Event{Type: Spill, TS: hlc.Timestamp{WallTime: 1}, Span: kvpb.Span{Key: []byte("a"), EndKey: []byte("f")}})
	table.MustLieWithin([]byte("f"))
	mustPanic(t, "intents beyond the range's end", func() { table.MustLieWithin([]byte("d")) })
	table.Split([]byte("d"))
	table.MustLieWithin([]byte("d"))
}

func mustPanic(t *testing.T, what string, fn func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: nobody notices", what)
		}
	}()
	fn()
}

// While the locks of a span are removed as one, no other transaction enters the table; it does not
// begin while another one may write there (invariant 13).
func TestClear(t *testing.T) {
	ctx := context.Background()
	var table Table
	enter := func(lo uint64) *Txn {
		x, err := table.Enter(ctx, kvpb.TxnID{Lo: lo}, nil, began)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	spill := func(x *Txn, key, end string) {
		table.Step(x, Event{Type: Spill, TS: hlc.Timestamp{WallTime: 10}, Span: kvpb.Span{Key: []byte(key), EndKey: []byte(end)}})
	}
	x := enter(1)
	spill(x, "b", "f")
	table.Leave(x)
	y := enter(2)
	if table.BeginClear(x) {
		t.Fatal("another transaction is about to write")
	}
	spill(y, "e", "h")
	table.Leave(y)
	if table.BeginClear(x) {
		t.Fatal("another transaction has intents in the span")
	}
	table.Step(y, Event{Type: Split, Key: []byte("f")})
	table.Step(y, Event{Type: Decide, Outcome: Aborted})
	table.Step(y, Event{Type: Resolve})
	y = enter(2)
	spill(y, "f", "h")
	table.Leave(y)
	if !table.BeginClear(x) {
		t.Fatal("the intents of the other one lie behind the span")
	}
	if table.BeginClear(y) {
		t.Fatal("two clear at once")
	}
	given, cancel := context.WithCancel(ctx)
	cancel()
	for _, lo := range []uint64{2, 3} {
		if _, err := table.Enter(given, kvpb.TxnID{Lo: lo}, nil, began); err == nil {
			t.Fatalf("transaction %d enters meanwhile", lo)
		}
	}
	if table.Len() != 2 {
		t.Fatalf("%d transactions are in the table", table.Len())
	}
	entered := make(chan struct{})
	go func() {
		table.Leave(enter(3))
		close(entered)
	}()
	table.Leave(enter(1)) // its own requests learn how it ended
	table.EndClear()
	<-entered
}
