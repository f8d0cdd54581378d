package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/kv"
)

// heldBank is a bank whose transfers lock both accounts, in one order, and think before they
// write. While nothing but the ranges changes no lock gets lost.
type heldBank struct{ bank }

// heldThink is how long a transfer holds its locks at most.
const heldThink = 300 * time.Millisecond

// lostLock is what a commit says whose locks got lost.
const lostLock = "lost the transaction's locks"

func (b heldBank) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	i := rng.IntN(b.accounts - 1)
	from, to, amount := account(i), account(i+1+rng.IntN(b.accounts-1-i)), int64(1+rng.IntN(10))
	s.transact(ctx, client, inc, check.BankTransfer, kv.TxnOptions{Isolation: kv.ReadCommitted}, func(t *kv.Txn, op *check.Op) error {
		op.Transfer = &check.Transfer{From: from, To: to, Amount: amount}
		a, err := lockKey(ctx, t, op, from)
		if err != nil {
			return err
		}
		z, err := lockKey(ctx, t, op, to)
		if err != nil {
			return err
		}
		<-time.After(time.Duration(rng.Int64N(int64(heldThink))))
		value := func(b int64) string { return fmt.Sprintf("%d/%d", b, s.unique()) }
		return put(ctx, t, op,
			check.Access{Key: from, Value: value(balance(a) - amount)}, check.Access{Key: to, Value: value(balance(z) + amount)})
	})
}

func (b heldBank) check(ops []check.Op, initial, final map[string]string) error {
	for _, op := range ops {
		if strings.Contains(op.Error, lostLock) {
			return fmt.Errorf("a lock got lost though no node failed: %v", op)
		}
	}
	return b.bank.check(ops, initial, final)
}

func heldSetting(seed uint64, length time.Duration, b heldBank) setting {
	return setting{
		nodes: sizeOf(seed), length: length, faults: map[FaultKind]int{SplitRange: 3, MergeRanges: 3, MoveLeader: 1}, pause: 400 * time.Millisecond,
		cuts: []string{account(4), account(8)}, points: b.points(), least: leastOps / 4, leases: true,
	}
}

// TestLocksSurvive splits and merges ranges, and transfers their leaderships, under
// transactions that hold locks.
func TestLocksSurvive(t *testing.T) {
	all, length := seeds(t, 10)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runHeld(t, seed, length) })
	}
}

func runHeld(t *testing.T, seed uint64, length time.Duration) {
	b := heldBank{bank{accounts: 12}}
	simulated(t, seed, heldSetting(seed, length, b), b)
}
