package txnintent

import (
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// recordVersion is the format of intents and transaction records.
const recordVersion = 3

// Intent is the durable lock under keys.Lock(key). It makes the version of the key at TS provisional.
// A spilled one also has the position of the write in its transaction, and the earlier writes that it
// has replaced.
type Intent struct {
	Txn    kvpb.TxnID
	TS     hlc.Timestamp
	Anchor []byte // where the transaction's record is
	// Staged: the version is part of a commit at TS, by the Attempt.
	Staged  bool
	Attempt uint32

	Position uint64 // of the write in the transaction
	Deleted  bool
	// History are the earlier writes of the key that may be read or restored, the newest first.
	// Truncated: older ones were dropped beyond MaxHistory.
	History   []SequencedWrite
	Truncated bool
}

// SequencedWrite is a write that a later one of the same transaction has replaced.
type SequencedWrite struct {
	Position uint64
	Deleted  bool
	Value    []byte
}

// MaxHistory bounds the History of an intent. A rollback to a savepoint before the oldest write in
// it fails.
const MaxHistory = 16

const (
	lockDeleted = 1 << 0
	lockHistory = 1 << 1
	lockCut     = 1 << 2
	lockStaged  = 1 << 3
)

// Encode returns the stored form.
func (l *Intent) Encode() []byte { return l.AppendTo(make([]byte, 0, 64+len(l.Anchor))) }

// AppendTo appends the stored form to b.
func (l *Intent) AppendTo(b []byte) []byte {
	flags := byte(0)
	for _, f := range []struct {
		on  bool
		bit byte
	}{{l.Deleted, lockDeleted}, {len(l.History) > 0, lockHistory}, {l.Truncated, lockCut}, {l.Staged, lockStaged}} {
		if f.on {
			flags |= f.bit
		}
	}
	b = append(b, recordVersion, flags)
	b = appendID(b, l.Txn)
	b = appendTS(b, l.TS)
	b = binary.BigEndian.AppendUint32(b, l.Attempt)
	b = binary.BigEndian.AppendUint64(b, l.Position)
	b = encoding.AppendLenBytes(b, l.Anchor)
	if len(l.History) > 0 {
		b = binary.AppendUvarint(b, uint64(len(l.History)))
	}
	for _, w := range l.History {
		flags := byte(0)
		if w.Deleted {
			flags = lockDeleted
		}
		b = binary.BigEndian.AppendUint64(append(b, flags), w.Position)
		b = encoding.AppendLenBytes(b, w.Value)
	}
	return b
}

// DecodeIntent reads the stored form of an intent. It fails with storage.ErrCorrupted.
func DecodeIntent(p []byte) (l Intent, err error) {
	r := encoding.NewReader(p)
	version, flags := r.Byte(), r.Byte()
	l.Txn, l.TS, l.Attempt, l.Position = readID(&r), readTS(&r), r.Uint32(), r.Uint64()
	l.Anchor = readCopy(&r)
	l.Deleted, l.Truncated, l.Staged = flags&lockDeleted != 0, flags&lockCut != 0, flags&lockStaged != 0
	if flags&lockHistory != 0 {
		for n := r.Count(10); n > 0 && !r.Bad(); n-- {
			l.History = append(l.History, SequencedWrite{Deleted: r.Byte()&lockDeleted != 0, Position: r.Uint64(), Value: readCopy(&r)})
		}
	}
	if r.Bad() || version != recordVersion {
		return Intent{}, fmt.Errorf("%w: intent %x", storage.ErrCorrupted, p[:min(len(p), 8)])
	}
	return l, nil
}

// TxnRecord is a transaction's record, beside its anchor. Its status is that of the transaction's
// intents in all ranges.
type TxnRecord struct {
	ID      kvpb.TxnID
	Anchor  []byte
	Status  kvpb.TxnStatus
	TS      hlc.Timestamp // of the attempt, or of the commit
	Attempt uint32
	// Keys are all staged keys: the transaction is implicitly committed once all have their
	// intents. If they are too many, Keys is empty, Span holds them, and the transaction has
	// committed when Status is committed.
	Keys [][]byte
	Span kvpb.Span
}

// Encode returns the stored form.
func (r *TxnRecord) Encode() []byte {
	b := append(make([]byte, 0, 64), recordVersion, byte(r.Status))
	b = appendID(b, r.ID)
	b = appendTS(b, r.TS)
	b = binary.BigEndian.AppendUint32(b, r.Attempt)
	for _, k := range [][]byte{r.Anchor, r.Span.Key, r.Span.EndKey} {
		b = encoding.AppendLenBytes(b, k)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Keys)))
	for _, k := range r.Keys {
		b = encoding.AppendLenBytes(b, k)
	}
	return b
}

// DecodeTxnRecord reads the stored form of a record. It fails with storage.ErrCorrupted.
func DecodeTxnRecord(p []byte) (r TxnRecord, err error) {
	f := encoding.NewReader(p)
	version := f.Byte()
	r.Status = kvpb.TxnStatus(f.Byte())
	r.ID, r.TS, r.Attempt = readID(&f), readTS(&f), f.Uint32()
	r.Anchor, r.Span.Key, r.Span.EndKey = readCopy(&f), readCopy(&f), readCopy(&f)
	for n := f.Count(1); n > 0 && !f.Bad(); n-- {
		r.Keys = append(r.Keys, readCopy(&f))
	}
	if f.Bad() || version != recordVersion || r.Status > kvpb.TxnAborted {
		return TxnRecord{}, fmt.Errorf("%w: transaction record %x", storage.ErrCorrupted, p[:min(len(p), 8)])
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

// RecordID returns the last part of the key of a transaction's record.
func RecordID(id kvpb.TxnID) (b [16]byte) {
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
