package raftlog

import (
	"testing"
	"time"
)

// A log that is little written to gives its space back, and loses nothing by that.
func TestShrink(t *testing.T) {
	f := newTestFS(t)
	o := testOptions(f)
	o.SegmentBytes, o.CacheBytes = 8<<20, -1
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 7, 1, 3, 1, 100)
	for i := range uint64(60) {
		appendN(t, l, 8, 1+i, 1, 1, 1<<20)
		if i%4 == 3 {
			if err := l.Truncate(8, i, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Truncate(8, 60, 1); err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 7, 4, 2, 1, 100)
	if st := l.Stats(); st.DiskBytes <= IdleBytes {
		t.Fatalf("%d bytes before it shrinks", st.DiskBytes)
	}
	for range 200 {
		if err := l.Shrink(); err != nil {
			t.Fatal(err)
		}
		if l.Stats().DiskBytes <= IdleBytes {
			break
		}
		<-time.After(5 * time.Millisecond) // the janitor
	}
	// One old segment may stay for the few entries of group 7 at its beginning.
	if st := l.Stats(); st.DiskBytes > IdleBytes {
		t.Errorf("%+v after it shrank", st)
	}
	want := entries(7, 1, 5, 1, 100)
	checkEntries(t, l, 7, want)
	appendN(t, l, 7, 6, 1, 1, 3<<20) // larger than a small segment
	want = append(want, entries(7, 6, 1, 1, 3<<20)...)
	checkEntries(t, l, 7, want)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o.Rand = testOptions(f).Rand
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	checkEntries(t, l, 7, want)
	checkEntries(t, l, 8, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
