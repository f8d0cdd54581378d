package coord

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
	"pgregory.net/rapid"
)

type modelWrite struct {
	key, val string
	del      bool
	seq      int32
}

// model is the write buffer as a list.
type model []modelWrite

func (m model) get(key string, below int32) (w modelWrite, ok bool) {
	for _, x := range m {
		if x.key == key && x.seq < below {
			w, ok = x, true
		}
	}
	return w, ok
}

func (m model) span(start string, below int32) (out []modelWrite) {
	seen := map[string]bool{}
	for _, x := range m {
		if x.key >= start && !seen[x.key] {
			seen[x.key] = true
			if w, ok := m.get(x.key, below); ok {
				out = append(out, w)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].key < out[j].key })
	return out
}

// The buffer answers as a list of all writes would, with statements, savepoints
// and rollbacks in any order.
func TestBufferModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Buffer
		var m model
		seq := int32(1)
		var marks []int
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("k", rapid.IntRange(0, 12).Draw(t, "k")) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				w := modelWrite{key: key.Draw(t, "key"), val: rapid.StringN(0, 5, -1).Draw(t, "val"), del: rapid.Bool().Draw(t, "del"), seq: seq}
				b.Put([]byte(w.key), []byte(w.val), w.del, w.seq)
				m = append(m, w)
			},
			"statement": func(*rapid.T) { seq++ },
			"mark":      func(*rapid.T) { marks = append(marks, b.Len()) },
			"rollback": func(t *rapid.T) {
				if len(marks) == 0 {
					t.Skip()
				}
				n := min(marks[len(marks)-1], len(m))
				marks = marks[:len(marks)-1]
				b.Truncate(n)
				m = m[:n]
			},
			"": func(t *rapid.T) {
				below := rapid.Int32Range(1, seq+1).Draw(t, "below")
				k := key.Draw(t, "look up")
				val, del, s, ok := b.Get([]byte(k), below)
				if w, want := m.get(k, below); ok != want || ok && (string(val) != w.val || del != w.del || s != w.seq) {
					t.Fatalf("get %s below %d: %q %v %d %v, want %+v %v", k, below, val, del, s, ok, w, want)
				}
				want := m.span(k, below)
				for c := b.Seek([]byte(k), below); c.Valid(); c.Next() {
					if len(want) == 0 || string(c.Key()) != want[0].key {
						t.Fatalf("cursor at %s, want %+v", c.Key(), want)
					}
					if v, d := c.Value(); !bytes.Equal(v, []byte(want[0].val)) || d != want[0].del {
						t.Fatalf("cursor at %s: %q %v, want %+v", c.Key(), v, d, want[0])
					}
					want = want[1:]
				}
				if len(want) > 0 {
					t.Fatalf("the cursor missed %+v", want)
				}
			},
		})
	})
}

func TestReadSetMerges(t *testing.T) {
	var r ReadSet
	r.AddSpan([]byte("a"), []byte("c"))
	r.AddSpan([]byte("c"), []byte("f"))
	r.AddKey([]byte("b"))
	if r.Len() != 1 || string(r.Spans()[0].EndKey) != "f" {
		t.Errorf("adjoining spans: %q", r.Spans())
	}
	r.Reset()
	for i := range 2 * maxReadSpans {
		r.AddKey(fmt.Appendf(nil, "k%08d", i))
	}
	if r.Len() > maxReadSpans {
		t.Errorf("%d spans, more than the limit of %d", r.Len(), maxReadSpans)
	}
	covered := false
	for _, s := range r.Spans() {
		covered = covered || s.Contains([]byte("k00000000"))
	}
	if !covered {
		t.Error("the merged span lost the first key")
	}
}

// A buffer that was large gives its memory up, and a key that is kept keeps no value of
// the transaction in memory, however long the values are.
func TestBufferMemory(t *testing.T) {
	var b Buffer
	val := bytes.Repeat([]byte("v"), 3*maxInChunk)
	for i := range 100 {
		b.Put(fmt.Appendf(nil, "k%04d", i), val, false, 1)
	}
	if n := cap(b.keys); n > arenaChunk {
		t.Errorf("%d bytes for a hundred keys", n)
	}
	if cap(b.values) != 0 {
		t.Error("long values share a block")
	}
	if b.Drop(); b.Len() != 0 || b.nodes != nil {
		t.Error("a large buffer was kept")
	}
	b.Put([]byte("k"), []byte("v"), false, 1)
	if b.Drop(); b.Len() != 1 {
		t.Error("a small buffer was dropped")
	}
	b.Reset()
	if b.Len() != 0 || b.nodes == nil {
		t.Error("the memory of a small buffer was not kept")
	}
}

// A write is charged before it is buffered, and one without memory leaves nothing behind. A
// long value that was handed over is kept, not copied; a short one shares a block.
func TestWritesAreCharged(t *testing.T) {
	env := NewEnv(nil, hlc.NewSystem(0), 1)
	env.Mem = quota.NewPool("test", 4*chargeBytes)
	txn := New(env)
	txn.Reset(Options{})
	txn.BeginStatement()
	long, short := make([]byte, 2*chargeBytes), []byte("short")
	for i, val := range [][]byte{long, short} {
		if err := txn.PutOwned([]byte{byte(i)}, val); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct {
		val  []byte
		same bool
	}{{long, true}, {short, false}} {
		val, _, _, _ := txn.buf.Get([]byte{byte(i)}, txn.seq+1)
		if len(val) != len(want.val) || (&val[0] == &want.val[0]) != want.same {
			t.Errorf("%d bytes: kept %v, want %v", len(want.val), !want.same, want.same)
		}
	}
	if used := env.Mem.Used(); used < 2*chargeBytes-freeBytes {
		t.Errorf("%d bytes charged", used)
	}
	before := env.Mem.Used()
	if err := txn.Room(chargeBytes); err != nil {
		t.Fatal(err)
	}
	if more := env.Mem.Used() - before; more <= 0 || more > chargeBytes {
		t.Errorf("room for %d bytes reserves %d", chargeBytes, more)
	}
	reserved := env.Mem.Used()
	if err := txn.PutOwned([]byte("roomy"), make([]byte, chargeBytes/2)); err != nil || env.Mem.Used() != reserved {
		t.Errorf("a write that has room takes %d bytes more: %v", env.Mem.Used()-reserved, err)
	}
	held := txn.buf.Bytes()
	for _, put := range []func(key, value []byte) error{txn.Put, txn.PutOwned} {
		var exceeded *quota.ExceededError
		if err := put([]byte("more"), make([]byte, 4*chargeBytes)); !errors.As(err, &exceeded) {
			t.Errorf("a write beyond the limit: %v", err)
		}
	}
	if txn.buf.Bytes() != held {
		t.Error("a refused write is buffered")
	}
	txn.finish()
	if used := env.Mem.Used(); used != 0 {
		t.Errorf("%d bytes are charged after the end", used)
	}
}
