package concurrency

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestWriteMark compares a mark with the list of all writes. It may answer no where the own writes are not the
// latest ones, and never yes without need.
func TestWriteMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m WriteMark
		own, below := drawTS(t), drawTS(t)
		var latest hlc.Timestamp
		yes := true
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			at := drawTS(t)
			m.Note(at)
			latest = latest.Max(at)
			yes = yes && (at == own || at.Less(below))
		}
		if got := m.AllBelow(below, own); got && !yes || !got && yes && !own.Less(latest) {
			t.Fatalf("all below %v but for %v: got %v, want %v", below, own, got, yes)
		}
	})
}
