package closedts

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// ErrMessage says that a message can't be read.
var ErrMessage = errors.New("closedts: damaged message")

// messageVersion is the format of Message.
const messageVersion = 1

// Message says what a store has closed. The receiver first processes Removed, then Added, and then raises the
// timestamp of all tracked ranges to Closed.
type Message struct {
	Store   kvpb.StoreID
	Process int64  // when the store was opened
	Seq     uint64 // counts the messages to this node
	Reset   bool   // the receiver forgets the tracked ranges of earlier messages
	Closed  hlc.Timestamp

	Removed []kvpb.RangeID
	Added   []Item // without TS
	Active  []Item
}

// Item says that nothing commits in a range after Index at or below TS.
type Item struct {
	Range kvpb.RangeID
	Index uint64
	TS    hlc.Timestamp
}

// take splits off a message with at most n ranges. Removed ranges come first, since the timestamp must not rise
// before the receiver knows of them.
func (m *Message) take(n int) Message {
	var out Message
	out.Removed, m.Removed = cut(m.Removed, n)
	n -= len(out.Removed)
	out.Added, m.Added = cut(m.Added, n)
	n -= len(out.Added)
	out.Active, m.Active = cut(m.Active, n)
	return out
}

func cut[T any](all []T, n int) (head, rest []T) {
	n = min(n, len(all))
	return all[:n:n], all[n:]
}

// Encode returns the encoded message.
func (m *Message) Encode() []byte {
	b := []byte{messageVersion, 0}
	if m.Reset {
		b[1] = 1
	}
	b = binary.AppendUvarint(b, uint64(m.Store))
	b = binary.AppendVarint(b, m.Process)
	b = binary.AppendUvarint(b, m.Seq)
	b = appendTS(b, m.Closed)
	b = binary.AppendUvarint(b, uint64(len(m.Removed)))
	for _, id := range m.Removed {
		b = binary.AppendUvarint(b, uint64(id))
	}
	for i, l := range [][]Item{m.Added, m.Active} {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, k := range l {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(k.Range)), k.Index)
			if i == 1 {
				b = appendTS(b, k.TS)
			}
		}
	}
	return b
}

func appendTS(b []byte, ts hlc.Timestamp) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, ts.WallTime), uint64(ts.Logical))
}

// Decode decodes a message. It ignores further bytes, which later versions may add.
func (m *Message) Decode(p []byte) error {
	if len(p) < 2 || p[0] != messageVersion {
		return ErrMessage
	}
	r := encoding.NewReader(p[2:])
	*m = Message{Reset: p[1]&1 != 0, Store: kvpb.StoreID(r.Uvarint()), Process: r.Varint(), Seq: r.Uvarint(), Closed: readTS(&r)}
	for n := r.Count(1); n > 0 && !r.Bad(); n-- {
		m.Removed = append(m.Removed, kvpb.RangeID(r.Uvarint()))
	}
	for n := r.Count(2); n > 0 && !r.Bad(); n-- {
		m.Added = append(m.Added, Item{Range: kvpb.RangeID(r.Uvarint()), Index: r.Uvarint()})
	}
	for n := r.Count(4); n > 0 && !r.Bad(); n-- {
		m.Active = append(m.Active, Item{Range: kvpb.RangeID(r.Uvarint()), Index: r.Uvarint(), TS: readTS(&r)})
	}
	if r.Bad() {
		return ErrMessage
	}
	return nil
}

func readTS(r *encoding.Reader) hlc.Timestamp {
	wall, logical := r.Varint(), r.Uvarint()
	if logical > math.MaxUint32 {
		r.Fail()
	}
	return hlc.Timestamp{WallTime: wall, Logical: uint32(logical)}
}
