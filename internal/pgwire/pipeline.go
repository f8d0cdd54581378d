package pgwire

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/pgwire/wire"
)

// maxPipeline bounds the messages of the extended protocol that are kept since the last
// Sync.
const maxPipeline = 1 << 20

// pipeline is what a client has sent by the extended protocol since the last Sync. If its
// statements, which share a transaction, meet a conflict, it is run again as long as nothing of
// what was answered has been sent.
type pipeline struct {
	msgs []byte    // each with its type and length
	from wire.Mark // where the answers begin
	// executes counts the statements run.
	executes int
	// lost says that something is missing in msgs, or can't be repeated.
	lost bool
	// behind says that a message is repeated behind which others were sent.
	behind bool
}

// end makes p that of what follows a Sync.
func (p *pipeline) end(c *conn) {
	if p.executes > 1 {
		c.res.UnmarkBatch()
	}
	if cap(p.msgs) > maxKeptPipeline {
		p.msgs = nil
	}
	*p = pipeline{msgs: p.msgs[:0]}
}

// maxKeptPipeline is how much memory for messages a connection keeps.
const maxKeptPipeline = 16 << 10

// keep notes a message of the extended protocol.
func (c *conn) keep(typ byte, body []byte) {
	p := &c.pipe
	if len(p.msgs) == 0 && !p.lost {
		p.from = c.wire.Mark()
		p.lost = c.ses.Status() != 'I'
		c.ses.BeginPipeline()
	}
	closes := typ == wire.Close && len(body) > 0 && body[0] == wire.TargetStatement // what was prepared would be prepared twice
	if p.lost = p.lost || closes || len(p.msgs)+len(body) > maxPipeline; p.lost {
		return
	}
	if typ == wire.Execute {
		if p.executes++; p.executes == 2 {
			c.res.hold = c.ses.Unanswered()
		}
	}
	p.msgs = binary.BigEndian.AppendUint32(append(p.msgs, typ), uint32(len(body)))
	p.msgs = append(p.msgs, body...)
}

// extended executes a message of the extended protocol.
func (c *conn) extended(typ byte, body []byte) error {
	if err := c.ses.Tick(); err != nil {
		return err
	}
	switch typ {
	case wire.Parse:
		return c.parse(body)
	case wire.Bind:
		return c.bind(body)
	case wire.Describe:
		return c.describe(body)
	case wire.Execute:
		return c.execute(body)
	}
	return c.closeObject(body)
}

// again runs what came since the last Sync again after err, while that is a conflict;
// with sync, the Sync too. It returns what it ended with. A statement by itself has been
// run again already.
func (c *conn) again(err error, sync bool) error {
	p := &c.pipe
	for err != nil && (sync || p.executes > 1) && !p.lost && !c.broken && c.ses.RunsAgain(err) && c.wire.Rewind(p.from) {
		if err = c.repeat(sync); err != nil {
			c.ses.Fail(err)
		}
	}
	return err
}

func (c *conn) repeat(sync bool) error {
	p := &c.pipe
	defer func() { p.behind = false }()
	c.ses.RepeatPipeline()
	for msgs := p.msgs; len(msgs) > 0; {
		end := 5 + int(binary.BigEndian.Uint32(msgs[1:]))
		typ, body := msgs[0], msgs[5:end]
		msgs = msgs[end:]
		p.behind = sync || len(msgs) > 0
		if typ == wire.Parse && body[0] != 0 { // a named statement: it is there
			c.wire.Empty(wire.ParseComplete)
			continue
		}
		if err := c.extended(typ, body); err != nil {
			return err
		}
	}
	if sync {
		return c.ses.Sync(c.ctx)
	}
	return nil
}
