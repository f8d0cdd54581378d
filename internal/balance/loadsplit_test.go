package balance

import (
	"math/rand/v2"
	"testing"
	"time"
)

// drive records n keys a second for some seconds and ticks after each.
func drive(l *LoadSplitter, n, seconds int, key func(i int) []byte) {
	now := time.Unix(1000, 0)
	l.Tick(now, 2500, 10*time.Second)
	for s := range seconds {
		for i := range n {
			l.Record(key(s*n + i))
		}
		now = now.Add(time.Second)
		l.Tick(now, 2500, 10*time.Second)
	}
}

func TestLoadSplitter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(r, 1.2, 10, 99_999)
	for _, c := range []struct {
		name string
		qps  int
		key  func(i int) []byte
		ok   bool
		why  string
	}{
		{"even", 5000, func(int) []byte { return key(r.IntN(100_000)) }, true, ""},
		{"skewed", 5000, func(int) []byte { return key(int(zipf.Uint64()) * 7919 % 100_000) }, true, ""},
		{"cold", 1000, func(int) []byte { return key(r.IntN(100_000)) }, false, ""},
		{"one key", 5000, func(i int) []byte {
			if i%10 > 0 {
				return key(5)
			}
			return key(r.IntN(100_000))
		}, false, "most requests go to one key"},
		{"rising", 5000, key, false, "the requests wander, as with rising keys"},
		{"two keys", 5000, func(i int) []byte { return key(i % 2) }, true, ""},
	} {
		var l LoadSplitter
		drive(&l, c.qps, 14, c.key)
		k, why, ok := l.SplitKey()
		if ok != c.ok || why != c.why {
			t.Errorf("%s: got key %q, %q", c.name, k, why)
		}
		if !ok {
			continue
		}
		left := 0
		for i := range 10_000 {
			if string(c.key(i)) < string(k) {
				left++
			}
		}
		if left < 2500 || left > 7500 {
			t.Errorf("%s: %q leaves %d of 10000 requests on the left", c.name, k, left)
		}
		if q := l.QPS(); q != float64(c.qps) {
			t.Errorf("%s: measured %.0f requests/s", c.name, q)
		}
		l.Reset()
		if _, _, ok := l.SplitKey(); ok || l.Sampling() {
			t.Errorf("%s: not reset", c.name)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, c := range []struct {
		name string
		busy bool
	}{{"cold", false}, {"busy", true}} {
		b.Run(c.name, func(b *testing.B) {
			var l LoadSplitter
			if c.busy {
				l.restart(time.Now())
			}
			k := key(1)
			for b.Loop() {
				l.Record(k)
			}
		})
	}
}
