package concurrency

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
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

// TestWriteMarks: a write counts in its area, and one in several areas counts everywhere.
func TestWriteMarks(t *testing.T) {
	at := func(n int64) hlc.Timestamp { return hlc.Timestamp{WallTime: n} }
	one, two := keys.AreaOf(keys.TablePrefix(1, 7)), keys.AreaOf(keys.TablePrefix(1, 8))
	own, other := TxnID{Lo: 1}, TxnID{Lo: 2}
	var m WriteMarks
	m.Note(other, at(10), one)
	m.Note(own, at(30), two)
	if m.AllBelow(at(10), own, one) || !m.AllBelow(at(11), own, one) || !m.AllBelow(at(5), own, two) {
		t.Error("a write counts in another area, or not in its own")
	}
	m.NoteSeveral(other, at(20))
	if m.AllBelow(at(20), own, one) || m.AllBelow(at(20), own, two) || !m.AllBelow(at(21), own, two) {
		t.Error("a write in several areas does not count in all")
	}
}
