package stats

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
)

// TestSelectRanks: the values at the ranks are those of the sorted list, for lists in any order and with many equals.
func TestSelectRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 31, 33, 500, 5000} {
		for _, distinct := range []int{1, 3, 50, 1 << 30} {
			for _, ordered := range []bool{false, true} {
				values := make([]types.Datum, n)
				for i := range values {
					values[i] = types.NewInt(int64(rng.IntN(distinct)))
				}
				sorted := slices.Clone(values)
				slices.SortFunc(sorted, func(a, b types.Datum) int { return cmp.Compare(a.Int(), b.Int()) })
				if ordered {
					copy(values, sorted)
				}
				got := histogram(values, types.Int8)
				for i, d := range got {
					if want := sorted[i*(n-1)/(len(got)-1)]; d != want {
						t.Fatalf("bound %d of %d values, %d distinct: %d, want %d", i, n, distinct, d.Int(), want.Int())
					}
				}
				slices.SortFunc(values, func(a, b types.Datum) int { return cmp.Compare(a.Int(), b.Int()) })
				if !slices.Equal(values, sorted) {
					t.Fatalf("the %d values are not the same ones", n)
				}
			}
		}
	}
}

// TestRest: an analysis rests while others run statements, in proportion to its work, and no longer than mostRest.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := true
		r, began := &rest{busy: func() bool { return busy }}, time.Now()
		work := func(d time.Duration) time.Duration {
			at := time.Now()
			time.Sleep(d)
			worked := time.Now()
			if err := r.after(context.Background(), at); err != nil {
				t.Fatal(err)
			}
			return time.Since(worked)
		}
		if got := work(time.Millisecond); got != restFactor*time.Millisecond {
			t.Errorf("rested for %v", got)
		}
		busy = false
		if got := work(time.Millisecond); got != 0 {
			t.Errorf("rested for %v although nothing else runs", got)
		}
		busy = true
		work(time.Hour)
		if got := work(time.Hour); got != 0 {
			t.Errorf("rested for %v more than it may", got)
		}
		if sum := time.Since(began) - 2*time.Hour - 2*time.Millisecond; sum != mostRest {
			t.Errorf("rested for %v in all", sum)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := (&rest{busy: r.busy}).after(ctx, time.Now()); err == nil {
			t.Error("an analysis goes on that was ended")
		}
	})
}
