package replica

import (
	"testing"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// bare returns a replica that does nothing but hold locks.
func bare(end string, held ...concurrency.Lock) *Replica {
	r := &Replica{locks: concurrency.NewLockTable(MaxLocks)}
	r.desc.Store(&kvpb.RangeDescriptor{EndKey: []byte(end)})
	r.locks.Install(held)
	return r
}

// TestReleaseFollows: a release goes to where a split, and a merge behind it, have moved the lock, and ends where it has been
// before: a right half that was merged back leads there.
func TestReleaseFollows(t *testing.T) {
	const txn = 7
	id := concurrency.TxnID{Lo: txn}
	held := concurrency.Lock{Key: []byte("x"), Txn: id, Strength: lock.Update}
	left, right, far := bare("g"), bare("p", held), bare("z", held)
	left.right.Store(right)
	right.right.Store(far)
	right.merging.into.Store(&successor{Replica: left})
	far.merging.into.Store(&successor{Replica: right})
	far.inherit = []concurrency.Lock{held, {Key: []byte("y"), Txn: id}}
	left.releaseAll(id, [][]byte{[]byte("x")})
	for name, r := range map[string]*Replica{"right": right, "far": far} {
		if l := r.locks.Extract(nil, nil); len(l) != 0 {
			t.Errorf("%s still holds %v", name, l)
		}
	}
	if len(far.inherit) != 1 || string(far.inherit[0].Key) != "y" {
		t.Errorf("to be inherited: %v", far.inherit)
	}
}
