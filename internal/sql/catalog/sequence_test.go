package catalog

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func testSequence(q Sequence) *Table {
	q.Type, q.Storage = types.Int8, 1
	return &Table{ID: 900, Database: 1, Name: "q", Kind: KindSequence, Sequence: &q}
}

func TestSequenceBounds(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	for i, c := range []struct {
		q    Sequence
		want []int64
	}{
		{Sequence{First: 1, Increment: 1, Min: 1, Max: 3, Cache: 1}, []int64{1, 2, 3}},
		{Sequence{First: 1, Increment: 2, Min: 1, Max: 4, Cache: 1, Cycle: true}, []int64{1, 3, 1, 3}},
		{Sequence{First: -1, Increment: -1, Min: -3, Max: -1, Cache: 50}, []int64{-1, -2, -3}},
		{Sequence{First: math.MaxInt64 - 1, Increment: 1, Min: 1, Max: math.MaxInt64, Cache: 1}, []int64{math.MaxInt64 - 1, math.MaxInt64}},
		{Sequence{First: math.MinInt64 + 1, Increment: math.MinInt64, Min: math.MinInt64, Max: math.MaxInt64, Cache: 1}, []int64{math.MinInt64 + 1}},
	} {
		s := testSequence(c.q)
		s.ID += ID(i)
		for _, want := range c.want {
			if got, err := n.cat.NextVal(ctx, s); err != nil || got != want {
				t.Errorf("case %d: got %d, want %d: %v", i, got, want, err)
			}
		}
		if c.q.Cycle {
			continue
		}
		if _, err := n.cat.NextVal(ctx, s); pgerr.CodeOf(err) != pgerr.SequenceGeneratorLimitExceeded {
			t.Errorf("case %d: past the end: %v", i, err)
		}
	}
}

func TestSequenceIsUniqueAcrossRestarts(t *testing.T) {
	n := openNode(t, fs.NewMem())
	q := testSequence(Sequence{First: 1, Increment: 1, Min: 1, Max: 1000, Cache: 1})
	seen := map[int64]bool{}
	var mu sync.Mutex
	for range 3 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 20 {
					v, err := n.cat.NextVal(ctx, q)
					mu.Lock()
					if err != nil || seen[v] {
						t.Errorf("value %d again, or %v", v, err)
					}
					seen[v] = true
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		n.close(t)
		n = openNode(t, n.disk)
	}
	defer n.close(t)
	last, called, err := n.cat.SequenceValue(ctx, q)
	if err != nil || !called || last < int64(len(seen)) {
		t.Errorf("last value %d %v after %d values: %v", last, called, len(seen), err)
	}
}

// TestSequenceBlocks: blocks grow from what CACHE says while they are used up quickly, and begin again after a pause.
func TestSequenceBlocks(t *testing.T) {
	const quick, slow, pause = shortBlock - 1, longBlock - 1, longBlock
	type step struct {
		after time.Duration
		want  int64
	}
	for _, c := range []struct {
		cache int64
		steps []step
	}{
		{1, []step{{0, 32}, {quick, 128}, {slow, 128}, {quick, 512}, {pause, 32}, {quick, 128}}},
		{50, []step{{0, 50}, {quick, 200}, {pause, 50}}},
		{rowIDCache, []step{{0, 4096}, {quick, 16384}, {quick, 65536}, {quick, maxBlock}, {quick, maxBlock}, {slow, maxBlock}, {pause, 4096}}},
		{2 * maxBlock, []step{{0, 2 * maxBlock}, {quick, 2 * maxBlock}, {slow, 2 * maxBlock}}},
	} {
		var v sequenceValues
		now := time.Now()
		for i, s := range c.steps {
			now = now.Add(s.after)
			if got := v.nextBlock(now, c.cache); got != s.want {
				t.Errorf("CACHE %d: block %d has %d values, want %d", c.cache, i, got, s.want)
			}
		}
	}
}

func TestSetVal(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	q := testSequence(Sequence{First: 1, Increment: 1, Min: 1, Max: 100, Cache: 1})
	next := func(want int64) {
		t.Helper()
		if got, err := n.cat.NextVal(ctx, q); err != nil || got != want {
			t.Errorf("got %d, want %d: %v", got, want, err)
		}
	}
	next(1)
	if err := n.cat.SetVal(ctx, q, 50, true); err != nil {
		t.Fatal(err)
	}
	next(51)
	if err := n.cat.SetVal(ctx, q, 50, false); err != nil {
		t.Fatal(err)
	}
	next(50)
	if err := n.cat.SetVal(ctx, q, 101, true); pgerr.CodeOf(err) != pgerr.NumericValueOutOfRange {
		t.Error(err)
	}
	next(51)
}
