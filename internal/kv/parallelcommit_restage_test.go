package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// splitAt splits the range that holds a key, there.
func (c *ranges) splitAt(at []byte, id kvpb.RangeID) error {
	_, d, err := c.store.Lookup(at)
	if err != nil {
		return err
	}
	r, _ := c.store.Replica(d.RangeID)
	if err := r.Split(context.Background(), at, id); err != nil {
		return err
	}
	c.waitFor(string(at[len(key("")):]))
	c.connect()
	return nil
}

// A commit has to begin anew when one of its parts has come under another leader, who does
// not know whether somebody has counted it: that costs a message, not the transaction.
func TestRestageAfterSplit(t *testing.T) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	ctx := context.Background()
	other := c.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	g := c.gateway()
	txn := g.writing(kv.TxnOptions{}, "new", "a", "i", "q")
	staged := make(chan struct{})
	var split, read sync.Once
	stages := 0
	g.set(func(op string, k []byte, after bool) error {
		if op != "stage" {
			return nil
		}
		g.mu.Lock()
		stages++
		g.mu.Unlock()
		var err error
		switch {
		case bytes.Equal(k, key("i")) && after:
			split.Do(func() {
				err = c.splitAt(key("i"), 9)
				close(staged)
			})
		case bytes.Equal(k, key("q")) && !after:
			<-staged
			read.Do(func() { other.get("q") })
		}
		return err
	})
	if err := txn.Commit(ctx); err != nil {
		t.Errorf("the commit returned %v", err)
	}
	g.set(nil)
	g.router.Wait()
	if got := other.get("a", "i", "q"); got != "[new new new]" {
		t.Error(got)
	}
	// Each message counts twice: three parts, three again, and again with the record first.
	if stages != 18 {
		t.Errorf("%d", stages)
	}
	other.mustSet("end", "a", "i", "q")
	other.router.Wait()
	c.clean()
}

// Splits beside a commit in two rounds, of a transaction with more keys than a record lists,
// neither end it nor make it begin anew, whenever they come; nor do later reads end it.
func TestSplitsDuringTwoRounds(t *testing.T) {
	ctx := context.Background()
	pad := bytes.Repeat([]byte("k"), 400)
	name := func(p string, i int) []byte { return append(key(fmt.Sprintf("%s%04d", p, i)), pad...) }
	const rows = 200
	for at := range 8 {
		for _, read := range []bool{false, true} {
			c := newRanges(t, fs.NewMem(), "h", "p")
			g, other := c.gateway(), c.gateway()
			txn := g.begin(kv.TxnOptions{})
			for i := range rows {
				for _, p := range []string{"a", "i", "q"} {
					if err := txn.Put(name(p, i), []byte("v")); err != nil {
						t.Fatal(err)
					}
				}
			}
			var mu sync.Mutex // the parts wait for the splits
			n, attempts := 0, 0
			g.set(func(op string, k []byte, after bool) error {
				mu.Lock()
				defer mu.Unlock()
				if op == "stage" && after && bytes.Equal(k, name("a", 0)) {
					attempts++
				}
				if n++; n == 1 && read {
					err := other.db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
						_, _, err := txn.Get(ctx, name("q", rows-1))
						return err
					})
					if err != nil {
						return err
					}
				}
				if n != at+1 {
					return nil
				}
				for i, p := range []string{"a", "i", "q"} {
					if err := c.splitAt(name(p, rows/2), kvpb.RangeID(9+i)); err != nil {
						return err
					}
				}
				return nil
			})
			if err := txn.Commit(ctx); err != nil {
				t.Errorf("splits at message %d, reads: %t: %v", at, read, err)
			}
			g.set(nil)
			g.router.Wait()
			if got := count(t, other.db); got != 3*rows {
				t.Errorf("splits at message %d, reads: %t: %d rows", at, read, got)
			}
			// One for the read, and some for the new leaders, whose clocks have passed the commit's time.
			if attempts > 4 {
				t.Errorf("splits at message %d, reads: %t: %d attempts", at, read, attempts)
			}
			for _, r := range c.store.Replicas() {
				r.Sweep()
			}
			c.clean()
			c.close()
		}
	}
}
