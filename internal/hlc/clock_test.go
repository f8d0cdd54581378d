package hlc

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fakeTime is a physical clock that moves only when told.
type fakeTime struct{ ns atomic.Int64 }

func (f *fakeTime) now() int64 { return f.ns.Load() }

const second = int64(time.Second)

func TestNowGoesUp(t *testing.T) {
	ft := &fakeTime{}
	ft.ns.Store(100)
	c := New(ft.now, 0)
	a, b := c.Now(), c.Now()
	if a != (Timestamp{WallTime: 100}) || !a.Less(b) {
		t.Fatalf("%v then %v", a, b)
	}
	ft.ns.Store(50) // a physical clock that goes back does not show
	if d := c.Now(); !b.Less(d) {
		t.Fatalf("%v after %v", d, b)
	}
	ft.ns.Store(1000)
	if d := c.Now(); d.WallTime != 1000 {
		t.Fatalf("%v does not follow the physical clock", d)
	}
}

func TestUpdate(t *testing.T) {
	ft := &fakeTime{}
	ft.ns.Store(second)
	c := New(ft.now, 250*time.Millisecond)
	for _, ts := range []Timestamp{{WallTime: second + 5}, {WallTime: second + 9, Logical: 3}, {WallTime: 7}} {
		if err := c.Update(ts); err != nil {
			t.Fatal(err)
		}
		if now := c.Now(); !ts.Less(now) {
			t.Fatalf("%v is not after %v", now, ts)
		}
	}
	before := c.Now()
	if err := c.Update(Timestamp{WallTime: 2 * second}); !errors.Is(err, ErrTooFarAhead) {
		t.Fatalf("update far ahead: %v", err)
	}
	if now := c.Now(); now.WallTime > before.WallTime+10 {
		t.Fatalf("a refused update moved the clock to %v", now)
	}
	if err := New(ft.now, 0).Update(Timestamp{WallTime: 100 * second}); err != nil {
		t.Fatalf("without a maximum offset: %v", err)
	}
}

// disk is where bounds are persisted.
type disk struct {
	mu     sync.Mutex
	bound  int64
	writes int
	err    error
}

func (d *disk) persist(bound int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.bound, d.writes = bound, d.writes+1
	}
	return d.err
}

// TestRestarts restarts a clock over one persisted bound, with a wall clock
// that may jump both ways between them and a crash at any moment.
func TestRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d disk
		var latest Timestamp
		for range rapid.IntRange(1, 5).Draw(t, "starts") {
			ft := &fakeTime{}
			ft.ns.Store(rapid.Int64Range(0, 60*second).Draw(t, "wall"))
			c := New(ft.now, 0)
			if err := c.Start(d.bound, d.persist, nil); err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					ft.ns.Add(rapid.Int64Range(0, 10*second).Draw(t, "pass"))
				case 1:
					if err := c.Refresh(); err != nil {
						t.Fatal(err)
					}
				case 2:
					c.Forward(Timestamp{WallTime: latest.WallTime + rapid.Int64Range(0, 5*second).Draw(t, "ahead")})
				}
				now := c.Now()
				if !latest.Less(now) {
					t.Fatalf("%v was handed out after %v", now, latest)
				}
				if now.WallTime >= d.bound {
					t.Fatalf("%v was handed out with the bound at %d", now, d.bound)
				}
				latest = now
			}
		}
	})
}

// TestWallSetBack shows that a clock whose bound lies far ahead of the wall keeps
// flowing, and one whose bound is near waits for the wall.
func TestWallSetBack(t *testing.T) {
	ft := &fakeTime{}
	var d disk
	c := New(ft.now, 0)
	if err := c.Start(1000*second, d.persist, nil); err != nil {
		t.Fatal(err)
	}
	a := c.Now()
	ft.ns.Add(second)
	if b := c.Now(); b.WallTime-a.WallTime < second/2 {
		t.Fatalf("a second later the clock went from %v to %v", a, b)
	}
	c = New(ft.now, 0)
	if err := c.Start(ft.now()+2*second, d.persist, nil); err != nil {
		t.Fatal(err)
	}
	c.Now()
	ft.ns.Add(5 * second)
	if now := c.Now(); now.WallTime != ft.now() {
		t.Fatalf("%v did not fall back to the wall %d", now, ft.now())
	}
}

func TestIdleClockDoesNotWrite(t *testing.T) {
	ft := &fakeTime{}
	var d disk
	c := New(ft.now, 0)
	if err := c.Start(0, d.persist, nil); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ft.ns.Add(second)
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	if d.writes != 1 {
		t.Fatalf("%d writes of an idle clock", d.writes)
	}
	c.Now()
	before := d.writes
	ft.ns.Add(second)
	if err := c.Refresh(); err != nil || d.writes != before+1 {
		t.Fatalf("%d writes after use, %v", d.writes-before, err)
	}
}

func TestPersistFailure(t *testing.T) {
	ft := &fakeTime{}
	var d disk
	var failures []error
	c := New(ft.now, 0)
	if err := c.Start(0, d.persist, func(err error) { failures = append(failures, err) }); err != nil {
		t.Fatal(err)
	}
	d.err = errors.New("disk gone")
	ft.ns.Add(second)
	c.Now()
	if err := c.Refresh(); !errors.Is(err, d.err) {
		t.Fatalf("refresh: %v", err)
	}
	ft.ns.Add(100 * second)
	for range 3 {
		if now := c.Now(); now.WallTime >= d.bound {
			t.Fatalf("%v passed the bound %d", now, d.bound)
		}
	}
	if len(failures) != 1 || !errors.Is(failures[0], d.err) {
		t.Fatalf("failures %v", failures)
	}
	if err := New(ft.now, 0).Start(0, d.persist, nil); !errors.Is(err, d.err) {
		t.Fatalf("start: %v", err)
	}
}

// A reading does not wait for a bound, and lies below nothing that was handed out.
func TestReading(t *testing.T) {
	ft := &fakeTime{}
	var d disk
	c := New(ft.now, 0)
	if err := c.Start(0, d.persist, nil); err != nil {
		t.Fatal(err)
	}
	if now, r := c.Now(), c.Reading(); r.Less(now) {
		t.Errorf("%v is read after %v was handed out", r, now)
	}
	persisted := d.bound
	ft.ns.Add(100 * second)
	if _, ok := c.TryNow(); ok {
		t.Fatal("the bound has not been reached")
	}
	if r := c.Reading(); r.WallTime != ft.now() || d.bound != persisted {
		t.Errorf("read %v at %d, with the bound %d", r, ft.now(), d.bound)
	}
}

func TestConcurrentNow(t *testing.T) {
	c := NewSystem(0)
	var d disk
	if err := c.Start(0, d.persist, nil); err != nil {
		t.Fatal(err)
	}
	const each = 20000
	results := make([][]Timestamp, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				results[i] = append(results[i], c.Now())
			}
		}()
	}
	wg.Wait()
	seen := map[Timestamp]bool{}
	for _, r := range results {
		for i, ts := range r {
			if seen[ts] || i > 0 && !r[i-1].Less(ts) {
				t.Fatalf("%v was handed out twice or late", ts)
			}
			seen[ts] = true
		}
	}
}

func TestTimestampOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) Timestamp {
			return Timestamp{
				WallTime: rapid.Int64Range(1, 5).Draw(t, "wall"),
				Logical:  rapid.SampledFrom([]uint32{0, 1, 1<<32 - 1}).Draw(t, "logical"),
			}
		})
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if a.Less(b) != (a.Compare(b) < 0) || a.LessEq(b) != (a.Compare(b) <= 0) || (a == b) != (a.Compare(b) == 0) {
			t.Fatalf("%v and %v: the comparisons disagree", a, b)
		}
		if n := a.Next(); !a.Less(n) || n.Prev() != a || a.Less(b) && b.Less(n) {
			t.Fatalf("%v: next %v", a, n)
		}
		if a.Max(b).Less(a.Min(b)) || a.Max(b) == a.Min(b) != (a == b) {
			t.Fatalf("%v and %v: max and min", a, b)
		}
	})
}

func BenchmarkNow(b *testing.B) {
	c := NewSystem(0)
	var d disk
	if err := c.Start(0, d.persist, nil); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		c.Now()
	}
}

func BenchmarkNowParallel(b *testing.B) {
	c := NewSystem(0)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Now()
		}
	})
}

// TestStopLowersBound: a stopped clock leaves a bound just past what it handed out,
// and hands out nothing beyond it.
func TestStopLowersBound(t *testing.T) {
	ft := &fakeTime{}
	ft.ns.Store(100 * second)
	c := New(ft.now, 0)
	var bound atomic.Int64
	persist := func(b int64) error { bound.Store(b); return nil }
	if err := c.Start(0, persist, nil); err != nil {
		t.Fatal(err)
	}
	before := c.Now()
	if got := bound.Load() - before.WallTime; got < int64(BoundWindow) {
		t.Fatalf("a running clock's bound lies %v ahead", time.Duration(got))
	}
	c.Stop()
	if got := bound.Load() - before.WallTime; got <= 0 || got > int64(2*stopMargin) {
		t.Fatalf("a stopped clock's bound lies %v ahead", time.Duration(got))
	}
	ft.ns.Add(10 * second)
	if now := c.Now(); now.WallTime >= bound.Load() {
		t.Fatalf("%v is not below the bound %d", now, bound.Load())
	}
	next := New(ft.now, 0)
	if err := next.Start(bound.Load(), persist, nil); err != nil {
		t.Fatal(err)
	}
	if now := next.Now(); now.WallTime != 110*second {
		t.Fatalf("the next incarnation begins at %v", now)
	}
}

// TestStopWhileUsed: readings that race with Stop lie below the bound it leaves.
func TestStopWhileUsed(t *testing.T) {
	for range 50 {
		c := NewSystem(0)
		var bound atomic.Int64
		if err := c.Start(0, func(b int64) error { bound.Store(b); return nil }, nil); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var most [4]int64
		for i := range most {
			wg.Go(func() {
				for range 2000 {
					most[i] = max(most[i], c.Now().WallTime)
				}
			})
		}
		c.Stop()
		wg.Wait()
		for _, m := range most {
			if m >= bound.Load() {
				t.Fatalf("%d was handed out, the bound is %d", m, bound.Load())
			}
		}
	}
}
