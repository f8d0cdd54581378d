package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// MaxStartup bounds a message of the start-up phase.
	MaxStartup = 10_000
	// maxSmall bounds messages that carry a name at most.
	maxSmall = 10_000
	// maxLarge bounds messages that carry statements or data: 1 GiB - 1.
	maxLarge = 1<<30 - 1
)

// MaxMessage returns the greatest length that a message of the type may have, 0
// if clients send no such message.
func MaxMessage(typ byte) int {
	switch typ {
	case Query, Parse, Bind, FunctionCall, CopyData:
		return maxLarge
	case Close, Describe, Execute, Flush, Sync, Terminate, CopyDone, CopyFail:
		return maxSmall
	}
	return 0
}

// A framing error ends the connection: where the next message begins is not
// known.
func errType(typ byte) error {
	return pgerr.New(pgerr.ProtocolViolation, "invalid frontend message type %d", typ)
}

func errLength(typ byte, n int32) error {
	return pgerr.New(pgerr.ProtocolViolation, "invalid length %d of message of type '%c'", n, typ)
}

func errStartupLength() error {
	return pgerr.New(pgerr.ProtocolViolation, "invalid length of startup packet")
}

// Body takes a message apart. After the first error it yields zero values; Err
// tells it.
type Body struct {
	b   []byte
	err error
}

// NewBody returns the Body of a message.
func NewBody(b []byte) Body { return Body{b: b} }

func (m *Body) fail(format string, args ...any) {
	if m.err == nil {
		m.err = pgerr.New(pgerr.ProtocolViolation, format, args...)
	}
	m.b = nil
}

func (m *Body) take(n int) []byte {
	if n < 0 || n > len(m.b) {
		m.fail("insufficient data left in message")
		return nil
	}
	b := m.b[:n:n]
	m.b = m.b[n:]
	return b
}

// Byte takes a byte.
func (m *Body) Byte() byte {
	if len(m.b) == 0 {
		m.fail("no data left in message")
		return 0
	}
	return m.take(1)[0]
}

// Int16 takes a 16-bit number.
func (m *Body) Int16() int16 {
	if b := m.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

// Int32 takes a 32-bit number.
func (m *Body) Int32() int32 {
	if b := m.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Bytes takes n bytes.
func (m *Body) Bytes(n int) []byte { return m.take(n) }

// String takes a string that ends with a zero byte, without that.
func (m *Body) String() []byte {
	i := bytes.IndexByte(m.b, 0)
	if i < 0 {
		m.fail("invalid string in message")
		return nil
	}
	s := m.b[:i:i]
	m.b = m.b[i+1:]
	return s
}

// Len returns how many bytes are left.
func (m *Body) Len() int { return len(m.b) }

// Rest returns the bytes left, without taking them.
func (m *Body) Rest() []byte { return m.b }

// Err returns the first error; bytes left over are one too.
func (m *Body) Err() error {
	if m.err == nil && len(m.b) > 0 {
		m.fail("invalid message format")
	}
	return m.err
}

// Failed reports whether an error has occurred.
func (m *Body) Failed() bool { return m.err != nil }
