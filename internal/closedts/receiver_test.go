package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func closedAt(wall int64) hlc.Timestamp { return hlc.Timestamp{WallTime: wall, Logical: 3} }

func TestClosedMessage(t *testing.T) {
	m := closedMessage{
		store: 3, life: 1 << 60, seq: 9, reset: true, closed: closedAt(77), removed: []kvpb.RangeID{4, 9},
		added:  []closedItem{{id: 5, index: 12}, {id: 1 << 40, index: 1 << 50}},
		active: []closedItem{{id: 6, index: 13, ts: closedAt(70)}},
	}
	p := m.encode()
	var got closedMessage
	if err := got.decode(append(p, "later"...)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range p {
		if got.decode(p[:n]) == nil {
			t.Errorf("%d of %d bytes were taken for a message", n, len(p))
		}
	}
	var all []kvpb.RangeID
	for len(m.removed)+len(m.added)+len(m.active) > 0 {
		part := m.take(2)
		if len(all) > 0 && len(part.removed) > 0 {
			t.Error("what was removed does not go in the first message")
		}
		all = append(all, part.removed...)
		for _, k := range append(part.added, part.active...) {
			all = append(all, k.id)
		}
	}
	if want := []kvpb.RangeID{4, 9, 5, 1 << 40, 6}; !reflect.DeepEqual(all, want) {
		t.Errorf("cut up: %v, want %v", all, want)
	}
}

// What a store is told about ranges at rest, when messages get lost, come twice or come
// from an earlier life.
func TestClosedStream(t *testing.T) {
	c := newClosing(&Store{}, time.Second)
	seq := uint64(0)
	say := func(closed int64, m closedMessage) (ask bool) {
		seq++
		m.store, m.seq, m.closed = 2, seq, closedAt(closed)
		if m.life == 0 {
			m.life = 10
		}
		return c.take(&m)
	}
	expect := func(what string, id kvpb.RangeID, applied uint64, wall int64) {
		t.Helper()
		want := hlc.Timestamp{}
		if wall > 0 {
			want = closedAt(wall)
		}
		if got := c.Closed(id, applied); got != want {
			t.Errorf("%s: range %d is closed at %v, want %v", what, id, got, want)
		}
	}
	if !say(90, closedMessage{}) {
		t.Error("nothing was asked, though nothing is known")
	}
	if say(95, closedMessage{}) {
		t.Error("it is asked again at once")
	}
	say(100, closedMessage{reset: true, added: []closedItem{{id: 7, index: 20}, {id: 8, index: 30}}})
	expect("at rest", 7, 20, 100)
	expect("before the index", 7, 19, 0)
	say(110, closedMessage{removed: []kvpb.RangeID{8}})
	expect("it rises", 7, 25, 110)
	expect("left", 8, 30, 100)
	say(120, closedMessage{active: []closedItem{{id: 8, index: 40, ts: closedAt(115)}}})
	expect("behind", 8, 39, 100)
	expect("applied", 8, 40, 115)
	seq-- // the last one once more
	say(200, closedMessage{})
	expect("repeated", 7, 25, 120)
	seq++ // one gets lost, in which range 7 may have left
	if !say(130, closedMessage{}) {
		t.Error("nothing is asked after a loss")
	}
	expect("after a loss", 7, 25, 120)
	if say(140, closedMessage{}) {
		t.Error("asked twice within a second")
	}
	expect("still", 7, 25, 120)
	say(150, closedMessage{reset: true, added: []closedItem{{id: 7, index: 26}}})
	expect("all anew", 7, 26, 150)
	expect("what was said before holds", 7, 25, 120)
	say(300, closedMessage{life: 9, reset: true})
	expect("an earlier life", 7, 26, 150)
	seq = 0
	say(160, closedMessage{life: 11, reset: true})
	expect("a later life", 7, 26, 150)
	c.Inherit(7, 9, 27)
	expect("split off", 9, 10, 150)
	c.Inherit(7, 11, 26)
	expect("split off before", 11, 10, 120)
}

// However far a replica is behind, one of the statements comes true.
func TestClaims(t *testing.T) {
	var k told
	for i := range 50 {
		k.add(claim{index: uint64(100 + i), ts: closedAt(int64(1000 + i))}, 90)
	}
	if k.n != maxClaims-1 || k.claims[0].index != 100 || k.claims[k.n-1].index != 149 {
		t.Errorf("kept: %+v", k)
	}
	k.add(claim{index: 200, ts: closedAt(2000)}, 150)
	if k.n != 2 || k.claims[0].index != 200 || k.claims[1].index != 149 {
		t.Errorf("kept when most have come true: %+v", k)
	}
}

func FuzzClosedMessage(f *testing.F) {
	m := closedMessage{store: 1, removed: []kvpb.RangeID{1}, added: []closedItem{{id: 2, index: 3}}}
	f.Add(m.encode())
	f.Fuzz(func(_ *testing.T, p []byte) {
		var m closedMessage
		_ = m.decode(p)
	})
}
