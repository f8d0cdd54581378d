package txnintent

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestRecordsRoundTrip(t *testing.T) {
	lock := Intent{
		Txn: kvpb.TxnID{Hi: 7, Lo: 9}, TS: hlc.Timestamp{WallTime: 5, Logical: 2}, Anchor: []byte("a"), Position: 77,
		History: []SequencedWrite{{Position: 3, Value: []byte("before")}, {Position: 1, Deleted: true}}, Truncated: true, Staged: true, Attempt: 3, Deleted: true,
	}
	got, err := DecodeIntent(lock.Encode())
	if err != nil || !reflect.DeepEqual(got, lock) {
		t.Errorf("lock: %+v, %v", got, err)
	}
	rec := TxnRecord{
		ID: lock.Txn, Anchor: []byte("a"), Status: kvpb.TxnStaging, TS: lock.TS, Attempt: 2,
		Keys: [][]byte{[]byte("a"), []byte("z")}, Span: kvpb.Span{Key: []byte("a"), EndKey: []byte("zz")},
	}
	back, err := DecodeTxnRecord(rec.Encode())
	if err != nil || !reflect.DeepEqual(back, rec) {
		t.Errorf("record: %+v, %v", back, err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add((&Intent{History: []SequencedWrite{{Value: []byte("x")}}}).Encode())
	f.Add((&TxnRecord{Anchor: []byte("a"), Keys: [][]byte{[]byte("b")}}).Encode())
	f.Fuzz(func(t *testing.T, p []byte) {
		if l, err := DecodeIntent(p); err == nil {
			if again, err := DecodeIntent(l.Encode()); err != nil || !reflect.DeepEqual(again, l) {
				t.Errorf("the lock does not read back: %v", err)
			}
		}
		r, err := DecodeTxnRecord(p)
		if err != nil {
			return
		}
		again, err := DecodeTxnRecord(r.Encode())
		if err != nil || !bytes.Equal(again.Anchor, r.Anchor) || len(again.Keys) != len(r.Keys) {
			t.Errorf("the record does not read back: %v", err)
		}
	})
}
