package replica

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestRecordsRoundTrip(t *testing.T) {
	lock := lockRecord{
		txn: kvpb.TxnID{Hi: 7, Lo: 9}, ts: hlc.Timestamp{WallTime: 5, Logical: 2}, position: 77,
		hasPrev: true, prevPosition: 3, prevValue: []byte("before"),
	}
	got, err := decodeLock(lock.encode())
	if err != nil || !reflect.DeepEqual(got, lock) {
		t.Errorf("lock: %+v, %v", got, err)
	}
	s := &spill{id: lock.txn, ts: lock.ts, anchor: []byte("a"), lo: []byte("a"), hi: []byte("z")}
	back, err := decodeSpill(s.encode(spillCommitted, hlc.Timestamp{WallTime: 8}))
	if err != nil || back.state != spillCommitted || back.commitTS.WallTime != 8 || !bytes.Equal(back.hi, s.hi) || back.id != s.id {
		t.Errorf("record: %+v, %v", back, err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add((&lockRecord{hasPrev: true, prevValue: []byte("x")}).encode())
	f.Add((&spill{lo: []byte("a"), hi: []byte("b")}).encode(spillPending, hlc.Timestamp{}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if l, err := decodeLock(p); err == nil && len(p) >= 2 && p[1] <= 7 && !l.hasPrev && l.prevValue != nil {
			t.Error("a previous value without its flag")
		}
		if s, err := decodeSpill(p); err == nil && !bytes.HasPrefix(p, s.encode(s.state, s.commitTS)) {
			// Lengths may be written in a longer form than need be.
			if again, err := decodeSpill(s.encode(s.state, s.commitTS)); err != nil || !bytes.Equal(again.hi, s.hi) {
				t.Errorf("the record does not read back: %v", err)
			}
		}
	})
}
