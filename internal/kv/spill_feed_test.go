package kv_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// A feed delivers every row of a large transaction whose locks were removed as a span, before it resolves
// a timestamp above the commit. On a node by itself the feed does not move the commit of a transaction
// that writes elsewhere.
func TestFeedOfALargeCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 5000
		c := newRanges(t, fs.NewMem())
		defer c.close()
		g := c.gateway()
		ctx, stop := context.WithCancel(context.Background())
		var mu sync.Mutex
		var resolved hlc.Timestamp
		got, missing := map[string]bool{}, 0
		var ended sync.WaitGroup
		ended.Go(func() {
			err := c.DB.Feed(ctx, key("a"), key("b"), c.clock.Now(), func(events []kv.FeedEvent, upTo hlc.Timestamp) error {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range events {
					if !got[string(e.Key)] && e.TS.LessEq(resolved) {
						missing++
					}
					got[string(e.Key)] = true
				}
				resolved = resolved.Max(upTo)
				return nil
			})
			if ctx.Err() == nil {
				t.Error(err)
			}
		})
		const begins = 10 * time.Second // more than the lag of closed timestamps
		<-time.After(begins)
		g.large(rows, true, func() {}, "a")
		committed := c.clock.Now()
		for range 100 {
			<-time.After(time.Second)
			mu.Lock()
			over := committed.Less(resolved)
			mu.Unlock()
			if over {
				break
			}
		}
		g.large(rows, true, func() { <-time.After(begins) }, "c")
		synctest.Wait()
		if c.left() > 0 {
			t.Error("the feed has moved a commit in another span")
		}
		g.large(rows, true, func() { <-time.After(begins) }, "a")
		synctest.Wait()
		if c.left() == 0 {
			t.Error("a commit is below what the feed has resolved")
		}
		g.router.Wait()
		stop()
		ended.Wait()
		if len(got) != rows || missing > 0 || resolved.Less(committed) {
			t.Errorf("%d rows were delivered, %d of them late; resolved up to %v, committed before %v", len(got), missing, resolved, committed)
		}
	})
}
