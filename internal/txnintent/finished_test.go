package txnintent

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"pgregory.net/rapid"
)

// What is not found may be forgotten only if the answer says so.
func TestFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Finished
		start := int64(1000 * time.Second)
		m.Forget(hlc.Timestamp{WallTime: start})
		ended := map[kvpb.TxnID]finishedTxn{}
		now := start
		for i := range rapid.IntRange(1, 300).Draw(t, "transactions") {
			now += int64(rapid.SampledFrom([]time.Duration{1, time.Second, 70 * time.Second}).Draw(t, "pause"))
			id := kvpb.TxnID{Hi: 1, Lo: uint64(i)}
			e := finishedTxn{
				ts:      hlc.Timestamp{WallTime: now - int64(rapid.IntRange(0, 5).Draw(t, "late"))},
				aborted: rapid.Bool().Draw(t, "aborted"),
			}
			ended[id] = e
			m.Note(id, EndTimestamp(e.ts, e.aborted))
			m.Note(id, EndTimestamp(e.ts, e.aborted))
		}
		found := 0
		for id, want := range ended {
			got := m.Find(id)
			ts, aborted, ok := got.TS, got.Aborted, got.Known
			if ok {
				found++
			}
			switch {
			case ok && (ts != want.ts || aborted != want.aborted):
				t.Fatalf("%s ended at %s, %t; want %s, %t", id, ts, aborted, want.ts, want.aborted)
			case !ok && !m.MayHaveForgotten(want.ts):
				t.Fatalf("%s at %s is forgotten without notice", id, want.ts)
			case !ok && m.newest.WallTime-want.ts.WallTime < int64(finishedFor):
				t.Fatalf("%s is forgotten after %s", id, time.Duration(m.newest.WallTime-want.ts.WallTime))
			}
		}
		if found != m.n || m.n != len(m.index) {
			t.Fatalf("%d found, %d in the ring, %d in the index", found, m.n, len(m.index))
		}
		if !m.MayHaveForgotten(hlc.Timestamp{WallTime: start}) {
			t.Fatal("what was before the start is not known to be forgotten")
		}
	})
}

func TestFinishedIsBounded(t *testing.T) {
	var m Finished
	for i := range uint64(3 * maxFinished) {
		m.Note(kvpb.TxnID{Lo: i + 1}, hlc.Timestamp{WallTime: int64(i) + 1})
	}
	if m.n != maxFinished || len(m.index) != maxFinished {
		t.Errorf("%d transactions, %d in the index", m.n, len(m.index))
	}
	if !m.MayHaveForgotten(hlc.Timestamp{WallTime: 2 * maxFinished}) || m.MayHaveForgotten(hlc.Timestamp{WallTime: 2*maxFinished + 1}) {
		t.Errorf("the floor is %s", m.floor)
	}
	if n := testing.AllocsPerRun(1000, func() {
		m.Note(kvpb.TxnID{Hi: 1, Lo: uint64(m.newest.WallTime)}, hlc.Timestamp{WallTime: m.newest.WallTime + 1})
	}); n > 0 {
		t.Errorf("%v allocations per commit", n)
	}
}
