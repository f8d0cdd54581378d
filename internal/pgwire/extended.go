package pgwire

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
)

// statement is what the connection keeps of a prepared statement (prepared.Statement.Connection).
type statement struct {
	cols         []plan.Column // what the formats are for
	text, binary *rowFormat
	mixed        *rowFormat // as of the last Bind that asked for both
	paramDesc    []byte     // ParameterDescription
}

// statementOf returns what is kept of p, for rows of the given columns: those of FETCH and
// EXECUTE change.
func statementOf(p *prepared.Statement, cols []plan.Column) *statement {
	st, ok := p.Connection.(*statement)
	switch {
	case !ok:
		st = &statement{cols: cols}
		p.Connection = st
	case unsafe.SliceData(st.cols) != unsafe.SliceData(cols):
		*st = statement{cols: cols, paramDesc: st.paramDesc}
	}
	return st
}

// textFormat returns the format of rows that are all text.
func (st *statement) textFormat() *rowFormat {
	if st.text == nil {
		st.text = newRowFormat(st.cols, nil)
	}
	return st.text
}

// format returns the format of rows with the given result format codes.
func (st *statement) format(codes []int16) (*rowFormat, error) {
	cols := st.cols
	if len(codes) > 1 && len(codes) != len(cols) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message has %d result formats but query has %d columns",
			len(codes), len(cols))
	}
	text, binary := true, true
	for _, code := range codes {
		switch code {
		case formatText:
			binary = false
		case formatBinary:
			text = false
		default:
			return nil, errFormatCode(code)
		}
	}
	switch {
	case text:
		return st.textFormat(), nil
	case binary:
		if st.binary == nil {
			st.binary = newRowFormat(cols, codes[:1])
		}
		return st.binary, nil
	case st.mixed == nil || !st.mixed.has(codes):
		st.mixed = newRowFormat(cols, codes)
	}
	return st.mixed, nil
}

func errFormatCode(code int16) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unsupported format code: %d", code)
}

func (c *conn) parse(body []byte) error {
	m := wire.NewBody(body)
	rawName, rawText := m.String(), m.String()
	c.oids = c.oids[:0]
	for n := int(uint16(m.Int16())); n > 0 && !m.Failed(); n-- {
		c.oids = append(c.oids, uint32(m.Int32()))
	}
	if err := m.Err(); err != nil {
		return err
	}
	c.bulky = c.bulky || len(c.oids) > maxKeptParams
	name, err := c.text(rawName)
	if err != nil {
		return err
	}
	text, err := c.text(rawText)
	if err != nil {
		return err
	}
	if _, err := c.ses.Prepare(c.ctx, name, text, c.oids, c); err != nil {
		return err
	}
	c.wire.Empty(wire.ParseComplete)
	return nil
}

func (c *conn) describe(body []byte) error {
	m := wire.NewBody(body)
	kind, name := m.Byte(), c.name(m.String())
	if err := m.Err(); err != nil {
		return err
	}
	switch kind {
	case wire.TargetStatement:
		p, err := c.ses.StatementBytes(name)
		if err != nil {
			return err
		}
		return c.describeStatement(p)
	case wire.TargetPortal:
		portal, err := c.ses.Portal(string(name))
		if err != nil {
			return err
		}
		if err := c.describable(portal.Columns()); err != nil {
			return err
		}
		return c.describeRows(portal.Columns(), portalFormat(portal))
	}
	return pgerr.New(pgerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", kind)
}

// portalFormat returns the format of the rows of a portal; a cursor's is text.
func portalFormat(p *portal.Portal) *rowFormat {
	if f, ok := p.Connection.(*rowFormat); ok {
		return f
	}
	return statementOf(p.Statement(), p.Columns()).textFormat()
}

func (c *conn) describeStatement(p *prepared.Statement) error {
	st := statementOf(p, p.Columns())
	if st.paramDesc == nil {
		st.paramDesc = appendParamDescription(nil, p.ParamTypes())
	}
	if err := c.describable(p.Columns()); err != nil {
		return err
	}
	c.wire.Raw(st.paramDesc)
	if err := c.ses.Revalidate(p); err != nil {
		return err
	}
	return c.describeRows(p.Columns(), st.textFormat())
}

// describable refuses to describe rows in a failed transaction block.
func (c *conn) describable(cols []plan.Column) error {
	if cols != nil && c.ses.Status() == 'E' {
		return pgerr.New(pgerr.InFailedSQLTransaction,
			"current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

func (c *conn) describeRows(cols []plan.Column, f *rowFormat) error {
	if cols == nil {
		c.wire.Empty(wire.NoData)
		return nil
	}
	return c.sendDescription(f)
}

func (c *conn) execute(body []byte) error {
	m := wire.NewBody(body)
	name := c.name(m.String())
	maxRows := max(m.Int32(), 0)
	if err := m.Err(); err != nil {
		return err
	}
	portal, err := c.ses.Portal(string(name))
	if err != nil {
		return err
	}
	c.queries++
	c.res.begin(portalFormat(portal))
	suspended, err := c.ses.Execute(c.ctx, portal, int(maxRows), !c.pipe.behind && c.wire.SyncFollows(), &c.res)
	if err != nil {
		return err
	}
	if suspended {
		c.wire.Empty(wire.PortalSuspended)
	}
	return nil
}

func (c *conn) closeObject(body []byte) error {
	m := wire.NewBody(body)
	kind, name := m.Byte(), c.name(m.String())
	if err := m.Err(); err != nil {
		return err
	}
	switch kind {
	case wire.TargetStatement:
		c.ses.CloseStatement(string(name))
	case wire.TargetPortal:
		c.ses.ClosePortal(string(name))
	default:
		return pgerr.New(pgerr.ProtocolViolation, "invalid CLOSE message subtype %d", kind)
	}
	c.wire.Empty(wire.CloseComplete)
	return nil
}
