package pgwire

import (
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// statement is what the front keeps of a prepared statement (Prepared.Front).
type statement struct {
	text, binary *rowFormat
	mixed        *rowFormat // as of the last Bind that asked for both
	paramDesc    []byte     // ParameterDescription
}

func frontOf(p *sql.Prepared) *statement {
	if st, ok := p.Front.(*statement); ok {
		return st
	}
	st := &statement{}
	p.Front = st
	return st
}

// textFormat returns the format of rows that are all text.
func (st *statement) textFormat(p *sql.Prepared) *rowFormat {
	if st.text == nil {
		st.text = newRowFormat(p.Columns(), nil)
	}
	return st.text
}

// format returns the format of rows with the given result format codes.
func (st *statement) format(p *sql.Prepared, codes []int16) (*rowFormat, error) {
	cols := p.Columns()
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
		return st.textFormat(p), nil
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
	name := string(m.String())
	text := string(m.String())
	c.oids = c.oids[:0]
	for n := int(uint16(m.Int16())); n > 0 && !m.Failed(); n-- {
		c.oids = append(c.oids, uint32(m.Int32()))
	}
	if err := m.Err(); err != nil {
		return err
	}
	for _, s := range []string{name, text} {
		if err := types.VerifyUTF8(s); err != nil {
			return err
		}
	}
	if _, err := c.ses.Prepare(c.ctx, name, text, c.oids); err != nil {
		return err
	}
	c.wire.Empty('1')
	return nil
}

func (c *conn) describe(body []byte) error {
	m := wire.NewBody(body)
	kind, name := m.Byte(), m.String()
	if err := m.Err(); err != nil {
		return err
	}
	switch kind {
	case 'S':
		p, err := c.ses.StatementBytes(name)
		if err != nil {
			return err
		}
		return c.describeStatement(p)
	case 'P':
		portal, err := c.ses.Portal(string(name))
		if err != nil {
			return err
		}
		if err := c.describable(portal.Prepared()); err != nil {
			return err
		}
		c.describeRows(portal.Prepared(), portal.Front.(*rowFormat))
		return nil
	}
	return pgerr.New(pgerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", kind)
}

func (c *conn) describeStatement(p *sql.Prepared) error {
	st := frontOf(p)
	if st.paramDesc == nil {
		st.paramDesc = appendParamDescription(nil, p.ParamTypes())
	}
	if err := c.describable(p); err != nil {
		return err
	}
	c.wire.Raw(st.paramDesc)
	if err := c.ses.Revalidate(p); err != nil {
		return err
	}
	c.describeRows(p, st.textFormat(p))
	return nil
}

// describable refuses to describe rows in a failed transaction block.
func (c *conn) describable(p *sql.Prepared) error {
	if p.Columns() != nil && c.ses.Status() == 'E' {
		return pgerr.New(pgerr.InFailedSQLTransaction,
			"current transaction is aborted, commands ignored until end of transaction block")
	}
	return nil
}

func (c *conn) describeRows(p *sql.Prepared, f *rowFormat) {
	if p.Columns() == nil {
		c.wire.Empty('n')
		return
	}
	c.wire.Raw(f.desc)
}

func (c *conn) execute(body []byte) error {
	m := wire.NewBody(body)
	name := m.String()
	maxRows := max(m.Int32(), 0)
	if err := m.Err(); err != nil {
		return err
	}
	portal, err := c.ses.Portal(string(name))
	if err != nil {
		return err
	}
	c.queries++
	c.res.begin(portal.Front.(*rowFormat))
	suspended, err := c.ses.Execute(c.ctx, portal, int(maxRows), !c.pipe.behind && c.wire.SyncFollows(), &c.res)
	if err != nil {
		return err
	}
	if suspended {
		c.wire.Empty('s')
	}
	return nil
}

func (c *conn) closeObject(body []byte) error {
	m := wire.NewBody(body)
	kind, name := m.Byte(), m.String()
	if err := m.Err(); err != nil {
		return err
	}
	switch kind {
	case 'S':
		c.ses.CloseStatement(string(name))
	case 'P':
		c.ses.ClosePortal(string(name))
	default:
		return pgerr.New(pgerr.ProtocolViolation, "invalid CLOSE message subtype %d", kind)
	}
	c.wire.Empty('3')
	return nil
}
