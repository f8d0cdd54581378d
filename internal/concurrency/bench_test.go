package concurrency

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/lock"
)

// benchKeys returns keys of the usual length of a row key.
func benchKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64([]byte("\x01table\x01pk\x00"), uint64(i)*7919)
	}
	return keys
}

func BenchmarkAcquireRelease(b *testing.B) {
	t, keys := NewLockTable(0), benchKeys(1<<14)
	h := Holder{ID: TxnID{Lo: 1}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := keys[i&(len(keys)-1)]
		if w, err := t.Acquire(k, h, lock.Update); w != nil || err != nil {
			b.Fatal("not granted")
		}
		t.Release(h.ID, k)
	}
}

// BenchmarkAcquireReleaseMany holds 1000 locks at a time, of which the shards
// keep most structs for reuse.
func BenchmarkAcquireReleaseMany(b *testing.B) {
	t, keys := NewLockTable(0), benchKeys(1000)
	h := Holder{ID: TxnID{Lo: 1}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(keys) == 0 {
			t.ReleaseAll(h.ID, keys...)
		}
		if w, err := t.Acquire(keys[i%len(keys)], h, lock.Update); w != nil || err != nil {
			b.Fatal("not granted")
		}
	}
}

// rowKeys returns the keys of neighbouring rows.
func rowKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = append(binary.BigEndian.AppendUint32([]byte("\x10\x01\x90\x01\xe3"), uint32(i)), 0)
	}
	return keys
}

// BenchmarkManyLocks takes the locks of a large statement, looks for each once, and releases them.
func BenchmarkManyLocks(b *testing.B) {
	keys, h := rowKeys(150000), Holder{ID: TxnID{Lo: 1}}
	b.ReportAllocs()
	for b.Loop() {
		t := NewLockTable(0)
		for _, k := range keys {
			if _, _, err := t.TryAcquire(k, h, lock.Update); err != nil {
				b.Fatal(err)
			}
		}
		for _, k := range keys {
			if t.Holds(k, h.ID) != lock.Update {
				b.Fatal("not held")
			}
		}
		t.ReleaseAll(h.ID, keys...)
	}
}

func BenchmarkWaitAndGrant(b *testing.B) {
	t, key := NewLockTable(0), benchKeys(1)[0]
	x, y := Holder{ID: TxnID{Lo: 1}}, Holder{ID: TxnID{Lo: 2}}
	b.ReportAllocs()
	for b.Loop() {
		t.Acquire(key, x, lock.Update)
		w, _ := t.Acquire(key, y, lock.Update)
		t.Release(x.ID, key)
		<-w.Done()
		t.Release(y.ID, key)
	}
}

// BenchmarkCheck checks the last of many updates that wait for one key.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 32, 1000} {
		b.Run(fmt.Sprintf("waiters=%d", n), func(b *testing.B) {
			t, g, key := NewLockTable(0), NewWaitGraph(), benchKeys(1)[0]
			var last *Wait
			for i := range n + 1 {
				h := Holder{ID: TxnID{Lo: uint64(i) + 1}}
				if w, _ := t.Acquire(key, h, lock.NoKeyUpdate); w != nil {
					last = g.Add(h, w)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if g.Check(last) != nil {
					b.Fatal("deadlock")
				}
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	cs, keys := NewCommits(), benchKeys(4)
	b.ReportAllocs()
	for b.Loop() {
		c := cs.Begin(TxnID{Lo: 1}, keys)
		c.SetTimestamp(ts(1))
		c.Finish()
	}
}

func BenchmarkBlocking(b *testing.B) {
	keys := benchKeys(1 << 10)
	for _, n := range []int{0, 8, 32} {
		cs := NewCommits()
		for i := range n {
			cs.Begin(TxnID{Lo: uint64(i) + 2}, keys[4*i:4*i+4])
		}
		free := keys[512:]
		b.Run(fmt.Sprintf("read/commits=%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if cs.BlockingRead(TxnID{Lo: 1}, free[i&511], ts(1)) != nil {
					b.Fatal("blocked")
				}
			}
		})
		b.Run(fmt.Sprintf("scan/commits=%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if cs.BlockingScan(TxnID{Lo: 1}, free[i&511], nil, ts(1)) != nil {
					b.Fatal("blocked")
				}
			}
		})
	}
}

func BenchmarkTimestampCache(b *testing.B) {
	keys := benchKeys(1 << 14)
	at := func(i int) hlc.Timestamp { return hlc.Timestamp{WallTime: int64(i)} }
	add := func(c *TimestampCache, i int) {
		c.AddKey(keys[i&(len(keys)-1)], at(i), TxnID{Lo: uint64(i)})
	}
	b.Run("AddKey", func(b *testing.B) {
		c := NewTimestampCache(TimestampCacheOptions{}, at(0))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			add(c, i)
		}
	})
	span := func(c *TimestampCache, i int) { // 50 keys from a pseudo-random one
		from := i * 7919 % (len(keys) - 50)
		c.AddSpan(keys[from], keys[from+50], at(i), TxnID{Lo: uint64(i)})
	}
	b.Run("AddSpan", func(b *testing.B) {
		c := NewTimestampCache(TimestampCacheOptions{}, at(0))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			span(c, i)
		}
	})
	b.Run("AddSpanAgain", func(b *testing.B) {
		c := NewTimestampCache(TimestampCacheOptions{}, at(0))
		for i := range 1000 {
			span(c, i)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			c.AddSpan(keys[0], nil, at(i), TxnID{Lo: uint64(i)})
		}
	})
	for _, spans := range []int{0, 10000} {
		b.Run(fmt.Sprintf("GetKey/spans=%d", spans), func(b *testing.B) {
			c := NewTimestampCache(TimestampCacheOptions{}, at(0))
			for i := range spans {
				span(c, i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.GetKey(keys[i&(len(keys)-1)], TxnID{Lo: 1})
			}
		})
	}
	b.Run("AddKeyParallel", func(b *testing.B) {
		c := NewTimestampCache(TimestampCacheOptions{}, at(0))
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				add(c, i)
			}
		})
	})
}
