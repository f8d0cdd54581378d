package tempschema

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// TestAbandoned asks of which sessions nothing is left.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := false
		s := &Sweeper{Node: 1, Alive: func(*catalog.TempOwner) bool { return alive }, silent: map[catalog.ID]time.Time{}}
		d := &catalog.Schema{ID: 7, Temp: &catalog.TempOwner{Node: 2, Incarnation: 5, Session: "2.1000.1", PID: 1000}}
		ask := func(incarnations map[kvpb.NodeID]int64, want bool) {
			t.Helper()
			if got := s.abandoned(d, incarnations); got != want {
				t.Errorf("incarnations %v: %v", incarnations, got)
			}
		}
		same, restarted := map[kvpb.NodeID]int64{2: 5}, map[kvpb.NodeID]int64{2: 6}
		ask(same, false)
		ask(restarted, true)
		ask(nil, false)
		time.Sleep(grace - time.Second)
		ask(nil, false)
		ask(same, false) // seen again: the grace begins anew
		ask(nil, false)
		time.Sleep(grace - time.Second)
		ask(nil, false)
		time.Sleep(time.Second)
		ask(nil, true)

		own := &catalog.Schema{ID: 8, Temp: &catalog.TempOwner{Node: 1, PID: 1000, Session: "1.1000.1"}}
		if !s.abandoned(own, nil) {
			t.Error("the session is no more")
		}
		if alive = true; s.abandoned(own, nil) {
			t.Error("the session is here")
		}
	})
}
