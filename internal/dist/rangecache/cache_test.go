package rangecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/kvpb"
)

func desc(id kvpb.RangeID, start, end string, gen uint64, nodes ...kvpb.NodeID) kvpb.RangeDescriptor {
	d := kvpb.RangeDescriptor{RangeID: id, StartKey: []byte(start), EndKey: []byte(end), Generation: gen}
	for _, n := range nodes {
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: n, Store: kvpb.StoreID(n), Replica: kvpb.ReplicaID(n)})
	}
	return d
}

func (c *Cache) String() string {
	var out []string
	for _, d := range c.Known() {
		out = append(out, fmt.Sprintf("%d[%s,%s)%d", d.RangeID, d.StartKey, d.EndKey, d.Generation))
	}
	return strings.Join(out, " ")
}

// Invariant G2.
func TestInsert(t *testing.T) {
	for _, c := range []struct {
		what  string
		descs []kvpb.RangeDescriptor
		want  string
	}{
		{"neighbours", []kvpb.RangeDescriptor{desc(2, "h", "p", 1), desc(1, "a", "h", 1), desc(3, "p", "z", 1)}, "1[a,h)1 2[h,p)1 3[p,z)1"},
		{"older", []kvpb.RangeDescriptor{desc(1, "a", "h", 2), desc(1, "a", "p", 1)}, "1[a,h)2"},
		{"the same", []kvpb.RangeDescriptor{desc(1, "a", "h", 2), desc(1, "a", "h", 2)}, "1[a,h)2"},
		{"newer", []kvpb.RangeDescriptor{desc(1, "a", "h", 1), desc(1, "a", "p", 2)}, "1[a,p)2"},
		{"split", []kvpb.RangeDescriptor{desc(1, "a", "z", 1), desc(1, "a", "h", 2), desc(2, "h", "z", 2)}, "1[a,h)2 2[h,z)2"},
		{"right half first", []kvpb.RangeDescriptor{desc(1, "a", "z", 1), desc(2, "h", "z", 2), desc(1, "a", "z", 1)}, "2[h,z)2"},
		{"merge", []kvpb.RangeDescriptor{desc(1, "a", "h", 2), desc(2, "h", "p", 5), desc(1, "a", "p", 6)}, "1[a,p)6"},
		{"merge, not the newest", []kvpb.RangeDescriptor{desc(1, "a", "h", 2), desc(2, "h", "p", 5), desc(1, "a", "p", 4)}, "1[a,h)2 2[h,p)5"},
		{"not a span", []kvpb.RangeDescriptor{desc(1, "h", "a", 2)}, ""},
	} {
		cache := New(nil)
		cache.Insert(c.descs...)
		if got := cache.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

func TestFindCached(t *testing.T) {
	c := New(nil)
	c.Insert(desc(1, "b", "h", 1), desc(2, "h", "p", 1), desc(3, "r", "z", 1))
	for key, want := range map[string]kvpb.RangeID{"a": 0, "b": 1, "g": 1, "h": 2, "o": 2, "p": 0, "q": 0, "r": 3, "z": 0} {
		if e := c.Cached([]byte(key)); (e == nil) != (want == 0) || e != nil && e.Desc().RangeID != want {
			t.Errorf("%s: got %v, want range %d", key, e, want)
		}
	}
	for end, want := range map[string]kvpb.RangeID{"a": 0, "b": 0, "bb": 1, "h": 1, "hh": 2, "p": 2, "q": 0, "r": 0, "z": 3, "zz": 0} {
		if e := c.CachedBefore([]byte(end)); (e == nil) != (want == 0) || e != nil && e.Desc().RangeID != want {
			t.Errorf("before %s: got %v, want range %d", end, e, want)
		}
	}
}

func TestLeader(t *testing.T) {
	c := New(nil)
	d := desc(1, "a", "h", 1, 1, 2, 3)
	c.Insert(d)
	e := c.Cached([]byte("b"))
	e.SetLeader(d.Replicas[1])
	e.ForgetLeader(1)
	if l := e.Leader(); l == nil || *l != d.Replicas[1] {
		t.Errorf("leader %v", l)
	}
	c.Insert(desc(1, "a", "g", 2, 1, 2))
	if l := c.Cached([]byte("b")).Leader(); l == nil || l.Node != 2 {
		t.Errorf("the leader was not kept: %v", l)
	}
	c.Insert(desc(1, "a", "g", 3, 1, 3))
	if l := c.Cached([]byte("b")).Leader(); l != nil {
		t.Errorf("a leader that is no replica any more: %v", l)
	}
	e.ForgetLeader(2)
	if e.Leader() != nil {
		t.Error("the leader was not forgotten")
	}
	c.Evict(e) // was replaced long ago
	if c.Len() != 1 {
		t.Error("evicted another entry")
	}
	c.Evict(c.Cached([]byte("b")))
	if c.Len() != 0 {
		t.Error("not evicted")
	}
}

// Invariant G1, G3: whatever is put in, entries are sorted, don't overlap, are no
// more than the limit, and each key is found in the entry that holds it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(nil)
		c.limit = 20
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if c.Len() > 0 && rapid.IntRange(0, 5).Draw(t, "evict") == 0 {
				c.Evict(c.snap.Load().entries[rapid.IntRange(0, c.Len()-1).Draw(t, "which")])
				continue
			}
			lo := rapid.IntRange(0, 200).Draw(t, "start")
			hi := lo + rapid.IntRange(1, 20).Draw(t, "length")
			d := desc(kvpb.RangeID(rapid.IntRange(1, 30).Draw(t, "id")), fmt.Sprintf("%03d", lo), fmt.Sprintf("%03d", hi),
				rapid.Uint64Range(1, 5).Draw(t, "generation"))
			before := c.String()
			if c.Insert(d) != (c.String() != before) {
				t.Fatalf("Insert(%v) answered wrong: %s, then %s", d, before, c)
			}
		}
		all := c.Known()
		if len(all) > 20 {
			t.Fatalf("%d entries", len(all))
		}
		for i, d := range all {
			if i > 0 && bytes.Compare(all[i-1].EndKey, d.StartKey) > 0 {
				t.Fatalf("overlap: %s", c)
			}
			if e := c.Cached(d.StartKey); e == nil || e.Desc() != d {
				t.Fatalf("%s is not found", d.StartKey)
			}
			if e := c.CachedBefore(d.EndKey); e == nil || e.Desc() != d {
				t.Fatalf("what ends at %s is not found", d.EndKey)
			}
		}
	})
}

// The entries that were put in first go first.
func TestLimit(t *testing.T) {
	c := New(nil)
	c.limit = 32
	for i := range 33 {
		c.Insert(desc(kvpb.RangeID(i+1), fmt.Sprintf("%03d", 100-i), fmt.Sprintf("%03d", 101-i), 1))
	}
	if c.Len() != 30 || c.Cached([]byte("100")) != nil || c.Cached([]byte("068")) == nil {
		t.Errorf("%d entries: %s", c.Len(), c)
	}
}

func TestOneLookupPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		lookups := map[string]int{}
		c := New(func(_ context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
			mu.Lock()
			lookups[string(key)]++
			mu.Unlock()
			<-time.After(time.Second)
			return []kvpb.RangeDescriptor{desc(kvpb.RangeID(key[0]), string(key), string(key)+"~", 1)}, nil
		})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				key := []byte{"ab"[i%2]}
				if e, err := c.Find(context.Background(), key); err != nil || !e.Desc().ContainsKey(key) {
					t.Errorf("%v %v", e, err)
				}
			})
		}
		wg.Wait()
		if lookups["a"] != 1 || lookups["b"] != 1 {
			t.Errorf("lookups: %v", lookups)
		}
	})
}

// A caller that gives up does not fail those that wait for its lookup.
func TestLookupCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(func(ctx context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
			select {
			case <-time.After(time.Second):
				return []kvpb.RangeDescriptor{desc(1, "a", "z", 1)}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Find(ctx, []byte("b")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller that gives up: %v", err)
			}
		})
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				if _, err := c.Find(context.Background(), []byte("b")); err != nil {
					t.Errorf("a caller that waits: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestLookupFails(t *testing.T) {
	broken := errors.New("broken")
	c := New(func(_ context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
		if key[0] == 'b' {
			return nil, broken
		}
		return []kvpb.RangeDescriptor{desc(1, "x", "z", 1)}, nil
	})
	if _, err := c.Find(context.Background(), []byte("b")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Find(context.Background(), []byte("c")); !errors.Is(err, ErrNoRange) {
		t.Errorf("got %v", err)
	}
}

// Looking for what lies before a key takes few lookups however many ranges there
// are.
func TestFindBefore(t *testing.T) {
	lookups := 0
	c := New(func(_ context.Context, key []byte) ([]kvpb.RangeDescriptor, error) {
		lookups++
		for i := 0; ; i += 2 {
			if d := desc(kvpb.RangeID(i+1), fmt.Sprintf("%04d", i), fmt.Sprintf("%04d", i+2), 1); d.ContainsKey(key) {
				return []kvpb.RangeDescriptor{d}, nil
			}
		}
	})
	for end, want := range map[string]string{"0800": "0798", "0801": "0800", "0802": "0800", "0800\x00": "0800", "08": "0798"} {
		lookups = 0
		for _, e := range c.snap.Load().entries {
			c.Evict(e)
		}
		e, err := c.FindBefore(context.Background(), []byte("0000"), []byte(end))
		if err != nil || string(e.Desc().StartKey) != want || lookups > 2 {
			t.Errorf("before %q: %v %v, %d lookups", end, e.Desc(), err, lookups)
		}
	}
	if e, err := c.FindBefore(context.Background(), []byte("0000"), []byte("0001")); err != nil || string(e.Desc().StartKey) != "0000" {
		t.Errorf("near the start: %v %v", e, err)
	}
}

// Readers and writers at the same time, for the race detector.
func TestConcurrent(t *testing.T) {
	c := New(nil)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				k := fmt.Sprintf("%03d", i%50)
				if g%2 == 0 {
					c.Insert(desc(kvpb.RangeID(i%50), k, k+"~", uint64(i), 1))
				} else if e := c.Cached([]byte(k)); e != nil {
					e.SetLeader(kvpb.ReplicaDescriptor{Node: kvpb.NodeID(i % 3)})
					e.ForgetLeader(kvpb.NodeID(i % 2))
					if i%7 == 0 {
						c.Evict(e)
					}
				}
			}
		})
	}
	wg.Wait()
}
