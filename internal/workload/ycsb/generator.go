package ycsb

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
)

// zipfianConstant is YCSB's skew.
const zipfianConstant = 0.99

// A scrambled Zipfian distribution draws from this many items, whose zeta is known,
// and scatters them over the keys by a hash: that way the popular keys stay the same
// when the number of keys changes.
const (
	scrambledItems = int64(10_000_000_000)
	scrambledZeta  = 26.46902820178302
)

// chooser draws numbers. Each thread has its own.
type chooser interface {
	next(r *rand.Rand) int64
}

// constant always draws the same number.
type constant int64

func (c constant) next(*rand.Rand) int64 { return int64(c) }

// uniform draws from lo to hi, both included.
type uniform struct{ lo, hi int64 }

func (u uniform) next(r *rand.Rand) int64 { return u.lo + r.Int64N(u.hi-u.lo+1) }

// zipfian draws lo most often, then lo+1, and so on, by the method of Gray et al.,
// "Quickly generating billion-record synthetic databases" (SIGMOD 1994).
type zipfian struct {
	lo, items        int64
	zeta, eta, alpha float64
}

func newZipfian(lo, hi int64) *zipfian {
	n := hi - lo + 1
	return newZipfianZeta(lo, n, addZeta(0, 0, n))
}

func newZipfianZeta(lo, items int64, zeta float64) *zipfian {
	z := &zipfian{lo: lo, alpha: 1 / (1 - zipfianConstant)}
	z.resize(items, zeta)
	return z
}

// addZeta extends the zeta of from items to that of to items.
func addZeta(zeta float64, from, to int64) float64 {
	for i := from; i < to; i++ {
		zeta += 1 / math.Pow(float64(i+1), zipfianConstant)
	}
	return zeta
}

func (z *zipfian) resize(items int64, zeta float64) {
	z.items, z.zeta = items, zeta
	z.eta = (1 - math.Pow(2/float64(items), 1-zipfianConstant)) / (1 - addZeta(0, 0, 2)/zeta)
}

// grow makes room for more items.
func (z *zipfian) grow(items int64) {
	if items > z.items {
		z.resize(items, addZeta(z.zeta, z.items, items))
	}
}

func (z *zipfian) next(r *rand.Rand) int64 {
	u := r.Float64()
	uz := u * z.zeta
	switch {
	case uz < 1:
		return z.lo
	case uz < 1+math.Pow(0.5, zipfianConstant) && z.items > 1:
		return z.lo + 1
	}
	n := int64(float64(z.items) * math.Pow(z.eta*u-z.eta+1, z.alpha))
	return z.lo + min(n, z.items-1)
}

// scrambled is a Zipfian distribution whose popular items are scattered.
type scrambled struct {
	z      *zipfian
	lo, hi int64
}

func newScrambled(lo, hi int64) *scrambled {
	return &scrambled{newZipfianZeta(0, scrambledItems, scrambledZeta), lo, hi}
}

func (s *scrambled) next(r *rand.Rand) int64 {
	return s.lo + fnv(s.z.next(r))%(s.hi-s.lo+1)
}

// latest draws the newest keys most often.
type latest struct {
	z    *zipfian
	keys *keyCounter
}

func (l *latest) next(r *rand.Rand) int64 {
	last := l.keys.last()
	l.z.grow(last + 1)
	return max(last-l.z.next(r), 0)
}

// hotspot draws from the first hot keys with probability share.
type hotspot struct {
	lo, hi, hot int64
	share       float64
}

func newHotspot(lo, hi int64, dataFraction, opsFraction float64) *hotspot {
	hot := int64(float64(hi-lo+1) * dataFraction)
	return &hotspot{lo, hi, min(max(hot, 1), hi-lo+1), opsFraction}
}

func (h *hotspot) next(r *rand.Rand) int64 {
	cold := h.hi - h.lo + 1 - h.hot
	if cold == 0 || r.Float64() < h.share {
		return h.lo + r.Int64N(h.hot)
	}
	return h.lo + h.hot + r.Int64N(cold)
}

// sequential draws one key after the other, all threads together, round and round.
type sequential struct {
	lo, hi int64
	drawn  *atomic.Int64
}

func (s *sequential) next(*rand.Rand) int64 {
	return s.lo + (s.drawn.Add(1)-1)%(s.hi-s.lo+1)
}

// exponential draws the newest keys most often: a share of percentile of the draws
// falls into the newest of all keys.
type exponential struct {
	gamma float64
	keys  *keyCounter
}

func newExponential(percentile, newest float64, keys *keyCounter) *exponential {
	return &exponential{-math.Log(1-percentile/100) / newest, keys}
}

func (e *exponential) next(r *rand.Rand) int64 {
	for {
		if k := e.keys.last() - int64(r.ExpFloat64()/e.gamma); k >= 0 {
			return k
		}
	}
}

// fnv hashes the eight bytes of a number (FNV-1a, 64 bits, made positive).
func fnv(n int64) int64 {
	h := uint64(0xCBF29CE484222325)
	for range 8 {
		h = (h ^ uint64(n&0xff)) * 1099511628211
		n >>= 8
	}
	if v := int64(h); v >= 0 {
		return v
	} else if v != math.MinInt64 {
		return -v
	}
	return 0
}
