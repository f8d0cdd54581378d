package concurrency

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestCommitsModel compares what blocks reads with a list of all commits,
// with more of them than one chunk has slots.
func TestCommitsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &commitModel{set: NewCommits()}
		t.Repeat(map[string]func(*rapid.T){
			"begin": m.begin,
			"begin many": func(t *rapid.T) {
				for range rapid.IntRange(0, 100).Draw(t, "n") {
					m.active = append(m.active, &modelCommit{
						Commit: m.set.Begin(TxnID{Lo: 1}, [][]byte{[]byte("far away")}),
						keys:   []string{"far away"},
					})
				}
			},
			"timestamp": m.timestamp,
			"finish":    m.finish,
			"":          m.compare,
		})
	})
}

type modelCommit struct {
	*Commit
	keys          []string
	ts            hlc.Timestamp // empty: unknown
	changed, done <-chan struct{}
}

type commitModel struct {
	set    *Commits
	active []*modelCommit
}

var commitTestKeys = []string{"", "a", "b", "bb", "c", "d"}

func (m *commitModel) begin(t *rapid.T) {
	txn := TxnID{Lo: rapid.Uint64Range(1, 3).Draw(t, "txn")}
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(commitTestKeys), 0, 4, rapid.ID).Draw(t, "keys")
	slices.Sort(keys)
	var raw [][]byte
	for _, k := range keys {
		raw = append(raw, []byte(k))
	}
	m.active = append(m.active, &modelCommit{Commit: m.set.Begin(txn, raw), keys: keys})
}

func (m *commitModel) draw(t *rapid.T) (int, *modelCommit) {
	if len(m.active) == 0 {
		t.Skip("no commit")
	}
	i := rapid.IntRange(0, len(m.active)-1).Draw(t, "commit")
	c := m.active[i]
	if rapid.Bool().Draw(t, "watch") {
		c.changed, c.done = c.Changed(), c.Done()
	}
	return i, c
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *commitModel) timestamp(t *rapid.T) {
	_, c := m.draw(t)
	if !c.ts.IsEmpty() {
		t.Skip("has a timestamp")
	}
	c.ts = drawTS(t)
	c.SetTimestamp(c.ts)
	if ts, known := c.Timestamp(); !known || ts != c.ts {
		t.Fatalf("timestamp %v, %v", ts, known)
	}
	if c.changed != nil && (!closed(c.changed) || closed(c.done)) {
		t.Fatal("SetTimestamp must close Changed and not Done")
	}
	if closed(c.Changed()) {
		t.Fatal("Changed after SetTimestamp must wait for Finish")
	}
}

func (m *commitModel) finish(t *rapid.T) {
	i, c := m.draw(t)
	c.Finish()
	if c.changed != nil && (!closed(c.changed) || !closed(c.done)) {
		t.Fatal("Finish must close both channels")
	}
	if !closed(c.Changed()) || !closed(c.Done()) {
		t.Fatal("a finished commit must not make anybody wait")
	}
	m.active = slices.Delete(m.active, i, i+1)
}

func (m *commitModel) blocks(self TxnID, readTS hlc.Timestamp, reads func(key string) bool) map[*Commit]bool {
	out := map[*Commit]bool{}
	for _, c := range m.active {
		if c.Txn() != self && (c.ts.IsEmpty() || c.ts.LessEq(readTS)) && slices.ContainsFunc(c.keys, reads) {
			out[c.Commit] = true
		}
	}
	return out
}

func (m *commitModel) compare(t *rapid.T) {
	if m.set.Len() != len(m.active) {
		t.Fatalf("%d active, want %d", m.set.Len(), len(m.active))
	}
	self := TxnID{Lo: rapid.Uint64Range(0, 3).Draw(t, "self")}
	readTS := drawTS(t)
	m.compareEarlier(t)
	for i, key := range commitTestKeys {
		want := m.blocks(self, readTS, func(k string) bool { return k == key })
		if got := m.set.BlockingRead(self, []byte(key), readTS); want[got] != (len(want) > 0) {
			t.Fatalf("read of %q: got %v, want one of %v", key, got, want)
		}
		for _, end := range append(commitTestKeys[i:], "none") {
			rawEnd := []byte(end)
			if end == "none" {
				rawEnd = nil
			}
			want := m.blocks(self, readTS, func(k string) bool { return k >= key && (rawEnd == nil || k < end) })
			if got := m.set.BlockingScan(self, []byte(key), rawEnd, readTS); want[got] != (len(want) > 0) {
				t.Fatalf("scan of [%q, %q): got %v, want one of %v", key, end, got, want)
			}
		}
	}
}

// compareEarlier compares which commits must wait for another with what the list says (invariant 11).
func (m *commitModel) compareEarlier(t *rapid.T) {
	for i, c := range m.active {
		want := map[*Commit]bool{}
		for _, o := range m.active[:i] {
			if o.Txn() != c.Txn() && slices.ContainsFunc(o.keys, func(k string) bool { return slices.Contains(c.keys, k) }) {
				want[o.Commit] = true
			}
		}
		if got := m.set.Earlier(c.Commit); want[got] != (len(want) > 0) {
			t.Fatalf("commit %d waits for %v, want one of %v", i, got, want)
		}
	}
}

// TestCommitMisuse checks invariant 5: misuse is caught.
func TestCommitMisuse(t *testing.T) {
	for name, misuse := range map[string]func(cs *Commits){
		"unsorted": func(cs *Commits) { cs.Begin(TxnID{Lo: 1}, [][]byte{{2}, {1}}) },
		"two timestamps": func(cs *Commits) {
			c := cs.Begin(TxnID{Lo: 1}, nil)
			c.SetTimestamp(ts(1))
			c.SetTimestamp(ts(2))
		},
		"two finishes": func(cs *Commits) {
			c := cs.Begin(TxnID{Lo: 1}, nil)
			c.Finish()
			c.Finish()
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("not caught")
				}
			}()
			misuse(NewCommits())
		})
	}
}

func ExampleCommits() {
	cs := NewCommits()
	cache := NewTimestampCache(TimestampCacheOptions{}, hlc.Timestamp{})
	writer, reader := TxnID{Lo: 1}, TxnID{Lo: 2}
	key, readTS := []byte("k"), hlc.Timestamp{WallTime: 10}

	cache.AddKey(key, readTS, reader)
	c := cs.Begin(writer, [][]byte{key})
	fmt.Println("reader has to wait:", cs.BlockingRead(reader, key, readTS) == c)
	c.SetTimestamp(cache.GetKey(key, writer).Next())
	fmt.Println("reader has to wait:", cs.BlockingRead(reader, key, readTS) == c)
	c.Finish()
	// Output:
	// reader has to wait: true
	// reader has to wait: false
}
