package pgwire

import (
	"sync"
	"time"
)

// The limits of logins by password. Who guesses passwords has to wait longer each time.
const (
	// freeFailures is how many logins in a row may fail before the next ones wait.
	freeFailures = 5
	// firstDelay is the wait after one more, which doubles until it is maxDelay.
	firstDelay = 500 * time.Millisecond
	maxDelay   = time.Minute
	// forgetAfter is how long failures count.
	forgetAfter = 15 * time.Minute
	// maxThrottled bounds the users and addresses that are remembered: some are forgotten for others.
	maxThrottled = 10_000
)

// throttled is who logs in from where. Roles that there are not count as others do.
type throttled struct{ user, host string }

// throttle counts the logins by password that failed.
type throttle struct {
	mu     sync.Mutex
	failed map[throttled]*failures
}

type failures struct {
	n    int
	last time.Time
}

// delay is how long nobody may try after n failures.
func delay(n int) time.Duration {
	if n < freeFailures {
		return 0
	}
	if n -= freeFailures; n > 16 {
		return maxDelay
	}
	return min(firstDelay<<n, maxDelay)
}

// wait returns how long who logs in has to wait before the next try.
func (t *throttle) wait(who throttled, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failed[who]
	if f == nil {
		return 0
	}
	return max(0, f.last.Add(delay(f.n)).Sub(now))
}

// fail counts a failure.
func (t *throttle) fail(who throttled, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failed[who]
	if f == nil || now.Sub(f.last) > forgetAfter {
		t.makeRoom(now)
		f = &failures{}
		t.failed[who] = f
	}
	f.n, f.last = f.n+1, now
}

// makeRoom forgets failures that no longer count, or else some.
func (t *throttle) makeRoom(now time.Time) {
	if t.failed == nil {
		t.failed = map[throttled]*failures{}
	}
	if len(t.failed) < maxThrottled {
		return
	}
	for who, f := range t.failed {
		if now.Sub(f.last) > forgetAfter {
			delete(t.failed, who)
		}
	}
	for who := range t.failed {
		if len(t.failed) < maxThrottled {
			return
		}
		delete(t.failed, who)
	}
}

// succeeded forgets the failures of who has logged in.
func (t *throttle) succeeded(who throttled) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failed, who)
}
