package sql

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// operatorPrefix begins the application_name of the commands by which operators look after a
// cluster: the sessions that are reserved are for them.
const operatorPrefix = "$ lichen "

// ErrTooManyClients says that a node serves no more clients.
var ErrTooManyClients = pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already")

// ConnectionLimits returns how many sessions of clients there may be, and how many of these
// are kept for operators.
func (s *Server) ConnectionLimits() (limit, reserved int) {
	v := clustersetting.Get(s.cfg.Settings)
	return int(v.MaxConnections), int(min(v.ReservedConnections, v.MaxConnections-1))
}

// admissible reports why a session must not start now: 53300.
func (s *Server) admissible(a SessionArgs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admissibleLocked(a)
}

func (s *Server) admissibleLocked(a SessionArgs) error {
	limit, reserved := s.ConnectionLimits()
	switch {
	case a.Internal || s.clients < limit-reserved:
		return nil
	case s.clients >= limit:
		return ErrTooManyClients
	case strings.HasPrefix(a.Params["application_name"], operatorPrefix):
		return nil
	}
	return pgerr.New(pgerr.TooManyConnections, "remaining connection slots are reserved for non-replication superuser connections")
}

// fixed returns the values of read-only parameters that are the server's.
func (s *Server) fixed(name string) (string, bool) {
	switch name {
	case "server_version":
		return "15.0 (Lichen " + s.cfg.Version + ")", true
	case "max_connections":
		limit, _ := s.ConnectionLimits()
		return strconv.Itoa(limit), true
	case "superuser_reserved_connections":
		_, reserved := s.ConnectionLimits()
		return strconv.Itoa(reserved), true
	}
	return "", false
}
