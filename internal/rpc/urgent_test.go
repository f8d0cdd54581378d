package rpc

import (
	"testing"
	"testing/synctest"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestUrgent: a message of an urgent method arrives while the receiver is busy with others.
func TestUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow, beat Method = 100, 101
		urgent := func(o *Options) { o.Urgent = []Method{beat} }
		w := newNetwork(t)
		a, b := w.node(1, urgent), w.node(2, urgent)
		busy, release, beats := make(chan struct{}), make(chan struct{}), make(chan string, 10)
		b.HandleMessage(slow, func(kvpb.NodeID, []byte) {
			busy <- struct{}{}
			<-release
		})
		b.HandleMessage(beat, func(_ kvpb.NodeID, msg []byte) { beats <- string(msg) })
		if !a.Send(2, slow, []byte("x")) {
			t.Fatal("not sent")
		}
		<-busy
		for _, m := range []string{"one", "two"} {
			if !a.Send(2, beat, []byte(m)) {
				t.Fatal("not sent")
			}
			if got := <-beats; got != m {
				t.Fatalf("got %q, want %q", got, m)
			}
		}
		close(release)
		synctest.Wait()
		if n := w.dials; n != 2 {
			t.Errorf("%d connections, want one for each kind", n)
		}
	})
}
