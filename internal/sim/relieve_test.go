package sim

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
)

// Of a slow store.
const (
	slowSync = 300 * time.Millisecond
	// relievedWithin is how long it may go on to lead ranges.
	relievedWithin = 10 * time.Second
)

// count adds one to a key, again and again, until ctx ends. It returns how often that was
// acknowledged, and how often nobody knows.
func count(ctx context.Context, db *kv.DB, key []byte) (done, unknown int) {
	for ctx.Err() == nil {
		err := db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
			v, _, err := txn.Get(ctx, key)
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(string(v))
			return txn.Put(key, strconv.AppendInt(nil, int64(n+1), 10))
		})
		switch {
		case err == nil:
			done++
		case ctx.Err() != nil || kv.IsAmbiguous(err):
			unknown++
		}
		<-time.After(20 * time.Millisecond)
	}
	return done, unknown
}

// slowStore slows one of three stores down, each of which leads a range, under writers. Others must
// lead its range soon, and every acknowledged write must be there, once.
func slowStore(t *testing.T, seed uint64) (err error) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 60+seed, 3)
		c.places = true
		c.found("\x10x", "\x10y", "\x10z")
		c.spread("\x10x", "\x10y", "\x10z")
		slow := c.nodes[seed%3]
		ctx, end := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		var done, unknown [3]int
		for i, k := range []string{"x", "y", "z"} {
			wg.Go(func() { done[i], unknown[i] = count(ctx, c.nodes[(i+1)%3].current().db, histKey(k)) })
		}
		<-time.After(2 * time.Second)
		slow.disk.SetSlow(slowSync)
		<-time.After(relievedWithin)
		for _, r := range c.leaders() {
			if r.inc.node == slow && len(r.Desc().Replicas) > 1 {
				err = fmt.Errorf("store %d writes slowly and leads range %d after %v", slow.id, r.RangeID(), relievedWithin)
			}
		}
		end()
		wg.Wait()
		slow.disk.SetSlow(0)
		for i, k := range []string{"x", "y", "z"} {
			var n int
			if rerr := c.nodes[0].current().db.Run(context.Background(), func(ctx context.Context, txn *kv.Txn) error {
				v, _, err := txn.Get(ctx, histKey(k))
				n, _ = strconv.Atoi(string(v))
				return err
			}); rerr != nil {
				t.Error(rerr)
			}
			if n < done[i] || n > done[i]+unknown[i] {
				err = fmt.Errorf("%s was added to %d times, of which %d were acknowledged and %d are of unknown outcome", k, n, done[i], unknown[i])
			}
			if done[i] == 0 {
				t.Errorf("nothing was written to %s", k)
			}
		}
		c.close()
	})
	return err
}

// TestSlowStore: a store whose disk is slow gives its leaderships up, and nothing is lost over it.
func TestSlowStore(t *testing.T) {
	for seed := range uint64(6) {
		if err := slowStore(t, seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
