package concurrency

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// randomWaits draws waits of up to n transactions, one for each that waits.
func randomWaits(t *rapid.T, n int) []WaitReport {
	var waits []WaitReport
	for i := range n {
		if rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
			continue
		}
		w := WaitReport{
			Node: uint64(rapid.IntRange(1, 3).Draw(t, "node")), Txn: TxnID{1, uint64(i + 1)}, Number: uint64(i),
			Start: hlc.Timestamp{WallTime: int64(rapid.IntRange(1, 4).Draw(t, "start"))},
		}
		for range rapid.IntRange(1, 3).Draw(t, "blockers") {
			if b := (TxnID{1, uint64(rapid.IntRange(1, n).Draw(t, "blocker"))}); b != w.Txn {
				w.Blockers = append(w.Blockers, b)
			}
		}
		waits = append(waits, w)
	}
	return waits
}

// leads reports whether a way leads from a transaction to another, without those that
// are dead.
func leads(waits []WaitReport, from, to TxnID, dead map[TxnID]bool) bool {
	seen := map[TxnID]bool{}
	var walk func(id TxnID) bool
	walk = func(id TxnID) bool {
		if dead[id] || seen[id] {
			return false
		}
		seen[id] = true
		for i := range waits {
			if waits[i].Txn == id {
				for _, b := range waits[i].Blockers {
					if b == to && !dead[to] || walk(b) {
						return true
					}
				}
			}
		}
		return false
	}
	return walk(from)
}

// Every cycle is broken, nobody dies who is part of none when its turn comes, its
// cycle is one, and the order of the reports does not matter.
func TestDeadlocksProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waits := randomWaits(t, rapid.IntRange(2, 12).Draw(t, "n"))
		dead := map[TxnID]bool{}
		found := Deadlocks(waits)
		for _, d := range found {
			victim := d[0].holder()
			if !leads(waits, victim.ID, victim.ID, dead) {
				t.Fatalf("%s dies and is part of no cycle", victim.ID)
			}
			for i := range d {
				next := d[(i+1)%len(d)].Txn
				if !d[i].For(next) || dead[next] {
					t.Fatalf("%s does not wait for %s", d[i].Txn, next)
				}
				if i > 0 && d[i].holder().youngerThan(victim) {
					t.Fatalf("%s is younger than the victim %s", d[i].Txn, victim.ID)
				}
				for j := range d { // no way across: each is needed
					if j != (i+1)%len(d) && d[i].For(d[j].Txn) {
						t.Fatalf("%s also waits for %s: %v", d[i].Txn, d[j].Txn, d)
					}
				}
			}
			dead[victim.ID] = true
		}
		for i := range waits {
			if id := waits[i].Txn; leads(waits, id, id, dead) {
				t.Fatalf("%s is left in a cycle", id)
			}
		}
		shuffled := slices.Clone(waits)
		rand.New(rand.NewPCG(1, uint64(len(waits)))).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		again := Deadlocks(shuffled)
		if len(again) != len(found) {
			t.Fatalf("%d deadlocks, in another order %d", len(found), len(again))
		}
		for i := range found {
			if found[i][0].Txn != again[i][0].Txn {
				t.Fatalf("victims %s and %s", found[i][0].Txn, again[i][0].Txn)
			}
		}
	})
}

// A long queue for one row is searched at once.
func TestDeadlocksOfAQueue(t *testing.T) {
	const n = 1000
	waits := []WaitReport{{Txn: TxnID{1, 1}, Blockers: []TxnID{{1, n}}}}
	for i := uint64(2); i <= n; i++ {
		w := WaitReport{Txn: TxnID{1, i}, Number: i, Start: hlc.Timestamp{WallTime: int64(i)}, Blockers: []TxnID{{1, 1}, {1, i - 1}}}
		waits = append(waits, w)
	}
	found := Deadlocks(waits)
	if len(found) != 1 || found[0][0].Txn != (TxnID{1, n}) || len(found[0]) != 2 {
		t.Errorf("found %v", found)
	}
	g := NewWaitGraph()
	table := NewLockTable(0)
	for i := uint64(1); i <= n; i++ {
		h := Holder{ID: TxnID{1, i}}
		w, err := table.Acquire([]byte("k"), h, lock.Update)
		if err != nil {
			t.Fatal(err)
		}
		if w != nil {
			g.Add(h, w)
		}
	}
	reports := g.Report([]TxnID{{1, n}}, 10000)
	edges := 0
	for i := range reports {
		edges += len(reports[i].Blockers)
	}
	if len(reports) != n-1 || edges > 2*n {
		t.Errorf("%d reports with %d edges", len(reports), edges)
	}
}

func TestKillOnlyThatWait(t *testing.T) {
	g := NewWaitGraph()
	b := NewBlockers(TxnID{1, 2})
	h := Holder{ID: TxnID{1, 1}}
	old := g.Add(h, b)
	g.Remove(old)
	w := g.Add(h, b)
	if g.Kill(h.ID, old.number, nil) {
		t.Error("a wait that had ended was told")
	}
	if !g.Kill(h.ID, w.number, []TxnID{h.ID, {1, 2}}) || len(w.Cycle()) != 2 {
		t.Error("the wait was not told")
	}
	if g.Kill(h.ID, w.number, nil) {
		t.Error("it was told twice")
	}
	if len(g.Report([]TxnID{h.ID}, 10))+len(g.Exact([]TxnID{h.ID}, 10)) != 0 {
		t.Error("a victim still waits")
	}
	if ids, some := g.Stale(0); len(ids) != 0 || !some {
		t.Errorf("stale: %v, %t", ids, some)
	}
}
