package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestSplitLeavesNoGap: while a split is applied, some replica of the store holds its keys at every moment.
func TestSplitLeavesNoGap(t *testing.T) {
	if err := splitsWithoutGap(t); err != nil {
		t.Error(err)
	}
}

// splitsWithoutGap splits a range again and again. At each reading of the node's clock, such as that for a new
// replica, it checks that some replica holds the keys.
func splitsWithoutGap(t *testing.T) error {
	var watched, gaps atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		time.Sleep(time.Second)
		for _, nd := range c.Nodes {
			var poll func()
			poll = func() {
				watched.Add(1)
				if nd.Store.At([]byte("\x10z")) == nil {
					gaps.Add(1)
				}
				nd.OnClock(poll)
			}
			nd.OnClock(poll)
		}
		for i, key := range []string{"\x10f", "\x10k", "\x10p"} {
			c.Split(kvpb.RangeID(i+1), key, kvpb.RangeID(i+2))
			time.Sleep(time.Second)
		}
		for _, nd := range c.Nodes {
			nd.OnClock(nil)
		}
	})
	if n := gaps.Load(); n > 0 || watched.Load() == 0 {
		return fmt.Errorf("of %d times that somebody looked the last key was %d times nobody's", watched.Load(), n)
	}
	return nil
}
