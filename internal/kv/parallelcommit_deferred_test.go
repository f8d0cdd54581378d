package kv_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// applied returns how far each range is.
func (c *ranges) applied() map[string]uint64 {
	out := map[string]uint64{}
	for _, r := range c.store.Replicas() {
		out[string(r.Desc().StartKey)] = r.AppliedIndex()
	}
	return out
}

// What cleans up after commits across ranges takes no entries of its own as long as
// commits follow one another, and is done soon after the last.
func TestEndsAreDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRanges(t, fs.NewMem(), "h", "p")
		defer c.close()
		g := c.gateway()
		g.mustSet("0", "a", "i")
		g.router.Wait()
		const commits = 20
		before := c.applied()
		for n := range commits {
			g.mustSet("1", "a"+string(rune('a'+n)), "i"+string(rune('a'+n)))
			synctest.Wait() // its end is deferred
		}
		for start, index := range c.applied() {
			if took := index - before[start]; took > commits {
				t.Errorf("the range from %q took %d entries for %d commits", start, took, commits)
			}
		}
		began := time.Now()
		g.router.Wait()
		c.clean()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the end of the last commits took %v", took)
		}
	})
}

// Whoever meets what a commit across ranges has left does not wait until its deferred end goes:
// no time passes.
func TestNobodyWaitsForDeferred(t *testing.T) {
	for name, meet := range map[string]func(g *gateway){
		"read":  func(g *gateway) { g.get("a", "i", "q") },
		"write": func(g *gateway) { g.mustSet("3", "a", "i", "q") },
		"write in one range": func(g *gateway) {
			for _, k := range []string{"q", "i", "a"} {
				g.mustSet("3", k)
			}
		},
		"lock": func(g *gateway) {
			err := g.db.Run(context.Background(), func(ctx context.Context, txn *kv.Txn) error {
				for _, k := range []string{"i", "a", "q"} {
					if l, err := txn.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil || string(l.Value) != "2" {
						t.Errorf("%s is %q, %v", k, l.Value, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		},
		"stop": func(g *gateway) { g.c.gws[1].router.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newRanges(t, fs.NewMem(), "h", "p")
				defer c.close()
				g, other := c.gateway(), c.gateway()
				g.mustSet("1", "a", "i", "q")
				g.router.Wait()
				for _, patient := range []bool{true, false} {
					g.mustSet("2", "a", "i", "q")
					if patient {
						synctest.Wait() // the record is deferred
					}
					began := time.Now()
					meet(other)
					limit := time.Duration(0)
					if name == "stop" { // what is deferred already does so
						limit = 10 * time.Millisecond
					}
					if took := time.Since(began); took > limit {
						t.Errorf("patient=%t: took %v", patient, took)
					}
					g.router.Wait()
					other.router.Wait()
				}
				if name == "stop" {
					c.clean()
				}
			})
		})
	}
}
