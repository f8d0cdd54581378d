package kv_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
)

// left counts the ranges in which a transaction has left something provisional.
func (c *ranges) left() (n int) {
	for _, r := range c.store.Replicas() {
		if parts, _ := r.Provisional(); parts > 0 {
			n++
		}
	}
	return n
}

// What a large transaction leaves, if it was aborted or others have read past its versions, is removed with
// rests in between, and in one range of a store at a time; who meets some of it waits for neither.
func TestCleaningUpRests(t *testing.T) {
	const perRange = 5000                       // five commands
	const least = 3 * 4 * 10 * time.Millisecond // a rest between any two
	for _, commit := range []bool{true, false} {
		for _, met := range []bool{true, false} {
			t.Run(fmt.Sprintf("commit=%t/met=%t", commit, met), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newRanges(t, fs.NewMem(), "h", "p")
					defer c.close()
					g, other := c.gateway(), c.gateway()
					g.large(perRange, commit, func() { other.get("a00000", "i00000", "q00000") }, "a", "i", "q")
					began := time.Now()
					synctest.Wait()
					if c.left() != 3 {
						t.Fatalf("%d ranges wait to be cleaned up", c.left())
					}
					if met {
						other.mustSet("met", "q04999")
						other.mustSet("met", "i02500", "q02500")
						if took := time.Since(began); took > 0 || c.left() == 0 {
							t.Errorf("who met it waited for %v; %d ranges are left", took, c.left())
						}
					}
					g.router.Wait()
					other.router.Wait()
					if took := time.Since(began); !met && took < least || took > 2*least {
						t.Errorf("the clean-up took %v", took)
					}
					if got := other.get("q02500", "i02500", "q04999"); met && got != "[met met met]" {
						t.Error(got)
					}
					for _, r := range c.store.Replicas() {
						r.Sweep()
					}
					c.clean()
				})
			})
		}
	}
}

// A large transaction that commits where its versions are leaves locks alone, which go without rests.
func TestLocksGoAsASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRanges(t, fs.NewMem(), "h", "p")
		defer c.close()
		g := c.gateway()
		began := time.Now()
		g.large(5000, true, func() {}, "a", "i", "q")
		synctest.Wait()
		if took := time.Since(began); took > 0 || c.left() > 0 {
			t.Errorf("after %v %d ranges wait to be cleaned up", took, c.left())
		}
		g.router.Wait()
		if got := g.get("a00000", "i02500", "q04999"); got != "[new new new]" {
			t.Error(got)
		}
		c.clean()
	})
}

// large ends a transaction that has spilled rows into the ranges, after it has called before.
func (g *gateway) large(perRange int, commit bool, before func(), ranges ...string) {
	g.c.t.Helper()
	ctx := context.Background()
	g.db.SetSpill(256 << 10)
	txn := g.begin(kv.TxnOptions{})
	for _, in := range ranges {
		for n := range perRange {
			if err := setAll(ctx, txn, "new", fmt.Sprintf("%s%05d", in, n)); err != nil {
				g.c.fatal(err)
			}
		}
	}
	before()
	if !commit {
		if err := txn.SpillRest(ctx); err != nil { // a rollback stops a spill under way
			g.c.fatal(err)
		}
		txn.Rollback(ctx)
	} else if err := txn.Commit(ctx); err != nil {
		g.c.fatal(err)
	}
}
