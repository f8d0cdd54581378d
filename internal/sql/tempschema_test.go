package sql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// TestTempAbandoned asks of which sessions of other nodes nothing is left.
func TestTempAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{sessions: map[int32]*Session{}}
		d := &catalog.Schema{ID: 7, Temp: &catalog.TempOwner{Node: 2, Life: 5, Session: "2.1000.1", PID: 1000}}
		silent := map[catalog.ID]time.Time{}
		ask := func(lives map[kvpb.NodeID]int64, want bool) {
			t.Helper()
			if got := s.tempAbandoned(d, lives, silent); got != want {
				t.Errorf("lives %v: %v", lives, got)
			}
		}
		alive, restarted := map[kvpb.NodeID]int64{2: 5}, map[kvpb.NodeID]int64{2: 6}
		ask(alive, false)
		ask(restarted, true)
		ask(nil, false)
		time.Sleep(tempGrace - time.Second)
		ask(nil, false)
		ask(alive, false) // seen again: the grace begins anew
		ask(nil, false)
		time.Sleep(tempGrace - time.Second)
		ask(nil, false)
		time.Sleep(time.Second)
		ask(nil, true)

		own := &catalog.Schema{ID: 8, Temp: &catalog.TempOwner{Node: 1, PID: 1000}}
		own.Temp.Session = "1.1000.1"
		if !s.tempAbandoned(own, nil, silent) {
			t.Error("no session of that number is here")
		}
		ses := &Session{srv: s, pid: 1000, started: time.Now()}
		s.sessions[1000] = ses
		if !s.tempAbandoned(own, nil, silent) {
			t.Error("another session has the number")
		}
		own.Temp.Session = ses.sessionID()
		if s.tempAbandoned(own, nil, silent) {
			t.Error("the session is here")
		}
	})
}
