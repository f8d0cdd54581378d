package concurrency

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitLog: the last waits are remembered with whom they waited for, in bounds.
func TestWaitLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWaitGraph()
		wait := func(id uint64, took time.Duration, granted bool) {
			b := NewBlockers(TxnID{Lo: 100}, TxnID{Lo: 101}, TxnID{Lo: 102}, TxnID{Lo: 103}, TxnID{Lo: 104})
			w := g.Add(Holder{ID: TxnID{Lo: id}}, b)
			time.Sleep(took)
			b.Set()
			g.End(w, make([]byte, 2*maxLoggedKey), granted)
		}
		wait(1, MinLoggedWait-1, true)
		for range MaxLoggedWaits {
			wait(2, MinLoggedWait, true)
		}
		wait(3, time.Second, false)
		list := g.Log().List()
		if len(list) != MaxLoggedWaits || g.Len() != 0 {
			t.Fatalf("%d waits are remembered, %d are left", len(list), g.Len())
		}
		w := list[0]
		if w.Txn != (TxnID{Lo: 3}) || w.Took != time.Second || w.Granted || len(w.Blockers) != maxLoggedBlockers || w.Blockers[0] != (TxnID{Lo: 100}) || len(w.Key) != maxLoggedKey {
			t.Errorf("the last one: %+v", w)
		}
		if last := list[len(list)-1]; last.Txn != (TxnID{Lo: 2}) {
			t.Errorf("a short one is remembered: %+v", last)
		}
		if n, took := g.Log().Totals(); n != MaxLoggedWaits+2 || took != MaxLoggedWaits*MinLoggedWait+time.Second+MinLoggedWait-1 {
			t.Errorf("%d waits took %v", n, took)
		}
	})
}
