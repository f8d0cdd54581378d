package workers

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Pool without a limit begins everything at once, and keeps some of its goroutines.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(0, nil)
		const n = 3 * maxIdle
		release := make(chan struct{})
		var begun sync.WaitGroup
		begun.Add(n)
		for range n {
			p.Go(func() { begun.Done(); <-release })
		}
		begun.Wait()
		close(release)
		synctest.Wait()
		if p.running != maxIdle || len(p.idle) != maxIdle {
			t.Fatalf("%d goroutines, %d of them idle", p.running, len(p.idle))
		}
		var done sync.WaitGroup
		for range maxIdle {
			done.Add(1)
			p.Go(done.Done)
		}
		done.Wait()
		synctest.Wait()
		if p.running != maxIdle {
			t.Errorf("%d goroutines for what the idle ones could do", p.running)
		}
		p.Close()
	})
}

// Beyond the limit functions wait, and begin in order.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(2, nil)
		var mu sync.Mutex
		var order []int
		running := 0
		for i := range 10 {
			p.Go(func() {
				mu.Lock()
				order = append(order, i)
				if running++; running > 2 {
					t.Errorf("%d at once", running)
				}
				mu.Unlock()
				time.Sleep(time.Duration(i+1) * time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
			})
		}
		p.Close()
		if len(order) != 10 {
			t.Fatalf("%v", order)
		}
		for i, n := range order[2:] { // the first two begin together
			if n != i+2 {
				t.Errorf("out of order: %v", order)
			}
		}
	})
}

// Close waits for what is given to Go while it waits.
func TestGoWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, nil)
		last := false
		p.Go(func() {
			time.Sleep(time.Second)
			p.Go(func() { last = true })
		})
		p.Close()
		if !last {
			t.Error("something given to Go was not done")
		}
	})
}
