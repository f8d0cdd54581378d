package replica

import (
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftgroup"
)

// Without a record a range says how a transaction ended only if it remembers, and that it
// has not committed only if it can't have forgotten.
func TestEndForgotten(t *testing.T) {
	at := func(n int64) hlc.Timestamp { return hlc.Timestamp{WallTime: n} }
	r := new(Replica)
	committed, lost := kvpb.TxnID{Lo: 1}, kvpb.TxnID{Lo: 2}
	r.recent.note(committed, at(10))
	r.recent.forget(at(20))
	ask := func(id kvpb.TxnID, action kvpb.EndAction, since hlc.Timestamp) (resp kvpb.EndTxnResponse) {
		rec := &record{txnRecord: txnRecord{id: id}}
		if err := r.endUnknown(rec, raftgroup.Fence{}, &kvpb.EndTxnRequest{Action: action, Since: since}, &resp); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if got := ask(committed, kvpb.EndAbort, at(10)); got.Status != kvpb.TxnCommitted || got.CommitTS != at(10) || got.Forgotten {
		t.Errorf("one that is remembered: %+v", got)
	}
	for _, action := range []kvpb.EndAction{kvpb.EndCommit, kvpb.EndAbort} {
		if got := ask(lost, action, at(20)); !got.Forgotten {
			t.Errorf("one that may be forgotten: %+v", got)
		}
	}
	if got := ask(lost, kvpb.EndForget, at(20)); got.Forgotten {
		t.Errorf("the record of one that may be forgotten: %+v", got)
	}
}
