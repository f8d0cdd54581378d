package closedts

import (
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func closedAt(wall int64) hlc.Timestamp { return hlc.Timestamp{WallTime: wall, Logical: 3} }

func TestMessage(t *testing.T) {
	m := Message{
		Store: 3, Process: 1 << 60, Seq: 9, Reset: true, Closed: closedAt(77), Removed: []kvpb.RangeID{4, 9},
		Added:  []Item{{Range: 5, Index: 12}, {Range: 1 << 40, Index: 1 << 50}},
		Active: []Item{{Range: 6, Index: 13, TS: closedAt(70)}},
	}
	p := m.Encode()
	var got Message
	if err := got.Decode(append(p, "later"...)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range p {
		if got.Decode(p[:n]) == nil {
			t.Errorf("%d of %d bytes were taken for a message", n, len(p))
		}
	}
	var all []kvpb.RangeID
	for len(m.Removed)+len(m.Added)+len(m.Active) > 0 {
		part := m.take(2)
		if len(all) > 0 && len(part.Removed) > 0 {
			t.Error("what was removed does not go in the first message")
		}
		all = append(all, part.Removed...)
		for _, k := range append(part.Added, part.Active...) {
			all = append(all, k.Range)
		}
	}
	if want := []kvpb.RangeID{4, 9, 5, 1 << 40, 6}; !reflect.DeepEqual(all, want) {
		t.Errorf("cut up: %v, want %v", all, want)
	}
}

// However far a replica is behind, one of the statements comes true.
func TestStatements(t *testing.T) {
	var k rangeClosed
	for i := range 50 {
		k.add(statement{index: uint64(100 + i), ts: closedAt(int64(1000 + i))}, 90)
	}
	if k.n != maxStatements-1 || k.statements[0].index != 100 || k.statements[k.n-1].index != 149 {
		t.Errorf("kept: %+v", k)
	}
	k.add(statement{index: 200, ts: closedAt(2000)}, 150)
	if k.n != 2 || k.statements[0].index != 200 || k.statements[1].index != 149 {
		t.Errorf("kept when most have come true: %+v", k)
	}
}

func FuzzMessage(f *testing.F) {
	m := Message{Store: 1, Removed: []kvpb.RangeID{1}, Added: []Item{{Range: 2, Index: 3}}}
	f.Add(m.Encode())
	f.Fuzz(func(_ *testing.T, p []byte) {
		var m Message
		_ = m.Decode(p)
	})
}
