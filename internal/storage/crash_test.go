package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

// history is what was committed, as the state of the engine after each batch.
type history struct {
	mu     sync.Mutex
	states []map[string]string // engine key to value, by batch number
}

func (h *history) state(n int) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.states[n]
}

// seqKey holds the number of the last batch, written in every batch.
func seqKey() []byte { return []byte{0x02, 's', 'e', 'q'} }

// randomBatch fills b with random writes and applies them to state.
func randomBatch(t *testing.T, rng *rand.Rand, b *Batch, n int, state map[string]string) {
	t.Helper()
	fatal := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	ek := func(k []byte, ts hlc.Timestamp) string { return string(AppendEngineKey(nil, k, ts)) }
	writes, size := 1+rng.IntN(8), 10+rng.IntN(200)
	switch rng.IntN(20) {
	case 0:
		writes, size = 40, 2000 // larger than half a memtable: becomes one itself
	case 1, 2, 3:
		size = 1000 // goes to blob files
	}
	if rng.IntN(15) == 0 {
		lo := rng.IntN(50)
		start, end := fmt.Appendf(nil, "k%02d", lo), fmt.Appendf(nil, "k%02d", lo+rng.IntN(4))
		if !bytes.Equal(start, end) {
			fatal(b.DeleteRange(start, end))
			maps.DeleteFunc(state, func(k, _ string) bool {
				key, _, _ := DecodeEngineKey([]byte(k))
				return bytes.Compare(key, start) >= 0 && bytes.Compare(key, end) < 0
			})
		}
	}
	for i := range writes {
		key := fmt.Appendf(nil, "k%02d", rng.IntN(50))
		ts := hlc.Timestamp{WallTime: int64(n*1000 + i + 1), Logical: uint32(rng.IntN(2))}
		value := bytes.Repeat([]byte{byte(n), byte(i)}, size/2)
		switch rng.IntN(5) {
		case 0:
			fatal(b.Set(key, value))
			state[ek(key, hlc.Timestamp{})] = string(value)
		case 1:
			fatal(b.Delete(key))
			delete(state, ek(key, hlc.Timestamp{}))
		default:
			fatal(b.SetVersion(key, ts, 1, value))
			state[ek(key, ts)] = "\x01" + string(value)
		}
	}
	seq := binary.BigEndian.AppendUint64(nil, uint64(n))
	fatal(b.Set(seqKey(), seq))
	state[ek(seqKey(), hlc.Timestamp{})] = string(seq)
}

// crasher takes copies of the disk as a crash would leave it before every
// stride-th operation that changes a file: one with nothing that was not synced,
// one with all of it, and in between two with some.
type crasher struct {
	mem    *fs.MemFS
	stride int64
	ops    atomic.Int64
	known  atomic.Int64 // the last batch that is known to be durable

	mu     sync.Mutex
	clones []crashed
}

type crashed struct {
	fs      *fs.MemFS
	op      int64
	keep    int
	durable int64
}

func (c *crasher) inject(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	n := c.ops.Add(1)
	if n%c.stride != 0 {
		return nil
	}
	durable := c.known.Load() // before the copies: it must be in them
	for i, keep := range []int{0, 100, 30, 70} {
		clone := fs.CrashClone(c.mem, keep, uint64(n)*10+uint64(i))
		c.mu.Lock()
		c.clones = append(c.clones, crashed{clone, n, keep, durable})
		c.mu.Unlock()
	}
	return nil
}

// TestCrash commits random batches, flushing and reopening now and then, and
// shows that whatever the moment of a crash, the state afterwards is that after
// some batch, and no batch known to be flushed is missing.
func TestCrash(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	mem := fs.NewCrashableMem()
	c := &crasher{mem: mem, stride: 3}
	opts := Options{
		FS: sealedFS(errorfs.Wrap(mem, errorfs.InjectorFunc(c.inject))), Dir: "store",
		MemTableBytes: 64 << 10, CacheBytes: 1 << 20,
	}
	h := &history{states: []map[string]string{{}}}
	for round := range 6 {
		e, err := Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		for n := round*30 + 1; n <= round*30+30; n++ {
			state := maps.Clone(h.state(n - 1))
			b := e.NewBatch()
			randomBatch(t, rng, b, n, state)
			h.mu.Lock()
			h.states = append(h.states, state)
			h.mu.Unlock()
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			b.Close()
			if rng.IntN(25) == 0 {
				if err := e.Flush(); err != nil {
					t.Fatal(err)
				}
				c.known.Store(int64(n))
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		c.known.Store(int64(round*30 + 30))
	}
	if len(c.clones) < 200 {
		t.Fatalf("only %d crashes", len(c.clones))
	}
	for _, cr := range c.clones {
		verifyCrash(t, h, cr)
	}
}

func verifyCrash(t *testing.T, h *history, cr crashed) {
	t.Helper()
	e, err := Open(Options{FS: sealedFS(cr.fs), Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatalf("crash at operation %d, keeping %d%%: %v", cr.op, cr.keep, err)
	}
	defer e.Close()
	n := 0
	if v, found, err := e.NewDurableReader().GetUnversioned(seqKey(), nil); err != nil {
		t.Fatal(err)
	} else if found {
		n = int(binary.BigEndian.Uint64(v))
	}
	if int64(n) < cr.durable {
		t.Fatalf("crash at operation %d, keeping %d%%: batch %d was durable, only %d is there",
			cr.op, cr.keep, cr.durable, n)
	}
	got, want := contents(t, e), h.state(n)
	if !maps.Equal(got, want) {
		t.Fatalf("crash at operation %d, keeping %d%%: the state is not that after batch %d (%d keys, want %d)",
			cr.op, cr.keep, n, len(got), len(want))
	}
}

func contents(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	it, err := e.NewIter(IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			t.Fatal(err)
		}
		out[string(it.Key())] = string(v)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}
