package apply

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// Merge describes a merge: which range a range subsumes.
type Merge struct {
	// Base is the generation of the range's descriptor under which the merge was decided.
	// Under another one the merge has no effect.
	Base uint64
	// Index is the entry of the right range's log that froze it. The store's replica of
	// the right range must have applied it.
	Index uint64
	// Right is the right range's descriptor at that index.
	Right *kvpb.RangeDescriptor
}

func (m *Merge) encode() []byte {
	b := binary.AppendUvarint(nil, m.Base)
	b = binary.AppendUvarint(b, m.Index)
	return append(b, EncodeDescriptor(m.Right)...)
}

func decodeMerge(p []byte) (*Merge, error) {
	r := encoding.NewReader(p)
	m := &Merge{Base: r.Uvarint(), Index: r.Uvarint()}
	if r.Bad() {
		return nil, ErrDamaged
	}
	var err error
	m.Right, err = DecodeDescriptor(r.Rest())
	return m, err
}

// Absorb completes the merge of the last entry. The right range's data stay where they are and
// belong to this range; the replica of the right range is gone from the store.
func (a *Applier) Absorb(m *Merge) error {
	th, err := LoadThreshold(a.eng, m.Right.RangeID)
	if err == nil {
		err = a.raiseThreshold(th)
	}
	if err != nil {
		return err
	}
	return Forget(a.batch, m.Right.RangeID, MergedAway)
}

// presentThreshold returns the collection threshold: that of the batch, or the stored one.
func (a *Applier) presentThreshold() (hlc.Timestamp, error) {
	if !a.threshold.IsEmpty() {
		return a.threshold, nil
	}
	return LoadThreshold(a.eng, a.id)
}

// MergedAway is the floor under the replica ids of a range that became part of
// another: it never comes back.
const MergedAway = kvpb.ReplicaID(1 << 62)

// Forget puts into a batch the deletion of a replica's records, and a tombstone: a later replica of
// the range on this store has the id floor or a higher one.
func Forget(b *storage.Batch, id kvpb.RangeID, floor kvpb.ReplicaID) error {
	local := keys.RangeLocalSpan(uint64(id))
	if err := b.DeleteRange(local.Start, local.End); err != nil {
		return err
	}
	return b.Set(keys.RangeTombstone(uint64(id)), binary.AppendUvarint(nil, uint64(floor)))
}
