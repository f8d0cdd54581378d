package pgwire

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// The format codes of parameters and columns.
const (
	formatText   = 0
	formatBinary = 1
)

// maxSharedText is the longest message whose text parameters are copied in one
// piece: what keeps one of them keeps all. Those of a message that is accounted for take its
// place.
const maxSharedText = 2 << 10

// maxKeptParams is for how many parameters a connection keeps memory between batches.
const maxKeptParams = 256

func (c *conn) bind(body []byte) error {
	m := wire.NewBody(body)
	name, stmt := m.String(), c.name(m.String())
	if m.Failed() {
		return m.Err()
	}
	p, err := c.ses.StatementBytes(stmt)
	if err != nil {
		return err
	}
	params, err := c.bindParams(&m, p, name)
	if err != nil {
		return err
	}
	c.readFormats(&m)
	if err := m.Err(); err != nil {
		return err
	}
	portalName, err := c.text(name)
	if err != nil {
		return err
	}
	portal, err := c.ses.Bind(c.ctx, portalName, p, params)
	if err != nil {
		return err
	}
	format, err := statementOf(p, portal.Columns()).format(c.formats)
	if err != nil {
		return err
	}
	portal.Connection = format
	c.wire.Empty(wire.BindComplete)
	return nil
}

// readFormats reads format codes into c.formats.
func (c *conn) readFormats(m *wire.Body) {
	c.formats = c.formats[:0]
	for n := int(uint16(m.Int16())); n > 0 && !m.Failed(); n-- {
		c.formats = append(c.formats, m.Int16())
	}
}

// bindParams reads the parameters of a Bind message. Those of the unnamed portal
// live in c.params, since there is one such portal at a time.
func (c *conn) bindParams(m *wire.Body, p *prepared.Statement, portal []byte) ([]types.Datum, error) {
	c.readFormats(m)
	n := int(uint16(m.Int16()))
	if m.Failed() {
		return nil, m.Err()
	}
	if len(c.formats) > 1 && len(c.formats) != n {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message has %d parameter formats but %d parameters",
			len(c.formats), n)
	}
	paramTypes := p.ParamTypes()
	if n != len(paramTypes) {
		return nil, pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d", n, p.Name, len(paramTypes))
	}
	var params []types.Datum
	if len(portal) == 0 {
		c.params = slices.Grow(c.params[:0], n)[:n]
		params = c.params
	} else {
		params = make([]types.Datum, n)
	}
	c.bulky = c.bulky || n > maxKeptParams
	r := paramReader{ses: c.ses, fc: c.ses.Format(), enc: c.ses.Encoding(), rest: m.Rest()}
	if len(r.rest) >= quota.LargeValue {
		var err error
		c.bulky = true
		if r.copy, err = c.wire.Text(r.rest); err != nil {
			return nil, errMessageMemory(err)
		}
	}
	for i := range params {
		format := int16(formatText)
		if len(c.formats) == 1 {
			format = c.formats[0]
		} else if len(c.formats) > 1 {
			format = c.formats[i]
		}
		var err error
		if params[i], err = r.next(m, paramTypes[i], format); err != nil {
			return nil, locateParam(err, portal, i+1, format)
		}
	}
	return params, nil
}

// locateParam says which parameter an error is about.
func locateParam(err error, portal []byte, n int, format int16) error {
	e := pgerr.From(err)
	at := "unnamed portal"
	if len(portal) > 0 {
		at = fmt.Sprintf("portal \"%s\"", portal)
	}
	at = fmt.Sprintf("%s parameter $%d", at, n)
	if format == formatText && e.Code != pgerr.CharacterNotInRepertoire && e.Code != pgerr.ProtocolViolation {
		at += " = '...'"
	}
	return e.Within(at)
}

// paramReader makes datums of parameter values. It does not hold the Body, which
// would then be allocated for every message.
type paramReader struct {
	ses  *sql.Session
	fc   *types.FormatContext
	enc  *charset.Encoding
	rest []byte // the message from the first value on
	copy string // of rest, made when needed
}

func (r *paramReader) next(m *wire.Body, t *types.T, format int16) (types.Datum, error) {
	n := m.Int32()
	if m.Failed() {
		return types.Null, m.Err()
	}
	if n == -1 {
		return types.Null, nil
	}
	at := len(r.rest) - m.Len()
	b := m.Bytes(int(n))
	if m.Failed() {
		return types.Null, m.Err()
	}
	if len(b) >= quota.LargeValue {
		return r.ses.Input(t, r.copy[at:at+len(b)], func() (types.Datum, error) { return r.value(t, b, at, format) })
	}
	return r.value(t, b, at, format)
}

// value makes a datum of the value b, which lies at a position of rest.
func (r *paramReader) value(t *types.T, b []byte, at int, format int16) (types.Datum, error) {
	if r.enc != nil {
		return r.decode(t, b, format)
	}
	switch format {
	case formatText:
		s := r.text(t, b, at)
		if !typeio.ParseVerifies(t) {
			if err := types.VerifyUTF8(s, r.fc); err != nil {
				return types.Null, err
			}
		}
		return typeio.ParseText(t, s, r.fc)
	case formatBinary:
		d, err := typeio.ParseBinary(t, b, r.fc)
		if err == nil {
			err = types.CheckFields(t, d, r.fc)
		}
		return d, err
	}
	return types.Null, errFormatCode(format)
}

// decode makes a datum of a value in another encoding than UTF8.
func (r *paramReader) decode(t *types.T, b []byte, format int16) (types.Datum, error) {
	switch format {
	case formatText:
		s, err := r.enc.DecodeString(string(b), r.fc)
		if err != nil {
			return types.Null, err
		}
		return typeio.ParseText(t, s, r.fc)
	case formatBinary:
		d, err := typeio.ParseBinaryText(t, b, r.enc.DecodeString, r.fc)
		if err == nil {
			err = types.CheckFields(t, d, r.fc)
		}
		return d, err
	}
	return types.Null, errFormatCode(format)
}

// text returns the value b, which lies at a position of rest, as a string that
// may be kept as long as a datum of type t made of it keeps it. Numbers and dates
// keep nothing of their text; what may be kept is copied, for a datum can outlive
// the message and even the statement.
func (r *paramReader) text(t *types.T, b []byte, at int) string {
	switch t.Family {
	case types.IntFamily:
		if !t.IsReg() {
			return unsafe.String(unsafe.SliceData(b), len(b))
		}
	case types.BoolFamily, types.FloatFamily, types.DateFamily, types.TimestampFamily:
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	if r.copy == "" {
		if len(r.rest) > maxSharedText {
			return string(b)
		}
		r.copy = string(r.rest)
	}
	return r.copy[at : at+len(b)]
}
