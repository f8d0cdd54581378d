package replica

import (
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Whichever comes first, the promise of a threshold or provisional versions below it,
// the other one learns of it.
func TestPromise(t *testing.T) {
	at := func(wall int64) hlc.Timestamp { return hlc.Timestamp{WallTime: wall} }
	r := &Replica{}
	raise(&r.thresholds.promised, hlc.Timestamp{})
	announce := func(lo uint64, ts hlc.Timestamp) (*part, hlc.Timestamp) {
		sp := &r.spills
		sp.mu.Lock()
		defer sp.mu.Unlock()
		p := sp.all[kvpb.TxnID{Lo: lo}]
		if p == nil {
			p = newPart(kvpb.TxnID{Lo: lo}, nil)
			if sp.all == nil {
				sp.all = map[kvpb.TxnID]*part{}
			}
			sp.all[p.id] = p
		}
		return p, r.announceLocked(p, ts)
	}
	for lo := range uint64(20) { // parts of which nothing is written yet bound nothing
		r.spills.all = map[kvpb.TxnID]*part{}
		for other := range uint64(4) {
			r.spills.all[kvpb.TxnID{Hi: 1, Lo: other}] = newPart(kvpb.TxnID{Hi: 1, Lo: other}, nil)
		}
		if _, low := announce(lo, at(50)); !low.IsEmpty() {
			t.Fatalf("with no promise a version at 50 has to be at %v", low)
		}
		if got := r.promise(at(80)); got != at(50).Prev() {
			t.Fatalf("versions up to %v may go under a provisional one at 50", got)
		}
	}
	p, low := announce(1, at(70))
	if !low.IsEmpty() || p.oldest != at(70) {
		t.Fatalf("an attempt at 70 has to be at %v, its versions begin at %v", low, p.oldest)
	}
	if _, low := announce(1, at(60)); !low.IsEmpty() || p.oldest != at(60) {
		t.Fatalf("a part with versions at 60 and 70 begins at %v", p.oldest)
	}
	r.spills.all = nil
	if got := r.promise(at(80)); got != at(80) || r.Threshold() != at(80) {
		t.Fatalf("with nothing provisional versions up to %v may go, below 80; the threshold is %v", got, r.Threshold())
	}
	if got := r.promise(at(30)); got != at(30) || r.Threshold() != at(80) {
		t.Fatalf("the threshold fell to %v", r.Threshold())
	}
	for _, ts := range []hlc.Timestamp{at(50), at(80)} {
		if p, low := announce(2, ts); low != at(80).Next() || !p.oldest.IsEmpty() {
			t.Fatalf("below the threshold a version at %v has to be at %v", ts, low)
		}
	}
}
