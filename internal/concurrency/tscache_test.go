package concurrency

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
)

func ts(wall int) hlc.Timestamp { return hlc.Timestamp{WallTime: int64(wall)} }

// drawTS draws a timestamp from few, so that equal ones occur.
func drawTS(t *rapid.T) hlc.Timestamp {
	return hlc.Timestamp{
		WallTime: rapid.Int64Range(1, 20).Draw(t, "wall"),
		Logical:  rapid.Uint32Range(0, 1).Draw(t, "logical"),
	}
}

// modelRead is one read; single keys are spans [key, key+"\x00").
type modelRead struct {
	start, end []byte
	ts         hlc.Timestamp
	txn        TxnID
}

// readModel is a timestamp cache that forgets nothing.
type readModel struct {
	reads []modelRead
	low   hlc.Timestamp
}

func (m *readModel) get(key []byte, self TxnID) hlc.Timestamp {
	ts := m.low
	for _, r := range m.reads {
		if spanContains(r.start, r.end, key) && (r.txn != self || self.IsZero()) {
			ts = ts.Max(r.ts)
		}
	}
	return ts
}

func (m *readModel) max() hlc.Timestamp {
	ts := m.low
	for _, r := range m.reads {
		ts = ts.Max(r.ts)
	}
	return ts
}

// TestReadMark compares one mark, and two merged, with the list of all reads.
func TestReadMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		txns := rapid.Uint64Range(0, 3)
		var marks [2]readMark
		var m readModel
		for range rapid.IntRange(0, 8).Draw(t, "reads") {
			r := modelRead{ts: drawTS(t), txn: TxnID{Lo: txns.Draw(t, "txn")}}
			marks[rapid.IntRange(0, 1).Draw(t, "mark")].add(r.ts, r.txn)
			m.reads = append(m.reads, r)
		}
		marks[0].merge(marks[1])
		if marks[0].latest().Less(marks[0].second()) {
			t.Fatalf("invariant 6: second after latest: %+v", marks[0])
		}
		for self := range uint64(5) {
			id := TxnID{Lo: self}
			if got, want := marks[0].get(id), m.get(nil, id); got != want {
				t.Fatalf("reads by others than %d: got %v, want %v", self, got, want)
			}
		}
	})
}

// TestTimestampCacheModel checks invariant 7, that the answer is never too low,
// and that it is exact while the limits are not reached and no bucket is full.
func TestTimestampCacheModel(t *testing.T) {
	big := TimestampCacheOptions{KeySlots: 4096}
	tiny := TimestampCacheOptions{KeySlots: 3, SpanCount: 8}
	fewBytes := TimestampCacheOptions{KeySlots: 64, SpanBytes: 300}
	grows := TimestampCacheOptions{KeySlots: 1 << 10}
	t.Run("grows", rapid.MakeCheck(func(t *rapid.T) { runReadModel(t, grows, false) }))
	t.Run("exact", rapid.MakeCheck(func(t *rapid.T) { runReadModel(t, big, true) }))
	t.Run("tiny", rapid.MakeCheck(func(t *rapid.T) { runReadModel(t, tiny, false) }))
	t.Run("few bytes", rapid.MakeCheck(func(t *rapid.T) { runReadModel(t, fewBytes, false) }))
}

func runReadModel(t *rapid.T, o TimestampCacheOptions, exact bool) {
	var keys [][]byte
	for i := range 12 {
		keys = append(keys, fmt.Appendf(nil, "%x", i))
	}
	keys = append(keys, nil, []byte("3\x00"), []byte("77"))
	probes := append(slices.Clone(keys), []byte("a5"), []byte("zz")) // also keys that are not boundaries
	c := NewTimestampCache(o, ts(1))
	for exact {
		c = NewTimestampCache(o, ts(1))
		c.keys.Store(newKeyTable(c.maxSlots))
		if !fullBuckets(c, probes) {
			break
		}
	}
	m := readModel{low: ts(1)}
	key := rapid.SampledFrom(keys)
	txn := rapid.Custom(func(t *rapid.T) TxnID { return TxnID{Lo: rapid.Uint64Range(0, 3).Draw(t, "txn")} })
	t.Repeat(map[string]func(*rapid.T){
		"key": func(t *rapid.T) {
			k, id, at := key.Draw(t, "key"), txn.Draw(t, "txn"), drawTS(t)
			c.AddKey(k, at, id)
			m.reads = append(m.reads, modelRead{k, append(append([]byte{}, k...), 0), at, id})
		},
		"span": func(t *rapid.T) {
			start, end, id, at := key.Draw(t, "start"), key.Draw(t, "end"), txn.Draw(t, "txn"), drawTS(t)
			c.AddSpan(start, end, at, id)
			m.reads = append(m.reads, modelRead{start, end, at, id})
		},
		"low water": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "seldom") == 0 {
				at := drawTS(t)
				c.RaiseLowWater(at)
				m.low = m.low.Max(at)
			}
		},
		"shrink": func(*rapid.T) {
			if !exact {
				c.Shrink()
			}
		},
		"inherit": func(*rapid.T) { // what is read afterwards goes to the new cache alone
			former := c
			c = NewTimestampCache(o, hlc.Timestamp{})
			c.Inherit(former)
			for _, k := range probes {
				former.AddKey(k, ts(1<<20), TxnID{})
				former.AddSpan(k, nil, ts(1<<20), TxnID{})
			}
		},
		"many": func(t *rapid.T) { // fills the table
			for i := range rapid.IntRange(0, 40).Draw(t, "n") {
				k, at := fmt.Appendf(nil, "many%d", i), drawTS(t)
				if exact {
					return
				}
				c.AddKey(k, at, TxnID{})
				m.reads = append(m.reads, modelRead{k, append(append([]byte{}, k...), 0), at, TxnID{}})
			}
		},
		"": func(t *rapid.T) { compareReads(t, c, &m, probes, exact) },
	})
}

// fullBuckets reports whether a bucket can't remember all of its keys.
func fullBuckets(c *TimestampCache, keys [][]byte) bool {
	n, t := map[*keyBucket]int{}, c.keys.Load()
	for _, k := range keys {
		b := t.bucket(t.hash(k))
		if n[b]++; n[b] > bucketWays {
			return true
		}
	}
	return false
}

func compareReads(t *rapid.T, c *TimestampCache, m *readModel, keys [][]byte, exact bool) {
	for self := range uint64(5) {
		id := TxnID{Lo: self}
		var latest hlc.Timestamp
		for _, k := range keys {
			got, want := c.GetKey(k, id), m.get(k, id)
			latest = latest.Max(got)
			if got.Less(want) || m.max().Less(got) || (exact && got != want) {
				t.Fatalf("key %q, self %d: got %v, want %v (exact: %v)", k, self, got, want, exact)
			}
		}
		if got := c.GetKeys(keys, id); got != latest {
			t.Fatalf("GetKeys: got %v, want %v", got, latest)
		}
	}
}

// TestSpanMapModel drives an interval map through block splits and collapses.
func TestSpanMapModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m spanMap
		var model readModel
		id := TxnID{Lo: 1}
		for i := range rapid.IntRange(1, 400).Draw(t, "spans") {
			start := rapid.IntRange(0, 999).Draw(t, "start")
			length := rapid.SampledFrom([]int{1, 2, 5, 500}).Draw(t, "length")
			at := ts(i + 1 - rapid.IntRange(0, 5).Draw(t, "late"))
			var mark readMark
			mark.add(at, id)
			r := modelRead{fmt.Appendf(nil, "%04d", start), fmt.Appendf(nil, "%04d", start+length), at, id}
			if length == 500 && start%2 == 0 {
				r.end = nil
			}
			m.add(r.start, r.end, mark)
			model.reads = append(model.reads, r)
		}
		checkSpanMap(t, &m)
		for i := range 1600 {
			key := fmt.Appendf(nil, "%04d", i)
			// Of one transaction only the latest read counts for the others:
			// that is exact even where boundaries were collapsed.
			if got, want := m.get(key, TxnID{Lo: 2}), model.get(key, TxnID{Lo: 2}); got != want {
				t.Fatalf("%s: got %v, want %v", key, got, want)
			}
		}
	})
}

func checkSpanMap(t *rapid.T, m *spanMap) {
	n := 0
	var prev []byte
	for _, b := range m.blocks {
		if len(b) == 0 || len(b) > blockBoundaries {
			t.Fatalf("block of %d boundaries", len(b))
		}
		for _, x := range b {
			if n > 0 && string(x.key) <= string(prev) {
				t.Fatalf("boundary %q after %q", x.key, prev)
			}
			prev = x.key
			n++
		}
	}
	if n != m.n {
		t.Fatalf("%d boundaries, counter says %d", n, m.n)
	}
}

// TestSpanCollapse checks that a newer read of a span with many boundaries makes
// them few, and answers too high only for its own transaction.
func TestSpanCollapse(t *testing.T) {
	var m spanMap
	for i := range 1000 {
		var mark readMark
		mark.add(ts(i+1), TxnID{Lo: 7})
		m.add(fmt.Appendf(nil, "%04d", i), fmt.Appendf(nil, "%04d", i+1), mark)
	}
	if m.n != 1001 {
		t.Fatalf("%d boundaries", m.n)
	}
	var scan readMark
	scan.add(ts(2000), TxnID{Lo: 8})
	m.add([]byte("0100"), []byte("0900"), scan)
	if m.n != 202 {
		t.Errorf("%d boundaries after the scan", m.n)
	}
	for _, c := range []struct {
		key  string
		self uint64
		want int
	}{
		{"0099", 8, 100}, {"0100", 7, 2000}, {"0500", 9, 2000}, {"0899", 7, 2000}, {"0900", 7, 0}, {"0900", 9, 901},
		{"0500", 8, 900}, // exact would be 501
	} {
		if got := m.get([]byte(c.key), TxnID{Lo: c.self}); got != ts(c.want) {
			t.Errorf("%s without %d: got %v, want %v", c.key, c.self, got, ts(c.want))
		}
	}
}

// TestTimestampCacheMemory shows that a cache costs little before it is used, grows
// with the keys read, and gives the memory back once nothing is read.
func TestTimestampCacheMemory(t *testing.T) {
	c := NewTimestampCache(TimestampCacheOptions{}, ts(1))
	if c.GetKey([]byte("a"), TxnID{}) != ts(1) || c.keys.Load() != nil {
		t.Fatal("an unused cache has a table")
	}
	c.AddKey([]byte("a"), ts(5), TxnID{Lo: 1})
	if n := c.keys.Load().size(); n != firstKeySlots {
		t.Fatalf("%d slots for one key", n)
	}
	for i := range 600 {
		c.AddKey(fmt.Appendf(nil, "%d", i), ts(6), TxnID{Lo: 2})
	}
	if n := c.keys.Load().size(); n < 600 || n > 1<<15 {
		t.Fatalf("%d slots for 600 keys", n)
	}
	if c.Shrink() {
		t.Fatal("shrunk although there were reads")
	}
	c.AddSpan([]byte("a"), []byte("b"), ts(9), TxnID{})
	if c.Shrink() || !c.Shrink() || c.keys.Load() != nil {
		t.Fatal("an idle cache keeps its table")
	}
	if got := c.GetKey([]byte("never read"), TxnID{}); got != ts(9) {
		t.Fatalf("after shrinking: %v", got)
	}
}

// TestTimestampCacheRace adds reads while the table grows and shrinks: none may be
// forgotten.
func TestTimestampCacheRace(t *testing.T) {
	c := NewTimestampCache(TimestampCacheOptions{KeySlots: 256}, hlc.Timestamp{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				k, at := fmt.Appendf(nil, "%d-%d", g, i%300), ts(i+1)
				c.AddKey(k, at, TxnID{})
				if got := c.GetKey(k, TxnID{Lo: 9}); got.Less(at) {
					t.Errorf("read at %v, remembered %v", at, got)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			c.reads.Store(false)
			c.Shrink()
		}
	})
	wg.Wait()
}

// TestReadsOfOtherKeys shows that keys which nobody has read are not taken for others that were, also
// after the table has grown.
func TestReadsOfOtherKeys(t *testing.T) {
	c := NewTimestampCache(TimestampCacheOptions{}, ts(1))
	read := func(n int) {
		for i := range n {
			c.AddKey(fmt.Appendf(nil, "read%d", i), ts(2+i), TxnID{Lo: uint64(i)})
		}
	}
	read(10_000) // more than fit at first
	read(100)    // these again
	taken := 0
	for i := range 100_000 {
		if c.GetKey(fmt.Appendf(nil, "unread%d", i), TxnID{Lo: 1 << 40}) != ts(1) {
			taken++
		}
	}
	if taken > 1000 {
		t.Errorf("%d of 100,000 keys count as read", taken)
	}
	for i := range 10_000 {
		if got := c.GetKey(fmt.Appendf(nil, "read%d", i), TxnID{Lo: 1 << 40}); got.Less(ts(2 + i)) {
			t.Fatalf("key %d was read at %d, remembered is %v", i, 2+i, got)
		}
	}
}
