package pgwire

import (
	"bytes"
	"encoding/binary"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// text returns what the client sent as UTF8: 22021 if it is no text.
func (c *conn) text(b []byte) (string, error) {
	s, err := c.wire.Text(b)
	if err != nil {
		return "", errMessageMemory(err)
	}
	if enc := c.ses.Encoding(); enc != nil {
		return c.decode(enc, s)
	}
	return s, types.VerifyUTF8(s, nil)
}

// growthInUTF8 is how many bytes of UTF8 a byte in another encoding may become.
const growthInUTF8 = 3

// decode converts what the client sent in another encoding.
func (c *conn) decode(enc *charset.Encoding, s string) (string, error) {
	if len(s) < quota.LargeValue {
		return enc.DecodeString(s, nil)
	}
	mem, held := quota.NewValues(c.srv.pool.Mem), growthInUTF8*int64(len(s))
	if err := mem.Reserve(held); err != nil {
		return "", errMessageMemory(err)
	}
	u, err := enc.DecodeString(s, nil)
	if err != nil {
		mem.Release(held)
		return "", err
	}
	mem.Bind(u, held)
	return u, nil
}

// name returns a name that the client sent as UTF8, to be looked up: what is no text is no
// name that there is.
func (c *conn) name(b []byte) []byte {
	enc := c.ses.Encoding()
	if enc == nil || len(b) == 0 {
		return b
	}
	if u, err := enc.Decode(nil, b, nil); err == nil {
		return u
	}
	return b
}

// shown returns text for the client that says what happened, in its encoding as far as that
// can express it.
func (c *conn) shown(s string) string {
	if c.ses == nil || c.ses.Encoding() == nil {
		return s
	}
	return string(c.ses.Encoding().EncodeLossy(nil, []byte(s)))
}

// sendDescription sends RowDescription.
func (c *conn) sendDescription(f *rowFormat) (err error) {
	enc := c.ses.Encoding()
	if enc == nil {
		c.wire.Raw(f.desc)
		return nil
	}
	const header, rest = 7, 18 // before the first name, and behind each
	out := append([]byte(nil), f.desc[:header]...)
	for in := f.desc[header:]; len(in) > 0; {
		n := bytes.IndexByte(in, 0)
		if out, err = enc.Encode(out, in[:n], nil); err != nil {
			return err
		}
		out = append(out, in[n:n+1+rest]...)
		in = in[n+1+rest:]
	}
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1))
	c.wire.Raw(out)
	return nil
}

// appendRowIn is appendRow for a client with another encoding.
func (f *rowFormat) appendRowIn(b []byte, row []types.Datum, fc *types.FormatContext, enc *charset.Encoding) ([]byte, error) {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(len(f.enc)))
	var text []byte
	for i, e := range f.enc {
		d := row[i]
		if d.IsNull() {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		start := len(b)
		b = append(b, 0, 0, 0, 0)
		var err error
		if f.code(i) == formatText {
			text = typeio.AppendText(text[:0], e.typ, d, fc)
			b, err = enc.Encode(b, text, fc)
		} else if d, err = typeio.BinaryText(e.typ, d, enc.EncodeString, fc); err == nil {
			b = typeio.AppendBinary(b, e.typ, d, fc)
		}
		if err != nil {
			return b, err
		}
		be.PutUint32(b[start:], uint32(len(b)-start-4))
	}
	return b, nil
}
