package mvcc

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/storage"
)

// TestLargeValues reads a value for which there is memory, and one for which there is none. What the
// store reads for itself, or leaves out, needs none.
func TestLargeValues(t *testing.T) {
	pool := quota.NewPool("node", 3*quota.LargeValue)
	eng, err := storage.Open(storage.Options{FS: vfs.NewMem(), Dir: "store", Values: quota.NewValues(pool)})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	ts := hlc.Timestamp{WallTime: 1}
	sizes := map[string]int{"fits": 2 * quota.LargeValue, "large": 4 * quota.LargeValue}
	batch := eng.NewBatch()
	defer batch.Close()
	for k, n := range sizes {
		if err := PutVersion(batch, []byte(k), ts, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	v, found, err := Get(eng, []byte("fits"), ts, nil)
	if !found || err != nil || pool.Used() < int64(len(v.Data)) {
		t.Errorf("found %v, %d bytes are counted: %v", found, pool.Used(), err)
	}
	var full *quota.ExceededError
	if _, _, err := Get(eng, []byte("large"), ts, nil); !errors.As(err, &full) {
		t.Errorf("a value without memory: %v", err)
	}
	if v, _, err := GetOwn(eng, []byte("large"), ts); err != nil || len(v.Data) != sizes["large"] {
		t.Errorf("the store reads %d bytes: %v", len(v.Data), err)
	}
	for _, limit := range []int{0, 8 * quota.LargeValue} {
		v, size, err := GetShort(eng, []byte("large"), ts, limit)
		if err != nil || size != sizes["large"]+headerLen || (v.Data != nil) != (limit > size) {
			t.Errorf("up to %d: %d of %d bytes: %v", limit, len(v.Data), size, err)
		}
	}
	if _, size, err := GetShort(eng, []byte("none"), ts, 0); size != 0 || err != nil {
		t.Errorf("no version has %d bytes: %v", size, err)
	}
}
