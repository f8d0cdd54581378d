package storage

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestAwaitFlush writes a value that is flushed alone: its batch takes no more memory than it needs, and
// who waits for the flush finds the memory free.
func TestAwaitFlush(t *testing.T) {
	const value = 9 << 20 // a batch that grows by itself would have twice of it
	e := open(t, Options{MemTableBytes: 1 << 20})
	defer e.Close()
	b := e.NewBatchOf(value)
	defer b.Close()
	if err := b.SetVersion([]byte("k"), hlc.Timestamp{WallTime: 1}, 1, make([]byte, value)); err != nil {
		t.Fatal(err)
	}
	if n := cap(b.b.Repr()); n > value+value/8 {
		t.Errorf("the batch has %d bytes for %d", n, value)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := e.AwaitFlush(context.Background(), value); err != nil {
		t.Fatal(err)
	}
	if p := e.Pressure(); p.MemTableBytes > 2<<20 {
		t.Errorf("%d bytes are not flushed", p.MemTableBytes)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.AwaitFlush(ended, 1<<10); err != nil {
		t.Errorf("a short write waits: %v", err)
	}
}
