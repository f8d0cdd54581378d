package kv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// delay makes the gateway's messages of a kind arrive only after the clocks have passed a time and
// another gateway has read some keys then. None arrives before: the reader would wait for what it
// brings, and the gateway for the reader.
func (g *gateway) delay(op string, past hlc.Timestamp, other *gateway, read ...string) {
	var once sync.Once
	g.set(func(o string, _ []byte, after bool) error {
		if o == op && !after {
			once.Do(func() {
				g.c.clock.Forward(past.Next())
				if len(read) > 0 {
					other.get(read...)
				}
			})
		}
		return nil
	})
}

// A commit does not go beyond its deadline, however it commits and wherever it is
// held up; before the deadline it may arrive late as long as nobody has noticed.
func TestCommitDeadline(t *testing.T) {
	for _, c := range []struct {
		name  string
		iso   kv.Isolation
		keys  []string
		op    string
		read  []string
		renew bool // what is known of the tables is confirmed all the time
		fails bool
	}{
		{name: "in one phase, unnoticed", keys: []string{"a"}, op: "commit"},
		{name: "in one phase, read meanwhile", keys: []string{"a"}, op: "commit", read: []string{"a"}, fails: true},
		{name: "in one phase, at present", iso: kv.ReadCommitted, keys: []string{"a"}, op: "commit", fails: true},
		{name: "across, unnoticed", keys: []string{"a", "i", "q"}, op: "stage"},
		{name: "across, read meanwhile", keys: []string{"a", "i", "q"}, op: "stage", read: []string{"i"}, fails: true},
		{name: "across, read committed", iso: kv.ReadCommitted, keys: []string{"a", "q"}, op: "stage", read: []string{"q"}, fails: true},
		{name: "across, read meanwhile, renewed", keys: []string{"a", "i", "q"}, op: "stage", read: []string{"i"}, renew: true},
		{name: "across, read committed, renewed", iso: kv.ReadCommitted, keys: []string{"a", "q"}, op: "stage", read: []string{"q"}, renew: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRanges(t, fs.NewMem(), "h", "p")
			defer r.close()
			ctx := context.Background()
			g, other := r.gateway(), r.gateway()
			other.mustSet("old", c.keys...)
			other.router.Wait()
			txn := g.writing(kv.TxnOptions{Isolation: c.iso}, "new", c.keys...)
			now := r.clock.Now()
			txn.Deadline = hlc.Timestamp{WallTime: now.WallTime + int64(time.Second)}
			if c.renew {
				txn.Renew = func() hlc.Timestamp { return hlc.Timestamp{WallTime: r.clock.Now().WallTime + int64(time.Second)} }
			}
			g.delay(c.op, txn.Deadline, other, c.read...)
			err := txn.Commit(ctx)
			g.router.Wait()
			want := "new"
			if c.fails {
				if want = "old"; !kv.IsRetryable(err) {
					t.Errorf("the commit returned %v", err)
				}
			} else if err != nil || txn.Deadline.Less(txn.CommitTimestamp()) != c.renew {
				t.Errorf("the commit returned %v, at %s with the deadline %s", err, txn.CommitTimestamp(), txn.Deadline)
			}
			var all []string
			for range c.keys {
				all = append(all, want)
			}
			if got := other.get(c.keys...); got != fmt.Sprint(all) {
				t.Errorf("values are %s", got)
			}
			other.mustSet("end", c.keys...) // nothing is locked
			other.router.Wait()
			r.clean()
			txn.Reset(kv.TxnOptions{})
			if !txn.Deadline.IsEmpty() {
				t.Error("the next transaction inherits the deadline")
			}
		})
	}
}

// A large transaction, whose record alone decides, keeps its deadline too.
func TestCommitDeadlineSpilled(t *testing.T) {
	ctx := context.Background()
	for _, late := range []bool{false, true} {
		r := newRanges(t, fs.NewMem(), "h")
		g := r.gateway()
		txn := g.writing(kv.TxnOptions{Isolation: kv.ReadCommitted}, string(make([]byte, 9<<20)), "a", "i")
		txn.Deadline = r.clock.Now()
		if !late {
			txn.Deadline.WallTime += int64(time.Minute)
		}
		other := r.gateway()
		other.get("a", "i") // so that it can't commit in the past
		if err := txn.Commit(ctx); kv.IsRetryable(err) != late || err != nil && !late {
			t.Errorf("late=%t: the commit returned %v", late, err)
		}
		g.router.Wait()
		other.mustSet("end", "a", "i")
		r.close()
	}
}

// A part that was staged in time and whose gateway stopped is committed by others
// at its own timestamp, not later, though the deadline has passed.
func TestDeadlineAndRecovery(t *testing.T) {
	r := newRanges(t, fs.NewMem(), "h", "p")
	defer r.close()
	ctx := context.Background()
	g, other := r.gateway(), r.gateway()
	other.mustSet("old", "a", "i", "q")
	other.router.Wait()
	txn := g.writing(kv.TxnOptions{}, "new", "a", "i", "q")
	txn.Deadline = r.clock.Now()
	g.dieAt(4, true) // the parts arrive, nothing after them
	if err := txn.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	r.clock.Forward(hlc.Timestamp{WallTime: txn.Deadline.WallTime + int64(time.Hour)})
	g.router.Wait()
	if got := other.get("a", "i", "q"); got != "[new new new]" {
		t.Errorf("values are %s", got)
	}
	at := other.begin(kv.TxnOptions{AsOf: txn.Deadline, ReadOnly: true})
	v, _, err := at.Get(ctx, key("q"))
	if string(v) != "new" || err != nil {
		t.Errorf("at the deadline it is %q, %v", v, err)
	}
	at.Rollback(ctx)
}
