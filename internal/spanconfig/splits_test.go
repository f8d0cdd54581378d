package spanconfig_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/spanconfig"
)

// newTestWatchers returns watchers of two nodes over one gateway.
func newTestWatchers(t *testing.T) (a, b *spanconfig.Watcher) {
	n := clustertest.Open(t, fs.NewMem())
	t.Cleanup(n.Close)
	clock, db := n.Clock, n.DB
	watcher := func(id kvpb.NodeID) *spanconfig.Watcher {
		return spanconfig.NewWatcher(spanconfig.Options{
			DB: func() *kv.DB { return db }, Node: func() kvpb.NodeID { return id }, Clock: clock, GCTTL: time.Hour, Logger: slog.New(slog.DiscardHandler),
		})
	}
	return watcher(1), watcher(2)
}

func mustRead(t *testing.T, w *spanconfig.Watcher) (changed bool) {
	t.Helper()
	changed, err := w.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestReadSplits: a node sees its own splits at once, those of another when that has announced
// them, or after AllSplitsEvery.
func TestReadSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTestWatchers(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		key := keys.IndexPrefix(1, 5, 1)
		sees := func(w *spanconfig.Watcher, want bool) {
			t.Helper()
			mustRead(t, w)
			if got := w.Config().MustSplit(key, hlc.Timestamp{WallTime: time.Now().UnixNano()}); got != want {
				t.Errorf("a split is enforced: %v", got)
			}
		}
		sees(a, false)
		sees(b, false)
		if err := a.SetSplit(ctx, key, hlc.MaxTimestamp); err != nil {
			t.Fatal(err)
		}
		sees(a, true)
		sees(b, false) // nobody has said that there is one
		if is, err := b.MustSplit(ctx, key); err != nil || !is {
			t.Errorf("the record says %v, %v", is, err)
		}
		go a.AnnounceSplits(ctx)
		synctest.Wait()
		sees(b, true)
		if mustRead(t, b) {
			t.Error("changed, though nothing has")
		}
		cancel() // the node dies before it announces the next change
		synctest.Wait()
		if err := a.SetSplit(context.Background(), key, hlc.Timestamp{}); err != nil {
			t.Fatal(err)
		}
		sees(b, true)
		<-time.After(spanconfig.AllSplitsEvery)
		sees(b, false)
	})
}
