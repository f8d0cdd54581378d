package spanconfig

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// newTestWatchers returns watchers of two nodes over one gateway.
func newTestWatchers(t *testing.T) (a, b *Watcher) {
	n := clustertest.Open(t, fs.NewMem())
	t.Cleanup(n.Close)
	clock, db := n.Clock, n.DB
	watcher := func(id kvpb.NodeID) *Watcher {
		return NewWatcher(Options{
			DB: func() *kv.DB { return db }, Node: func() kvpb.NodeID { return id }, Clock: clock, GCTTL: time.Hour, Logger: slog.New(slog.DiscardHandler),
		})
	}
	return watcher(1), watcher(2)
}

func (w *Watcher) mustRead(t *testing.T) (changed bool) {
	t.Helper()
	changed, err := w.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestReadSplits: a node sees its own splits at once, those of another when that has announced
// them, or after allSplitsEvery.
func TestReadSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTestWatchers(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		key := keys.IndexPrefix(1, 5, 1)
		sees := func(w *Watcher, want bool) {
			t.Helper()
			w.mustRead(t)
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
		if b.mustRead(t) {
			t.Error("changed, though nothing has")
		}
		cancel() // the node dies before it announces the next change
		synctest.Wait()
		if err := a.SetSplit(context.Background(), key, hlc.Timestamp{}); err != nil {
			t.Fatal(err)
		}
		sees(b, true)
		<-time.After(allSplitsEvery)
		sees(b, false)
	})
}

// TestTTL: before the first reading nothing is collected that the built-in default or a zone
// might protect; then the longest time in the span counts, and the flag where there is no zone.
func TestTTL(t *testing.T) {
	c := &Config{}
	var err error
	short, long := time.Minute, 100*time.Hour
	c.zones, err = zone.NewSet([]zone.Span{
		{Start: []byte("c"), Record: zone.Record{End: []byte("d"), Config: zone.Config{GCTTL: &short}}},
		{Start: []byte("e"), Record: zone.Record{End: []byte("f"), Config: zone.Config{GCTTL: &long}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(Options{GCTTL: time.Hour})
	if got := w.TTL([]byte("c"), []byte("d")); got < *zone.Default().GCTTL {
		t.Errorf("unknown: %v", got)
	}
	if asOf, _ := w.Protected([]byte("c"), []byte("d")); !asOf.IsEmpty() {
		t.Error("something may be collected though the protections are not known")
	}
	w.now.Store(c)
	for _, x := range []struct {
		start, end string
		want       time.Duration
	}{{"c", "d", short}, {"a", "b", time.Hour}, {"a", "d", time.Hour}, {"c", "f", long}} {
		if got := w.TTL([]byte(x.start), []byte(x.end)); got != x.want {
			t.Errorf("%s to %s: %v, want %v", x.start, x.end, got, x.want)
		}
	}
}
