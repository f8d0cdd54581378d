package kvwire

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// ErrDamaged says that bytes are no message of the expected kind.
var ErrDamaged = errors.New("kvwire: damaged message")

// The encodings of fields follow. Byte strings keep the difference between nil and
// empty: a length of 0 is nil, any other is one more than the number of bytes.

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(v))+1), v...)
}

func appendString(b []byte, v string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))+1), v...)
}

// appendFlags packs up to eight booleans into a byte, the first the lowest bit.
func appendFlags(b []byte, flags ...bool) []byte {
	var v byte
	for i, f := range flags {
		if f {
			v |= 1 << i
		}
	}
	return append(b, v)
}

func appendTimestamp(b []byte, ts hlc.Timestamp) []byte {
	return appendUint(appendUint(b, uint64(ts.WallTime)), uint64(ts.Logical))
}

func appendTxnID(b []byte, id kvpb.TxnID) []byte {
	return appendUint(appendUint(b, id.Hi), id.Lo)
}

// appendTxn appends a transaction; nil is written as the zero one.
func appendTxn(b []byte, t *kvpb.TxnMeta) []byte {
	if t == nil {
		t = &kvpb.TxnMeta{}
	}
	b = append(appendTxnID(b, t.ID), byte(t.Isolation))
	b = appendTimestamp(b, t.ReadTS)
	b = appendTimestamp(b, t.UncertainTS)
	return appendTimestamp(b, t.StartTS)
}

func appendObservation(b []byte, o kvpb.Observation) []byte {
	return appendTimestamp(appendUint(b, uint64(o.Node)), o.TS)
}

// appendObservations appends observations at the end of a message.
func appendObservations(b []byte, all []kvpb.Observation) []byte {
	b = appendUint(b, uint64(len(all)))
	for _, o := range all {
		b = appendObservation(b, o)
	}
	return b
}

// appendDuration appends a duration, at the end of a message.
func appendDuration(b []byte, d time.Duration) []byte { return appendUint(b, uint64(max(d, 0))) }

func appendSpan(b []byte, s kvpb.Span) []byte { return appendBytes(appendBytes(b, s.Key), s.EndKey) }

func appendSpans(b []byte, spans []kvpb.Span) []byte {
	b = appendUint(b, uint64(len(spans)))
	for _, s := range spans {
		b = appendSpan(b, s)
	}
	return b
}

func appendKeys(b []byte, keys [][]byte) []byte {
	b = appendUint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendBytes(b, k)
	}
	return b
}

func appendWrites(b []byte, writes []kvpb.Write) []byte {
	b = appendUint(b, uint64(len(writes)))
	for i := range writes {
		b = appendBytes(appendBytes(b, writes[i].Key), writes[i].Value)
	}
	return b
}

// reader takes fields off a message. After the first missing field all are zero, and
// err returns ErrDamaged. So a decoder checks once, at its end.
//
// A field that was added to a message later is read with
//
//	if f.more() { x = f.Uvarint() }
//
// and stays zero in a message of an older node; bytes that are left at the end
// come from a newer node and are ignored.
type reader struct{ encoding.Reader }

func read(b []byte) reader { return reader{encoding.NewReader(b)} }

func (f *reader) err() error {
	if f.Bad() {
		return ErrDamaged
	}
	return nil
}

// more reports whether bytes are left.
func (f *reader) more() bool { return f.Len() > 0 }

// lastDuration returns the duration at the end of a message; 0 if the message of an earlier version has none.
func (f *reader) lastDuration() time.Duration {
	if !f.more() {
		return 0
	}
	return time.Duration(f.Uvarint() & math.MaxInt64)
}

// bytes returns the next byte string, which aliases the message.
func (f *reader) bytes() []byte {
	n := f.Uvarint()
	if n == 0 {
		return nil
	}
	return f.Take(n - 1)
}

func (f *reader) flags(flags ...*bool) {
	v := f.Byte()
	for i, p := range flags {
		*p = v&(1<<i) != 0
	}
}

// enum reads one of the values from first to last of an enumeration. A message with any other value
// comes from a node that knows more of them, and is refused.
func enum[T ~uint8](f *reader, first, last T) T {
	v := T(f.Byte())
	if v < first || v > last {
		f.Fail()
		return first
	}
	return v
}

func (f *reader) timestamp() hlc.Timestamp {
	wall, logical := f.Uvarint(), f.Uvarint()
	if wall > math.MaxInt64 || logical > math.MaxUint32 {
		f.Fail()
		return hlc.Timestamp{}
	}
	return hlc.Timestamp{WallTime: int64(wall), Logical: uint32(logical)}
}

func (f *reader) txnID() kvpb.TxnID { return kvpb.TxnID{Hi: f.Uvarint(), Lo: f.Uvarint()} }

// txn reads a transaction into *t, or into a new one if t is nil, and returns it.
func (f *reader) txn(t *kvpb.TxnMeta) *kvpb.TxnMeta {
	if t == nil {
		t = new(kvpb.TxnMeta)
	}
	t.ID = f.txnID()
	t.Isolation = enum(f, kvpb.Serializable, kvpb.ReadCommitted)
	t.ReadTS = f.timestamp()
	t.UncertainTS = f.timestamp()
	t.StartTS = f.timestamp()
	return t
}

// observation reads what appendObservation wrote at the end of a message, the zero one if it
// is not there.
func (f *reader) observation() (o kvpb.Observation) {
	if f.more() {
		o.Node, o.TS = kvpb.NodeID(f.Uvarint()), f.timestamp()
	}
	return o
}

// observations reads what appendObservations wrote into the memory of old.
func (f *reader) observations(old []kvpb.Observation) []kvpb.Observation {
	out := old[:0]
	if !f.more() {
		return out
	}
	for n := f.Count(3); n > 0; n-- {
		out = append(out, kvpb.Observation{Node: kvpb.NodeID(f.Uvarint()), TS: f.timestamp()})
	}
	return out
}

func (f *reader) span() kvpb.Span { return kvpb.Span{Key: f.bytes(), EndKey: f.bytes()} }

// spans, keys, uints and writes read lists into the memory of old; an empty list is nil
// if old is.
func (f *reader) spans(old []kvpb.Span) []kvpb.Span {
	out := old[:0]
	for n := f.Count(2); n > 0; n-- {
		out = append(out, f.span())
	}
	return out
}

func (f *reader) keys(old [][]byte) [][]byte {
	out := old[:0]
	for n := f.Count(1); n > 0; n-- {
		out = append(out, f.bytes())
	}
	return out
}

func (f *reader) writes(old []kvpb.Write) []kvpb.Write {
	out := old[:0]
	for n := f.Count(2); n > 0; n-- {
		out = append(out, kvpb.Write{Key: f.bytes(), Value: f.bytes()})
	}
	return out
}
