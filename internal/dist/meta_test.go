package dist

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// withMetaRange is withRanges with a range 4 that holds the meta records, and a router that reads them.
func withMetaRange(t *testing.T, fn func(w *scriptedRanges, d *Router, first func(error))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedRanges(t)
		meta := w.add(string(metaSpan().Start), string(metaSpan().End), 1)
		meta.leader = 2
		var broken error
		d := NewRouter(Config{
			Node: 1, Local: w, Caller: w,
			FirstRange: func(context.Context) (kvpb.RangeDescriptor, error) {
				time.Sleep(time.Millisecond) // whoever asks at the same instant waits for one answer
				w.mu.Lock()
				defer w.mu.Unlock()
				w.looked++
				return meta.desc, broken
			},
			Now: func() hlc.Timestamp { return hlc.Timestamp{WallTime: 9} },
		})
		fn(w, d, func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			broken = err
		})
	})
}

func TestMetaLookup(t *testing.T) {
	withMetaRange(t, func(w *scriptedRanges, d *Router, _ func(error)) {
		w.publish()
		w.meta = w.meta[1:] // as on a real cluster, where the first range needs no record
		var wg sync.WaitGroup
		for _, k := range []string{"q", "b", "q", "i"} {
			wg.Go(func() { mustGet(w, d, k) })
		}
		wg.Wait()
		log := w.took()
		gets := slices.DeleteFunc(slices.Clone(log), func(l string) bool { return strings.Contains(l, "scan") })
		if w.looked != 1 || len(gets) != 4 || len(log) > 7 {
			t.Errorf("%d lookups of the first range; %q", w.looked, log)
		}
		mustGet(w, d, "i")
		w.expect("n1 r2 get i-")
	})
}

// One lookup also finds the next ranges.
func TestPrefetch(t *testing.T) {
	withMetaRange(t, func(w *scriptedRanges, d *Router, _ func(error)) {
		w.publish()
		w.meta = w.meta[1:]
		mustGet(w, d, "b")
		mustGet(w, d, "i")
		mustGet(w, d, "q")
		if n := len(w.took()); n != 4 {
			t.Errorf("%d requests, want a scan and three gets", n)
		}
	})
}

// The record of a range that was just split off may be a little late.
func TestGapInMetaRecords(t *testing.T) {
	withMetaRange(t, func(w *scriptedRanges, d *Router, first func(error)) {
		w.publish()
		all := slices.Clone(w.meta[1:])
		w.meta = slices.Delete(slices.Clone(all), 1, 2)
		time.AfterFunc(70*time.Millisecond, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.meta = all
		})
		mustGet(w, d, "i")
		w.meta = nil
		var down *kvpb.UnavailableError
		if err := get(d, "zz"); !errors.As(err, &down) || !strings.Contains(err.Error(), "no range") {
			t.Errorf("a key that no range holds: %v", err)
		}
	})
}

// A cluster that has one range needs no meta records.
func TestYoungCluster(t *testing.T) {
	withMetaRange(t, func(w *scriptedRanges, d *Router, first func(error)) {
		w.meta = nil
		w.ranges[4].desc.EndKey = keys.ReplicatedSpan().End
		first(errors.New("nobody answers"))
		time.AfterFunc(100*time.Millisecond, func() { first(nil) })
		mustGet(w, d, string(keys.SystemKey("x")))
		w.expect("n2 r4 get " + string(keys.SystemKey("x")) + "-")
	})
}

func TestDamagedMetaRecord(t *testing.T) {
	withMetaRange(t, func(w *scriptedRanges, d *Router, _ func(error)) {
		w.publish()
		w.meta = nil
		w.fail = func(op string, _ kvpb.NodeID, _ kvpb.RangeID) error {
			if op == "scan" {
				return errors.New("bad block")
			}
			return nil
		}
		if err := get(d, "b"); err == nil || !strings.Contains(err.Error(), "bad block") {
			t.Errorf("got %v", err)
		}
	})
}
