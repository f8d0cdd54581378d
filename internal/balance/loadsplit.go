package balance

import (
	"bytes"
	"math/rand/v2"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Sizes of the sampling.
const (
	sampleEvery   = 16   // requests per sample, on average
	reservoirSize = 128  // samples kept per half of the window
	minSamples    = 32   // in each half, else nothing is decided
	maxSampleKey  = 1024 // a longer key counts by its beginning
	minSplitShare = 0.25 // of the load that each side gets at least
	minTick       = time.Second
)

// LoadSplitter counts the requests to a range and, while they are many, samples
// their keys to find one that splits the load. The key is chosen from the first half
// of a window and must split the second half too: keys that only rise, as those of
// new rows, would all go to one side. The zero value is ready and costs no samples.
type LoadSplitter struct {
	count    atomic.Uint64
	sampling atomic.Bool

	mu        sync.Mutex
	lastCount uint64
	lastTick  time.Time
	qps       float64
	began     time.Time // of the present half
	second    bool
	halves    *[2]reservoir // nil while the range is not busy
	key       []byte
	none      string // why the last window had no key
}

// reservoir is a uniform sample of the keys added to it.
type reservoir struct {
	seen int
	keys [][]byte
}

func (r *reservoir) add(key []byte) {
	key = key[:min(len(key), maxSampleKey)]
	r.seen++
	if len(r.keys) < reservoirSize {
		r.keys = append(r.keys, bytes.Clone(key))
	} else if i := rand.IntN(r.seen); i < reservoirSize {
		r.keys[i] = append(r.keys[i][:0], key...)
	}
}

// Record counts a request to key. It does not keep key.
func (l *LoadSplitter) Record(key []byte) {
	l.count.Add(1)
	if !l.sampling.Load() || rand.Uint32N(sampleEvery) != 0 || !l.mu.TryLock() {
		return
	}
	if l.halves != nil {
		half := &l.halves[0]
		if l.second {
			half = &l.halves[1]
		}
		half.add(key)
	}
	l.mu.Unlock()
}

// Tick measures the load and moves the sampling on. It is called every few seconds.
func (l *LoadSplitter) Tick(now time.Time, splitQPS float64, window time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastTick.IsZero() {
		l.lastTick, l.lastCount = now, l.count.Load()
		return
	}
	past := now.Sub(l.lastTick)
	if past < minTick {
		return
	}
	n := l.count.Load()
	l.qps = float64(n-l.lastCount) / past.Seconds()
	l.lastTick, l.lastCount = now, n
	switch {
	case l.qps < splitQPS:
		l.sampling.Store(false)
		l.halves, l.key, l.none = nil, nil, ""
	case l.halves == nil:
		l.restart(now)
	case now.Sub(l.began) < window/2:
	case !l.second:
		l.second, l.began = true, now
	default:
		l.key, l.none = chooseKey(l.halves[0].keys, l.halves[1].keys)
		l.restart(now)
	}
}

func (l *LoadSplitter) restart(now time.Time) {
	l.halves, l.second, l.began = new([2]reservoir), false, now
	l.sampling.Store(true)
}

// Reset forgets all that was seen, as after a split.
func (l *LoadSplitter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sampling.Store(false)
	l.halves, l.key, l.none, l.qps = nil, nil, "", 0
	l.lastTick = time.Time{}
}

// QPS is the load as of the last Tick.
func (l *LoadSplitter) QPS() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.qps
}

// Sampling reports whether the range is busy enough to look for a key.
func (l *LoadSplitter) Sampling() bool { return l.sampling.Load() }

// SplitKey returns the key that the last whole window of a busy range found, or
// false and why there is none, "" while nothing is known.
func (l *LoadSplitter) SplitKey() (key []byte, why string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.key, l.none, l.key != nil
}

// chooseKey returns the key that halves the samples of a best, if it splits those of
// b too, or says why there is none.
func chooseKey(a, b [][]byte) (key []byte, why string) {
	if len(a) < minSamples || len(b) < minSamples {
		return nil, "too few requests sampled"
	}
	sort.Slice(a, func(i, j int) bool { return bytes.Compare(a[i], a[j]) < 0 })
	best := 0 // how many are left of the key
	for i := 1; i < len(a); i++ {
		if !bytes.Equal(a[i-1], a[i]) && min(i, len(a)-i) > min(best, len(a)-best) {
			best = i
		}
	}
	if float64(min(best, len(a)-best)) < minSplitShare*float64(len(a)) {
		return nil, "most requests go to one key"
	}
	left := 0
	for _, k := range b {
		if bytes.Compare(k, a[best]) < 0 {
			left++
		}
	}
	if float64(min(left, len(b)-left)) < minSplitShare*float64(len(b)) {
		return nil, "the requests wander, as with rising keys"
	}
	return bytes.Clone(a[best]), ""
}
