package liveness

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestPanicEnds: a panic is told to OnFatal, and nothing is sent between the two.
func TestPanicEnds(t *testing.T) {
	for name, c := range map[string]struct {
		hook, clock bool // what panics when it is used next
		do          func(*Liveness)
	}{
		"a hook":                   {hook: true},
		"a step":                   {clock: true},
		"a message, half taken in": {clock: true, do: receiveOne},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hook, clock, broken atomic.Bool
				var fatal error
				now := func() int64 {
					if clock.Swap(false) {
						broken.Store(true)
						panic("no such clock")
					}
					return time.Now().UnixNano()
				}
				l := New(Options{
					Clock: hlc.New(now, 0),
					Self: func() NodeInfo {
						if hook.Swap(false) {
							broken.Store(true)
							panic("no such node")
						}
						return NodeInfo{ID: 1, Incarnation: 1}
					},
					Send: func(kvpb.NodeID, []byte) bool {
						if broken.Load() {
							t.Error("something was sent after a panic")
						}
						return true
					},
					OnFatal: func(err error) {
						broken.Store(false)
						fatal = err
						runtime.Goexit() // the process ends here
					},
				})
				l.Learn(NodeInfo{ID: 2, Addr: "b:1"})
				l.Start()
				defer l.Close()
				synctest.Wait()
				hook.Store(c.hook)
				clock.Store(c.clock)
				if c.do != nil {
					go c.do(l)
				} else {
					time.Sleep(HeartbeatEvery)
				}
				synctest.Wait()
				if fatal == nil {
					t.Error("nobody was told of the panic")
				}
			})
		})
	}
}

// receiveOne has l take in a heartbeat of node 2, which it answers.
func receiveOne(l *Liveness) {
	e := newMessage(1, 1, 0, 0, version{})
	e.requestUntil(int64(SupportFor))
	e.info(&NodeInfo{ID: 3, Addr: "c:1", Seq: 1})
	e.digest(1)
	l.Receive(2, e.b)
}
