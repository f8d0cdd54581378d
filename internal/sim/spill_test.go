package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// largeTxn writes rows over all ranges of a cluster, more than its gateway keeps.
type largeTxn struct {
	c   *cluster
	txn *kv.Txn
}

const largePrefix = "\x10large"

func largeKey(i int) []byte { return fmt.Appendf(nil, "%s%03d", largePrefix, i*7%100) }

func (x *largeTxn) write(i int, value string) error {
	if _, err := x.txn.Lock(context.Background(), largeKey(i), lock.Update, lock.WaitBlock); err != nil {
		return err
	}
	return x.txn.Put(largeKey(i), []byte(value))
}

// rows returns what a node reads of the rows.
func (c *cluster) largeRows(inc *incarnation) (values map[string]int, err error) {
	values = map[string]int{}
	err = inc.db.Run(context.Background(), func(ctx context.Context, t *kv.Txn) error {
		clear(values)
		var res kv.ScanResult
		end := keys.PrefixEnd([]byte(largePrefix))
		for start := []byte(largePrefix); start != nil; start = res.Resume {
			if err := t.Scan(ctx, start, end, kv.ScanOptions{}, &res); err != nil {
				return err
			}
			for i := range res.Len() {
				values[string(res.Value(i))]++
			}
		}
		return nil
	})
	return values, err
}

func (x *largeTxn) story() string { return strings.Join(x.c.story.Lines(), "\n") }

// change changes a range that holds some of the rows.
func (x *largeTxn) change(rng *rand.Rand) {
	r := x.c.leaderOf(largeKey(rng.IntN(100)))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	what := "nothing"
	switch rng.IntN(4) {
	case 0, 1:
		what, err = x.c.moveLeader(ctx, r, rng)
	case 2:
		what, err = x.c.splitRange(ctx, r, rng, 100)
	default:
		what, err = x.c.mergeRanges(ctx, r)
	}
	x.c.story.Addf("%s: %v", what, err)
}

// TestSpillOverRanges commits, or rolls back, a transaction that is spilled over ranges
// whose leaders move, and which are split and merged, while it runs; others see all of it
// or nothing, at once, and nothing provisional stays.
func TestSpillOverRanges(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { spillOverRanges(t, seed) })
		})
	}
}

func spillOverRanges(t *testing.T, seed uint64) {
	ctx := context.Background()
	c := newCluster(t, 31+seed, 3)
	c.spill = 1500
	for i := range 100 {
		c.cutKeys = append(c.cutKeys, string(largeKey(i)))
	}
	c.found(largePrefix+"025", largePrefix+"050", largePrefix+"075")
	c.spread(largePrefix+"000", largePrefix+"030", largePrefix+"060")
	rng := rand.New(rand.NewPCG(seed, 7))
	x := &largeTxn{c: c, txn: c.nodes[seed%3].current().db.Begin(kv.TxnOptions{})}
	for pass := range 2 {
		x.txn.BeginStatement()
		for i := range 100 {
			if i%10 == 9 {
				x.change(rng)
			}
			if err := x.write(i, fmt.Sprint("pass", pass)); err != nil {
				t.Fatalf("pass %d, row %d: %v\n%s", pass, i, err, x.story())
			}
			if i%25 == 24 {
				if seen, err := c.largeRows(c.nodes[(seed+1)%3].current()); err != nil || len(seen) != 0 {
					t.Fatalf("another transaction sees %v, %v", seen, err)
				}
			}
		}
	}
	want := map[string]int{"pass1": 100}
	if seed%3 == 2 {
		x.txn.Rollback(ctx)
		want = map[string]int{}
	} else if err := x.txn.Commit(ctx); err != nil {
		t.Fatalf("commit: %v\n%s", err, x.story())
	}
	for _, n := range c.nodes {
		if seen, err := c.largeRows(n.current()); err != nil || fmt.Sprint(seen) != fmt.Sprint(want) {
			t.Errorf("node %d sees %v, %v; want %v", n.id, seen, err, want)
		}
	}
	if _, err := c.settled(); err != nil {
		t.Errorf("%v\n%s", err, x.story())
	}
	c.close()
}
