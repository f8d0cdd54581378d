package notify

import (
	"sync"
	"time"
)

const (
	// keptFor is how long an entry counts as one of the queue: as long as its version may stay in the store
	// after the next entry of its slot (gc.ttlseconds where no zone sets it).
	keptFor = 10 * time.Minute
	// MaxQueueBytes bounds the entries that one node has written within keptFor.
	MaxQueueBytes = 1 << 30
	// usageParts is the number of parts of keptFor that usage counts.
	usageParts = 60
	partOf     = keptFor / usageParts
	// entryOverhead is the charge of an entry beside its bytes.
	entryOverhead = 100
)

// usage counts the bytes of the entries of the last keptFor.
type usage struct {
	mu    sync.Mutex
	limit int64
	total int64
	part  [usageParts]int64
	at    int64 // number of the present part
}

// advance moves on to the part of now. The caller holds mu.
func (u *usage) advance(now time.Time) {
	at := now.UnixNano() / int64(partOf)
	if at-u.at >= usageParts {
		u.part, u.total, u.at = [usageParts]int64{}, 0, at
	}
	for u.at < at {
		u.at++
		i := u.at % usageParts
		u.total -= u.part[i]
		u.part[i] = 0
	}
}

// add counts n bytes; false if there is no room for them.
func (u *usage) add(now time.Time, n int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.advance(now)
	if u.total+n > u.limit {
		return false
	}
	u.total += n
	u.part[u.at%usageParts] += n
	return true
}

// share returns the part of the limit that is used.
func (u *usage) share(now time.Time) float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.advance(now)
	return float64(u.total) / float64(u.limit)
}
