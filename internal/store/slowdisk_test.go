package store

import (
	"testing"
	"time"
)

// TestDiskPace: whether a disk counts as slow, by the duration of each write to the log. The writes follow one another.
func TestDiskPace(t *testing.T) {
	const writes = 64 // bytes
	for _, c := range []struct {
		name  string
		takes func(n int) time.Duration // the n-th write
		bytes int
		slow  bool
	}{
		{"fast", func(int) time.Duration { return time.Millisecond }, writes, false},
		{"slow in everything", func(int) time.Duration { return 600 * time.Millisecond }, writes, true},
		{"slow in most", func(n int) time.Duration { return []time.Duration{20, 200, 200}[n%3] * time.Millisecond }, writes, true},
		{"slow in some", func(n int) time.Duration { return []time.Duration{20, 20, 200}[n%3] * time.Millisecond }, writes, false},
		{"one that hesitates", func(n int) time.Duration {
			if n == 500 {
				return 1500 * time.Millisecond
			}
			return 5 * time.Millisecond
		}, writes, false},
		{"large writes", func(int) time.Duration { return 400 * time.Millisecond }, 8 << 20, false},
	} {
		var p diskPace
		p.limit.Store(int64(DefaultSlowSync))
		now, due := time.Unix(1000, 0), time.Unix(1000, 0)
		slow, changes, n := false, 0, 0
		var at time.Duration
		for now.Before(time.Unix(1010, 0)) {
			now = now.Add(diskEvery)
			for end := due.Add(c.takes(n)); !end.After(now); end = due.Add(c.takes(n)) {
				p.synced(end.Sub(due), c.bytes)
				due = end
				n++
			}
			if p.judge(now) {
				slow = p.slow.Load()
				changes++
				at = now.Sub(time.Unix(1000, 0))
			}
		}
		if slow != c.slow || changes > 1 {
			t.Errorf("%s: slow %v after %d changes", c.name, slow, changes)
		}
		if slow && at > slowWindow {
			t.Errorf("%s: noticed after %v", c.name, at)
		}
	}
}

// TestDiskPaceEnds: a disk that was slow counts as slow for a while, but not if the process stood still or nothing counts
// as slow.
func TestDiskPaceEnds(t *testing.T) {
	var p diskPace
	p.limit.Store(int64(DefaultSlowSync))
	now := time.Unix(1000, 0)
	judge := func(d time.Duration) bool {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(diskEvery)
			p.judge(now)
		}
		return p.slow.Load()
	}
	hurt := func() {
		for range leastSlow {
			p.synced(time.Second, 0)
		}
	}
	hurt()
	p.forget()
	if judge(time.Second) {
		t.Error("what ended while the process stood still counts")
	}
	hurt()
	if !judge(diskEvery) || !judge(slowFor-diskEvery) {
		t.Error("the disk does not count as slow")
	}
	if judge(slowWindow + diskEvery) {
		t.Error("the disk counts as slow for ever")
	}
	hurt()
	judge(diskEvery)
	p.limit.Store(0)
	if judge(diskEvery) {
		t.Error("the disk counts as slow though none shall")
	}
}
