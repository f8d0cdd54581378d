package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// ring follows the links of a ring that lies across all ranges and takes its members
// out and in again somewhere else. Values are links with a number that makes them
// unique.
type ring struct{ check.Ring }

const ringPrefix = "\x10ring"

func newRing(n int) ring { return ring{check.NewRing(ringPrefix, n)} }

func (r ring) keys() keys.Span { return prefix(ringPrefix) }

func (r ring) initial() map[string]string {
	m := map[string]string{}
	for i, l := range r.Initial() {
		m[l.Key] = fmt.Sprintf("%s/0-%d", l.Value, i)
	}
	return m
}

func linkOf(value string) string {
	l, _, _ := strings.Cut(value, "/")
	return l
}

func (r ring) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	if rng.IntN(4) == 0 {
		s.transact(ctx, client, inc, check.RingSnapshot, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
			return readAll(ctx, t, op, r.keys())
		})
		return
	}
	read := get
	if rng.IntN(3) == 0 {
		read = lockKey
	}
	start := r.Keys[rng.IntN(len(r.Keys))]
	s.transact(ctx, client, inc, check.RingSplice, kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		_, writes, err := r.Splice(start, func(key string) (string, error) {
			v, err := read(ctx, t, op, key)
			return linkOf(v), err
		})
		if err != nil {
			return err
		}
		for i := range writes {
			writes[i].Value = fmt.Sprintf("%s/%d", writes[i].Value, s.unique())
		}
		return put(ctx, t, op, writes...)
	})
}

func (r ring) check(ops []check.Op, _, final map[string]string) error {
	links := make([]check.Op, len(ops))
	for i, op := range ops {
		reads := make([]check.Access, len(op.Reads))
		for j, a := range op.Reads {
			a.Value = linkOf(a.Value)
			reads[j] = a
		}
		op.Reads = reads
		links[i] = op
	}
	end := check.Op{Kind: check.RingSnapshot, Outcome: check.OK}
	for _, k := range r.Keys {
		v, ok := final[k]
		end.Reads = append(end.Reads, check.Access{Key: k, Value: linkOf(v), Absent: !ok})
	}
	return r.Ring.Check(append(links, end))
}
