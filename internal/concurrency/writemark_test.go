package concurrency

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestWriteMark compares a mark with the list of all writes. It may answer no where the own write is not the
// latest one, and never yes without need.
func TestWriteMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m WriteMark
		below := drawTS(t)
		own := TxnID{Lo: 1}
		var latest, latestOwn hlc.Timestamp
		yes := true
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			at, id := drawTS(t), TxnID{Lo: rapid.Uint64Range(0, 2).Draw(t, "writer")}
			m.Note(id, at)
			if id == own {
				latestOwn = latestOwn.Max(at)
				continue
			}
			latest = latest.Max(at)
			yes = yes && at.Less(below)
		}
		if got := m.AllBelow(below, own); got && !yes || !got && yes && latest.Less(latestOwn) {
			t.Fatalf("all below %v but for the own: got %v, want %v", below, got, yes)
		}
	})
}
