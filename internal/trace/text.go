package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds how far spans are indented.
const maxDepth = 40

// Text shows the spans as a tree, those of each parent in the order in which they began.
func (t *Trace) Text() string {
	spans, dropped := t.Spans()
	known := map[uint64]bool{}
	for i := range spans {
		known[spans[i].ID] = true
	}
	parts := map[uint64][]*Record{}
	for i := range spans {
		r := &spans[i]
		parent := r.Parent
		if !known[parent] {
			parent = 0 // its parent was left out
		}
		parts[parent] = append(parts[parent], r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "trace %s\n%13s %13s  node  what\n", t.id, "began", "took")
	writeParts(&b, parts, 0, 0)
	if dropped > 0 {
		fmt.Fprintf(&b, "%d more spans\n", dropped)
	}
	return b.String()
}

func writeParts(b *strings.Builder, parts map[uint64][]*Record, of uint64, depth int) {
	list := parts[of]
	delete(parts, of) // so that no cycle of damaged ids goes on for ever
	slices.SortStableFunc(list, func(x, y *Record) int { return cmp.Compare(x.Began, y.Began) })
	for _, r := range list {
		fmt.Fprintf(b, "%10.3f ms %10.3f ms  n%-4d %s%s\n", milliseconds(r.Began), milliseconds(r.Took), r.Node, strings.Repeat("  ", min(depth, maxDepth)), r.what())
		writeParts(b, parts, r.ID, depth+1)
	}
}

// what is what a span tells.
func (r *Record) what() string {
	var b strings.Builder
	b.WriteString(r.Name)
	if r.Keys != "" {
		b.WriteString(" " + r.Keys)
	}
	if r.Note != "" {
		b.WriteString(", " + r.Note)
	}
	if r.Open && r.Parent != 0 {
		b.WriteString(", not ended")
	}
	if r.Err != "" {
		b.WriteString(", error: " + r.Err)
	}
	return b.String()
}

func milliseconds[D ~int64](d D) float64 { return float64(d) / 1e6 }
