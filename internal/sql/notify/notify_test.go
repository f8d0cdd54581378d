package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// TestEntry reads entries back, refuses what is none, and cuts long ones.
func TestEntry(t *testing.T) {
	long := strings.Repeat("x", maxPayload-1)
	var all []message
	for i := range 50 {
		all = append(all, message{fmt.Sprint("c", i), long})
	}
	for _, messages := range [][]message{nil, {{"c", ""}}, {{"c", "a"}, {"ä", "\x01"}}, all} {
		var got []message
		for i, e := range split(1<<40, -7, messages) {
			b := e.encode()
			if len(b) > maxEntryBytes+maxPayload+200 {
				t.Errorf("an entry of %d bytes", len(b))
			}
			d, err := decodeEntry(b)
			if err != nil || d.database != 1<<40 || d.pid != -7 || d.number != uint64(i) {
				t.Fatalf("%+v, %v", d, err)
			}
			got = append(got, d.messages...)
			for n := range min(len(b), 200) {
				if _, err := decodeEntry(b[:n]); err == nil {
					t.Errorf("%d of %d bytes are taken for an entry", n, len(b))
				}
			}
		}
		if !slices.Equal(got, messages) {
			t.Errorf("read %d messages of %d", len(got), len(messages))
		}
	}
	if _, err := decodeEntry([]byte{entryVersion + 1, 1, 1, 0, 0}); err == nil {
		t.Error("another version is read")
	}
}

// TestOrder delivers entries out of order and again, and reads them in order and once.
func TestOrder(t *testing.T) {
	at := func(n int64) hlc.Timestamp { return hlc.Timestamp{WallTime: n} }
	var o order
	o.begin()
	event := func(key string, ts int64, pid int32, number uint64) {
		e := entry{1, pid, number, []message{{"c", fmt.Sprintf("%s@%d", key, ts)}}}
		if err := o.add(&kv.FeedEvent{Key: []byte(key), Value: e.encode(), TS: at(ts)}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(upTo int64, want string) {
		t.Helper()
		var got []string
		for _, c := range o.advance(at(upTo)) {
			got = append(got, c.messages[0].payload)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("up to %d: %q, want %q", upTo, s, want)
		}
	}
	event("b", 5, 2, 1)
	event("a", 5, 2, 0)
	event("c", 3, 1, 0)
	event("c", 7, 1, 0)
	read(4, "c@3")
	event("c", 3, 1, 0) // again
	event("c", 7, 1, 0)
	event("d", 6, 3, 0)
	read(6, "a@5 b@5 d@6")
	read(5, "") // a resolved timestamp of an earlier feed
	read(7, "c@7")
	if err := o.add(&kv.FeedEvent{Key: []byte("e"), Deleted: true, TS: at(9)}); err != nil || len(o.waiting) > 0 || o.bytes != 0 {
		t.Errorf("%v, %d wait with %d bytes", err, len(o.waiting), o.bytes)
	}
	for i := 0; ; i++ {
		e := entry{1, 1, uint64(i), []message{{"c", strings.Repeat("x", maxPayload)}}}
		err := o.add(&kv.FeedEvent{Key: fmt.Append(nil, i), Value: e.encode(), TS: at(10 + int64(i))})
		if err == errUnordered {
			break
		}
		if err != nil || i > maxUnordered/maxPayload {
			t.Fatalf("%d entries wait: %v", i, err)
		}
	}
}

// TestSlots uses slots again once they are free, and takes away those that nobody uses.
func TestSlots(t *testing.T) {
	var s slots
	now := time.Unix(1, 0)
	used := map[uint64]bool{}
	for range 10 * warmSlots {
		got, ok := s.take(1)
		if !ok {
			t.Fatal("no slot")
		}
		used[got[0].number] = true
		s.put(got, true, now)
	}
	if len(used) != warmSlots+1 {
		t.Errorf("%d slots were used", len(used))
	}
	lost, _ := s.take(3)
	s.put(lost, false, now)
	if got := s.cold(now.Add(coldAfter-1), 1000); len(got) != 0 {
		t.Errorf("%d slots are cold too soon", len(got))
	}
	cold := s.cold(now.Add(coldAfter), 10)
	s.restore(cold)
	again := s.cold(now.Add(coldAfter), 1000)
	for _, c := range again {
		if slices.ContainsFunc(lost, func(l slot) bool { return l.number == c.number }) {
			t.Error("a slot of unknown outcome is used again")
		}
	}
	if len(cold) != 10 || s.any() {
		t.Errorf("%d slots were cold, any is %v", len(cold), s.any())
	}
	if _, ok := s.take(maxSlots + 1); ok {
		t.Error("too many slots")
	}
}

// TestUsage fills the queue and waits until it is empty again.
func TestUsage(t *testing.T) {
	u := usage{limit: 1000}
	now := time.Unix(1000, 0)
	if !u.add(now, 600) || !u.add(now.Add(keptFor/2), 400) || u.add(now.Add(keptFor/2), 1) {
		t.Error("the limit does not hold")
	}
	if s := u.share(now.Add(keptFor / 2)); s != 1 {
		t.Errorf("%v of the queue is used", s)
	}
	if s := u.share(now.Add(keptFor + partOf)); s != 0.4 {
		t.Errorf("%v of the queue is used later", s)
	}
	if s := u.share(now.Add(3 * keptFor)); s != 0 {
		t.Errorf("%v of the queue is used at last", s)
	}
}
