package pgwire

import (
	"errors"
	"io"
	"os"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// copySource is the data of COPY FROM STDIN. When the COPY fails before the
// client has sent all, the rest is ignored where it arrives: in conn.dispatch.
type copySource struct {
	c   *conn
	end error // what Next returned at the end
}

// Next implements sql.CopySource.
func (s *copySource) Next() ([]byte, error) {
	if s.end != nil {
		return nil, s.end
	}
	for {
		typ, body, err := s.c.next()
		if err != nil {
			return nil, s.finish(s.readFailed(err))
		}
		switch typ {
		case wire.CopyData:
			return body, nil
		case wire.CopyDone:
			return nil, s.finish(io.EOF)
		case wire.CopyFail:
			m := wire.NewBody(body)
			reason := string(s.c.name(m.String()))
			return nil, s.finish(pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", reason))
		case wire.Flush, wire.Sync:
			// Libraries send these behind any Execute, not knowing that it was COPY.
		default:
			s.c.desynced = true
			return nil, s.finish(pgerr.New(pgerr.ProtocolViolation,
				"unexpected message type 0x%02X during COPY from stdin", typ))
		}
	}
}

func (s *copySource) finish(err error) error {
	s.end = err
	return err
}

func (s *copySource) readFailed(err error) error {
	var pe *pgerr.Error
	var dropped *wire.DroppedError
	switch {
	case errors.As(err, &dropped):
		return errMessageMemory(dropped.Cause)
	case s.c.wire.Interrupted(): // by who cancelled the statement
		return err
	case errors.As(err, &pe):
		s.c.desynced = true
		return pe
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.c.ses.Terminate()
		return errShutdown
	}
	s.c.broken = true
	return pgerr.New(pgerr.ConnectionFailure, "unexpected EOF on client connection with an open transaction")
}
