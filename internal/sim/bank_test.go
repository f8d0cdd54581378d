package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// bank moves money between accounts, and audits them. Values are balances with a
// number behind them that makes them unique.
type bank struct{ accounts int }

const initialBalance = 100

func account(i int) string { return fmt.Sprintf("\x10bank%02d", i) }

func (b bank) points() (keys []string) {
	for i := range b.accounts {
		keys = append(keys, account(i))
	}
	return keys
}

func (b bank) keys() keys.Span { return prefix("\x10bank") }

// prefix covers the keys that begin with p.
func prefix(p string) keys.Span { return keys.Span{Start: []byte(p), End: keys.PrefixEnd([]byte(p))} }

func (b bank) initial() map[string]string {
	m := map[string]string{}
	for i := range b.accounts {
		m[account(i)] = fmt.Sprintf("%d/0-%d", initialBalance, i)
	}
	return m
}

func balance(value string) int64 {
	n, _, _ := strings.Cut(value, "/")
	b, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return -1 << 40 // no sum comes out right with it
	}
	return b
}

func (b bank) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	if rng.IntN(4) == 0 {
		s.transact(ctx, client, inc, check.BankSnapshot, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
			return readAll(ctx, t, op, b.keys())
		})
		return
	}
	i := rng.IntN(b.accounts)
	j := (i + 1 + rng.IntN(b.accounts-1)) % b.accounts
	from, to, amount := account(i), account(j), int64(1+rng.IntN(10))
	s.transact(ctx, client, inc, check.BankTransfer, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		op.Transfer = &check.Transfer{From: from, To: to, Amount: amount}
		var now [2]string
		for i, key := range []string{from, to} {
			read := get
			if rng.IntN(2) == 0 {
				read = lockKey
			}
			var err error
			if now[i], err = read(ctx, t, op, key); err != nil {
				return err
			}
		}
		value := func(b int64) string { return fmt.Sprintf("%d/%d", b, s.unique()) }
		return put(ctx, t, op,
			check.Access{Key: from, Value: value(balance(now[0]) - amount)}, check.Access{Key: to, Value: value(balance(now[1]) + amount)})
	})
}

func (b bank) check(ops []check.Op, initial, final map[string]string) error {
	return check.Bank{Initial: balances(initial)}.Check(amounts(ops), balances(final))
}

// amounts returns the operations with balances for values.
func amounts(ops []check.Op) []check.Op {
	out := make([]check.Op, len(ops))
	for i, o := range ops {
		reads := make([]check.Access, len(o.Reads))
		for j, a := range o.Reads {
			a.Value = strconv.FormatInt(balance(a.Value), 10)
			reads[j] = a
		}
		o.Reads = reads
		out[i] = o
	}
	return out
}

func balances(values map[string]string) map[string]int64 {
	out := map[string]int64{}
	for k, v := range values {
		out[k] = balance(v)
	}
	return out
}
