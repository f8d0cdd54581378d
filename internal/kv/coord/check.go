package coord

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// check is what BeginCheck puts aside.
type check struct {
	active    bool
	snapshot  Snapshot
	uncertain hlc.Timestamp
	observed  []kvpb.Observation
}

// BeginCheck starts a part of a statement that verifies a constraint: it sees all
// that the transaction has written and, below SERIALIZABLE, what others have
// committed up to now, which REPEATABLE READ would hide from it. The transaction's
// snapshot stays where it is, and what is read until EndCheck is not remembered.
// Nothing may be written in between. At SERIALIZABLE such reads are like all others,
// unless they are locked: what the check finds then holds until the transaction ends,
// by locks that it has, so that there too they see the present and are not remembered.
func (t *Txn) BeginCheck(locked bool) {
	t.BeginStatement()
	apart := t.opts.Isolation == kvpb.RepeatableRead || locked && t.opts.Isolation == kvpb.Serializable
	if !apart || !t.opts.AsOf.IsEmpty() {
		return
	}
	t.check = check{active: true, snapshot: t.present(), uncertain: t.meta.UncertainTS, observed: slices.Clone(t.observed)}
	t.newSnapshot(t.env.Clock.Now())
}

// EndCheck ends what BeginCheck began.
func (t *Txn) EndCheck() {
	if !t.check.active {
		return
	}
	t.minTS = t.minTS.Max(t.meta.ReadTS) // what was found is true from here on
	t.setReadTS(t.check.snapshot.readTS)
	t.hasRead, t.meta.UncertainTS = t.check.snapshot.hasRead, t.check.uncertain
	t.observed = append(t.observed[:0], t.check.observed...)
	t.check = check{}
}

// ReadApart begins a part of a statement whose reads need not hold when the transaction
// commits: they are of the snapshot in which the part begins, whatever becomes of it. It is for
// a statement that is a transaction by itself and writes nothing in this part that anybody sees
// before the commit. The function that it returns ends the part, also after an error.
func (t *Txn) ReadApart() (end func()) {
	outer := t.reads
	t.reads = ReadSet{}
	return func() { t.reads = outer }
}

// Freshen moves the snapshot to now, above READ COMMITTED, so that what others have
// committed since is seen; it is a retry error if something that was read has changed.
func (t *Txn) Freshen(ctx context.Context) error {
	if t.opts.Isolation == kvpb.ReadCommitted || !t.remembersReads() {
		return nil
	}
	return t.refresh(ctx, t.env.Clock.Now())
}
