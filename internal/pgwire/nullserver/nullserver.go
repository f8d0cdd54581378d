package nullserver

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/lichendb/lichen/internal/pgwire/wire"
)

const (
	protocol3  = 3 << 16
	codeSSL    = 1234<<16 | 5679
	codeGSS    = 1234<<16 | 5680
	codeCancel = 1234<<16 | 5678
)

// maxReplies bounds the prepared statements and remembered queries of a
// connection.
const maxReplies = 10_000

// Server answers on many connections.
type Server struct {
	// BeforeReply, if not nil, is called before the reply to each statement is
	// made: body is the message that executes it (Query, or Bind with the
	// parameters), valid during the call. An error ends the connection. It may
	// come from many goroutines at once.
	BeforeReply func(query string, body []byte) error

	pool wire.Buffers
	mu   sync.Mutex
	open map[net.Conn]struct{}
	shut bool
}

// Serve answers the clients of l until l is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() { _ = s.ServeConn(nc) }() // the client sees it end
	}
}

// Close closes all connections and refuses new ones; the listener is the
// caller's.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	for nc := range s.open {
		_ = nc.Close()
	}
}

// ServeConn answers one client until it leaves.
func (s *Server) ServeConn(nc net.Conn) error {
	defer nc.Close()
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return net.ErrClosed
	}
	if s.open == nil {
		s.open = map[net.Conn]struct{}{}
	}
	s.open[nc] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, nc)
		s.mu.Unlock()
	}()
	c := &conn{srv: s, w: wire.NewConn(nc, &s.pool, nil), statements: map[string]*reply{}, queries: map[string]*reply{}}
	defer c.w.Release()
	if ok, err := c.start(); !ok || err != nil {
		return err
	}
	for {
		typ, body, err := c.w.Next()
		if err != nil || typ == wire.Terminate {
			return err
		}
		if err := c.message(typ, body); err != nil {
			return err
		}
	}
}

type conn struct {
	srv        *Server
	w          *wire.Conn
	statements map[string]*reply
	queries    map[string]*reply // replies to simple queries, by text
	portal     *reply
	bound      []byte // the Bind message of portal, for BeforeReply
	status     byte
}

func (c *conn) start() (bool, error) {
	for {
		code, _, err := c.w.StartupMessage()
		if err != nil {
			return false, err
		}
		switch code {
		case codeSSL, codeGSS:
			c.w.Raw([]byte{wire.EncryptionRefused})
			if err := c.w.Flush(); err != nil {
				return false, err
			}
			continue
		case codeCancel:
			return false, nil
		case protocol3:
		default:
			return false, fmt.Errorf("protocol %#x", code)
		}
		c.status = 'I'
		c.w.Begin(wire.Authentication)
		c.w.Int32(0)
		c.w.End()
		c.w.ParameterStatus("server_version", "15.0")
		c.w.ParameterStatus("client_encoding", "UTF8")
		c.w.ParameterStatus("standard_conforming_strings", "on")
		c.w.Begin(wire.BackendKeyData)
		c.w.Int32(1)
		c.w.Int32(1)
		c.w.End()
		return true, c.ready()
	}
}

func (c *conn) ready() error {
	c.w.ReadyForQuery(c.status)
	return c.w.Flush()
}

func (c *conn) message(typ byte, body []byte) error {
	m := wire.NewBody(body)
	switch typ {
	case wire.Query:
		if err := c.execute(c.query(m.String()), body); err != nil {
			return err
		}
		return c.ready()
	case wire.Parse:
		name, text := string(m.String()), string(m.String())
		if len(c.statements) < maxReplies || name == "" {
			c.statements[name] = replyTo(text)
		}
		c.w.Empty(wire.ParseComplete)
	case wire.Bind:
		_ = m.String() // the portal's name: there is but one
		if c.portal = c.statements[string(m.String())]; c.portal == nil {
			return errors.New("no such statement")
		}
		if c.srv.BeforeReply != nil {
			c.bound = append(c.bound[:0], body...)
		}
		c.w.Empty(wire.BindComplete)
	case wire.Describe:
		r, statement := c.portal, m.Byte() == wire.TargetStatement
		if statement {
			r = c.statements[string(m.String())]
		}
		if r == nil {
			return errors.New("nothing to describe")
		}
		r.describe(c.w, statement)
	case wire.Execute:
		if c.portal == nil {
			return errors.New("no portal")
		}
		return c.execute(c.portal, c.bound)
	case wire.Close:
		c.w.Empty(wire.CloseComplete)
	case wire.Sync:
		return c.ready()
	case wire.Flush:
		return c.w.Flush()
	default:
		return fmt.Errorf("message of type %q", typ)
	}
	return nil
}

// query returns the reply to a simple query.
func (c *conn) query(text []byte) *reply {
	if r := c.queries[string(text)]; r != nil {
		return r
	}
	r := replyTo(string(text))
	if len(c.queries) < maxReplies && len(text) < 200 {
		c.queries[r.query] = r
	}
	return r
}

// execute makes the reply. In a simple query the columns come with it.
func (c *conn) execute(r *reply, body []byte) error {
	if c.srv.BeforeReply != nil {
		if err := c.srv.BeforeReply(r.query, body); err != nil {
			return err
		}
	}
	switch r.tag {
	case "BEGIN":
		c.status = 'T'
	case "COMMIT", "ROLLBACK":
		c.status = 'I'
	}
	if r != c.portal && r.desc != nil {
		c.w.Raw(r.desc)
	}
	r.execute(c.w)
	return c.w.FlushIfLong()
}
