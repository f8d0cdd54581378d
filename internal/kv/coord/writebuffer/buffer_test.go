package writebuffer

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"testing"

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

// history returns the positions of a key's writes that remain visible after a rollback to keep or later.
func (m model) history(key string, keep int) (positions []int) {
	newest := map[int32]bool{} // by statement
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].key != key {
			continue
		}
		if !newest[m[i].seq] {
			newest[m[i].seq], positions = true, append(positions, i)
		}
		if i < keep {
			break
		}
	}
	slices.Reverse(positions)
	return positions
}

// The buffer answers as a list of all writes would, with statements, savepoints
// and rollbacks in any order.
func TestBufferModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Buffer
		var m model
		seq := int32(1)
		var marks []int
		starts := []int{0} // positions where statements begin
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("k", rapid.IntRange(0, 12).Draw(t, "k")) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				w := modelWrite{key: key.Draw(t, "key"), val: rapid.StringN(0, 5, -1).Draw(t, "val"), del: rapid.Bool().Draw(t, "del"), seq: seq}
				b.Put([]byte(w.key), []byte(w.val), w.del, w.seq)
				m = append(m, w)
			},
			"statement": func(*rapid.T) { seq++; starts = append(starts, b.Len()) },
			"mark":      func(*rapid.T) { marks = append(marks, b.Len()) },
			"rollback": func(t *rapid.T) {
				if len(marks) == 0 {
					t.Skip()
				}
				n := min(marks[len(marks)-1], len(m))
				marks = marks[:len(marks)-1]
				b.Truncate(n)
				m = m[:n]
				starts = slices.DeleteFunc(starts, func(at int) bool { return at > n })
			},
			"history": func(t *rapid.T) {
				keep := rapid.SampledFrom(starts).Draw(t, "keep")
				for c := b.Seek(nil, seq+1); c.Valid(); c.Next() {
					var got []int
					c.History(keep, func(at int, val []byte, del bool) {
						if w := m[at]; w.val != string(val) || w.del != del {
							t.Fatalf("history of %s at %d: %q %v, want %+v", c.Key(), at, val, del, w)
						}
						got = append(got, at)
					})
					if want := m.history(string(c.Key()), keep); !slices.Equal(got, want) {
						t.Fatalf("history of %s from %d: %d, want %d", c.Key(), keep, got, want)
					}
				}
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

// A buffer that was large gives its memory up, and a key that is kept keeps no value of
// the transaction in memory, however long the values are.
func TestBufferMemory(t *testing.T) {
	var b Buffer
	val := bytes.Repeat([]byte("v"), 3*MaxShared)
	for i := range 100 {
		b.Put(fmt.Appendf(nil, "k%04d", i), val, false, 1)
	}
	if n := cap(b.keys); n > blockBytes {
		t.Errorf("%d bytes for a hundred keys", n)
	}
	if cap(b.values) != 0 {
		t.Error("long values share a block")
	}
	if b.Drop(); b.Len() != 0 || b.nodes.chunks != nil {
		t.Error("a large buffer was kept")
	}
	b.Put([]byte("k"), []byte("v"), false, 1)
	if b.Drop(); b.Len() != 1 {
		t.Error("a small buffer was dropped")
	}
	b.Reset()
	if b.Len() != 0 || b.nodes.chunks == nil {
		t.Error("the memory of a small buffer was not kept")
	}
}

// A list of several chunks holds what was appended after any truncation.
func TestChunked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c chunked[int]
		var want []int
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(0, 3*chunkLen).Draw(t, "appended") {
				c.append(len(want))
				want = append(want, len(want))
			}
			n := rapid.IntRange(0, len(want)).Draw(t, "kept")
			c.truncate(n)
			if want = want[:n]; c.len != n {
				t.Fatalf("%d elements, want %d", c.len, n)
			}
			for i, v := range want {
				if *c.at(int32(i)) != v {
					t.Fatalf("element %d is %d, want %d", i, *c.at(int32(i)), v)
				}
			}
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for _, n := range []int{1, 10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			keys := make([][]byte, n)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "table/%09d", i)
			}
			value := make([]byte, 40)
			var buf Buffer
			b.ReportAllocs()
			for b.Loop() {
				for _, k := range keys {
					buf.Put(k, value, false, 1)
				}
				buf.Reset()
			}
		})
	}
}
