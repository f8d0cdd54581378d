package rpc

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestSmallPassesLarge: on a slow network, small calls and messages don't wait for
// a large call, in either direction.
func TestSmallPassesLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		w.rate = 1 << 20
		var wg sync.WaitGroup
		start := time.Now()
		wg.Go(func() {
			req := payload(10 << 20)
			if resp, err := a.Call(t.Context(), 2, echo, req); err != nil || !bytes.Equal(req, resp) {
				t.Errorf("large call: %d bytes, %v", len(resp), err)
			}
			if d := time.Since(start); d < 20*time.Second || d > 21*time.Second {
				t.Errorf("the large call took %v", d)
			}
		})
		for time.Since(start) < 19*time.Second {
			pass(100 * time.Millisecond)
			began := time.Now()
			if _, err := a.Call(t.Context(), 2, echo, []byte("small")); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > 400*time.Millisecond {
				t.Fatalf("a small call took %v", d)
			}
			began = time.Now()
			a.Send(2, note, []byte("beat"))
			<-b.notes
			if d := time.Since(began); d > 10*time.Millisecond {
				t.Fatalf("a message took %v", d)
			}
		}
		wg.Wait()
	})
}

// TestSlowMessage: a message that takes longer than DeadTimeout to travel does not
// make either side give the connection up.
func TestSlowMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		w.rate = 1 << 20
		msg := payload(10 << 20)
		if !a.Send(2, note, msg) || !a.Send(2, note, []byte("after")) {
			t.Fatal("dropped")
		}
		if r := <-b.notes; !bytes.Equal(r.msg, msg) {
			t.Fatal("the message differs")
		}
		if r := <-b.notes; string(r.msg) != "after" {
			t.Fatal("the next message differs")
		}
		if m := a.Metrics(); m.Connects != 1 || m.MessagesDropped != 0 {
			t.Fatalf("%+v", m)
		}
	})
}

// TestAbandon ends calls while the network takes nothing: only the one that is
// being written has an unknown outcome, and the others never reach a handler.
func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		if _, err := a.Call(t.Context(), 2, echo, nil); err != nil {
			t.Fatal(err)
		}
		unblock := w.block()
		call := func(req []byte) error {
			ctx, cancel := context.WithTimeout(t.Context(), DeadTimeout/10)
			defer cancel()
			_, err := a.Call(ctx, 2, echo, req)
			clear(req) // it belongs to the caller again
			return err
		}
		if err := call([]byte("first")); !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for _, size := range []int{0, 10, chunkSize, chunkSize + 1, 1 << 20} {
			if err := call(payload(size)); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		unblock()
		if _, err := a.Call(t.Context(), 2, echo, nil); err != nil {
			t.Fatal(err)
		}
		if m := b.Metrics(); m.CallsReceived != 3 {
			t.Fatalf("%d calls arrived", m.CallsReceived)
		}
	})
}

// TestAbandonHalfSent ends a large call of which a part has arrived.
func TestAbandonHalfSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		w.rate = 1 << 20
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if _, err := a.Call(ctx, 2, echo, payload(10<<20)); !errors.Is(err, ErrNotSent) {
				t.Fatal(err)
			}
			cancel()
		}
		b.limits.partialBytes = 2 << 20 // the unfinished ones don't count
		if _, err := a.Call(t.Context(), 2, echo, payload(2<<20)); err != nil {
			t.Fatal(err)
		}
		// An answer that nobody waits for stops travelling.
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := a.Call(ctx, 2, echo, payload(2<<20)); !errors.Is(err, ErrUnknownOutcome) {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := a.Call(t.Context(), 2, echo, payload(100)); err != nil || time.Since(start) > 500*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
	})
}

// TestConnectionLost breaks a connection: what was sent has an unknown outcome, what
// waited was not sent.
func TestConnectionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		errs := make([]error, 4)
		var wg sync.WaitGroup
		call := func(i int, m Method, req []byte) {
			wg.Go(func() { _, errs[i] = a.Call(t.Context(), 2, m, req) })
			synctest.Wait()
		}
		call(0, hang, nil)
		unblock := w.block()
		call(1, echo, nil)
		call(2, echo, []byte("waits"))
		call(3, echo, payload(1<<20))
		a.peer(2).calls.conn.Load().fail(errors.New("pulled the plug"))
		unblock()
		wg.Wait()
		for i, err := range errs {
			want, other := ErrUnknownOutcome, ErrNotSent
			if i >= 2 {
				want, other = other, want
			}
			if !errors.Is(err, want) || errors.Is(err, other) || !strings.Contains(err.Error(), "plug") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		<-b.gone
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b, c := w.node(1), w.node(2), w.node(3)
		b.limits.callsPerConn, b.limits.callsPerNode = 2, 3
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, n := range []*testNode{a, a, c} {
			wg.Go(func() {
				if _, err := n.Call(ctx, 2, hang, nil); !errors.Is(err, ErrUnknownOutcome) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for _, n := range []*testNode{a, c} {
			if _, err := n.Call(ctx, 2, echo, nil); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "too many") {
				t.Fatal(err)
			}
		}
		cancel()
		wg.Wait()
		synctest.Wait()
		b.limits.partialBytes = 100 << 10
		if _, err := a.Call(t.Context(), 2, echo, payload(200<<10)); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "large") {
			t.Fatal(err)
		}
		if _, err := a.Call(t.Context(), 2, echo, payload(100<<10)); err != nil {
			t.Fatal(err)
		}
		if m := b.Metrics(); m.CallsRefused != 3 || m.CallsRunning != 0 {
			t.Fatalf("%+v", m)
		}
		a.limits.pendingCalls = 0
		if _, err := a.Call(t.Context(), 2, echo, nil); !errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
	})
}

func TestMessageQueueLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		send := func(size int) (sent int) {
			for range 100 {
				if a.Send(2, note, payload(size)) {
					sent++
				}
			}
			return sent
		}
		// While connecting, and while the network takes nothing.
		a.limits.queueMessages, a.limits.queueBytes = 7, 1<<20
		if n := send(1); n != 7 {
			t.Fatalf("%d messages queued while connecting", n)
		}
		synctest.Wait()
		unblock := w.block()
		a.Send(2, note, nil)
		synctest.Wait()
		if n := send(1); n != 7 {
			t.Fatalf("%d messages queued", n)
		}
		unblock()
		synctest.Wait()
		unblock = w.block()
		a.Send(2, note, nil)
		synctest.Wait()
		if n := send(400 << 10); n != 2 {
			t.Fatalf("%d large messages queued", n)
		}
		unblock()
		synctest.Wait()
		if len(b.notes) != 7+1+7+1+2 {
			t.Fatalf("%d arrived", len(b.notes))
		}
		if m := a.Metrics(); m.MessagesSent != 18 || m.MessagesDropped != 93+93+98 {
			t.Fatalf("%+v", m)
		}
	})
}

// TestAnswersWait: handlers wait with their answers while the caller does not read.
func TestAnswersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		b.limits.queueBytes = 1 << 20
		w.rate = 10 << 20
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				req := payload(300<<10 + i)
				if resp, err := a.Call(t.Context(), 2, echo, req); err != nil || !bytes.Equal(req, resp) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		wg.Wait()
		// Callers that leave while answers wait free the handlers.
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		for range 40 {
			wg.Go(func() { _, _ = a.Call(ctx, 2, echo, payload(300<<10)) })
		}
		wg.Wait()
		synctest.Wait()
		pass(time.Second)
		if m := b.Metrics(); m.CallsRunning != 0 {
			t.Fatalf("%d handlers left", m.CallsRunning)
		}
	})
}

// TestOrderAcrossConnections: messages on a new connection wait for the handler that
// is still busy with one of the old connection.
func TestOrderAcrossConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a, b := w.node(1), w.node(2)
		const slow Method = 50
		release := make(chan struct{})
		b.HandleMessage(slow, func(kvpb.NodeID, []byte) {
			<-release
			b.notes <- received{msg: []byte("slow")}
		})
		a.Send(2, slow, nil)
		synctest.Wait()
		a.peer(2).messages.conn.Load().fail(errors.New("pulled the plug"))
		pass(MaxBackoff)
		if !a.Send(2, note, []byte("next")) {
			t.Fatal("dropped")
		}
		synctest.Wait()
		if len(b.notes) > 0 {
			t.Fatal("a message overtook another")
		}
		close(release)
		if x, y := <-b.notes, <-b.notes; string(x.msg) != "slow" || string(y.msg) != "next" {
			t.Fatalf("%q, %q", x.msg, y.msg)
		}
	})
}

// TestPausedProcess: a process that stood still does not blame its peers.
func TestPausedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t)
		a := w.node(1)
		w.node(2)
		if _, err := a.Call(t.Context(), 2, echo, nil); err != nil {
			t.Fatal(err)
		}
		c := a.peer(2).calls.conn.Load()
		pass(PingInterval / 2)
		// What a process finds that is continued after 10 s: nothing was read
		// since, and the timer is late.
		c.mu.Lock()
		c.mu.tickDue -= 10 * time.Second
		c.mu.Unlock()
		c.read.Add(-int64(10 * time.Second))
		c.tick()
		pass(10 * time.Second)
		if a.peer(2).calls.conn.Load() != c {
			t.Fatal("the connection was given up")
		}
	})
}
