package kv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// dieAt makes a gateway die at its n-th message: that one is not sent, or its answer
// gets lost, and it sends no other. It returns the number of messages so far.
func (g *gateway) dieAt(n int, delivered bool) (messages *int) {
	messages = new(int)
	g.set(func(_ string, _ []byte, after bool) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !after {
			*messages++
			if *messages > n || *messages == n && !delivered {
				return errLost
			}
			return nil
		}
		if *messages >= n {
			return errLost
		}
		return nil
	})
	return messages
}

// steps is the number of messages of the commit of a transaction in three ranges: a
// part and its end in each, and the record twice.
const steps = 8

// A coordinator that stops after any step of its commit leaves all or nothing
// behind, whoever comes then. Cases wait for others' timeouts, so many run at once.
func TestStoppedCoordinator(t *testing.T) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	for _, arrival := range []string{"reader", "writer", "locker"} {
		for _, dead := range []bool{false, true} {
			for _, delivered := range []bool{false, true} {
				for n := 1; n <= steps; n++ {
					slots <- struct{}{}
					wg.Go(func() {
						defer func() { <-slots }()
						if m := stoppedCoordinator(t, arrival, dead, delivered, n); m < n {
							t.Errorf("%d messages, want at least %d", m, n)
						}
					})
				}
			}
		}
	}
	wg.Wait()
}

func stoppedCoordinator(t *testing.T, arrival string, dead, delivered bool, n int) int {
	c := newRanges(t, fs.NewMem(), "h", "p")
	c.name = fmt.Sprintf("%s/dead=%t/delivered=%t/%d: ", arrival, dead, delivered, n)
	defer c.close()
	ctx := context.Background()
	other := c.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	victim := c.gateway()
	txn := victim.begin(kv.TxnOptions{})
	if err := setAll(ctx, txn, "new", "a", "i", "q"); err != nil {
		c.fatal(err)
	}
	messages := victim.dieAt(n, delivered)
	err := txn.Commit(ctx)
	victim.router.Wait()
	if dead {
		c.alive.Store(victim.incarnation, false)
		for _, name := range []string{"a", "i", "q"} { // what notices a gateway's death does so
			c.dropLocks(txn.ID(), key(name))
		}
	} else {
		c.unlockFor(txn.ID(), "a", "i", "q")
	}
	switch arrival {
	case "writer":
		other.mustSet("later", "z")
		other.mustSet("later", "b", "j", "r")
	case "locker":
		for _, name := range []string{"q", "a"} {
			l := other.begin(kv.TxnOptions{Isolation: kv.ReadCommitted})
			if _, err := l.Lock(ctx, key(name), lock.Update, lock.WaitBlock); err != nil {
				c.fatal(err)
			}
			l.Rollback(ctx)
		}
	}
	got := other.get("q", "i", "a")
	if got != "[old old old]" && got != "[new new new]" || err == nil && got != "[new new new]" {
		t.Errorf(c.name+"the commit returned %v, and the values are %s", err, got)
	}
	if kv.IsRetryable(err) && got != "[old old old]" {
		t.Errorf(c.name+"the commit failed with %v, and the values are %s", err, got)
	}
	other.mustSet("end", "a", "i", "q")
	if got := other.get("q", "i", "a"); got != "[end end end]" {
		t.Errorf(c.name+"afterwards the values are %s", got)
	}
	other.router.Wait()
	if dead {
		for _, r := range c.store.Replicas() {
			r.Sweep()
		}
		c.clean()
	}
	return *messages
}
