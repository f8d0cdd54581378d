package readset

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestCovers reads keys and spans of some tables at random and checks that all of
// them stay covered through Truncate, that what lies between tables is not, and that there
// never are too many spans.
func TestCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tables = 5
		var r Set
		var all []kvpb.Span
		key := func(table, n int) []byte { return fmt.Appendf(nil, "table%02d/%06d", 2*table, n) }
		for range rapid.IntRange(1, 4).Draw(t, "statements") {
			from, table := r.Len(), rapid.IntRange(0, tables-1).Draw(t, "table")
			step := rapid.IntRange(1, 7).Draw(t, "step")
			var read []kvpb.Span
			for i := range rapid.IntRange(0, 2*maxSpans).Draw(t, "reads") {
				s := kvpb.Span{Key: key((table+i)%tables, i*step%9973)}
				if i%11 == 0 {
					s.EndKey = append(bytes.Clone(s.Key), "/9"...)
					r.AddSpan(s.Key, s.EndKey)
				} else {
					r.AddKey(s.Key)
				}
				read = append(read, s)
			}
			if rapid.Bool().Draw(t, "again") {
				r.Truncate(from)
			} else {
				all = append(all, read...)
			}
		}
		checkCovered(t, &r, all)
		for table := range tables {
			between := fmt.Appendf(nil, "table%02d/sequence", 2*table+1)
			for _, s := range r.Spans() {
				if s.Contains(between) {
					t.Fatalf("%q reaches over another table", s)
				}
			}
		}
	})
}

// checkCovered checks that each read key lies in a span, and each read span begins and ends
// in spans.
func checkCovered(t *rapid.T, r *Set, all []kvpb.Span) {
	if r.Len() >= maxSpans {
		t.Fatalf("%d spans", r.Len())
	}
	sorted := slices.SortedFunc(slices.Values(r.Spans()), func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	var ends []byte // the furthest one of the spans so far
	last := 0
	slices.SortFunc(all, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	for _, s := range all {
		for ; last < len(sorted) && bytes.Compare(sorted[last].Key, s.Key) <= 0; last++ {
			if end := sorted[last].End(); bytes.Compare(end, ends) > 0 {
				ends = end
			}
		}
		if bytes.Compare(s.End(), ends) > 0 {
			t.Fatalf("%q is not covered", s)
		}
	}
}

func TestMerges(t *testing.T) {
	var r Set
	r.AddSpan([]byte("a"), []byte("c"))
	r.AddSpan([]byte("c"), []byte("f"))
	r.AddKey([]byte("b"))
	if r.Len() != 1 || string(r.Spans()[0].EndKey) != "f" {
		t.Errorf("adjoining spans: %q", r.Spans())
	}
	r.Reset()
	for i := range 2 * maxSpans {
		r.AddKey(fmt.Appendf(nil, "k%08d", i))
	}
	if r.Len() > maxSpans {
		t.Errorf("%d spans, more than the limit of %d", r.Len(), maxSpans)
	}
	covered := false
	for _, s := range r.Spans() {
		covered = covered || s.Contains([]byte("k00000000"))
	}
	if !covered {
		t.Error("the merged span lost the first key")
	}
}

// BenchmarkAddKey reads many keys, a thousand in ascending order at a time: a lookup join does so.
func BenchmarkAddKey(b *testing.B) {
	const batch, stride = 1 << 10, 384
	keys := make([][]byte, batch*stride)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "table/%012d", i)
	}
	var r Set
	for i := 0; b.Loop(); i++ {
		if i == len(keys) {
			i = 0
			r.Reset()
		}
		r.AddKey(keys[i%batch*stride+i/batch])
	}
}
