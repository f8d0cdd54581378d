package raftlog

import (
	"testing"
	"testing/synctest"
	"time"
)

// A writer holds its sync back only if lone appends were followed at once lately, or if it
// knows of another, and only where a sync takes much longer.
func TestCommitDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d commitDelay
		for range 100 {
			d.synced(800 * time.Microsecond)
		}
		if l := d.limit(); l < 150*time.Microsecond || l > maxCommitDelay {
			t.Errorf("waits up to %v where a sync takes 0.8 ms", l)
		}
		follow := func(after time.Duration) {
			d.alone = time.Now()
			time.Sleep(after)
			d.arrived()
		}
		for range commitDelayLikely {
			if d.seen >= commitDelayLikely {
				t.Error("waits after one append that was followed")
			}
			follow(10 * time.Microsecond)
		}
		if d.seen < commitDelayLikely {
			t.Error("does not wait though appends are followed")
		}
		for range maxCommitDelaySeen {
			follow(time.Millisecond)
		}
		if d.seen != 0 {
			t.Errorf("still expects another append: %d", d.seen)
		}
		d.arrived() // nothing was alone
		if d.seen != 0 {
			t.Error("an append counts that follows nothing")
		}
		for range 100 {
			d.synced(time.Microsecond)
		}
		if l := d.limit(); l > 10*time.Microsecond {
			t.Errorf("waits up to %v where a sync takes 1 µs", l)
		}
	})
}

// Appends whose commit is delayed are durable whether or not another one comes.
func TestDelayedCommitAlone(t *testing.T) {
	l := mustOpen(t, newTestFS(t))
	l.mu.Lock()
	l.commitDelay.sync, l.commitDelay.seen = time.Millisecond, maxCommitDelaySeen
	l.mu.Unlock()
	const n = 20
	done := make(chan error)
	for g := range GroupID(2) {
		go func() {
			var err error
			for i := uint64(1); i <= n && err == nil; i++ {
				err = l.Append([]Write{{Group: g + 1, Replica: 1, Entries: entries(g+1, i, 1, 1, 10)}})
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	appendN(t, l, 3, 1, 1, 1, 10)
	for g := range GroupID(2) {
		checkEntries(t, l, g+1, entries(g+1, 1, n, 1, 10))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
