package pgwire

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The severities of errors.
const (
	severityError = "ERROR"
	severityFatal = "FATAL"
)

// What ends a connection.
var (
	errShutdown     = pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command")
	errShuttingDown = pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down")
	errDescriptors  = pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already").
			WithHint("Raise how many files the node's process may have open (ulimit -n): some of them are kept for its store.")
	errIdleInTxn   = pgerr.New(pgerr.IdleInTransactionSessionTimeout, "terminating connection due to idle-in-transaction timeout")
	errIdleSession = pgerr.New(pgerr.IdleSessionTimeout, "terminating connection due to idle-session timeout")
	errClientGone  = pgerr.New(pgerr.ConnectionFailure, "connection to client lost")
)

// errMessageMemory refuses a message, of the client or to it, for which there is no memory.
func errMessageMemory(cause error) error {
	e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", cause.Error()).
		WithHint("Send smaller statements, values and rows, or raise --max-memory.")
	e.Cause = cause
	return e
}

// sendError appends ErrorResponse.
func (c *conn) sendError(severity string, err error) {
	c.srv.metrics.errors.Add(1)
	e := pgerr.From(err)
	if e.Code == pgerr.InternalError || e.Code == pgerr.IOError {
		c.srv.log.Error("internal error", "err", err, "cause", e.Cause)
	}
	c.appendReport(wire.ErrorResponse, severity, e)
}

// sendFormerError appends an error in the form of protocol 2.0 and before: a text without a length.
func (c *conn) sendFormerError(err error) {
	c.srv.metrics.errors.Add(1)
	c.wire.Raw([]byte{wire.ErrorResponse})
	c.wire.Raw([]byte(severityFatal + ":  " + pgerr.From(err).Message + "\n\x00"))
}

// appendReport appends ErrorResponse or NoticeResponse, which have the same fields.
func (c *conn) appendReport(typ byte, severity string, e *pgerr.Error) {
	w := c.wire
	w.Begin(typ)
	field := func(code byte, value string) {
		if value == "" {
			return
		}
		if strings.IndexByte(value, 0) >= 0 {
			value = strings.ReplaceAll(value, "\x00", "?") // it would end the field
		}
		w.Byte(code)
		w.String(c.shown(value))
	}
	field('S', severity)
	field('V', severity)
	field('C', string(e.Code))
	w.Byte('M') // the one field that must be there even if empty
	w.String(c.shown(strings.ReplaceAll(e.Message, "\x00", "?")))
	field('D', e.Detail)
	field('H', e.Hint)
	if e.Position > 0 {
		field('P', strconv.Itoa(e.Position))
	}
	if e.InternalPosition > 0 {
		field('p', strconv.Itoa(e.InternalPosition))
	}
	field('q', e.InternalQuery)
	field('W', e.Context)
	field('s', e.Schema)
	field('t', e.Table)
	field('c', e.Column)
	field('d', e.DataType)
	field('n', e.Constraint)
	field('R', e.Routine)
	w.Byte(0)
	w.End()
}

// Notice appends NoticeResponse, if the client wants notices so minor.
func (c *conn) Notice(severity string, e *pgerr.Error) {
	if !c.ses.WantsNotice(severity) {
		return
	}
	c.appendReport(wire.NoticeResponse, severity, e)
}
