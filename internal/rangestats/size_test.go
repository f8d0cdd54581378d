package rangestats

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// TestSize fills a range with values that shrink on disk to different extents, and old
// versions, and compares the size that is found with the rows.
func TestSize(t *testing.T) {
	e, err := storage.Open(storage.Options{FS: fs.NewMem(), Dir: "e", CacheBytes: 8 << 20, MemTableBytes: 4 << 20, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	var logged int64
	put := func(i int, wall int64, value []byte) {
		t.Helper()
		b := e.NewBatch()
		defer b.Close()
		if err := mvcc.PutVersion(b, binary.BigEndian.AppendUint32([]byte("k"), uint32(i)), hlc.Timestamp{WallTime: wall}, value); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		logged += int64(len(value)) + 20
	}
	d := &kvpb.RangeDescriptor{StartKey: []byte("k"), EndKey: []byte("l")}
	var z sizing
	find := func() int64 {
		t.Helper()
		budget := sizesPerRound
		n, err := z.size(e, d, logged, time.Now(), &budget)
		if err != nil || budget == sizesPerRound {
			t.Fatal(n, budget, err)
		}
		return n
	}
	check := func(what string, got, want int64, within float64) {
		t.Helper()
		if off := float64(got)/float64(want) - 1; off > within || off < -within {
			t.Errorf("%s: %d bytes, want %d", what, got, want)
		}
	}
	for i := range 500 {
		put(i, 1, bytes.Repeat([]byte{'x'}, 1000))
	}
	check("in memory", find(), 500*1005, 0.01)

	for i := range 60000 { // it shrinks to a small part of it on disk
		put(i, 2, bytes.Repeat([]byte{'x'}, 1000))
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	z.flushed = logged
	check("compressed", find(), 60000*1005, 0.25)

	const rows = 60000
	for i := range rows {
		put(i, 3, append(noise[i%1000*1000:][:500:500], make([]byte, 500)...))
	}
	for i := 0; i < rows; i += 2 {
		put(i, 4, append(noise[i%1000*1000:][:500:500], make([]byte, 500)...))
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	z.flushed = logged
	disk, err := e.ApproximateSize(d.StartKey, d.EndKey)
	if err != nil || disk <= countedBytes {
		t.Fatal("not enough on disk", disk, err)
	}
	check("on disk", find(), rows*1005, 0.15)
	if z.ratio == 0 {
		t.Error("no samples were taken")
	}
	mid, err := middle(e, d, disk)
	if err != nil || len(mid) < 5 {
		t.Fatal(mid, err)
	}
	check("middle", int64(binary.BigEndian.Uint32(mid[1:5])), rows/2, 0.2)
}

// TestMiddle finds keys between two others.
func TestMiddle(t *testing.T) {
	for _, p := range [][2]string{{"a", "b"}, {"a", "a\x00\x01"}, {"", "\x01"}, {"\x10\x01", "\x11"}, {"abc", "abd"}} {
		mid := string(between([]byte(p[0]), []byte(p[1])))
		if mid <= p[0] || mid >= p[1] {
			t.Errorf("between %q and %q: %q", p[0], p[1], mid)
		}
	}
	if mid := between([]byte("a"), []byte("a")); mid != nil {
		t.Errorf("there is no key between equal ones, but %q", mid)
	}
}
