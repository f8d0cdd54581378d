package concurrency

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestWaitGraphModel checks random graphs: a check finds a victim exactly when
// the waiter can be reached from itself, and afterwards it no longer can be
// unless it is a victim itself.
func TestWaitGraphModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 6
		g := NewWaitGraph()
		waits := map[int][]*Wait{}
		edges := map[int][]int{}
		for i := range rapid.IntRange(1, 10).Draw(t, "waits") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			to := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 3).Draw(t, "to")
			to = slices.DeleteFunc(to, func(v int) bool { return v == from })
			w := g.Add(graphTxn(from), NewBlockers(graphIDs(to)...))
			if i%5 == 4 {
				g.Remove(w)
				continue
			}
			waits[from] = append(waits[from], w)
			edges[from] = append(edges[from], to...)
		}
		dead := map[int]bool{}
		for txn, ws := range waits {
			for _, w := range ws {
				own := graphOf(t, w)
				want := !dead[txn] && reaches(edges, dead, own, txn)
				victims := g.Check(w)
				if want != (len(victims) > 0) {
					t.Fatalf("check of %d: victims %v, want some: %v", txn, victims, want)
				}
				for _, v := range victims {
					dead[int(v.Lo)] = true
				}
				if !dead[txn] && reaches(edges, dead, own, txn) {
					t.Fatalf("%d is still deadlocked", txn)
				}
			}
		}
		for txn, ws := range waits {
			for _, w := range ws {
				select {
				case <-w.Victim():
					if !dead[txn] {
						t.Fatalf("%d was told that it is a victim", txn)
					}
				default:
					if dead[txn] {
						t.Fatalf("%d was not told that it is a victim", txn)
					}
				}
				g.Remove(w)
			}
		}
		if g.Len() != 0 {
			t.Fatalf("%d transactions left", g.Len())
		}
	})
}

func graphTxn(n int) Holder {
	return Holder{ID: TxnID{Lo: uint64(n)}, Start: hlc.Timestamp{WallTime: int64(n / 2)}}
}

func graphIDs(ns []int) []TxnID {
	var ids []TxnID
	for _, n := range ns {
		ids = append(ids, TxnID{Lo: uint64(n)})
	}
	return ids
}

func graphOf(t *rapid.T, w *Wait) []int {
	var to []int
	for _, id := range w.source.AppendBlockers(nil) {
		to = append(to, int(id.Lo))
	}
	return to
}

// reaches reports whether target can be reached from one of from without dead
// transactions.
func reaches(edges map[int][]int, dead map[int]bool, from []int, target int) bool {
	seen := map[int]bool{}
	for len(from) > 0 {
		v := from[0]
		from = from[1:]
		if v == target {
			return true
		}
		if !seen[v] && !dead[v] {
			seen[v] = true
			from = append(slices.Clone(from), edges[v]...)
		}
	}
	return false
}

// TestVictim checks that the youngest of a cycle dies, by id among equals.
func TestVictim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWaitGraph()
		n := rapid.IntRange(2, 6).Draw(t, "length")
		ring := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "ring")[:n]
		var last *Wait
		for i, from := range ring {
			last = g.Add(graphTxn(from), NewBlockers(TxnID{Lo: uint64(ring[(i+1)%n])}))
			if i < n-1 && g.Check(last) != nil {
				t.Fatal("deadlock before the ring is closed")
			}
		}
		victims := g.Check(last)
		if want := []TxnID{{Lo: uint64(slices.Max(ring))}}; !slices.Equal(victims, want) {
			t.Fatalf("victims %v, want %v", victims, want)
		}
	})
}
