package raftlog

import (
	"testing"
	"testing/synctest"
	"time"
)

// A writer holds its sync back only if lone appends were followed at once lately, or if it
// knows of another, and only where a sync takes much longer.
func TestCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c company
		for range 100 {
			c.synced(800 * time.Microsecond)
		}
		if l := c.limit(); l < 150*time.Microsecond || l > maxCompanyWait {
			t.Errorf("waits up to %v where a sync takes 0.8 ms", l)
		}
		follow := func(after time.Duration) {
			c.alone = time.Now()
			time.Sleep(after)
			c.arrived()
		}
		for range companyLikely {
			if c.seen >= companyLikely {
				t.Error("waits after one append that was followed")
			}
			follow(10 * time.Microsecond)
		}
		if c.seen < companyLikely {
			t.Error("does not wait though appends are followed")
		}
		for range companySure {
			follow(time.Millisecond)
		}
		if c.seen != 0 {
			t.Errorf("expects company still: %d", c.seen)
		}
		c.arrived() // nothing was alone
		if c.seen != 0 {
			t.Error("an append counts that follows nothing")
		}
		for range 100 {
			c.synced(time.Microsecond)
		}
		if l := c.limit(); l > 10*time.Microsecond {
			t.Errorf("waits up to %v where a sync takes 1 µs", l)
		}
	})
}

// Appends that expect company are durable whether or not it comes.
func TestCompanyMayStayAway(t *testing.T) {
	l := mustOpen(t, newTestFS(t))
	l.mu.Lock()
	l.company.sync, l.company.seen = time.Millisecond, companySure
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
