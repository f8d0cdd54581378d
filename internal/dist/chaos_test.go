package dist

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/kvpb"
)

// shake makes a random change to the cluster.
func (w *scriptedRanges) shake(t *rapid.T) {
	key := string(rune('a' + rapid.IntRange(0, 24).Draw(t, "where")))
	r := w.at(key)
	switch rapid.IntRange(0, 7).Draw(t, "what") {
	case 0, 1:
		if string(r.desc.StartKey) < key {
			w.split(key)
		}
	case 2:
		w.merge(key)
	case 3:
		n := kvpb.NodeID(rapid.IntRange(1, 5).Draw(t, "node"))
		w.move(key, n, n%5+1, (n+1)%5+1)
	case 4:
		r.leader = rapid.SampledFrom(r.desc.Replicas).Draw(t, "leader").Node
	case 5:
		r.shy = !r.shy
	case 6:
		n := rapid.SampledFrom(r.desc.Replicas).Draw(t, "lossy").Node
		w.lost[n]++
	case 7:
		w.publish()
	}
}

// Whatever changes before and during requests: scans see each row once, commits happen once, and no part of a request
// reaches a range that does not hold it (invariant D1: the replicas would refuse it).
func TestChaos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newScriptedRanges(t)
			d := w.router()
			w.fail = func(string, kvpb.NodeID, kvpb.RangeID) error {
				if rapid.IntRange(0, 5).Draw(rt, "shake") == 0 {
					w.shake(rt)
				}
				return nil
			}
			stop := make(chan struct{})
			go func() { // leaders bring the meta records up to date
				for {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
						w.mu.Lock()
						w.publish()
						w.mu.Unlock()
					}
				}
			}()
			defer close(stop)
			w.requests(rt, d)
		})
	})
}

func (w *scriptedRanges) requests(t *rapid.T, d *Router) {
	ctx := context.Background()
	want := map[string]string{}
	for i := range rapid.IntRange(1, 15).Draw(t, "requests") {
		k := string(rune('a' + rapid.IntRange(0, 24).Draw(t, "key")))
		switch rapid.IntRange(0, 3).Draw(t, "request") {
		case 0:
			err := commit(ctx, d, uint64(i+1), k)
			switch kvpb.Classify(err) {
			case kvpb.ClassAmbiguous:
				w.mu.Lock()
				want[k] = w.data[k]
				w.mu.Unlock()
			default:
				if err != nil {
					t.Fatalf("commit: %v", err)
				}
				want[k] += "x"
			}
		case 1:
			var resp kvpb.GetResponse
			if err := d.Get(ctx, &kvpb.GetRequest{Key: []byte(k)}, &resp); err != nil || string(resp.Value) != want[k] {
				t.Fatalf("get %s: %q, want %q: %v", k, resp.Value, want[k], err)
			}
		case 2:
			if err := d.Refresh(ctx, &kvpb.RefreshRequest{Spans: spansOf(k+"z", "b", "a"+k)}); err != nil && k != "a" {
				t.Fatal(err)
			}
		case 3:
			reverse := rapid.Bool().Draw(t, "reverse")
			var keys []string
			for wk, v := range want {
				if wk >= k && v != "" {
					keys = append(keys, wk)
				}
			}
			slices.Sort(keys)
			if got := scan(w.t, d, k, "z", reverse, nil); got != strings.Join(keys, " ") {
				t.Fatalf("scan of [%s,z), reverse %t: got %s, want %s", k, reverse, got, fmt.Sprint(keys))
			}
		}
	}
}
