package sql

import (
	"context"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/activity"
)

// CollectAtOnce has statistics collected when CollectDue asks for them, of now.
func (s *Server) CollectAtOnce() { s.stats.CollectByHand() }

// ReserveAtOnce has statements reserve what they fail at, however short they are.
func (s *Server) ReserveAtOnce() { s.reserveAfter = 0 }

// ReserveAtMost changes how long statements have others wait.
func (s *Server) ReserveAtMost(d time.Duration) {
	v := setting.Default()
	v.ReserveMost = d
	s.cfg.Settings = fixedSettings{setting.NewLive(v)}
}

// fixedSettings are cluster settings that nobody changes.
type fixedSettings struct{ live *setting.Live }

func (f fixedSettings) Live() *setting.Live     { return f.live }
func (f fixedSettings) Changed(context.Context) {}

// CollectDue analyses the tables that have changed enough, and returns how many there are.
func (s *Server) CollectDue(t testing.TB) int {
	t.Helper()
	n, err := s.stats.CollectDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// OnCancelCheck has f called whenever somebody looks whether a statement of s goes on.
func (s *Session) OnCancelCheck(f func()) {
	s.ex.current.OnCancelCheck(f)
}

// Cancel cancels the running statement, as a client's request does.
func (s *Session) Cancel() { s.ex.current.Interrupt(activity.ErrUserCancel) }

// OnMemoryWait has f called whenever a statement begins to wait for memory.
func (s *Server) OnMemoryWait(f func()) { s.memory.waits = f }

// MemoryUsed returns how much of the node's memory is reserved.
func (s *Server) MemoryUsed() int64 { return s.cfg.Mem.Used() }

// SetLockedMemoryWait bounds how long a statement waits for memory whose session may hold locks.
func (s *Server) SetLockedMemoryWait(d time.Duration) { s.memory.locked = d }

// StoredText calls f with all that the catalog has stored.
func (s *Server) StoredText(ctx context.Context, f func(k, v []byte)) error {
	return s.cfg.DB.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		return kv.Each(ctx, txn, keys.SystemSpan("cat/"), func(k, v []byte) (bool, error) { f(k, v); return true, nil })
	})
}
