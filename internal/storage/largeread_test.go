package storage

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
)

// TestLargeReadsInTurn: large values are read at once as far as their blocks fit, one that is larger alone, and
// nobody waits for ever.
func TestLargeReadsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLargeReads()
		first := l.acquire(20 << 20)
		second := make(chan int64)
		go func() { second <- l.acquire(20 << 20) }()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("two values of 20 MB are read at once")
		default:
		}
		small := l.acquire(1 << 20) // fits beside the first
		l.release(small)
		l.release(first)
		l.release(<-second)
		alone := l.acquire(largeReadBytes + 1)
		start := time.Now()
		if n := l.acquire(1); n != 0 || time.Since(start) != largeReadWait {
			t.Errorf("%d after %v", n, time.Since(start))
		}
		l.release(alone)
	})
}

// TestBlocksCount: the block of a large value counts against memory while an iterator holds it. A value is read
// without room for its block too.
func TestBlocksCount(t *testing.T) {
	const size = 1 << 20
	e := open(t, Options{})
	b := e.NewBatch()
	defer b.Close()
	for _, key := range []string{"a", "b"} {
		if err := b.SetVersion([]byte(key), hlc.Timestamp{WallTime: 1}, 1, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Commit(), e.Flush()); err != nil {
		t.Fatal(err)
	}
	pool := quota.NewPool("test", 3*size)
	mem := quota.NewValues(pool)
	it, err := e.AcquirePoint()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b"} {
		it.SeekVersion([]byte(key), hlc.MaxTimestamp)
		if v, err := it.Fetch(mem); err != nil || len(v) < size {
			t.Fatal(len(v), err)
		}
		if used := pool.Used(); used < size || used > size*3/2 {
			t.Errorf("%d bytes are reserved for the block of %s", used, key)
		}
	}
	it.Release()
	if used := pool.Used(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
	if err := pool.Reserve(5 * size / 2); err != nil {
		t.Fatal(err)
	}
	if it, err = e.AcquirePoint(); err != nil {
		t.Fatal(err)
	}
	it.SeekVersion([]byte("a"), hlc.MaxTimestamp)
	if v, err := it.Fetch(mem); err != nil || len(v) < size {
		t.Errorf("without room: %d bytes, %v", len(v), err)
	}
	it.Release()
	if used := pool.Used(); used != 5*size/2 {
		t.Errorf("%d bytes are reserved after a read without room", used)
	}
}
