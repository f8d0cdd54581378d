package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// ingests writes blocks of keys beside transactions, which read them, and change single keys, once
// they are known to be there.
type ingests struct {
	mu    sync.Mutex
	begun int
	// first is the value of the first key of each block that is known, and of its other keys before.
	first map[int]string
	// unsure are blocks of whose first key nobody knows whether it was changed.
	unsure map[int]bool
}

const (
	ingestPrefix = "\x10ing"
	ingestBlock  = 20 // keys
)

func ingestKey(block, i int) string { return fmt.Sprintf("%s%04d/%02d", ingestPrefix, block, i) }

func (w *ingests) points() (points []string) {
	for b := range 300 {
		points = append(points, ingestKey(b, b%ingestBlock))
	}
	return points
}

func (w *ingests) keys() keys.Span { return prefix(ingestPrefix) }

func (w *ingests) initial() map[string]string { return nil }

// pick returns a block that is known, and the value of its first key; ok is false if there is none.
func (w *ingests) pick(rng *rand.Rand) (block int, first string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var known []int
	for b := range w.first {
		known = append(known, b)
	}
	if len(known) == 0 {
		return 0, "", false
	}
	slices.Sort(known)
	block = known[rng.IntN(len(known))]
	return block, w.first[block], !w.unsure[block]
}

func (w *ingests) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	block, first, ok := w.pick(rng)
	switch {
	case !ok || rng.IntN(3) == 0:
		w.ingest(ctx, inc, s.unique())
	case rng.IntN(4) == 0:
		w.change(ctx, s, client, inc, block)
	default:
		w.read(ctx, s, client, inc, block, first)
	}
}

// ingest writes the next block.
func (w *ingests) ingest(ctx context.Context, inc *incarnation, value int) {
	w.mu.Lock()
	block := w.begun
	w.begun++
	w.mu.Unlock()
	var writes []kv.Write
	for i := range ingestBlock {
		writes = append(writes, kv.Write{Key: []byte(ingestKey(block, i)), Value: fmt.Append(nil, value)})
	}
	if inc.db.Ingest(ctx, writes, nil) == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.first[block] = fmt.Sprint(value)
	}
}

// change writes the first key of a block. From then on its readers do not expect a value of it.
func (w *ingests) change(ctx context.Context, s *simulation, client int, inc *incarnation, block int) {
	w.mu.Lock()
	w.unsure[block] = true
	w.mu.Unlock()
	s.transact(ctx, client, inc, "change", kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		key := ingestKey(block, 0)
		if _, err := lockKey(ctx, t, op, key); err != nil {
			return err
		}
		op.Reads = nil // as in read
		return put(ctx, t, op, check.Access{Key: key, Value: fmt.Sprint(s.unique())})
	})
}

// read reads a block.
func (w *ingests) read(ctx context.Context, s *simulation, client int, inc *incarnation, block int, value string) {
	s.transact(ctx, client, inc, "read", kv.TxnOptions{}, func(t *kv.Txn, op *check.Op) error {
		if err := readAll(ctx, t, op, prefix(ingestKey(block, 0)[:len(ingestKey(block, 0))-2])); err != nil {
			return err
		}
		if len(op.Reads) != ingestBlock {
			s.fail(fmt.Errorf("block %d has %d keys", block, len(op.Reads)))
		}
		for _, r := range op.Reads {
			if r.Value != value && r.Key != ingestKey(block, 0) {
				s.fail(fmt.Errorf("%q is %q, want %q", r.Key, r.Value, value))
			}
		}
		op.Reads = nil // the history does not tell who wrote them
		return nil
	})
}

func (w *ingests) check(_ []check.Op, _, final map[string]string) error {
	if len(w.first) < 50 {
		return fmt.Errorf("%d blocks were ingested, %w", len(w.first), errProvesNothing)
	}
	for block, value := range w.first {
		for i := range ingestBlock {
			got, ok := final[ingestKey(block, i)]
			if !ok || got != value && (i > 0 || !w.unsure[block]) {
				return fmt.Errorf("key %d of block %d is %q, %t, want %q", i, block, got, ok, value)
			}
		}
	}
	return nil
}

// TestIngests ingests blocks under all faults: what was acknowledged is there, whatever becomes of the
// nodes and the ranges, and the replicas agree.
func TestIngests(t *testing.T) {
	all, length := seeds(t, 7)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &ingests{first: map[int]string{}, unsure: map[int]bool{}}
			simulated(t, seed, setting{
				nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{ingestKey(20, 7), ingestKey(60, 3)}, points: w.points(),
				least: leastOps / 4,
			}, w)
			t.Logf("%d blocks", len(w.first))
		})
	}
}
