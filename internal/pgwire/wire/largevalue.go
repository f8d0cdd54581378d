package wire

import (
	"encoding/hex"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
)

// reference is a long value within the output that is not copied into it.
type reference struct {
	at  int // where in out it belongs
	s   string
	hex bool // it is sent as hexadecimal digits
}

// len is how many bytes are sent.
func (r *reference) len() int {
	if r.hex {
		return hex.EncodedLen(len(r.s))
	}
	return len(r.s)
}

// Refers reports whether the message that Begin began, which will have values of so many bytes, is
// written as soon as it has ended, so that Refer may be called for them.
func (c *Conn) Refers(bytes int) bool { return bytes >= quota.LargeValue && c.isLong(bytes) }

// Refer makes s part of the message that Begin began, or its hexadecimal digits, without a copy: it is
// written from where it is. It must stay there until the next Flush.
func (c *Conn) Refer(s string, asHex bool) {
	r := reference{at: len(c.out), s: s, hex: asHex}
	c.refs = append(c.refs, r)
	c.refBytes += r.len()
}

// dropRefs forgets the references from the i-th on.
func (c *Conn) dropRefs(i int) {
	for k := i; k < len(c.refs); k++ {
		c.refBytes -= c.refs[k].len()
	}
	clear(c.refs[i:])
	c.refs = c.refs[:i]
}

// writeOut writes the output with what it refers to.
func (c *Conn) writeOut() error {
	from := 0
	for i := range c.refs {
		r := &c.refs[i]
		if err := c.write(c.out[from:r.at]); err != nil {
			return err
		}
		if err := c.writeRef(r); err != nil {
			return err
		}
		from = r.at
	}
	return c.write(c.out[from:])
}

func (c *Conn) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := c.nc.Write(b)
	c.stats.BytesOut += uint64(n)
	return err
}

// digitBytes is how many bytes of a value become digits at once.
const digitBytes = flushAt / 2

func (c *Conn) writeRef(r *reference) error {
	if !r.hex {
		return c.write(unsafe.Slice(unsafe.StringData(r.s), len(r.s)))
	}
	buf := make([]byte, 0, hex.EncodedLen(min(len(r.s), digitBytes)))
	for s := r.s; s != ""; {
		n := min(len(s), digitBytes)
		buf = hex.AppendEncode(buf[:0], unsafe.Slice(unsafe.StringData(s), n))
		if err := c.write(buf); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}
