package sql

import (
	"errors"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// TestTick checks that statement_timeout runs from the first message of a statement on,
// and that Execute and Sync end that.
func TestTick(t *testing.T) {
	s := &Session{}
	s.ex.vals = settings.New(nil)
	if err := s.Tick(); err != nil || !s.ex.running.arrived.IsZero() {
		t.Errorf("without a timeout: %v, %v", err, s.ex.running.arrived)
	}
	if _, err := s.ex.vals.Set("statement_timeout", "1h", false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Tick(); err != nil || s.ex.running.arrived.IsZero() {
			t.Fatalf("%v, %v", err, s.ex.running.arrived)
		}
	}
	s.ex.running.arrived = time.Now().Add(-2 * time.Hour)
	if err := s.Tick(); !errors.Is(err, activity.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Tick(); err != nil {
		t.Errorf("after Sync: %v", err)
	}
}
