package txnintent

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A read that began before a spill was registered is repeated if it may have met the versions: they lie at the
// snapshot of the transaction, below the time of the read, and in its span.
func TestSpilledSince(t *testing.T) {
	var table Table
	x, err := table.Enter(context.Background(), kvpb.TxnID{Hi: 1, Lo: 1}, []byte("f"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := func(wall int64) hlc.Timestamp { return hlc.Timestamp{WallTime: wall} }
	spill := func(key string) {
		span := kvpb.Span{Key: []byte(key), EndKey: keys.Next([]byte(key))}
		if res := table.Step(x, Event{Type: Spill, Span: span, TS: at(5)}); res.Has(ReplyAborted | ReplyTooLow) {
			t.Fatalf("the spill: %v", res)
		}
	}
	began := table.Spills()
	if table.SpilledSince(began, []byte("a"), []byte("z"), at(9)) {
		t.Error("nothing was spilled")
	}
	spill("f")
	for _, c := range []struct {
		start, end string
		ts         int64
		want       bool
	}{{"a", "z", 9, true}, {"f", "", 5, true}, {"a", "z", 4, false}, {"a", "f", 9, false}, {"g", "", 9, false}} {
		if got := table.SpilledSince(began, []byte(c.start), []byte(c.end), at(c.ts)); got != c.want {
			t.Errorf("a read of [%s, %s) at %d: %v", c.start, c.end, c.ts, got)
		}
	}
	if now := table.Spills(); table.SpilledSince(now, []byte("a"), []byte("z"), at(9)) {
		t.Error("a read that began after the spill is repeated")
	}
	for range recentSpills + 1 {
		spill("f")
	}
	if !table.SpilledSince(began, []byte("x"), nil, at(1)) {
		t.Error("more spills than the table tells apart")
	}
}
