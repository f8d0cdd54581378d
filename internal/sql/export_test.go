package sql

import (
	"context"
	"testing"
)

// CollectAtOnce has statistics collected when CollectDue asks for them, of now.
func (s *Server) CollectAtOnce() {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	s.stats.busy, s.stats.past, s.stats.every = true, 0, 0
}

// ReserveAtOnce has statements reserve what they fail at, however short they are.
func (s *Server) ReserveAtOnce() { s.reserveAfter = 0 }

// CollectDue analyses the tables that have changed enough, and returns how many there are.
func (s *Server) CollectDue(t testing.TB) (n int) {
	t.Helper()
	for {
		table, _ := s.stats.next()
		if table == nil {
			s.CollectAtOnce()
			return n
		}
		if err := s.stats.collect(context.Background(), table); err != nil {
			t.Fatal(err)
		}
		n++
	}
}

// OnLook has f called whenever somebody looks whether a statement of s goes on.
func (s *Session) OnLook(f func()) {
	s.looked = f
	s.mu.ctx = nil
}
