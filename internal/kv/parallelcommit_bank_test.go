package kv_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

var accounts = []string{"a", "b", "i", "j", "q", "r"}

const (
	accountStart = 100
	bankTotal    = accountStart * 6
)

// transfer moves an amount between two accounts, in the way that the isolation level
// needs: SERIALIZABLE reads without locks.
func transfer(ctx context.Context, g *gateway, iso kv.Isolation, from, to string, amount int) error {
	txn := g.db.Begin(kv.TxnOptions{Isolation: iso})
	defer txn.Rollback(ctx)
	for i, name := range []string{from, to} {
		txn.BeginStatement()
		var v []byte
		if iso == kv.Serializable {
			read, _, err := txn.Get(ctx, key(name))
			if err != nil {
				return err
			}
			v = append(v, read...)
		}
		r, err := txn.Lock(ctx, key(name), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		if iso != kv.Serializable {
			v = r.Value
		}
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return err
		}
		if i == 0 {
			amount = -amount
		} else {
			amount = -amount
		}
		if err := txn.Put(key(name), []byte(strconv.Itoa(n+amount))); err != nil {
			return err
		}
	}
	return txn.Commit(ctx)
}

// audit adds up all accounts in one statement.
func audit(ctx context.Context, g *gateway, iso kv.Isolation) (sum int, err error) {
	txn := g.db.Begin(kv.TxnOptions{Isolation: iso})
	defer txn.Rollback(ctx)
	txn.BeginStatement()
	var res kv.ScanResult
	for start := key("a"); start != nil; start = res.Resume {
		if err := txn.Scan(ctx, start, key("zz"), kv.ScanOptions{}, &res); err != nil {
			return 0, err
		}
		for i := range res.Len() {
			n, err := strconv.Atoi(string(res.Value(i)))
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, txn.Commit(ctx)
}

// Money moves between accounts in three ranges; no audit ever sees a sum that is
// not the bank's, at any isolation level, whatever messages get lost.
func TestBankSeveralRanges(t *testing.T) {
	for _, iso := range []kv.Isolation{kv.Serializable, kv.RepeatableRead, kv.ReadCommitted} {
		for _, faulty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/faulty=%t", iso, faulty), func(t *testing.T) { bank(t, iso, faulty) })
		}
	}
}

func bank(t *testing.T, iso kv.Isolation, faulty bool) {
	c := newRanges(t, fs.NewMem(), "h", "p")
	defer c.close()
	ctx := context.Background()
	g := c.gateway()
	for _, a := range accounts {
		g.mustSet(strconv.Itoa(accountStart), a)
	}
	var done, retried, lost, audits atomic.Int64
	var wg sync.WaitGroup
	check := func(err error) {
		switch {
		case err == nil:
			done.Add(1)
		case kv.IsRetryable(err):
			retried.Add(1)
		case faulty:
			lost.Add(1)
		default:
			t.Error(err)
		}
	}
	workers, each := 4, 60
	if faulty {
		workers, each = 8, 12
	}
	stop := make(chan struct{})
	var auditors sync.WaitGroup
	for w := range workers {
		g := c.gateway()
		rnd := rand.New(rand.NewPCG(uint64(w), uint64(iso)))
		if faulty {
			var mu sync.Mutex
			faults := rand.New(rand.NewPCG(uint64(w), 7))
			g.set(func(op string, _ []byte, _ bool) error {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case op == "release" || faults.IntN(30) > 0:
					return nil
				case op == "commit":
					return &kvpb.AmbiguousCommitError{Cause: errLost}
				}
				return errLost
			})
		}
		wg.Go(func() {
			for range each {
				i := rnd.IntN(len(accounts))
				j := (i + 1 + rnd.IntN(len(accounts)-1)) % len(accounts)
				check(transfer(ctx, g, iso, accounts[min(i, j)], accounts[max(i, j)], rnd.IntN(20)-10))
			}
		})
	}
	for range 2 {
		g := c.gateway()
		auditors.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				sum, err := audit(ctx, g, iso)
				if err == nil && sum != bankTotal {
					t.Errorf("an audit sees %d", sum)
					return
				}
				if err != nil && !kv.IsRetryable(err) {
					t.Error(err)
					return
				}
				audits.Add(1)
			}
		})
	}
	wg.Wait()
	close(stop)
	auditors.Wait()
	if sum, err := audit(ctx, g, kv.Serializable); err != nil || sum != bankTotal {
		t.Errorf("in the end: %d, %v", sum, err)
	}
	if done.Load() == 0 || audits.Load() == 0 {
		t.Error("nothing was done")
	}
	t.Logf("%d transfers, %d to be retried, %d lost, %d audits", done.Load(), retried.Load(), lost.Load(), audits.Load())
}
