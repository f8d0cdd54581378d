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

// A log that is little written to comes to rest, however much of it is needed: Shrink and
// the janitor don't take away and make spare segments in turns.
func TestShrinkRests(t *testing.T) {
	o := testOptions(newTestFS(t))
	o.SegmentBytes = 16 << 20
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The active segment is the second one, of idleSegmentBytes, and half full.
	for i := uint64(1); l.Stats().BytesWritten < initialSegmentBytes+idleSegmentBytes/2; i++ {
		appendN(t, l, 7, i, 1, 1, 10<<10)
	}
	var made int64
	for i := range 10 {
		if err := l.Shrink(); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		for l.janitor.running {
			l.changed.Wait()
		}
		l.mu.Unlock()
		st := l.Stats()
		if i > 1 && st.Created != made {
			t.Fatalf("round %d: %d segments were made, %d a round before", i, st.Created, made)
		}
		made = st.Created
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spares) == 0 {
		t.Error("there is no spare segment")
	}
}
