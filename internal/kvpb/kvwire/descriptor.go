package kvwire

import (
	"bytes"
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
)

// DescriptorVersion is the format of range descriptors, in messages and where
// they are stored. Version 1 was that of the first single-node stores.
const DescriptorVersion = 2

// AppendDescriptor appends a range descriptor, which takes all of the rest of
// its message or record.
func AppendDescriptor(b []byte, d *kvpb.RangeDescriptor) []byte {
	b = appendUint(append(b, DescriptorVersion), uint64(d.RangeID))
	b = appendBytes(appendBytes(b, d.StartKey), d.EndKey)
	b = appendUint(b, uint64(len(d.Replicas)))
	for _, r := range d.Replicas {
		b = appendReplica(b, r)
	}
	b = appendUint(appendUint(b, uint64(d.NextReplicaID)), d.Generation)
	b = appendUint(b, d.BoundsGen)
	if d.Merging != 0 || d.Into != 0 {
		b = appendUint(appendUint(b, uint64(d.Merging)), uint64(d.Into))
		b = appendUint(b, d.IntoGeneration)
	}
	return b
}

// DecodeDescriptor reads what AppendDescriptor wrote.
func DecodeDescriptor(b []byte) (*kvpb.RangeDescriptor, error) {
	if len(b) > 0 && b[0] != DescriptorVersion {
		return nil, fmt.Errorf("kvwire: range descriptor has format version %d, this program reads %d", b[0], DescriptorVersion)
	}
	f := read(b)
	f.Byte()
	d := &kvpb.RangeDescriptor{RangeID: kvpb.RangeID(f.Uvarint())}
	d.StartKey, d.EndKey = bytes.Clone(f.bytes()), bytes.Clone(f.bytes())
	for n := f.Count(4); n > 0; n-- {
		d.Replicas = append(d.Replicas, f.replica())
	}
	d.NextReplicaID = kvpb.ReplicaID(f.Uvarint())
	d.Generation = f.Uvarint()
	d.BoundsGen = f.Uvarint()
	if f.Len() > 0 && !f.Bad() {
		d.Merging, d.Into, d.IntoGeneration = kvpb.RangeID(f.Uvarint()), kvpb.RangeID(f.Uvarint()), f.Uvarint()
	}
	if f.Bad() {
		return nil, ErrDamaged
	}
	return d, nil
}

func appendReplica(b []byte, r kvpb.ReplicaDescriptor) []byte {
	b = appendUint(appendUint(b, uint64(r.Node)), uint64(r.Store))
	return append(appendUint(b, uint64(r.Replica)), byte(r.Type))
}

func (f *reader) replica() kvpb.ReplicaDescriptor {
	return kvpb.ReplicaDescriptor{
		Node: kvpb.NodeID(f.Uvarint()), Store: kvpb.StoreID(f.Uvarint()),
		Replica: kvpb.ReplicaID(f.Uvarint()), Type: enum(f, kvpb.Voter, kvpb.LearnerOutgoing),
	}
}

// appendNested appends a descriptor inside a message; nil is kept.
func appendNested(b []byte, d *kvpb.RangeDescriptor) []byte {
	if d == nil {
		return appendBytes(b, nil)
	}
	return appendBytes(b, AppendDescriptor(nil, d))
}

func (f *reader) nested() *kvpb.RangeDescriptor {
	p := f.bytes()
	if p == nil {
		return nil
	}
	d, err := DecodeDescriptor(p)
	if err != nil {
		f.Fail()
		return nil
	}
	return d
}
