package apply

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/storage"
)

// EncodeDescriptor returns a descriptor as it is stored.
func EncodeDescriptor(d *kvpb.RangeDescriptor) []byte { return kvwire.AppendDescriptor(nil, d) }

// DecodeDescriptor reads what EncodeDescriptor wrote.
func DecodeDescriptor(p []byte) (*kvpb.RangeDescriptor, error) { return kvwire.DecodeDescriptor(p) }

// describe applies a change of the range itself. The change has no effect, and describe returns
// false, unless the range's descriptor is of the generation before it.
func (a *Applier) describe(kind opKind, key, value []byte) (ok bool, err error) {
	t := &Trigger{}
	switch kind {
	case opDescriptor:
		t.Desc, err = DecodeDescriptor(value)
	case opSplit:
		if t.Desc, err = DecodeDescriptor(key); err == nil {
			t.Right, err = DecodeDescriptor(value)
		}
	case opMerge:
		if t.Desc, err = DecodeDescriptor(key); err == nil {
			t.Merge, err = decodeMerge(value)
		}
	}
	if err != nil {
		return false, err
	}
	if base := t.Desc.Generation - 1; t.Merge == nil && base != a.gen || t.Merge != nil && t.Merge.Base != a.gen {
		return false, nil
	}
	if t.Right != nil {
		if err := a.begin(t.Right); err != nil {
			return false, err
		}
	}
	a.gen, a.boundsGen, a.trigger = t.Desc.Generation, t.Desc.BoundsGen, t
	return true, a.batch.Set(keys.RangeDescriptor(uint64(a.id)), EncodeDescriptor(t.Desc))
}

// Freezes returns the descriptors in an entry that freeze its range for a merge. They need not take
// effect: Applier.Entry decides that.
func Freezes(entry []byte) (found []*kvpb.RangeDescriptor, err error) {
	err = Commands(entry, func(_ uint64, cmd []byte) error {
		if len(cmd) < headerLen {
			return nil // a barrier
		}
		for p := cmd[headerLen:]; len(p) > 0; {
			var o operation
			var err error
			if o, p, err = nextOperation(p); err != nil {
				return err
			}
			if o.kind != opDescriptor {
				continue
			}
			d, err := DecodeDescriptor(o.value)
			if err != nil {
				return err
			}
			if d.Into != 0 {
				found = append(found, d)
			}
		}
		return nil
	})
	return found, err
}

// Describe replaces the descriptor as part of the entry added last, for a change that
// follows from that entry and the descriptor alone.
func (a *Applier) Describe(d *kvpb.RangeDescriptor) error {
	a.trigger = &Trigger{Desc: d}
	a.gen, a.boundsGen = d.Generation, d.BoundsGen
	return a.batch.Set(keys.RangeDescriptor(uint64(a.id)), EncodeDescriptor(d))
}

// begin writes the first state of the right half of a split, if this store has a replica of it.
func (a *Applier) begin(d *kvpb.RangeDescriptor) error {
	rep, ok := d.Replica(a.store)
	if !ok {
		return nil
	}
	th, err := a.presentThreshold()
	if err != nil {
		return err
	}
	return WriteReplica(a.batch, d, rep.Replica, State{Index: FirstIndex, Term: FirstTerm}, th)
}

// FirstIndex and FirstTerm are where the log of a new range begins. All replicas know it, so that a
// replica of a new range starts without a snapshot.
const (
	FirstIndex = 10
	FirstTerm  = 5
)

// WriteReplica puts into a batch the records of a replica besides the range's data.
func WriteReplica(b *storage.Batch, d *kvpb.RangeDescriptor, id kvpb.ReplicaID, st State, threshold hlc.Timestamp) error {
	n := uint64(d.RangeID)
	if err := WriteState(b, d.RangeID, st); err != nil {
		return err
	}
	if !threshold.IsEmpty() {
		if err := b.Set(keys.RangeGCThreshold(n), appendTimestamp(nil, threshold)); err != nil {
			return err
		}
	}
	if err := b.Set(keys.RangeReplicaID(n), binary.AppendUvarint(nil, uint64(id))); err != nil {
		return err
	}
	return b.Set(keys.RangeDescriptor(n), EncodeDescriptor(d))
}
