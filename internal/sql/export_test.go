package sql

import "testing"

// CollectAtOnce has statistics collected when CollectDue asks for them, of now.
func (s *Server) CollectAtOnce() { s.stats.CollectByHand() }

// ReserveAtOnce has statements reserve what they fail at, however short they are.
func (s *Server) ReserveAtOnce() { s.reserveAfter = 0 }

// CollectDue analyses the tables that have changed enough, and returns how many there are.
func (s *Server) CollectDue(t testing.TB) int {
	t.Helper()
	n, err := s.stats.CollectDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// OnLook has f called whenever somebody looks whether a statement of s goes on.
func (s *Session) OnLook(f func()) {
	s.looked = f
	s.mu.ctx = nil
}
