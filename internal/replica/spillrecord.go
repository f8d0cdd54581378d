package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// recordVersion is the format of durable locks and transaction records.
const recordVersion = 3

// lockRecord is a durable lock: the value under keys.Lock(key). It belongs to the
// version of the key at ts. Of a spilled write it says which of the
// transaction's it is, and what it replaced of an earlier one.
type lockRecord struct {
	txn    kvpb.TxnID
	ts     hlc.Timestamp
	anchor []byte // where the transaction's record is
	// staged says that the version is part of a commit at ts, by the attempt epoch.
	staged bool
	epoch  uint32

	position uint64
	deleted  bool
	// history are the earlier writes of the key that may be asked for again, the newest
	// first; cut says that older ones were dropped for lack of room.
	history []spilledWrite
	cut     bool
}

// spilledWrite is a write that a later one of the same transaction has replaced.
type spilledWrite struct {
	position uint64
	deleted  bool
	value    []byte
}

// maxHistory bounds the earlier writes that a durable lock holds: a rollback to a
// savepoint before them fails.
const maxHistory = 16

const (
	lockDeleted = 1 << 0
	lockHistory = 1 << 1
	lockCut     = 1 << 2
	lockStaged  = 1 << 3
)

func (l *lockRecord) encode() []byte {
	flags := byte(0)
	for _, f := range []struct {
		on  bool
		bit byte
	}{{l.deleted, lockDeleted}, {len(l.history) > 0, lockHistory}, {l.cut, lockCut}, {l.staged, lockStaged}} {
		if f.on {
			flags |= f.bit
		}
	}
	b := append(make([]byte, 0, 64+len(l.anchor)), recordVersion, flags)
	b = appendID(b, l.txn)
	b = appendTS(b, l.ts)
	b = binary.BigEndian.AppendUint32(b, l.epoch)
	b = binary.BigEndian.AppendUint64(b, l.position)
	b = encoding.AppendLenBytes(b, l.anchor)
	if len(l.history) > 0 {
		b = binary.AppendUvarint(b, uint64(len(l.history)))
	}
	for _, w := range l.history {
		flags := byte(0)
		if w.deleted {
			flags = lockDeleted
		}
		b = binary.BigEndian.AppendUint64(append(b, flags), w.position)
		b = encoding.AppendLenBytes(b, w.value)
	}
	return b
}

func decodeLock(p []byte) (l lockRecord, err error) {
	r := encoding.NewReader(p)
	version, flags := r.Byte(), r.Byte()
	l.txn, l.ts, l.epoch, l.position = readID(&r), readTS(&r), r.Uint32(), r.Uint64()
	l.anchor = readCopy(&r)
	l.deleted, l.cut, l.staged = flags&lockDeleted != 0, flags&lockCut != 0, flags&lockStaged != 0
	if flags&lockHistory != 0 {
		for n := r.Count(10); n > 0 && !r.Bad(); n-- {
			l.history = append(l.history, spilledWrite{deleted: r.Byte()&lockDeleted != 0, position: r.Uint64(), value: readCopy(&r)})
		}
	}
	if r.Bad() || version != recordVersion {
		return lockRecord{}, fmt.Errorf("%w: durable lock %x", storage.ErrCorrupted, p[:min(len(p), 8)])
	}
	return l, nil
}

// txnRecord is a transaction's record, beside its anchor. What it says holds for
// the transaction's parts in all ranges.
type txnRecord struct {
	id     kvpb.TxnID
	anchor []byte
	status kvpb.TxnStatus
	ts     hlc.Timestamp // of the attempt, or of the commit
	epoch  uint32
	// keys are all staged keys: the transaction is committed when all are there.
	// Without them it is when the record says so, and span holds the keys.
	keys [][]byte
	span kvpb.Span
}

func (r *txnRecord) encode() []byte {
	b := append(make([]byte, 0, 64), recordVersion, byte(r.status))
	b = appendID(b, r.id)
	b = appendTS(b, r.ts)
	b = binary.BigEndian.AppendUint32(b, r.epoch)
	for _, k := range [][]byte{r.anchor, r.span.Key, r.span.EndKey} {
		b = encoding.AppendLenBytes(b, k)
	}
	b = binary.AppendUvarint(b, uint64(len(r.keys)))
	for _, k := range r.keys {
		b = encoding.AppendLenBytes(b, k)
	}
	return b
}

func decodeRecord(p []byte) (r txnRecord, err error) {
	f := encoding.NewReader(p)
	version := f.Byte()
	r.status = kvpb.TxnStatus(f.Byte())
	r.id, r.ts, r.epoch = readID(&f), readTS(&f), f.Uint32()
	r.anchor, r.span.Key, r.span.EndKey = readCopy(&f), readCopy(&f), readCopy(&f)
	for n := f.Count(1); n > 0 && !f.Bad(); n-- {
		r.keys = append(r.keys, readCopy(&f))
	}
	if f.Bad() || version != recordVersion || r.status > kvpb.TxnAborted {
		return txnRecord{}, fmt.Errorf("%w: transaction record %x", storage.ErrCorrupted, p[:min(len(p), 8)])
	}
	return r, nil
}

func appendID(b []byte, id kvpb.TxnID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Hi), id.Lo)
}

func appendTS(b []byte, ts hlc.Timestamp) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(ts.WallTime))
	return binary.BigEndian.AppendUint32(b, ts.Logical)
}

func recordID(id kvpb.TxnID) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b
}

func readID(r *encoding.Reader) kvpb.TxnID { return kvpb.TxnID{Hi: r.Uint64(), Lo: r.Uint64()} }

func readTS(r *encoding.Reader) hlc.Timestamp {
	return hlc.Timestamp{WallTime: int64(r.Uint64()), Logical: r.Uint32()}
}

// readCopy reads a byte string into memory of its own; an empty one is nil.
func readCopy(r *encoding.Reader) []byte { return append([]byte(nil), r.LenBytes()...) }
