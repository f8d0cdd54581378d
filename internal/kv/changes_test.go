package kv_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// A scan of changes finds what was written, changed and deleted after a snapshot, whatever became of the intents of
// transactions that have spilled, and nothing that was written before these began.
func TestChangesSince(t *testing.T) {
	ctx := context.Background()
	for _, ranges := range [][]string{nil, {"d"}} {
		for _, spilled := range []bool{false, true} {
			t.Run(fmt.Sprintf("split at %s, spilled %v", ranges, spilled), func(t *testing.T) {
				r := newRanges(t, fs.NewMem(), ranges...)
				defer r.close()
				g, other := r.gateway(), r.gateway()
				if spilled {
					g.db.SetSpill(1 << 10)
				}
				other.mustSet("old", "a", "b", "c", "d", "e")
				other.router.Wait()
				writer := g.begin(kv.TxnOptions{}) // begins before the snapshot, commits after it
				write := func(k string) {
					if _, err := writer.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil {
						t.Fatal(err)
					}
					if err := writer.Put(key(k), make([]byte, 2<<10)); err != nil {
						t.Fatal(err)
					}
				}
				write("b")
				if err := writer.Delete(key("e")); err != nil {
					t.Fatal(err)
				}
				since := other.begin(kv.TxnOptions{ReadOnly: true, Isolation: kv.RepeatableRead})
				var page kvpb.ScanResponse
				if err := since.Scan(ctx, key("a"), key("z"), kv.ScanOptions{}, &page); err != nil || page.Len() == 0 {
					t.Fatal(page.Len(), err)
				}
				write("f")
				other.mustSet("new", "d")
				if err := writer.Commit(ctx); err != nil {
					t.Fatal(err)
				}
				now := other.begin(kv.TxnOptions{})
				found := map[string]bool{}
				for start := key("a"); start != nil; start = slices.Clone(page.Resume) {
					o := kv.ScanOptions{MaxRows: 2, ChangedSince: since.ReadTimestamp()}
					if err := now.Scan(ctx, start, key("z"), o, &page); err != nil {
						t.Fatal(err)
					}
					for i := range page.Len() {
						found[string(page.Key(i))] = true
					}
				}
				for _, k := range []string{"b", "d", "e", "f"} {
					if !found[string(key(k))] {
						t.Errorf("%s is missing", k)
					}
				}
				if len(found) != 4 {
					t.Errorf("%d keys have changed", len(found))
				}
				since.Rollback(ctx)
				now.Rollback(ctx)
				g.router.Wait()
			})
		}
	}
}
