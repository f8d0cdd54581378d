package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// pastLag is far less than a server has, so that transactions are overtaken by what is
// closed at all of their steps.
const pastLag = 100 * time.Millisecond

// readPast is the kind of operations that read at a time past.
const readPast = "past"

// pastBank is a bank with auditors who look at the accounts as they were some seconds ago,
// at whatever replica is nearest.
type pastBank struct {
	bank
	from *atomic.Int64 // when the accounts had their first balances
	c    *atomic.Pointer[cluster]
	// served are reads that replicas served which did not lead, locked those that were left to
	// the leader for a durable lock.
	served, locked *atomic.Int64
	// allSlow: there are no transfers but slow ones, nor auditors of the present, whose reads
	// would move them to the present.
	allSlow bool
}

func newPastBank() pastBank {
	return pastBank{bank{accounts: 12}, new(atomic.Int64), new(atomic.Pointer[cluster]), new(atomic.Int64), new(atomic.Int64), false}
}

func (b pastBank) prepare(c *cluster) {
	b.c.Store(c)
	c.lag = pastLag
	c.onEnd = func(inc *incarnation) {
		for _, r := range inc.store.Replicas() {
			b.served.Add(r.Stats().ClosedReads.Load())
			b.locked.Add(r.Stats().ClosedLocked.Load())
		}
	}
}

func (b pastBank) begin() { b.from.Store(time.Now().Add(simOffset).UnixNano()) }

func (b pastBank) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	age := pastLag + time.Duration(rng.Int64N(int64(time.Second)))
	at := hlc.Timestamp{WallTime: inc.hlc.PhysicalNow() - int64(age)}
	if rng.IntN(2) == 0 || at.WallTime < b.from.Load() {
		if !b.allSlow && rng.IntN(3) > 0 {
			b.bank.operate(ctx, s, client, inc, rng)
		} else {
			b.slowTransfer(ctx, s, client, inc, rng)
		}
		return
	}
	s.transact(ctx, client, inc, readPast, kv.TxnOptions{ReadOnly: true, AsOf: at}, func(t *kv.Txn, op *check.Op) error {
		if rng.IntN(2) == 0 {
			return readAll(ctx, t, op, b.keys())
		}
		for range 4 {
			if _, err := get(ctx, t, op, account(rng.IntN(b.accounts))); err != nil {
				return err
			}
		}
		return nil
	})
}

// slowTransfer thinks between what it reads and what it writes.
func (b pastBank) slowTransfer(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	i := rng.IntN(b.accounts)
	from, to, amount := account(i), account((i+1+rng.IntN(b.accounts-1))%b.accounts), int64(1+rng.IntN(10))
	s.transact(ctx, client, inc, check.BankTransfer, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		op.Transfer = &check.Transfer{From: from, To: to, Amount: amount}
		a, err := get(ctx, t, op, from)
		if err != nil {
			return err
		}
		<-time.After(time.Duration(rng.Int64N(int64(4 * pastLag))))
		z, err := get(ctx, t, op, to)
		if err != nil {
			return err
		}
		value := func(b int64) string { return fmt.Sprintf("%d/%d", b, s.unique()) }
		return put(ctx, t, op,
			check.Access{Key: from, Value: value(balance(a) - amount)}, check.Access{Key: to, Value: value(balance(z) + amount)})
	})
}

func (b pastBank) check(ops []check.Op, initial, final map[string]string) error {
	if n := b.served.Load(); n < 100 {
		return fmt.Errorf("%d reads were served by followers, %w", n, errProvesNothing)
	}
	var present []check.Op
	for _, op := range ops {
		if op.Kind != readPast {
			present = append(present, op)
		}
	}
	now := check.Timestamps{Initial: initial, RealTime: true}
	return errors.Join(b.bank.check(ops, initial, final), now.Check(present))
}

// TestPast reads at times past from all replicas: each sees exactly what was committed
// up to then.
func TestPast(t *testing.T) {
	all, length := seeds(t, 1, 4, 8)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runPast(t, seed, length) })
	}
}

func runPast(t *testing.T, seed uint64, length time.Duration) {
	b := newPastBank()
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{account(4), account(8)}, points: b.points(), least: leastOps / 2,
	}, b)
	t.Logf("followers served %d reads of the past, left %d to leaders for locks", b.served.Load(), b.locked.Load())
}
