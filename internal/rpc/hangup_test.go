package rpc

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestHangUp: calls under way end at once, with an outcome that is not known, though their
// handlers do not return; the next ones are served.
func TestHangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		ended := make(chan error, 1)
		go func() {
			_, err := a.Call(t.Context(), 2, hang, nil)
			ended <- err
		}()
		<-b.hanging
		pass(MaxBackoff) // the connection has lived for a while
		b.HangUp()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("the call ended with %v", err)
			}
		default:
			t.Fatal("the call goes on")
		}
		<-b.gone
		if _, err := a.Call(t.Context(), 2, echo, []byte("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestStuckClock: a node whose clock waits for a disk goes on to speak, and what it says
// carries all timestamps that it has handed out.
func TestStuckClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		stuck, release := false, make(chan struct{})
		a, b := w.node(1), w.node(2)
		err := a.clock.Start(0, func(int64) error {
			if stuck {
				<-release
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer close(release)
		last := a.clock.Now()
		stuck = true
		pass(2 * hlc.BoundWindow)
		if _, ok := a.clock.TryNow(); ok {
			t.Fatal("the clock goes on")
		}
		if !a.Send(2, note, []byte("x")) {
			t.Fatal("not sent")
		}
		select {
		case <-b.notes:
		case <-time.After(time.Second):
			t.Fatal("nothing arrives from a node whose clock waits")
		}
		if now := b.clock.Now(); !last.Less(now) {
			t.Errorf("the receiver's clock shows %v, the sender's had shown %v", now, last)
		}
	})
}
