package coord

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv/coord/readset"
	"github.com/lichendb/lichen/internal/kvpb"
)

// check is the state that BeginCheck saves.
type check struct {
	active    bool
	snapshot  Snapshot
	uncertain hlc.Timestamp
	observed  []kvpb.Observation
}

// BeginCheck starts the part of a statement that verifies a constraint. Its reads see all writes of
// the transaction. Below SERIALIZABLE they also see what others have committed up to now, which
// REPEATABLE READ would hide. The snapshot stays, reads until EndCheck are not recorded, and
// nothing may be written before EndCheck.
//
// At SERIALIZABLE such reads are like all others unless they are locked. Locks protect what the
// check finds until the transaction ends, so locked reads see the present and are not recorded
// either.
func (t *Txn) BeginCheck(locked bool) {
	t.BeginStatement()
	apart := t.opts.Isolation == kvpb.RepeatableRead || locked && t.opts.Isolation == kvpb.Serializable
	if !apart || !t.opts.AsOf.IsEmpty() {
		return
	}
	t.check = check{active: true, snapshot: t.present(), uncertain: t.meta.UncertainTS, observed: slices.Clone(t.observed)}
	t.newSnapshot(t.env.Clock.Now())
}

// EndCheck ends the part that BeginCheck started.
func (t *Txn) EndCheck() {
	if !t.check.active {
		return
	}
	t.minTS = t.minTS.Max(t.meta.ReadTS) // what was found holds from here on
	t.setReadTS(t.check.snapshot.readTS)
	t.hasRead, t.meta.UncertainTS = t.check.snapshot.hasRead, t.check.uncertain
	t.observed = append(t.observed[:0], t.check.observed...)
	t.check = check{}
}

// ReadApart begins a part of a statement whose reads need not hold at the commit. They see the
// snapshot in which the part begins, wherever the transaction's snapshot moves. It is meant for a
// statement that is a transaction by itself, and whose writes in this part nobody sees before the
// commit. The returned function ends the part and must run after an error too.
func (t *Txn) ReadApart() (end func()) {
	outer := t.reads
	t.reads = readset.Set{}
	return func() { t.reads = outer }
}

// Freshen moves the snapshot to now, above READ COMMITTED. It returns a retry error if something
// that was read has changed.
func (t *Txn) Freshen(ctx context.Context) error {
	if t.opts.Isolation == kvpb.ReadCommitted || !t.remembersReads() {
		return nil
	}
	return t.refresh(ctx, t.env.Clock.Now())
}
