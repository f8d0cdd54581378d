package rpc

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// process is a process of a node, which notes that it was told to end.
type process struct {
	*testNode
	ended atomic.Pointer[error]
}

// process starts a process of a node, which later calls follow in their order.
func (w *network) process(id kvpb.NodeID, incarnation int64) *process {
	p := &process{}
	p.testNode = w.node(id, func(o *Options) {
		o.Incarnation = func() int64 { return incarnation }
		o.OnTwin = func(err error) { p.ended.CompareAndSwap(nil, &err) }
	})
	return p
}

func (p *process) wantGoesOn(t *testing.T, to kvpb.NodeID) {
	t.Helper()
	if resp, err := p.Call(t.Context(), to, echo, []byte("hello")); err != nil || !bytes.Equal(resp, []byte("hello")) {
		t.Errorf("a call of the process that goes on: %v", err)
	}
	if err := p.ended.Load(); err != nil {
		t.Errorf("the process that goes on was told to end: %v", *err)
	}
}

func (p *process) wantEnds(t *testing.T, to kvpb.NodeID, text string) {
	t.Helper()
	_, err := p.Call(t.Context(), to, echo, nil)
	wantRefused(t, err, RefusedIdentity, text)
	if p.ended.Load() == nil {
		t.Error("the process was not told to end")
	}
}

// withTwins plays with a node 1 that hears node 2.
func withTwins(t *testing.T, play func(t *testing.T, w *network, peer, elder *process)) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		peer, elder := w.process(1, 100), w.process(2, 200)
		elder.wantGoesOn(t, 1)
		pass(3 * PingInterval)
		play(t, w, peer, elder)
	})
}

// TestTwinRefused: a later process of a node is refused while the one before goes on, and is
// heard by nobody before that is known.
func TestTwinRefused(t *testing.T) {
	withTwins(t, func(t *testing.T, w *network, peer, elder *process) {
		younger := w.process(2, 300)
		younger.Send(1, note, []byte("I am node 2"))
		younger.wantEnds(t, 1, "runs already")
		elder.wantGoesOn(t, 1)
		pass(5 * time.Second)
		younger.wantEnds(t, 1, "runs already")
		elder.wantGoesOn(t, 1)
		if len(peer.notes) > 0 {
			t.Error("a message of the process that was refused was heard")
		}
	})
}

// TestTwinFollows: a process that starts when the one before has ended is heard at once.
func TestTwinFollows(t *testing.T) {
	withTwins(t, func(t *testing.T, w *network, _, elder *process) {
		elder.Close()
		begun := time.Now()
		w.process(2, 300).wantGoesOn(t, 1)
		if took := time.Since(begun); took > 2*admitPoll {
			t.Errorf("the next process of the node was heard after %v", took)
		}
	})
}

// TestTwinWakes: a process that was silent while a later one was let in is heard no more.
func TestTwinWakes(t *testing.T) {
	withTwins(t, func(t *testing.T, w *network, peer, elder *process) {
		w.lose(true) // it stands still
		begun := time.Now()
		younger := w.process(2, 300)
		younger.wantGoesOn(t, 1)
		if took := time.Since(begun); took > DeadTimeout+PingInterval {
			t.Errorf("the silence of the former process was noticed after %v", took)
		}
		w.lose(false)
		pass(DeadTimeout) // the former process notices as well that its connection was silent
		elder.Send(1, note, []byte("I am node 2"))
		elder.wantEnds(t, 1, "another process has started as node 2")
		younger.wantGoesOn(t, 1)
		if len(peer.notes) > 0 {
			t.Error("a message of the process that was over was heard")
		}
	})
}

// TestTwinAnswers: who looks for a node does not take a process for it that it does not hear as
// the node.
func TestTwinAnswers(t *testing.T) {
	withTwins(t, func(t *testing.T, w *network, peer, elder *process) {
		w.process(2, 300) // at the node's address from now on
		pass(MaxBackoff)
		_, err := peer.Call(t.Context(), 2, echo, nil)
		wantRefused(t, err, RefusedNode, "not the one that this node hears as node 2")
		elder.wantGoesOn(t, 1)
	})
}

// TestTwinsMeet: of two processes that meet the later one ends.
func TestTwinsMeet(t *testing.T) {
	withTwins(t, func(t *testing.T, w *network, _, elder *process) {
		younger := w.process(2, 300)
		w.setAddr("elder", elder.testNode)
		w.setAddr("younger", younger.testNode)
		_, err := younger.WhoIsAt(t.Context(), "elder")
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Reason != RefusedIdentity || younger.ended.Load() == nil {
			t.Errorf("the later process is told: %v", err)
		}
		if _, err := elder.WhoIsAt(t.Context(), "younger"); err != nil || elder.ended.Load() != nil {
			t.Errorf("the former process is told: %v", err)
		}
	})
}
