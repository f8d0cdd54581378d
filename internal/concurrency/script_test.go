package concurrency

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// TestScripts runs testdata/locks and testdata/deadlocks. Each line of a "run"
// block is one operation, by a transaction with a one-letter name (later
// letters are younger) or on the whole table; the output repeats it with its
// result and with what it let happen. After each line the invariants are checked.
func TestScripts(t *testing.T) {
	for _, file := range []string{"testdata/locks", "testdata/deadlocks"} {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			var s *script
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "new":
					s = newScript(t, d)
					return ""
				case "run":
					return s.run(t, d.Input)
				}
				d.Fatalf(t, "unknown command %q", d.Cmd)
				return ""
			})
		})
	}
}

type script struct {
	table     *LockTable
	graph     *WaitGraph
	waits     []*scriptWait
	extracted []Lock
}

type scriptWait struct {
	name     string
	lock     *Waiter // nil for a wait with explicit blockers
	explicit *Blockers
	wait     *Wait
	notified bool // that it is a victim
}

func newScript(t *testing.T, d *datadriven.TestData) *script {
	limit := 0
	d.MaybeScanArgs(t, "limit", &limit)
	return &script{table: NewLockTable(int64(limit)), graph: NewWaitGraph()}
}

func txn(name string) Holder {
	n := uint64(name[0]-'a') + 1
	return Holder{ID: TxnID{Lo: n}, Start: hlc.Timestamp{WallTime: int64(n)}}
}

func names(ids ...TxnID) string {
	var out []string
	for _, id := range ids {
		out = append(out, string(rune('a'+id.Lo-1)))
	}
	return strings.Join(out, " ")
}

func parseStrength(s string) lock.Strength {
	for st := lock.None; st < lock.NumStrengths; st++ {
		if st.String() == strings.ReplaceAll(s, "-", " ") {
			return st
		}
	}
	panic("unknown strength " + s)
}

func (s *script) run(t *testing.T, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		result := s.op(strings.Fields(line))
		result = append(result, s.events()...)
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(line+": "+strings.Join(result, "; "), ": "))
		if err := checkTable(s.table); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
	}
	return out.String()
}

func (s *script) op(f []string) []string {
	switch f[0] {
	case "show":
		return s.show()
	case "extract":
		s.extracted = s.table.Extract([]byte(f[1]), []byte(f[2]))
		return []string{fmt.Sprintf("%d locks", len(s.extracted))}
	case "install":
		s.table.Install(s.extracted)
		return nil
	}
	h := txn(f[0])
	switch f[1] {
	case "acquire":
		return s.acquire(f[0], f[2], parseStrength(f[3]))
	case "try":
		_, blocker, err := s.table.TryAcquire([]byte(f[2]), h, parseStrength(f[3]))
		if err != nil {
			return []string{err.Error()}
		}
		if blocker.IsZero() {
			return []string{"granted"}
		}
		return []string{"blocked by " + names(blocker)}
	case "release":
		return []string{strconv.FormatBool(s.table.Release(h.ID, []byte(f[2])))}
	case "downgrade":
		return []string{strconv.FormatBool(s.table.Downgrade(h.ID, []byte(f[2]), parseStrength(f[3])))}
	case "holds":
		return []string{s.table.Holds([]byte(f[2]), h.ID).String()}
	case "end":
		for s.cancel(f[0])[0] == "cancelled" {
		}
		s.table.ReleaseAll(h.ID, s.held(h.ID)...)
		return nil
	case "cancel":
		return s.cancel(f[0])
	case "check":
		return s.check(f[0])
	case "waits":
		return s.waitsFor(f[0], f[3:]) // "a waits for b c"
	}
	panic("unknown operation " + f[1])
}

func (s *script) acquire(name, key string, st lock.Strength) []string {
	w, err := s.table.Acquire([]byte(key), txn(name), st)
	switch {
	case err != nil:
		return []string{err.Error()}
	case w == nil:
		return []string{"granted"}
	}
	s.waits = append(s.waits, &scriptWait{name: name, lock: w, wait: s.graph.Add(txn(name), w)})
	return []string{"waits for " + names(w.Blockers()...)}
}

func (s *script) waitsFor(name string, blockers []string) []string {
	var ids []TxnID
	for _, b := range blockers {
		ids = append(ids, txn(b).ID)
	}
	for _, w := range s.waits {
		if w.name == name && w.explicit != nil {
			w.explicit.Set(ids...)
			return []string{"updated"}
		}
	}
	b := NewBlockers(ids...)
	s.waits = append(s.waits, &scriptWait{name: name, explicit: b, wait: s.graph.Add(txn(name), b)})
	return []string{"registered"}
}

func (s *script) check(name string) []string {
	var out []string
	for _, w := range s.waits {
		if w.name == name {
			if victims := s.graph.Check(w.wait); len(victims) > 0 {
				out = append(out, "deadlock")
			}
		}
	}
	if out == nil {
		return []string{"no deadlock"}
	}
	return out
}

func (s *script) cancel(name string) []string {
	for i, w := range s.waits {
		if w.name == name {
			s.graph.Remove(w.wait)
			s.waits = slices.Delete(s.waits, i, i+1)
			if w.lock != nil {
				w.lock.Cancel()
			}
			return []string{"cancelled"}
		}
	}
	return []string{"not waiting"}
}

// events reports and removes the waits that ended, and reports new victims.
func (s *script) events() []string {
	var out []string
	s.waits = slices.DeleteFunc(s.waits, func(w *scriptWait) bool {
		select {
		case <-w.wait.Victim():
			if !w.notified {
				out = append(out, w.name+" is the victim")
			}
			w.notified = true
		default:
		}
		if w.lock == nil {
			return false
		}
		select {
		case <-w.lock.Done():
		default:
			return false
		}
		s.graph.Remove(w.wait)
		if err := w.lock.Err(); err != nil {
			out = append(out, w.name+": "+err.Error())
		} else {
			out = append(out, w.name+" granted")
		}
		return true
	})
	return out
}

func (s *script) held(id TxnID) [][]byte {
	var keys [][]byte
	s.table.ForEach(func(l Lock) bool {
		if l.Txn == id {
			keys = append(keys, l.Key)
		}
		return true
	})
	slices.SortFunc(keys, slices.Compare[[]byte])
	return keys
}

func (s *script) show() []string {
	var all []Lock
	s.table.ForEach(func(l Lock) bool {
		all = append(all, l)
		return true
	})
	slices.SortStableFunc(all, func(a, b Lock) int {
		if c := slices.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		if a.Waiting || b.Waiting {
			return 0 // keep the queue's order, behind the holders
		}
		return cmp.Compare(a.Txn.Lo, b.Txn.Lo)
	})
	var out strings.Builder
	for _, l := range all {
		verb := "has"
		if l.Waiting {
			verb = "wants"
		}
		fmt.Fprintf(&out, "\n  %s: %s %s %s", l.Key, names(l.Txn), verb, l.Strength)
	}
	return []string{fmt.Sprintf("%d locks%s", s.table.Len(), out.String())}
}
