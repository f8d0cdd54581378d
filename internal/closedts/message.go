package store

import (
	"encoding/binary"
	"math"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// closedVersion is the format of closedMessage.
const closedVersion = 1

// closedMessage says what a store has closed. The receiver takes in what was removed
// first, then what was added, then the new timestamp of all that rest.
type closedMessage struct {
	store  kvpb.StoreID
	life   int64  // when the store was opened
	seq    uint64 // counts the messages to this node
	reset  bool   // nothing of earlier messages holds any more
	closed hlc.Timestamp

	removed []kvpb.RangeID
	added   []closedItem // without ts
	active  []closedItem
}

type closedItem struct {
	id    kvpb.RangeID
	index uint64
	ts    hlc.Timestamp
}

// take cuts a message with at most n ranges off. What was removed goes first: another
// message could raise the timestamp otherwise.
func (m *closedMessage) take(n int) closedMessage {
	var out closedMessage
	out.removed, m.removed = cut(m.removed, n)
	n -= len(out.removed)
	out.added, m.added = cut(m.added, n)
	n -= len(out.added)
	out.active, m.active = cut(m.active, n)
	return out
}

func cut[T any](all []T, n int) (head, rest []T) {
	n = min(n, len(all))
	return all[:n:n], all[n:]
}

func (m *closedMessage) encode() []byte {
	b := []byte{closedVersion, 0}
	if m.reset {
		b[1] = 1
	}
	b = binary.AppendUvarint(b, uint64(m.store))
	b = binary.AppendVarint(b, m.life)
	b = binary.AppendUvarint(b, m.seq)
	b = appendClosedTS(b, m.closed)
	b = binary.AppendUvarint(b, uint64(len(m.removed)))
	for _, id := range m.removed {
		b = binary.AppendUvarint(b, uint64(id))
	}
	for i, l := range [][]closedItem{m.added, m.active} {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, k := range l {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(k.id)), k.index)
			if i == 1 {
				b = appendClosedTS(b, k.ts)
			}
		}
	}
	return b
}

func appendClosedTS(b []byte, ts hlc.Timestamp) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, ts.WallTime), uint64(ts.Logical))
}

// decode reads a message. Bytes behind it are of later versions.
func (m *closedMessage) decode(p []byte) error {
	if len(p) < 2 || p[0] != closedVersion {
		return errMessage
	}
	r := encoding.NewReader(p[2:])
	*m = closedMessage{reset: p[1]&1 != 0, store: kvpb.StoreID(r.Uvarint()), life: r.Varint(), seq: r.Uvarint(), closed: readClosedTS(&r)}
	for n := r.Count(1); n > 0 && !r.Bad(); n-- {
		m.removed = append(m.removed, kvpb.RangeID(r.Uvarint()))
	}
	for n := r.Count(2); n > 0 && !r.Bad(); n-- {
		m.added = append(m.added, closedItem{id: kvpb.RangeID(r.Uvarint()), index: r.Uvarint()})
	}
	for n := r.Count(4); n > 0 && !r.Bad(); n-- {
		m.active = append(m.active, closedItem{id: kvpb.RangeID(r.Uvarint()), index: r.Uvarint(), ts: readClosedTS(&r)})
	}
	if r.Bad() {
		return errMessage
	}
	return nil
}

func readClosedTS(r *encoding.Reader) hlc.Timestamp {
	wall, logical := r.Varint(), r.Uvarint()
	if logical > math.MaxUint32 {
		r.Fail()
	}
	return hlc.Timestamp{WallTime: wall, Logical: uint32(logical)}
}
