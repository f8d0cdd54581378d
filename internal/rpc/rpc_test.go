package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

func TestCall(t *testing.T) {
	w := newNetwork(t)
	a := w.node(1)
	w.node(2)
	ctx := t.Context()
	for _, size := range []int{0, 1, 100, chunkSize - 1, chunkSize, chunkSize + 1, 3 * chunkSize, 5 << 20} {
		for to := kvpb.NodeID(1); to <= 2; to++ {
			req := payload(size)
			resp, err := a.Call(ctx, to, echo, req)
			if err != nil || !bytes.Equal(resp, req) {
				t.Fatalf("node %d, %d bytes: got %d, %v", to, size, len(resp), err)
			}
		}
	}
	for to := kvpb.NodeID(1); to <= 2; to++ {
		_, err := a.Call(ctx, to, broken, nil)
		var p *RemoteError
		var v RemoteError
		if !errors.As(err, &p) || !errors.As(err, &v) || p.Msg != "no luck for 1" || v.Msg != p.Msg || errors.Is(err, ErrNotSent) {
			t.Fatalf("node %d: error of a handler: %v", to, err)
		}
		if _, err = a.Call(ctx, to, nobody, nil); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "method 20") {
			t.Fatalf("node %d: method without handler: %v", to, err)
		}
	}
	for _, c := range []struct {
		to  kvpb.NodeID
		req []byte
	}{{0, nil}, {3, nil}, {100, nil}, {2, make([]byte, MaxPayload+1)}} {
		if _, err := a.Call(ctx, c.to, echo, c.req); !errors.Is(err, ErrNotSent) {
			t.Fatalf("node %d, %d bytes: %v", c.to, len(c.req), err)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	w := newNetwork(t)
	nodes := []*testNode{w.node(1), w.node(2), w.node(3)}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			for j := range 20 {
				req := binary.BigEndian.AppendUint32(payload(i*j*70), uint32(i<<8|j))
				resp, err := nodes[i%3].Call(t.Context(), kvpb.NodeID(i/3%3+1), echo, req)
				if err != nil || !bytes.Equal(resp, req) {
					t.Errorf("%d.%d: %d bytes, %v", i, j, len(resp), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMessagesInOrder(t *testing.T) {
	w := newNetwork(t)
	a := w.node(1)
	b := w.node(2)
	sizes := []int{4, 50, chunkSize, chunkSize + 5, 3*chunkSize + 1, 10}
	for i := range 500 {
		msg := payload(sizes[i%len(sizes)])
		binary.BigEndian.PutUint32(msg, uint32(i))
		if !a.Send(2, note, msg) || !a.Send(1, note, msg) {
			t.Fatalf("message %d was dropped", i)
		}
		clear(msg) // it belongs to the sender again
	}
	for i := range 500 {
		for _, n := range []*testNode{a, b} {
			r := <-n.notes
			want := payload(sizes[i%len(sizes)])
			binary.BigEndian.PutUint32(want, uint32(i))
			if r.from != 1 || !bytes.Equal(r.msg, want) {
				t.Fatalf("message %d from %d differs: %d bytes", i, r.from, len(r.msg))
			}
		}
	}
	if m := b.Metrics(); m.MessagesReceived != 500 {
		t.Fatalf("%d messages counted", m.MessagesReceived)
	}
}

func TestCancel(t *testing.T) {
	w := newNetwork(t)
	a, b := w.node(1), w.node(2)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() {
		_, err := a.Call(ctx, 2, hang, nil)
		errs <- err
	}()
	<-b.hanging
	cancel()
	if err := <-errs; !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Fatalf("caller: %v", err)
	}
	if err := <-b.gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("handler: %v", err)
	}
	if _, err := a.Call(ctx, 2, echo, nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Fatalf("with an ended context: %v", err)
	}
	if _, err := a.Call(t.Context(), 2, echo, nil); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
}

// TestDeadPeer has the network lose everything: calls that were sent end with an
// unknown outcome after the timeout, and the other side's handlers end too.
func TestDeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		errs := make(chan error)
		go func() {
			_, err := a.Call(t.Context(), 2, hang, nil)
			errs <- err
		}()
		<-b.hanging
		pass(10 * time.Second) // pings keep it alive
		if !a.Connected(2) || b.Connected(1) {
			t.Fatal("connected the wrong way")
		}
		w.lose(true)
		start := time.Now()
		if err := <-errs; !errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
		if d := time.Since(start); d > DeadTimeout+PingInterval {
			t.Fatalf("noticed after %v", d)
		}
		<-b.gone
		if d := time.Since(start); d > DeadTimeout+PingInterval {
			t.Fatalf("the acceptor noticed after %v", d)
		}
		if a.Connected(2) {
			t.Fatal("still connected")
		}
	})
}

// TestUnreachable: calls and messages to a peer that can't be reached fail at once,
// and attempts back off up to a limit.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a := w.node(1)
		for range 1000 {
			a.Send(2, note, []byte("x"))
			pass(10 * time.Millisecond)
		}
		if w.dials < 10 || w.dials > 20 {
			t.Fatalf("%d attempts in 10 s", w.dials)
		}
		if _, err := a.Call(t.Context(), 2, echo, nil); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "no route") {
			t.Fatal(err)
		}
		if m := a.Metrics(); m.MessagesDropped != 1000 {
			t.Fatalf("%d messages dropped", m.MessagesDropped)
		}
		if a.Send(100, note, nil) {
			t.Fatal("sent without an address")
		}
		// The peer comes up and connects; the way back is open at once.
		b := w.node(2)
		b.Send(1, note, []byte("hello"))
		<-a.notes
		synctest.Wait()
		if !a.Connected(2) || !a.Send(2, note, []byte("welcome")) {
			t.Fatal("not connected when the peer was")
		}
		if r := <-b.notes; string(r.msg) != "welcome" {
			t.Fatalf("%q", r.msg)
		}
	})
}

func TestPeerRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		go func() { _, _ = a.Call(t.Context(), 2, hang, nil) }()
		<-b.hanging
		a.Send(2, note, nil)
		<-b.notes
		b.Close()
		synctest.Wait()
		if a.Connected(2) {
			t.Fatal("connected to a closed node")
		}
		w.node(2)
		pass(MaxBackoff)
		if _, err := a.Call(t.Context(), 2, echo, nil); err != nil {
			t.Fatal(err)
		}
		if m := a.Metrics(); m.Connects != 3 || m.Reconnects != 1 {
			t.Fatalf("%+v", m)
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a := w.node(1)
		w.node(2, func(o *Options) { o.ClusterID = func() string { return "c2" } })
		w.node(3, func(o *Options) { o.ProtocolVersion, o.MinVersion, o.Version = 9, 8, "v9" })
		w.node(4, func(o *Options) { o.NodeID = func() kvpb.NodeID { return 5 } })
		w.node(6).shift.Store(int64(time.Second))
		w.node(7).shift.Store(int64(-time.Second))
		w.node(8, func(o *Options) { o.ClusterID = func() string { return "" } })
		w.node(9, func(o *Options) { o.NodeID = func() kvpb.NodeID { return 1 } })
		for _, c := range []struct {
			to   kvpb.NodeID
			r    Refusal
			text string
		}{
			{2, RefusedCluster, "belongs to cluster c2, node 1 to cluster c1"},
			{3, RefusedVersion, `the other side is version "v9" (protocol 9, understands from 8 on)`},
			{4, RefusedNode, "belongs to node 5, not to node 4"},
			{6, RefusedClock, "off by 1s"},
			{7, RefusedClock, "the clock of node 1 is 1s ahead"},
			{8, RefusedCluster, "not part of a cluster yet"},
			{9, RefusedNode, "two processes"},
		} {
			_, err := a.Call(t.Context(), c.to, echo, nil)
			wantRefused(t, err, c.r, c.text)
			if a.Connected(c.to) {
				t.Fatalf("connected to %d", c.to)
			}
		}
	})
}

func TestCallAddr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		w.node(1)
		w.node(2, func(o *Options) { o.ClusterID = func() string { return "c2" } })
		joining := w.node(9, func(o *Options) {
			o.ClusterID, o.NodeID = func() string { return "" }, func() kvpb.NodeID { return 0 }
		})
		if resp, err := joining.CallAddr(t.Context(), "node1", echo, []byte("hi")); err != nil || string(resp) != "hi" {
			t.Fatalf("%q, %v", resp, err)
		}
		var re *RemoteError
		if _, err := joining.CallAddr(t.Context(), "node1", broken, nil); !errors.As(err, &re) || re.Msg != "no luck for 0" {
			t.Fatal(err)
		}
		_, err := joining.Call(t.Context(), 1, echo, nil)
		wantRefused(t, err, RefusedCluster, "join it first")
		joining.Send(1, note, nil)
		synctest.Wait()
		if joining.Connected(1) {
			t.Fatal("connected without a cluster")
		}
		if _, err = joining.CallAddr(t.Context(), "nowhere", echo, nil); !errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
		_, err = w.nodes["node1"].CallAddr(t.Context(), "node2", echo, nil)
		wantRefused(t, err, RefusedCluster, "c2")
		if resp, err := w.nodes["node1"].CallAddr(t.Context(), "node9", echo, []byte("you")); err != nil || string(resp) != "you" {
			t.Fatalf("to a node that has not joined: %q, %v", resp, err)
		}
	})
}

func TestClockTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		a.shift.Store(int64(100 * time.Millisecond))
		for range 5 {
			ts := a.clock.Now()
			if _, err := a.Call(t.Context(), 2, echo, nil); err != nil || !ts.Less(<-b.seen) {
				t.Fatalf("the handler's clock is behind the caller's, %v", err)
			}
			pass(time.Second)
		}
		pass(5 * time.Second)
		if off, rtt, ok := a.Offset(2); !ok || off != -100*time.Millisecond || rtt != 0 {
			t.Fatalf("offset %v, rtt %v, %v", off, rtt, ok)
		}
		if _, _, ok := a.Offset(3); ok {
			t.Fatal("measured a node that is not there")
		}
		// A clock that drifts away is noticed on a connection that stands.
		a.shift.Store(int64(2 * time.Second))
		pass(3 * time.Second)
		if a.Connected(2) {
			t.Fatal("still connected with a clock 2 s ahead")
		}
		_, err := a.Call(t.Context(), 2, echo, nil)
		wantRefused(t, err, RefusedClock, "synchronise the clocks")
		if now, wall := b.clock.Now(), time.Now().UnixNano(); now.WallTime > wall+int64(250*time.Millisecond) {
			t.Fatal("the wrong clock was taken over")
		}
	})
}

func TestClose(t *testing.T) {
	w := newNetwork(t)
	a, b := w.node(1), w.node(2)
	errs := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	for _, to := range []kvpb.NodeID{1, 2} {
		go func() {
			_, err := a.Call(ctx, to, hang, nil)
			errs <- err
		}()
	}
	<-a.hanging
	<-b.hanging
	a.Close()
	if err := <-errs; !errors.Is(err, ErrUnknownOutcome) {
		t.Fatal(err)
	}
	cancel() // a call to itself ends with its context only
	<-errs
	<-b.gone
	if _, err := a.Call(t.Context(), 2, echo, nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := a.CallAddr(t.Context(), "node2", echo, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if a.Send(2, note, nil) || a.Send(1, note, nil) {
		t.Fatal("sent after Close")
	}
}
