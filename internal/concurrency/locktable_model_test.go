package concurrency

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/lock"
)

// modelLock is the specification of one key's lock, written for clarity.
type modelLock struct {
	held  map[int]lock.Strength
	queue []modelWait
}

type modelWait struct {
	txn     int
	s       lock.Strength
	upgrade bool
}

func (l *modelLock) conflictsWithHolders(txn int, s lock.Strength) bool {
	for other, hs := range l.held {
		if other != txn && s.Conflicts(hs) {
			return true
		}
	}
	return false
}

// mayHave says whether a request served after the waiters in ahead is granted.
func (l *modelLock) mayHave(w modelWait, ahead []modelWait) bool {
	if l.conflictsWithHolders(w.txn, w.s) {
		return false
	}
	return w.upgrade || !slices.ContainsFunc(ahead, func(a modelWait) bool { return a.s.Conflicts(w.s) })
}

func (l *modelLock) acquire(txn int, s lock.Strength) (granted bool) {
	own := l.held[txn]
	if own >= s {
		return true
	}
	w := modelWait{txn, s, own != lock.None}
	if l.mayHave(w, l.queue) {
		l.held[txn] = s
		return true
	}
	at := len(l.queue)
	if w.upgrade {
		at = 0
		for at < len(l.queue) && l.queue[at].upgrade {
			at++
		}
	}
	l.queue = slices.Insert(l.queue, at, w)
	return false
}

// serve grants what can be granted, front to back, until nothing changes.
func (l *modelLock) serve() {
	for i := 0; i < len(l.queue); i++ {
		if w := l.queue[i]; l.mayHave(w, l.queue[:i]) {
			l.held[w.txn] = max(l.held[w.txn], w.s)
			l.queue = slices.Delete(l.queue, i, i+1)
			i = -1
		}
	}
}

func (l *modelLock) blockers(i int) map[TxnID]bool {
	w, ids := l.queue[i], map[TxnID]bool{}
	for other, hs := range l.held {
		if other != w.txn && w.s.Conflicts(hs) {
			ids[modelTxn(other).ID] = true
		}
	}
	if !w.upgrade {
		for _, a := range l.queue[:i] {
			if a.s.Conflicts(w.s) {
				ids[modelTxn(a.txn).ID] = true
			}
		}
	}
	return ids
}

func modelTxn(n int) Holder { return Holder{ID: TxnID{Hi: uint64(n) + 1}} }

// TestLockTableModel runs random operations on a table and on the model.
func TestLockTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &lockModel{table: NewLockTable(0), locks: map[string]*modelLock{}, waits: map[lockReq]*Waiter{}}
		txns := rapid.IntRange(0, 5)
		keys := rapid.SampledFrom([]string{"", "j", "k"})
		strengths := rapid.SampledFrom([]lock.Strength{lock.KeyShare, lock.Share, lock.NoKeyUpdate, lock.Update})
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				m.acquire(t, txns.Draw(t, "txn"), keys.Draw(t, "key"), strengths.Draw(t, "strength"))
			},
			"try": func(t *rapid.T) {
				m.try(t, txns.Draw(t, "txn"), keys.Draw(t, "key"), strengths.Draw(t, "strength"))
			},
			"downgrade": func(t *rapid.T) {
				to := rapid.SampledFrom([]lock.Strength{lock.None, lock.None, lock.KeyShare, lock.Share, lock.NoKeyUpdate}).Draw(t, "to")
				m.downgrade(t, txns.Draw(t, "txn"), keys.Draw(t, "key"), to)
			},
			"cancel": func(t *rapid.T) {
				m.cancel(t, txns.Draw(t, "txn"), keys.Draw(t, "key"))
			},
			"run": func(t *rapid.T) {
				some := rapid.SampledFrom([][]string{{""}, {"", "j"}, {"j", "k"}, {"", "k"}, {"", "j", "k"}})
				m.run(t, txns.Draw(t, "txn"), some.Draw(t, "keys"), strengths.Draw(t, "strength"))
			},
			"releaseRuns": func(t *rapid.T) {
				some := rapid.SampledFrom([][]string{{"", "j"}, {"k"}, {"", "j", "k"}})
				m.releaseRuns(t, txns.Draw(t, "txn"), some.Draw(t, "keys"))
			},
			"move": func(t *rapid.T) { m.move(t) },
			"":     m.compare,
		})
	})
}

type lockReq struct {
	txn int
	key string
}

type lockModel struct {
	table *LockTable
	locks map[string]*modelLock
	waits map[lockReq]*Waiter
}

func (m *lockModel) lock(key string) *modelLock {
	if m.locks[key] == nil {
		m.locks[key] = &modelLock{held: map[int]lock.Strength{}}
	}
	return m.locks[key]
}

func (m *lockModel) acquire(t *rapid.T, txn int, key string, s lock.Strength) {
	if m.waits[lockReq{txn, key}] != nil {
		t.Skip("waits already")
	}
	w, err := m.table.Acquire([]byte(key), modelTxn(txn), s)
	if err != nil {
		t.Fatal(err)
	}
	if granted := m.lock(key).acquire(txn, s); granted != (w == nil) {
		t.Fatalf("granted: got %v, want %v", w == nil, granted)
	}
	if w != nil {
		m.waits[lockReq{txn, key}] = w
	}
}

func (m *lockModel) try(t *rapid.T, txn int, key string, s lock.Strength) {
	if m.waits[lockReq{txn, key}] != nil {
		t.Skip("waits already")
	}
	held, blocker, err := m.table.TryAcquire([]byte(key), modelTxn(txn), s)
	if err != nil {
		t.Fatal(err)
	}
	l := m.lock(key)
	if held != l.held[txn] {
		t.Fatalf("held before: got %v, want %v", held, l.held[txn])
	}
	granted := l.acquire(txn, s)
	if granted != blocker.IsZero() {
		t.Fatalf("granted: got %v, want %v", blocker.IsZero(), granted)
	}
	if granted {
		return
	}
	i := slices.IndexFunc(l.queue, func(w modelWait) bool { return w.txn == txn })
	if !l.blockers(i)[blocker] {
		t.Fatalf("%v does not block", blocker)
	}
	l.queue = slices.Delete(l.queue, i, i+1)
}

// run takes several locks at once, which succeeds only if nobody holds one of them.
func (m *lockModel) run(t *rapid.T, txn int, names []string, s lock.Strength) {
	free, sorted := true, make([][]byte, len(names))
	for i, k := range names {
		sorted[i] = []byte(k)
		free = free && len(m.lock(k).held) == 0
	}
	if got := m.table.acquireRun(sorted, modelTxn(txn).ID, s); got != free {
		t.Fatalf("run: got %v, want %v", got, free)
	}
	if !free {
		return
	}
	if got := m.table.HeldInRun(modelTxn(txn).ID, sorted); got != len(sorted) {
		t.Fatalf("%d of %d keys are held in a run", got, len(sorted))
	}
	for _, k := range names {
		m.lock(k).held[txn] = s
	}
}

// releaseRuns releases what a transaction holds of some keys.
func (m *lockModel) releaseRuns(t *rapid.T, txn int, names []string) {
	for _, k := range names {
		if m.waits[lockReq{txn, k}] != nil {
			t.Skip("a waiting transaction releases nothing")
		}
	}
	var sorted [][]byte
	for _, k := range names {
		sorted = append(sorted, []byte(k))
		if l := m.lock(k); l.held[txn] != lock.None {
			delete(l.held, txn)
			l.serve()
		}
	}
	id := modelTxn(txn).ID
	for _, k := range m.table.releaseRuns(id, sorted) {
		m.table.Release(id, k)
	}
}

func (m *lockModel) downgrade(t *rapid.T, txn int, key string, to lock.Strength) {
	if m.waits[lockReq{txn, key}] != nil {
		t.Skip("a waiting transaction releases nothing")
	}
	l := m.lock(key)
	want := l.held[txn] > to
	if got := m.table.Downgrade(modelTxn(txn).ID, []byte(key), to); got != want {
		t.Fatalf("downgraded: got %v, want %v", got, want)
	}
	if !want {
		return
	}
	l.held[txn] = to
	if to == lock.None {
		delete(l.held, txn)
	}
	l.serve()
}

func (m *lockModel) cancel(t *rapid.T, txn int, key string) {
	w := m.waits[lockReq{txn, key}]
	if w == nil {
		t.Skip("not waiting")
	}
	if w.Cancel() {
		t.Fatal("a queued waiter says it was granted")
	}
	if w.Err() != ErrCancelled || w.Cancel() {
		t.Fatal("a cancelled waiter does not say so")
	}
	delete(m.waits, lockReq{txn, key})
	l := m.lock(key)
	l.queue = slices.DeleteFunc(l.queue, func(w modelWait) bool { return w.txn == txn })
	l.serve()
}

// move takes the locks of key "j" to another table and back.
func (m *lockModel) move(t *rapid.T) {
	moved := m.table.Extract([]byte("j"), []byte("k"))
	other := NewLockTable(1)
	other.Install(moved)
	if err := checkTable(other); err != nil {
		t.Fatal(err)
	}
	m.table.Install(other.Extract(nil, nil))
	for req, w := range m.waits {
		if req.key == "j" {
			<-w.Done()
			if w.Err() != ErrMoved {
				t.Fatalf("moved waiter: %v", w.Err())
			}
			delete(m.waits, req)
		}
	}
	m.lock("j").queue = nil
}

// compare checks that the table is as the model says.
func (m *lockModel) compare(t *rapid.T) {
	if err := checkTable(m.table); err != nil {
		t.Fatal(err)
	}
	for key, l := range m.locks {
		for txn := range 6 {
			if got := m.table.Holds([]byte(key), modelTxn(txn).ID); got != l.held[txn] {
				t.Fatalf("%d holds %q: got %v, want %v", txn, key, got, l.held[txn])
			}
		}
		for i, w := range l.queue {
			if err := sameBlockers(m.waits[lockReq{w.txn, key}], l.blockers(i)); err != nil {
				t.Fatalf("%d waiting for %q: %v", w.txn, key, err)
			}
		}
	}
	for req, w := range m.waits {
		waits := slices.ContainsFunc(m.lock(req.key).queue, func(w modelWait) bool { return w.txn == req.txn })
		select {
		case <-w.Done():
			if waits || w.Err() != nil || !w.Cancel() || w.Blockers() != nil {
				t.Fatalf("%d was granted %q: model waits: %v", req.txn, req.key, waits)
			}
			delete(m.waits, req)
		default:
			if !waits {
				t.Fatalf("%d was not granted %q", req.txn, req.key)
			}
		}
	}
}

func sameBlockers(w *Waiter, want map[TxnID]bool) error {
	got := map[TxnID]bool{}
	for _, id := range w.Blockers() {
		got[id] = true
	}
	if len(got) != len(want) {
		return fmt.Errorf("blockers: got %v, want %v", got, want)
	}
	for id := range want {
		if !got[id] {
			return fmt.Errorf("blockers: got %v, want %v", got, want)
		}
	}
	for _, id := range w.AppendBlockers(nil) {
		if !want[id] {
			return fmt.Errorf("%v is not a blocker", id)
		}
	}
	return nil
}
