package sql_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/store"
)

// fakeNodes is a cluster of one node that has others which never answer, if mute says so, or one
// other server that does.
type fakeNodes struct {
	store *store.Store
	db    *kv.DB
	mute  []kvpb.NodeID
	self  kvpb.NodeID // 0: 1
	peer  *sql.Server // node 3 - self
}

func (f *fakeNodes) Self() kvpb.NodeID                 { return max(f.self, 1) }
func (f *fakeNodes) Others() []kvpb.NodeID             { return append(f.peers(), f.mute...) }
func (f *fakeNodes) Alone() bool                       { return false }
func (f *fakeNodes) WaitGraph() *concurrency.WaitGraph { return f.store.Waits() }
func (f *fakeNodes) TxnFinalized(id kvpb.TxnID) bool   { return f.db.Finalized(id) }

func (f *fakeNodes) peers() []kvpb.NodeID {
	if f.peer == nil {
		return nil
	}
	return []kvpb.NodeID{3 - f.Self()}
}

func (f *fakeNodes) Ask(_ context.Context, n kvpb.NodeID, q []byte) ([]byte, error) {
	if slices.Contains(f.peers(), n) {
		return f.peer.Answer(q)
	}
	return nil, errors.New("no route")
}

func (f *fakeNodes) Locks(fn func(kvpb.RangeID, concurrency.Lock) bool) {
	for _, r := range f.store.Replicas() {
		r.EachLock(func(l concurrency.Lock) bool { return fn(r.RangeID(), l) })
	}
}

// eventually waits until f holds.
func eventually(f func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < 5*time.Minute; {
		if f() {
			return true
		}
		<-tick.C
	}
	return false
}
