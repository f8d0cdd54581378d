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
		txn: kvpb.TxnID{Hi: 7, Lo: 9}, ts: hlc.Timestamp{WallTime: 5, Logical: 2}, anchor: []byte("a"), position: 77,
		history: []spilledWrite{{position: 3, value: []byte("before")}, {position: 1, deleted: true}}, cut: true, staged: true, epoch: 3, deleted: true,
	}
	got, err := decodeLock(lock.encode())
	if err != nil || !reflect.DeepEqual(got, lock) {
		t.Errorf("lock: %+v, %v", got, err)
	}
	rec := txnRecord{
		id: lock.txn, anchor: []byte("a"), status: kvpb.TxnStaging, ts: lock.ts, epoch: 2,
		keys: [][]byte{[]byte("a"), []byte("z")}, span: kvpb.Span{Key: []byte("a"), EndKey: []byte("zz")},
	}
	back, err := decodeRecord(rec.encode())
	if err != nil || !reflect.DeepEqual(back, rec) {
		t.Errorf("record: %+v, %v", back, err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add((&lockRecord{history: []spilledWrite{{value: []byte("x")}}}).encode())
	f.Add((&txnRecord{anchor: []byte("a"), keys: [][]byte{[]byte("b")}}).encode())
	f.Fuzz(func(t *testing.T, p []byte) {
		if l, err := decodeLock(p); err == nil {
			if again, err := decodeLock(l.encode()); err != nil || !reflect.DeepEqual(again, l) {
				t.Errorf("the lock does not read back: %v", err)
			}
		}
		r, err := decodeRecord(p)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil || !bytes.Equal(again.anchor, r.anchor) || len(again.keys) != len(r.keys) {
			t.Errorf("the record does not read back: %v", err)
		}
	})
}
