package pgwire

import (
	"container/list"
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// conn is one client's connection.
type conn struct {
	srv    *Server
	wire   *wire.Conn
	ctx    context.Context
	remote string
	ses    *sql.Session
	// shared is ses for other goroutines.
	shared atomic.Pointer[sql.Session]
	// encryption protects the connection, nil: it is in clear; cert is the client's certificate, if it showed one that the TLS
	// configuration's CA signed.
	encryption *sql.Encryption
	cert       *x509.Certificate

	res results
	// skip says that messages are ignored until Sync, after an error within the
	// extended protocol.
	skip bool
	// checked is when the server last looked whether the client is there.
	checked time.Time
	// busy says that the client has something running: a message came after the last
	// ReadyForQuery; deadline that a read deadline is set meanwhile. watched is the watch's.
	busy, watched atomic.Bool
	deadline      bool
	idleUntil     time.Time // the deadline
	// starting says that the connection counts as one without a session, silent is its place among those
	// that have not asked for one. The server's mu guards both.
	starting bool
	silent   *list.Element
	accepted time.Time
	// broken says that the connection can't be written to or read from, desynced
	// that what follows in the input can't be understood.
	broken, desynced bool
	// former says that the client asked for a protocol before ours, which has another form of errors.
	former bool

	pipe    pipeline
	queries int64
	replies int // since the last yield
	// params are of the unnamed portal, formats and oids scratch; bulky says that one of
	// them holds much, and is not kept for the next batch.
	params        []types.Datum
	notifications []sql.Notification
	formats       []int16
	oids          []uint32
	bulky         bool
}

func newConn(s *Server, ctx context.Context, nc net.Conn, first []byte) *conn {
	c := &conn{srv: s, ctx: ctx, wire: wire.NewConn(nc, &s.pool, first)}
	if a := nc.RemoteAddr(); a != nil {
		c.remote = a.String()
	}
	c.res.c = c
	return c
}

// terminate ends the running statement, and then the connection: without one,
// waking it is enough, since it gets no further than ready. Any goroutine may
// call it.
func (c *conn) terminate() {
	c.wire.Wake()
	if ses := c.shared.Load(); ses != nil && ses.Activity().State == "active" {
		ses.Terminate()
	}
}

// check ends a statement that has run for a while if its client has gone. The watch
// calls it.
func (c *conn) check(now time.Time) {
	ses := c.shared.Load()
	if ses == nil {
		return
	}
	began, every := ses.Watched()
	if every == 0 || now.Sub(began) < every || now.Sub(c.checked) < every {
		return
	}
	c.checked = now
	if c.wire.Gone() {
		ses.Terminate()
	}
}

// interrupt ends what the connection waits for, since its statement was cancelled or its
// session is to end. Any goroutine may call it.
func (c *conn) interrupt(ends bool) {
	if ends {
		c.wire.Wake()
	}
	c.wire.Interrupt()
}

// serve serves the connection to its end.
func (c *conn) serve() {
	defer c.end()
	defer c.recover()
	if err := c.start(); err != nil {
		c.goodbye(err)
		return
	}
	c.srv.metrics.sessions.Add(1)
	defer func() {
		c.srv.metrics.sessions.Add(-1)
		c.srv.sessionLog.Info("session ended", "remote", c.remote, "pid", c.ses.PID())
	}()
	if !c.ready() {
		return
	}
	for {
		typ, body, err := c.next()
		var dropped *wire.DroppedError
		if err != nil && !errors.As(err, &dropped) {
			c.readFailed(err)
			return
		}
		if !c.busy.Load() {
			c.begin()
		}
		if dropped != nil {
			if !c.refuse(typ, dropped.Cause) {
				return
			}
			continue
		}
		if !c.dispatch(typ, body) {
			return
		}
	}
}

// refuse answers a message for which there is no memory, and reports whether the connection
// goes on.
func (c *conn) refuse(typ byte, cause error) bool {
	err := errMessageMemory(cause)
	switch {
	case c.skip || typ == wire.CopyData:
		return true
	case typ == wire.Parse || typ == wire.Bind:
		return c.failed(err)
	}
	c.pipe.end(c)
	c.ses.Fail(err)
	return c.answerError(err) && c.ready()
}

// begin prepares for the messages up to the next ReadyForQuery.
func (c *conn) begin() {
	c.busy.Store(true)
	if !c.watched.Load() {
		c.srv.watch.join(c)
	}
	if c.deadline {
		c.deadline = false
		_ = c.wire.SetReadDeadline(time.Time{}) // the next read tells of a failure
	}
}

// next returns the next message. Within a statement, which reads the data of COPY, it ends
// when that is cancelled, with the cause.
func (c *conn) next() (typ byte, body []byte, err error) {
	for {
		typ, body, err = c.wire.Next()
		if err == nil || !c.wire.Interrupted() {
			return typ, body, err
		}
		if cause := c.ses.Canceled(); cause != nil {
			return 0, nil, cause
		}
		c.wire.Resume()
		if !c.busy.Load() && !c.notifyIdle() {
			return 0, nil, errDone
		}
	}
}

// recover turns a bug met by one client's statement into the end of its
// connection.
func (c *conn) recover() {
	if r := recover(); r != nil {
		c.srv.metrics.panics.Add(1)
		c.srv.log.Error("panic", "value", r, "remote", c.remote, "stack", string(debug.Stack()))
		c.goodbye(pgerr.New(pgerr.InternalError, "internal error: %v", r))
	}
}

func (c *conn) end() {
	c.busy.Store(false)
	c.closeSession()
	_ = c.wire.Close()
	c.report()
	c.wire.Release()
}

// closeSession rolls back; after a panic that may meet a state that no code
// expects.
func (c *conn) closeSession() {
	defer c.recover()
	if c.ses != nil {
		c.ses.Close()
	}
}

// goodbyeTimeout is how long a client that does not read is waited for before its
// connection ends: what its session holds is given up after that.
const goodbyeTimeout = 50 * time.Millisecond

// goodbye tells the client why the connection ends.
func (c *conn) goodbye(err error) {
	if errors.Is(err, errDone) || c.broken {
		return
	}
	if c.former {
		c.sendFormerError(err)
	} else {
		c.sendError(severityFatal, err)
	}
	c.wire.Resume()
	c.wire.SetWriteTimeout(goodbyeTimeout)
	_ = c.wire.Flush() // the connection ends anyway
}

// readFailed ends the connection after a read error.
func (c *conn) readFailed(err error) {
	var pe *pgerr.Error
	switch {
	case errors.As(err, &pe):
		c.goodbye(pe)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.wire.Woken():
		c.goodbye(c.ending())
	case errors.Is(err, os.ErrDeadlineExceeded):
		if _, inTxn := c.ses.IdleTimeout(); inTxn {
			c.goodbye(errIdleInTxn)
		} else {
			c.goodbye(errIdleSession)
		}
	}
}

// dispatch handles a message and reports whether the connection goes on.
func (c *conn) dispatch(typ byte, body []byte) bool {
	if c.skip && typ != wire.Sync && typ != wire.Terminate {
		return true
	}
	var err error
	switch typ {
	case wire.Query:
		c.pipe.end(c)
		return c.query(body)
	case wire.Parse, wire.Bind, wire.Describe, wire.Execute, wire.Close:
		c.keep(typ, body)
		if err = c.extended(typ, body); err != nil {
			c.ses.Fail(err)
			err = c.again(err, false)
		}
	case wire.Flush:
		if err = bare(body); err == nil {
			return c.flush()
		}
	case wire.Sync:
		return c.sync(body)
	case wire.FunctionCall:
		return c.functionCall()
	case wire.Terminate:
		return false
	case wire.CopyData, wire.CopyDone, wire.CopyFail:
		// The client sent data of a COPY before it heard that the COPY failed.
	}
	if err != nil {
		return c.failed(err)
	}
	return c.flushIfLong()
}

// failed answers an error within the extended protocol: nothing is done until
// Sync. The error leaves at once: the client may wait for it before it sends that.
func (c *conn) failed(err error) bool {
	c.ses.Fail(err)
	if !c.answerError(err) {
		return false
	}
	c.skip = !plant.On(plant.PipelineGoesOn)
	return c.flush()
}

// answerError sends an error and reports whether the connection goes on.
func (c *conn) answerError(err error) bool {
	if c.broken {
		return false
	}
	if pgerr.CodeOf(err) == pgerr.AdminShutdown && c.ses.Terminated() {
		c.goodbye(err)
		return false
	}
	c.sendError(severityError, err)
	if c.desynced {
		c.goodbye(pgerr.New(pgerr.ProtocolViolation,
			"terminating connection because protocol synchronization was lost"))
		return false
	}
	return true
}

func (c *conn) query(body []byte) bool {
	m := wire.NewBody(body)
	raw := m.String()
	err := m.Err()
	var text string
	if err == nil {
		text, err = c.text(raw)
	}
	if err == nil {
		c.queries++
		c.res.begin(nil)
		err = c.ses.Query(c.ctx, text, &c.res)
	}
	if err != nil && !c.answerError(err) {
		return false
	}
	return !c.broken && c.ready()
}

// functionCall refuses the protocol's oldest way to call a function.
func (c *conn) functionCall() bool {
	err := pgerr.Unsupported("the FunctionCall message is not supported")
	c.ses.Fail(err)
	return c.answerError(err) && c.ready()
}

// bare checks a message that consists of its type.
func bare(body []byte) error {
	m := wire.NewBody(body)
	return m.Err()
}

// sync ends a batch of the extended protocol.
func (c *conn) sync(body []byte) bool {
	defer c.pipe.end(c)
	malformed := bare(body)
	if malformed != nil {
		c.ses.Fail(malformed)
	}
	err := c.ses.Sync(c.ctx)
	if err != nil && !c.skip {
		err = c.again(err, true)
	}
	c.skip = false
	if err == nil {
		err = malformed
	}
	if err != nil && !c.answerError(err) {
		return false
	}
	return c.ready()
}

// ready sends ReadyForQuery and what must precede it, flushes, and prepares to
// wait for the client.
func (c *conn) ready() bool {
	for _, p := range c.ses.TakeParamChanges() {
		c.wire.ParameterStatus(p.Name, c.shown(p.Value))
	}
	if !c.sendNotifications() {
		return false
	}
	c.wire.ReadyForQuery(c.ses.Status())
	if !c.flush() {
		return false
	}
	c.report()
	c.yield()
	if c.bulky {
		c.bulky, c.params, c.formats, c.oids = false, nil, nil, nil
	}
	c.busy.Store(false)
	c.wire.Resume() // what a cancel request meant is over
	if !c.notifyIdle() {
		return false
	}
	if c.wire.Woken() {
		c.goodbye(c.ending())
		return false
	}
	if d, _ := c.ses.IdleTimeout(); d > 0 && !c.wire.Buffered() {
		c.deadline, c.idleUntil = true, time.Now().Add(d)
		_ = c.wire.SetReadDeadline(c.idleUntil) // the next read tells of a failure
	}
	return true
}

// ending is why the connection ends.
func (c *conn) ending() error {
	if c.ses.Terminated() {
		return c.ses.Canceled()
	}
	return errShutdown
}

func (c *conn) flush() bool { return c.alive(c.written(c.wire.Flush())) }

func (c *conn) flushIfLong() bool { return c.alive(c.written(c.wire.FlushIfLong())) }

// alive reports whether the connection goes on after a write outside of statements.
func (c *conn) alive(err error) bool {
	if err != nil {
		c.goodbye(err)
	}
	return err == nil
}

// written takes the error of a write, which may be an interruption: the cause if it is meant
// for the statement that runs, or the session; otherwise it is over.
func (c *conn) written(err error) error {
	for errors.Is(err, wire.ErrInterrupted) {
		if cause := c.ses.Canceled(); cause != nil {
			return cause
		}
		c.wire.Resume()
		err = c.wire.Flush()
	}
	if err != nil {
		c.broken = true
		return errClientGone
	}
	return nil
}
