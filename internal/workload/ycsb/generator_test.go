package ycsb

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// TestKeys holds the keys against those that YCSB makes: its hash of a record's
// number.
func TestKeys(t *testing.T) {
	c := &Config{}
	if got := c.key(0); got != "user6284781860667377211" {
		t.Errorf("record 0: %s", got)
	}
	c.OrderedInserts, c.ZeroPadding = true, 8
	if got := c.key(42); got != "user00000042" {
		t.Errorf("ordered: %s", got)
	}
	if got := fnv(1); got < 0 {
		t.Errorf("fnv(1) = %d", got)
	}
}

// TestScrambledZeta derives the constant for ten billion items: the sum of the first
// million terms, and the Euler-Maclaurin formula for the rest.
func TestScrambledZeta(t *testing.T) {
	const m = 1_000_000
	n := float64(scrambledItems)
	f := func(x float64) float64 { return math.Pow(x, -zipfianConstant) }
	integral := (math.Pow(n, 1-zipfianConstant) - math.Pow(m, 1-zipfianConstant)) / (1 - zipfianConstant)
	sum := addZeta(0, 0, m) + integral + (f(n)-f(m))/2
	if math.Abs(sum-scrambledZeta) > 1e-6 {
		t.Errorf("zeta = %.9f, the constant is %.9f", sum, scrambledZeta)
	}
}

// TestZipfian compares the frequencies of the most popular items with the
// distribution's own.
func TestZipfian(t *testing.T) {
	const items, draws = 1000, 400_000
	z, r := newZipfian(0, items-1), source(1)
	counts := make([]float64, items)
	for range draws {
		counts[z.next(r)]++
	}
	for i := range 2 { // these two are exact in the method
		want := math.Pow(float64(i+1), -zipfianConstant) / z.zeta
		if got := counts[i] / draws; math.Abs(got-want) > 0.005 {
			t.Errorf("item %d: %.4f of the draws, want %.4f", i, got, want)
		}
	}
	head, want := 0.0, addZeta(0, 0, 100)/z.zeta
	for _, c := range counts[:100] {
		head += c / draws
	}
	if math.Abs(head-want) > 0.03 {
		t.Errorf("first 100 items: %.3f of the draws, want %.3f", head, want)
	}
	if counts[items-1] == 0 {
		t.Error("the last item was never drawn")
	}
}

func TestZipfianGrows(t *testing.T) {
	z := newZipfian(0, 99)
	z.grow(500)
	if want := addZeta(0, 0, 500); math.Abs(z.zeta-want) > 1e-9 {
		t.Errorf("zeta %f, want %f", z.zeta, want)
	}
}

// TestScrambled: popular keys are scattered, and remain when keys are added.
func TestScrambled(t *testing.T) {
	const keys, draws = 1000, 200_000
	s, r := newScrambled(0, keys-1), source(2)
	counts := map[int64]int{}
	for range draws {
		counts[s.next(r)]++
	}
	most, top := int64(-1), 0
	for k, n := range counts {
		if n > top {
			most, top = k, n
		}
	}
	if want := fnv(0) % keys; most != want {
		t.Errorf("most popular key %d, want %d", most, want)
	}
	// Item 0 has 1/zeta of the draws; others share its key now and then.
	if share := float64(top) / draws; share < 0.035 || share > 0.045 {
		t.Errorf("its share is %.4f", share)
	}
	if len(counts) < keys*9/10 {
		t.Errorf("only %d of %d keys were drawn", len(counts), keys)
	}
}

func TestLatestFollowsInserts(t *testing.T) {
	keys := newKeyCounter(1000)
	l, r := &latest{newZipfian(0, keys.last()), keys}, source(3)
	newest := func() (n int) {
		for range 10_000 {
			k := l.next(r)
			if k > keys.last() || k < 0 {
				t.Fatalf("key %d of %d", k, keys.last())
			}
			if k == keys.last() {
				n++
			}
		}
		return n
	}
	if n := newest(); n < 1000 || n > 1700 { // 1/zeta(1000) is 0.129
		t.Errorf("newest key: %d of 10000", n)
	}
	for range 50 {
		keys.done(keys.take())
	}
	if n := newest(); n < 1000 || n > 1700 {
		t.Errorf("newest key after inserts: %d of 10000", n)
	}
}

func TestOtherDistributions(t *testing.T) {
	r := source(4)
	u := uniform{5, 9}
	seen := map[int64]int{}
	for range 5000 {
		seen[u.next(r)]++
	}
	for k := int64(5); k <= 9; k++ {
		if seen[k] < 850 || seen[k] > 1150 {
			t.Errorf("uniform: %d was drawn %d times of 5000", k, seen[k])
		}
	}
	if len(seen) != 5 {
		t.Errorf("uniform: drew %v", seen)
	}
	h, hot := newHotspot(100, 199, 0.2, 0.8), 0
	for range 10_000 {
		k := h.next(r)
		if k < 100 || k > 199 {
			t.Fatalf("hotspot: %d", k)
		}
		if k < 120 {
			hot++
		}
	}
	if hot < 7800 || hot > 8200 {
		t.Errorf("hotspot: %d of 10000 were hot", hot)
	}
	s := &sequential{10, 12, new(atomic.Int64)}
	for i, want := range []int64{10, 11, 12, 10} {
		if got := s.next(r); got != want {
			t.Errorf("sequential: draw %d is %d", i, got)
		}
	}
	keys := newKeyCounter(1000)
	e, recent := newExponential(95, 500, keys), 0
	for range 10_000 {
		if k := e.next(r); k < 0 || k > 999 {
			t.Fatalf("exponential: %d", k)
		} else if k >= 500 {
			recent++
		}
	}
	if recent < 9350 || recent > 9700 {
		t.Errorf("exponential: %d of 10000 within the newest half", recent)
	}
}

func TestSameSeedSameKeys(t *testing.T) {
	a, b, s := source(7), source(7), newScrambled(0, 99_999)
	for i := range 100 {
		if x, y := s.next(a), s.next(b); x != y {
			t.Fatalf("draw %d: %d and %d", i, x, y)
		}
	}
}

// TestKeyCounter: a key counts only when all before it are inserted too.
func TestKeyCounter(t *testing.T) {
	c := newKeyCounter(10)
	a, b := c.take(), c.take()
	if a != 10 || b != 11 || c.last() != 9 {
		t.Fatalf("%d %d %d", a, b, c.last())
	}
	c.done(b)
	if c.last() != 9 {
		t.Errorf("after the second: %d", c.last())
	}
	c.done(a)
	if c.last() != 11 || len(c.early) != 0 {
		t.Errorf("after both: %d, %d kept", c.last(), len(c.early))
	}
}

func TestPortions(t *testing.T) {
	for _, n := range []int64{1, 7, 16, 1001} {
		next := int64(0)
		for th := range 7 {
			if got := before(n, 7, th); got != next {
				t.Errorf("%d: thread %d begins at %d, want %d", n, th, got, next)
			}
			next += portion(n, 7, th)
		}
		if next != n {
			t.Errorf("%d: portions add up to %d", n, next)
		}
	}
}
