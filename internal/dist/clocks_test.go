package dist

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

// slowClocks answers requests for a clock after a delay.
type slowClocks struct {
	clock *hlc.Clock
	delay atomic.Int64
	calls atomic.Int64
}

func (s *slowClocks) Call(ctx context.Context, _ kvpb.NodeID, m rpc.Method, _ []byte) ([]byte, error) {
	s.calls.Add(1)
	select {
	case <-time.After(time.Duration(s.delay.Load())):
		return ServeClock(s.clock), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Callers at the same time share a request. A node that falls silent delays no caller for longer than clockWait, and
// none at all once that is known, until it answers again. A node without recent requests is not asked.
func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := &slowClocks{clock: hlc.NewSystem(0)}
		d := NewRouter(Config{Node: 1, Caller: s})
		p := d.clocks.peer(2)
		ask := func(want int, most time.Duration) {
			t.Helper()
			began, before := time.Now(), s.clock.Now()
			got := d.Clocks(ctx, nil)
			if took := time.Since(began); took > most {
				t.Errorf("it took %v", took)
			}
			if len(got) != want || want == 1 && (got[0].Node != 2 || got[0].TS.Less(before)) {
				t.Errorf("it heard %v", got)
			}
			<-time.After(2 * clockTimeout)
		}
		ask(0, 0)
		p.use()
		s.delay.Store(int64(time.Millisecond))
		ask(0, 0) // nobody waits for a stranger
		if s.calls.Load() != 1 {
			t.Fatalf("%d calls", s.calls.Load())
		}
		ask(1, time.Millisecond)
		go d.Clocks(ctx, nil)
		synctest.Wait()
		s.calls.Store(0)
		for range 9 {
			go d.Clocks(ctx, nil)
		}
		ask(1, 2*time.Millisecond)
		if s.calls.Load() != 1 {
			t.Errorf("ten that ask at the same time cause %d calls", s.calls.Load())
		}
		p.use()
		s.delay.Store(int64(time.Hour))
		ask(0, clockWait)
		ask(0, 0)
		s.delay.Store(int64(time.Millisecond))
		for range 40 {
			p.use()
			d.Clocks(ctx, nil)
			<-time.After(2 * clockTimeout)
		}
		p.use()
		ask(1, time.Millisecond)
		<-time.After(clockNeeded)
		ask(0, 0)
		d.Close()
	})
}
