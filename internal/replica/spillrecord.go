package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// spillVersion is the format of durable locks and transaction records.
const spillVersion = 1

// lockRecord is a durable lock: the value under keys.Lock(key). It says which
// write of the transaction the key's provisional version is, and what it
// replaced of an earlier spilled write.
type lockRecord struct {
	txn      kvpb.TxnID
	ts       hlc.Timestamp
	position uint64
	deleted  bool

	hasPrev      bool
	prevPosition uint64
	prevDeleted  bool
	prevValue    []byte
}

const (
	lockDeleted     = 1 << 0
	lockHasPrev     = 1 << 1
	lockPrevDeleted = 1 << 2
)

func (l *lockRecord) encode() []byte {
	flags := byte(0)
	if l.deleted {
		flags |= lockDeleted
	}
	if l.hasPrev {
		flags |= lockHasPrev
	}
	if l.prevDeleted {
		flags |= lockPrevDeleted
	}
	b := append(make([]byte, 0, 40+len(l.prevValue)), spillVersion, flags)
	b = binary.BigEndian.AppendUint64(b, l.txn.Hi)
	b = binary.BigEndian.AppendUint64(b, l.txn.Lo)
	b = appendTS(b, l.ts)
	b = binary.BigEndian.AppendUint64(b, l.position)
	if l.hasPrev {
		b = binary.BigEndian.AppendUint64(b, l.prevPosition)
		b = append(b, l.prevValue...)
	}
	return b
}

func decodeLock(p []byte) (l lockRecord, err error) {
	const fixed = 2 + 16 + 12 + 8
	if len(p) < fixed || p[0] != spillVersion {
		return l, fmt.Errorf("%w: durable lock %x", storage.ErrCorrupted, p[:min(len(p), 8)])
	}
	l.txn = kvpb.TxnID{Hi: binary.BigEndian.Uint64(p[2:]), Lo: binary.BigEndian.Uint64(p[10:])}
	l.ts = readTS(p[18:])
	l.position = binary.BigEndian.Uint64(p[30:])
	l.deleted, l.hasPrev, l.prevDeleted = p[1]&lockDeleted != 0, p[1]&lockHasPrev != 0, p[1]&lockPrevDeleted != 0
	if l.hasPrev {
		if len(p) < fixed+8 {
			return l, fmt.Errorf("%w: durable lock %x", storage.ErrCorrupted, p)
		}
		l.prevPosition = binary.BigEndian.Uint64(p[fixed:])
		l.prevValue = p[fixed+8:]
	}
	return l, nil
}

func appendTS(b []byte, ts hlc.Timestamp) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(ts.WallTime))
	return binary.BigEndian.AppendUint32(b, ts.Logical)
}

func readTS(p []byte) hlc.Timestamp {
	return hlc.Timestamp{WallTime: int64(binary.BigEndian.Uint64(p)), Logical: binary.BigEndian.Uint32(p[8:])}
}

func recordID(id kvpb.TxnID) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b
}

// record returns the transaction record of a spill as it is now.
func (sp *spills) record(s *spill) []byte {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return s.encode(s.state, s.commitTS)
}

func (s *spill) encode(state spillState, commitTS hlc.Timestamp) []byte {
	id := recordID(s.id)
	b := append(make([]byte, 0, 64+len(s.lo)+len(s.hi)+len(s.anchor)), spillVersion, byte(state))
	b = append(b, id[:]...)
	b = appendTS(b, s.ts)
	b = appendTS(b, commitTS)
	for _, k := range [][]byte{s.anchor, s.lo, s.hi} {
		b = binary.AppendUvarint(b, uint64(len(k)))
		b = append(b, k...)
	}
	return b
}

func decodeSpill(p []byte) (*spill, error) {
	bad := func() (*spill, error) {
		return nil, fmt.Errorf("%w: transaction record %x", storage.ErrCorrupted, p[:min(len(p), 8)])
	}
	const fixed = 2 + 16 + 24
	if len(p) < fixed || p[0] != spillVersion {
		return bad()
	}
	s := &spill{state: spillState(p[1]), ts: readTS(p[18:]), commitTS: readTS(p[30:])}
	s.id = kvpb.TxnID{Hi: binary.BigEndian.Uint64(p[2:]), Lo: binary.BigEndian.Uint64(p[10:])}
	rest := p[fixed:]
	for _, k := range []*[]byte{&s.anchor, &s.lo, &s.hi} {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return bad()
		}
		*k = append([]byte(nil), rest[w:w+int(n)]...)
		rest = rest[w+int(n):]
	}
	return s, nil
}
