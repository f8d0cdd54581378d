package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// registers reads, writes and changes single keys, at all isolation levels: by itself
// each operation takes effect at one moment between its beginning and its end.
type registers struct{ n int }

const registerPrefix = "\x10reg"

func register(i int) string { return fmt.Sprintf("%s%02d", registerPrefix, i) }

func (r registers) points() (keys []string) {
	for i := range r.n {
		keys = append(keys, register(i))
	}
	return keys
}

func (r registers) keys() keys.Span { return prefix(registerPrefix) }

func (r registers) initial() map[string]string {
	m := map[string]string{}
	for i := range r.n / 2 { // the others are absent at first
		m[register(2*i)] = fmt.Sprintf("0-%d", i)
	}
	return m
}

func (r registers) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	key := register(rng.IntN(r.n))
	o := kv.TxnOptions{Isolation: []kv.Isolation{kv.Serializable, kv.RepeatableRead, kv.ReadCommitted}[rng.IntN(3)]}
	next := check.Access{Key: key, Value: fmt.Sprint(s.unique())}
	if rng.IntN(10) == 0 {
		next = check.Access{Key: key, Absent: true}
	}
	switch rng.IntN(5) {
	case 0, 1:
		s.transact(ctx, client, inc, "read", o, func(t *kv.Txn, op *check.Op) error {
			_, err := get(ctx, t, op, key)
			return err
		})
	case 2:
		s.transact(ctx, client, inc, "write", o, func(t *kv.Txn, op *check.Op) error { return put(ctx, t, op, next) })
	case 3: // SELECT FOR UPDATE, think, UPDATE
		s.transact(ctx, client, inc, "locked-change", o, func(t *kv.Txn, op *check.Op) error {
			if _, err := lockKey(ctx, t, op, key); err != nil {
				return err
			}
			<-time.After(time.Duration(rng.IntN(100)) * time.Millisecond)
			return put(ctx, t, op, next)
		})
	case 4: // read, think, write what follows from it: only where reads are repeatable
		s.transact(ctx, client, inc, "change", kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
			if _, err := get(ctx, t, op, key); err != nil {
				return err
			}
			<-time.After(time.Duration(rng.IntN(30)) * time.Millisecond)
			return put(ctx, t, op, next)
		})
	}
}

func (r registers) check(ops []check.Op, initial, _ map[string]string) error {
	return check.Linearizable{Initial: initial}.Check(ops)
}
