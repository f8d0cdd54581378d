package apply

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// The formats of entries, commands and applied states; others are refused by name. Commands of version 2 are read:
// none of them is provisional.
const (
	Version      = 3
	priorVersion = 2
	entryVersion = 2
	stateVersion = 2
)

// MaxEntryBytes and MaxEntryCommands bound how much one raft entry coalesces. A
// single command may be larger, up to MaxCommandBytes.
const (
	MaxEntryBytes    = 1 << 20
	MaxEntryCommands = 256
	MaxCommandBytes  = 48 << 20
)

// LongCommand is the size from which on a command's memory is not kept for another one.
const LongCommand = 1 << 20

// opKind is the first byte of an operation.
type opKind byte

const (
	opPut         opKind = 1 + iota // key, value: a version at the command's timestamp
	opTombstone                     // key: a deletion at the command's timestamp
	opCollect                       // key, timestamp and size: drops one version for good
	opSetRaw                        // key, value: an unversioned key
	opDeleteRaw                     // key
	opClearSpan                     // start, end: drops all keys of the span, versioned or not
	opThreshold                     // timestamp: raises the collection threshold
	opDescriptor                    // descriptor: replaces the range's descriptor
	opSplit                         // left, right descriptor: cuts the range in two
	opMerge                         // descriptor, Merge: subsumes the range to the right
	opCheck                         // CheckID: asks each replica for the checksum of its state here
	opTable                         // marker: puts in ascending order follow, for a sorted table
	opProvisional                   // marker: the command does not end its transaction
)

// ErrDamaged says that a command's bytes do not parse.
var ErrDamaged = errors.New("apply: damaged command")

// Builder makes the bytes of one command. The zero value is not ready: call
// Reset first.
type Builder struct{ buf []byte }

// Reset starts a command that commits txn (zero if it commits none) at ts.
func (b *Builder) Reset(txn kvpb.TxnID, ts hlc.Timestamp) {
	b.buf = append(b.buf[:0], Version)
	b.buf = binary.BigEndian.AppendUint64(b.buf, txn.Hi)
	b.buf = binary.BigEndian.AppendUint64(b.buf, txn.Lo)
	b.buf = appendTimestamp(b.buf, ts)
}

// Provisional starts a command that writes provisional versions of txn at ts, or changes them.
func (b *Builder) Provisional(txn kvpb.TxnID, ts hlc.Timestamp) {
	b.Reset(txn, ts)
	b.op(opProvisional, nil, nil)
}

// Bytes returns the command; it is valid until the next Reset.
func (b *Builder) Bytes() []byte { return b.buf }

// Take returns the command. The builder gives up the memory of a long one, so that it is free once
// its raft entry is. A short one is valid until the next Reset.
func (b *Builder) Take() []byte {
	command := b.buf
	if len(command) >= LongCommand {
		b.buf = nil
	}
	return command
}

// Len returns the size of the command so far.
func (b *Builder) Len() int { return len(b.buf) }

// Put adds a version of key.
func (b *Builder) Put(key, value []byte) { b.op(opPut, key, value) }

// Table begins a command that has only puts, in ascending order of the keys. Each replica makes a
// sorted table of them, which its engine ingests (docs/decisions/0016-ingestion.md).
func (b *Builder) Table() { b.op(opTable, nil, nil) }

// Tombstone adds a deletion of key.
func (b *Builder) Tombstone(key []byte) { b.op(opTombstone, key, nil) }

// Collect drops a garbage version of key for good.
func (b *Builder) Collect(key []byte, g mvcc.Garbage) {
	var tb [16]byte
	b.op(opCollect, key, binary.BigEndian.AppendUint32(appendTimestamp(tb[:0], g.TS), g.Size))
}

// SetRaw sets an unversioned key.
func (b *Builder) SetRaw(key, value []byte) { b.op(opSetRaw, key, value) }

// DeleteRaw deletes an unversioned key.
func (b *Builder) DeleteRaw(key []byte) { b.op(opDeleteRaw, key, nil) }

// ClearSpan drops all versions of all keys in [start, end), and unversioned
// keys there too.
func (b *Builder) ClearSpan(start, end []byte) { b.op(opClearSpan, start, end) }

// RaiseThreshold raises the range's collection threshold.
func (b *Builder) RaiseThreshold(ts hlc.Timestamp) {
	var tb [12]byte
	b.op(opThreshold, nil, appendTimestamp(tb[:0], ts))
}

// SetDescriptor replaces the range's descriptor by the next one.
func (b *Builder) SetDescriptor(d *kvpb.RangeDescriptor) {
	b.op(opDescriptor, nil, EncodeDescriptor(d))
}

// Split cuts the range in two.
func (b *Builder) Split(left, right *kvpb.RangeDescriptor) {
	b.op(opSplit, EncodeDescriptor(left), EncodeDescriptor(right))
}

// Merge subsumes the range to the right: its keys become the range's own.
func (b *Builder) Merge(desc *kvpb.RangeDescriptor, m *Merge) {
	b.op(opMerge, EncodeDescriptor(desc), m.encode())
}

// CheckID names a request for checksums.
type CheckID [16]byte

// Check asks each replica for the checksum of the range's state after the entry.
func (b *Builder) Check(id CheckID) { b.op(opCheck, id[:], nil) }

func (b *Builder) op(k opKind, key, value []byte) {
	b.buf = append(b.buf, byte(k))
	b.buf = binary.AppendUvarint(b.buf, uint64(len(key)))
	b.buf = append(b.buf, key...)
	b.buf = binary.AppendUvarint(b.buf, uint64(len(value)))
	b.buf = append(b.buf, value...)
}

// AppendEntry adds a command to the payload of a raft entry. boundsGen is the bounds generation
// under which the command was evaluated, or AnyBounds.
func AppendEntry(entry []byte, boundsGen uint64, command []byte) []byte {
	if len(entry) == 0 {
		entry = append(entry, entryVersion)
	}
	entry = binary.AppendUvarint(entry, boundsGen)
	entry = binary.AppendUvarint(entry, uint64(len(command)))
	return append(entry, command...)
}

// operation is what a command does, in the format of Builder.
type operation struct {
	kind       opKind
	key, value []byte
}

// nextOperation reads the first of a command's operations and returns those after it.
func nextOperation(p []byte) (o operation, rest []byte, err error) {
	o.kind = opKind(p[0])
	if o.key, p, err = encoding.DecodeLenBytes(p[1:]); err != nil {
		return o, nil, ErrDamaged
	}
	if o.value, p, err = encoding.DecodeLenBytes(p); err != nil {
		return o, nil, ErrDamaged
	}
	return o, p, nil
}

// AnyBounds is the bounds generation of commands that take effect under any bounds.
const AnyBounds = 0

// Commands calls fn for every command of a raft entry's payload.
func Commands(entry []byte, fn func(boundsGen uint64, command []byte) error) error {
	if len(entry) == 0 {
		return nil
	}
	if entry[0] != entryVersion {
		return fmt.Errorf("apply: entry has format version %d, this program reads %d", entry[0], entryVersion)
	}
	for p := entry[1:]; len(p) > 0; {
		boundsGen, w := binary.Uvarint(p)
		if w <= 0 {
			return ErrDamaged
		}
		cmd, rest, err := encoding.DecodeLenBytes(p[w:])
		if err != nil {
			return ErrDamaged
		}
		if err := fn(boundsGen, cmd); err != nil {
			return err
		}
		p = rest
	}
	return nil
}

func appendTimestamp(b []byte, ts hlc.Timestamp) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(ts.WallTime))
	return binary.BigEndian.AppendUint32(b, ts.Logical)
}

func timestamp(p []byte) (hlc.Timestamp, bool) {
	if len(p) != 12 {
		return hlc.Timestamp{}, false
	}
	return hlc.Timestamp{
		WallTime: int64(binary.BigEndian.Uint64(p)), Logical: binary.BigEndian.Uint32(p[8:]),
	}, true
}

func garbage(p []byte) (g mvcc.Garbage, ok bool) {
	if len(p) != 16 {
		return g, false
	}
	g.TS, ok = timestamp(p[:12])
	g.Size = binary.BigEndian.Uint32(p[12:])
	return g, ok
}
