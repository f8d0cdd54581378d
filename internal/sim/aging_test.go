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
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// shortTTL is how long old versions stay readable where they are collected under load.
const shortTTL = time.Second

// agingBank is a bank with auditors who look at the accounts of a while ago: what they
// see is whole, or they are told that it is gone.
type agingBank struct {
	bank
	late, tooOld *atomic.Int64 // audits that succeeded after the TTL, and that came too late
}

func newAgingBank() agingBank {
	return agingBank{bank{accounts: 12}, new(atomic.Int64), new(atomic.Int64)}
}

func (b agingBank) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	if rng.IntN(4) != 0 {
		b.bank.operate(ctx, s, client, inc, rng)
		return
	}
	wait := time.Duration(rng.Int64N(int64(3 * shortTTL)))
	s.transact(ctx, client, inc, check.BankSnapshot, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		at := account(rng.IntN(b.accounts)) // fixes the snapshot
		first, err := get(ctx, t, op, at)
		if err != nil {
			return err
		}
		op.Reads = nil // it comes again with the others
		<-time.After(wait)
		err = readAll(ctx, t, op, b.keys())
		var old *kvpb.SnapshotTooOldError
		switch {
		case errors.As(err, &old):
			b.tooOld.Add(1)
			if !old.ReadTS.Less(old.Threshold) {
				s.fail(fmt.Errorf("a read at %v was refused with the threshold at %v", old.ReadTS, old.Threshold))
			}
		case err == nil && wait > shortTTL:
			b.late.Add(1)
		}
		for _, r := range op.Reads {
			if err == nil && r.Key == at && r.Value != first {
				s.fail(fmt.Errorf("%q was %q, and in the same snapshot %v later %q", at, first, wait, r.Value))
			}
		}
		return err
	})
}

func (b agingBank) check(ops []check.Op, initial, final map[string]string) error {
	if b.tooOld.Load() == 0 {
		return fmt.Errorf("no reader came too late, %w", errProvesNothing)
	}
	return b.bank.check(ops, initial, final)
}

// TestAging collects old versions all the time while readers are behind.
func TestAging(t *testing.T) {
	all, length := seeds(t, 5)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runAging(t, seed, length) })
	}
}

func runAging(t *testing.T, seed uint64, length time.Duration) {
	b := newAgingBank()
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{account(4), account(8)}, points: b.points(), ttl: shortTTL,
		least: leastOps / 3,
	}, b)
	t.Logf("audits: %d late ones found everything, %d were too late", b.late.Load(), b.tooOld.Load())
}

// TestAgingRegisters does so with keys that are deleted and written again.
func TestAgingRegisters(t *testing.T) {
	all, length := seeds(t, 6)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runAgingRegisters(t, seed, length) })
	}
}

func runAgingRegisters(t *testing.T, seed uint64, length time.Duration) {
	r := registers{n: 8}
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{register(3), register(6)}, points: r.points(), ttl: shortTTL / 2,
	}, r)
}
