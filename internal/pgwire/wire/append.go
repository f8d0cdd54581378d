package wire

import "encoding/binary"

// Begin begins a message to the client; what is appended until End is its body.
func (c *Conn) Begin(typ byte) {
	if c.out == nil {
		c.held = c.pool.getWrite()
		c.out = c.held.b[:0]
	}
	c.start, c.startRefs = len(c.out), len(c.refs)
	c.out = append(c.out, typ, 0, 0, 0, 0)
}

// End ends the message that Begin began and returns its length.
func (c *Conn) End() int {
	n := len(c.out) - c.start - 1
	for _, r := range c.refs[c.startRefs:] {
		n += r.len()
	}
	binary.BigEndian.PutUint32(c.out[c.start+1:], uint32(n))
	return n
}

// Abandon takes back the message that Begin began.
func (c *Conn) Abandon() {
	c.out = c.out[:c.start]
	c.dropRefs(c.startRefs)
}

// Byte appends a byte.
func (c *Conn) Byte(b byte) { c.out = append(c.out, b) }

// Int16 appends a 16-bit number.
func (c *Conn) Int16(n int16) { c.out = binary.BigEndian.AppendUint16(c.out, uint16(n)) }

// Int32 appends a 32-bit number.
func (c *Conn) Int32(n int32) { c.out = binary.BigEndian.AppendUint32(c.out, uint32(n)) }

// String appends a string and a zero byte.
func (c *Conn) String(s string) {
	c.out = append(c.out, s...)
	c.out = append(c.out, 0)
}

// Bytes appends bytes.
func (c *Conn) Bytes(b []byte) { c.out = append(c.out, b...) }

// Out returns the output buffer for appending directly; SetOut gives it back.
// Both belong between Begin and End.
func (c *Conn) Out() []byte { return c.out }

// SetOut sets the output buffer to what was appended to Out.
func (c *Conn) SetOut(b []byte) { c.out = b }

// Raw appends bytes that are whole messages.
func (c *Conn) Raw(msgs []byte) {
	if c.out == nil {
		c.held = c.pool.getWrite()
		c.out = c.held.b[:0]
	}
	c.out = append(c.out, msgs...)
}

// Empty appends a message without a body.
func (c *Conn) Empty(typ byte) {
	c.Begin(typ)
	c.End()
}

// CommandComplete appends CommandComplete.
func (c *Conn) CommandComplete(tag string) {
	c.Begin(CommandComplete)
	c.String(tag)
	c.End()
}

// ReadyForQuery appends ReadyForQuery.
func (c *Conn) ReadyForQuery(status byte) {
	c.Begin(ReadyForQuery)
	c.Byte(status)
	c.End()
}

// ParameterStatus appends ParameterStatus.
func (c *Conn) ParameterStatus(name, value string) {
	c.Begin(ParameterStatus)
	c.String(name)
	c.String(value)
	c.End()
}
