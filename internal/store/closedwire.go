package store

import (
	"encoding/binary"

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
	d := closedDecoder{b: p[2:]}
	*m = closedMessage{reset: p[1]&1 != 0, store: kvpb.StoreID(d.uvarint()), life: d.varint(), seq: d.uvarint(), closed: d.ts()}
	for n := d.count(); n > 0 && !d.bad; n-- {
		m.removed = append(m.removed, kvpb.RangeID(d.uvarint()))
	}
	for n := d.count(); n > 0 && !d.bad; n-- {
		m.added = append(m.added, closedItem{id: kvpb.RangeID(d.uvarint()), index: d.uvarint()})
	}
	for n := d.count(); n > 0 && !d.bad; n-- {
		m.active = append(m.active, closedItem{id: kvpb.RangeID(d.uvarint()), index: d.uvarint(), ts: d.ts()})
	}
	if d.bad {
		return errMessage
	}
	return nil
}

// closedDecoder reads numbers; after the first that is missing all are zero.
type closedDecoder struct {
	b   []byte
	bad bool
}

func (d *closedDecoder) uvarint() uint64 {
	v, w := binary.Uvarint(d.b)
	if w <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[w:]
	return v
}

func (d *closedDecoder) varint() int64 {
	v, w := binary.Varint(d.b)
	if w <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[w:]
	return v
}

// count reads a number of items, each of which takes at least a byte.
func (d *closedDecoder) count() uint64 {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.b, d.bad = nil, true
		return 0
	}
	return n
}

func (d *closedDecoder) ts() hlc.Timestamp {
	wall, logical := d.varint(), d.uvarint()
	d.bad = d.bad || logical > 1<<32-1
	return hlc.Timestamp{WallTime: wall, Logical: uint32(logical)}
}
