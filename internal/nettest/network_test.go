package nettest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

const (
	echo rpc.Method = rpc.FirstMethod + iota
	slow
	fails
	note
	other
)

var errHandler = errors.New("the handler says no")

// testNet is a network of nodes that echo calls and collect messages.
type testNet struct {
	*Network
	mu    sync.Mutex
	got   map[kvpb.NodeID][]uint64 // messages: method<<32 | number
	calls int                      // echo handlers that began
	ended int                      // slow handlers whose context ended
}

func inNet(t *testing.T, q Quality, f func(t *testing.T, n *testNet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &testNet{Network: NewNetwork(NetworkOptions{Seed: 1, Quality: q, Trace: NewTrace(0)}), got: map[kvpb.NodeID][]uint64{}}
		defer n.Close()
		f(t, n)
	})
}

func (n *testNet) node(id kvpb.NodeID) *Endpoint {
	e := n.Start(id, Hooks{})
	e.Handle(echo, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.calls++
		return req, nil
	})
	e.Handle(fails, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) { return nil, errHandler })
	e.Handle(slow, func(ctx context.Context, _ kvpb.NodeID, _ []byte) ([]byte, error) {
		select {
		case <-time.After(time.Minute):
			return nil, nil
		case <-ctx.Done():
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ended++
		return nil, ctx.Err()
	})
	for _, m := range []rpc.Method{note, other} {
		e.HandleMessage(m, func(_ kvpb.NodeID, msg []byte) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.got[id] = append(n.got[id], uint64(m)<<32|binary.BigEndian.Uint64(msg))
		})
	}
	return e
}

func (n *testNet) count(id kvpb.NodeID) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.got[id])
}

func number(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

func pause(d time.Duration) { <-time.After(d) }

var plain = Quality{Latency: time.Millisecond, Jitter: time.Millisecond, Timeout: 3 * time.Second}

func TestMessagesStayInOrder(t *testing.T) {
	for _, reorder := range []bool{false, true} {
		q := Quality{Latency: time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.1, Duplicate: 0.2, Reorder: reorder, Timeout: time.Second}
		inNet(t, q, func(t *testing.T, n *testNet) {
			a := n.node(1)
			n.node(2)
			const sent = 2000
			for i := range sent {
				if !a.Send(2, note+rpc.Method(i%2), number(i)) {
					t.Fatal("refused")
				}
				pause(time.Millisecond)
			}
			pause(time.Second)
			n.mu.Lock()
			defer n.mu.Unlock()
			last := map[uint64]uint64{}
			overtaken, repeated, newest := 0, 0, uint64(0)
			for _, g := range n.got[2] {
				m, i := g>>32, g&(1<<32-1)
				if i < last[m] {
					t.Fatalf("message %d of method %d came after %d", i, m, last[m])
				}
				if i == last[m] && i > 0 {
					repeated++
				}
				if i < newest {
					overtaken++
				}
				last[m], newest = i, max(newest, i)
			}
			if (overtaken > 0) != reorder || repeated < sent/10 || len(n.got[2])-repeated > sent*95/100 || len(n.got[2])-repeated < sent*85/100 {
				t.Fatalf("reorder %v: %d overtaken, %d repeated, %d arrived: %+v", reorder, overtaken, repeated, len(n.got[2]), n.stats)
			}
		})
	}
}

// outcome is how long a call took and how it ended.
func outcome(e *Endpoint, ctx context.Context, to kvpb.NodeID, m rpc.Method) (time.Duration, []byte, error) {
	began := time.Now()
	b, err := e.Call(ctx, to, m, []byte("x"))
	return time.Since(began), b, err
}

func wantCall(t *testing.T, e *Endpoint, to kvpb.NodeID, m rpc.Method, want error, atLeast, atMost time.Duration) {
	t.Helper()
	d, b, err := outcome(e, context.Background(), to, m)
	if !errors.Is(err, want) || want == nil && string(b) != "x" {
		t.Fatalf("%q, %v; want %v", b, err, want)
	}
	if d < atLeast || d > atMost {
		t.Fatalf("took %v, not %v to %v", d, atLeast, atMost)
	}
}

func TestCallErrors(t *testing.T) {
	inNet(t, plain, func(t *testing.T, n *testNet) {
		ms := time.Millisecond
		a := n.node(1)
		n.node(2)
		wantCall(t, a, 2, echo, nil, 2*ms, 4*ms)
		wantCall(t, a, 1, echo, nil, 1, ms)
		wantCall(t, a, 9, echo, rpc.ErrNotSent, 2*ms, 4*ms)
		var remote *rpc.RemoteError
		if _, _, err := outcome(a, context.Background(), 2, fails); !errors.As(err, &remote) || remote.Msg != errHandler.Error() {
			t.Fatal(err)
		}
		wantCall(t, a, 2, other+1, rpc.ErrNotSent, 2*ms, 4*ms)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if d, _, err := outcome(a, ctx, 2, slow); !errors.Is(err, rpc.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) || d != time.Second {
			t.Fatal(d, err)
		}
		pause(10 * ms)
		if n.ended != 1 {
			t.Fatal("the handler was not told that its caller gave up")
		}
		if _, _, err := outcome(a, ctx, 2, echo); !errors.Is(err, rpc.ErrNotSent) {
			t.Fatal(err)
		}

		for _, cut := range []linkID{{1, 2}, {2, 1}} {
			before := n.calls
			heal := n.Cut(cut.from, cut.to)
			wantCall(t, a, 2, echo, rpc.ErrUnknownOutcome, 3*time.Second, 3*time.Second+4*ms)
			if ran := n.calls - before; ran != int(cut.to)%2 {
				t.Fatalf("cut %v: the handler ran %d times", cut, ran)
			}
			wantCall(t, a, 2, echo, rpc.ErrNotSent, 2*ms, 4*ms)
			if a.Send(2, note, number(1)) != (cut.from == 2) {
				t.Fatal("messages go by their own direction")
			}
			heal()
			heal()
			wantCall(t, a, 2, echo, nil, 2*ms, 4*ms)
		}
		// A handler that runs when the link is cut for long.
		time.AfterFunc(time.Second, func() { n.Partition([]kvpb.NodeID{1}, []kvpb.NodeID{2, 3}) })
		wantCall(t, a, 2, slow, rpc.ErrUnknownOutcome, 4*time.Second, 4*time.Second+ms)
	})
}

func TestCrash(t *testing.T) {
	inNet(t, plain, func(t *testing.T, n *testNet) {
		ms := time.Millisecond
		a, b := n.node(1), n.node(2)
		for _, how := range []End{Killed, PoweredOff} {
			detect := 2 * ms
			if how == PoweredOff {
				detect = 3 * time.Second
			}
			ended := n.ended
			time.AfterFunc(time.Second, func() { n.Crash(2, how) })
			wantCall(t, a, 2, slow, rpc.ErrUnknownOutcome, time.Second+ms, time.Second+detect)
			if n.ended != ended+1 {
				t.Fatal("the handler of a dead node runs on")
			}
			if b.Alive() || b.Send(1, note, number(1)) || a.Send(2, note, number(1)) {
				t.Fatal("a dead node takes part")
			}
			wantCall(t, b, 1, echo, rpc.ErrNotSent, ms, ms)
			wantCall(t, a, 2, echo, rpc.ErrNotSent, min(detect, 2*ms), max(detect, 4*ms))
			b = n.node(2)
			wantCall(t, a, 2, echo, nil, 2*ms, 4*ms)
			// Its own calls end at once, and the answer is nobody's.
			time.AfterFunc(time.Second, func() { n.Crash(2, how) })
			wantCall(t, b, 1, slow, rpc.ErrUnknownOutcome, time.Second, time.Second+time.Microsecond)
			n.node(2)
			// What was under way to the former incarnation does not reach the next.
			a.Send(2, note, number(7))
			pause(time.Microsecond)
			n.Crash(2, how)
			n.node(2)
			pause(time.Second)
			if n.count(2) != 0 {
				t.Fatal("a message reached an incarnation that it was not sent to")
			}
			before := n.calls
			time.AfterFunc(time.Microsecond, func() { n.Crash(2, how) })
			if _, _, err := outcome(a, context.Background(), 2, echo); !errors.Is(err, rpc.ErrUnknownOutcome) || n.calls != before {
				t.Fatal("a call reached a dead node: ", err)
			}
			b = n.node(2)
		}
	})
}

func TestPartitions(t *testing.T) {
	inNet(t, plain, func(t *testing.T, n *testNet) {
		e := map[kvpb.NodeID]*Endpoint{}
		for id := kvpb.NodeID(1); id <= 4; id++ {
			e[id] = n.node(id)
		}
		sendAll := func() (arrived []linkID) {
			n.mu.Lock()
			n.got = map[kvpb.NodeID][]uint64{}
			n.mu.Unlock()
			for from, a := range e {
				for to := range e {
					a.Send(to, note, number(int(from)))
				}
			}
			pause(100 * time.Millisecond)
			n.mu.Lock()
			defer n.mu.Unlock()
			for to, got := range n.got {
				for _, g := range got {
					arrived = append(arrived, linkID{kvpb.NodeID(g & 7), to})
				}
			}
			return arrived
		}
		if got := sendAll(); len(got) != 16 {
			t.Fatal(got)
		}
		e[1].Send(2, note, number(1))
		pause(time.Microsecond)
		n.Cut(1, 2)() // what was under way is lost
		pause(time.Second)
		if n.count(2) != 4 {
			t.Fatal("a message survived a cut")
		}
		heal := n.Partition([]kvpb.NodeID{1, 2}, []kvpb.NodeID{3, 4})
		healToo := n.Cut(1, 3)
		for _, l := range sendAll() {
			if (l.from <= 2) != (l.to <= 2) {
				t.Fatal("crossed a partition: ", l)
			}
		}
		heal()
		if got := sendAll(); len(got) != 15 || slices.Contains(got, linkID{1, 3}) || !slices.Contains(got, linkID{3, 1}) {
			t.Fatal("one way: ", got)
		}
		healToo()
		if got := sendAll(); len(got) != 16 {
			t.Fatal(got)
		}
		heal = n.Flap(1, 2, 200*time.Millisecond, 200*time.Millisecond)
		up := 0
		for range 100 {
			got := sendAll()
			if slices.Contains(got, linkID{1, 2}) {
				up++
			}
			if len(got) < 14 {
				t.Fatal("other links flapped: ", got)
			}
		}
		if up < 25 || up > 75 {
			t.Fatalf("a flapping link was up %d times of 100", up)
		}
		heal()
		restore := n.Degrade(1, 2, func(q *Quality) { q.Loss = 1 })
		if got := sendAll(); len(got) != 15 || slices.Contains(got, linkID{1, 2}) {
			t.Fatal("lossless: ", got)
		}
		restore()
		if got := sendAll(); len(got) != 16 {
			t.Fatal("not healed: ", got)
		}
	})
}

func TestPayloadsAreCopied(t *testing.T) {
	inNet(t, plain, func(t *testing.T, n *testNet) {
		a, b := n.Start(1, Hooks{}), n.Start(2, Hooks{})
		answer := []byte("answer")
		var request []byte
		b.Handle(echo, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) { request = req; return answer, nil })
		arrived := make(chan []byte, 1)
		b.HandleMessage(note, func(_ kvpb.NodeID, msg []byte) { arrived <- msg })
		msg, req := []byte("message"), []byte("request")
		a.Send(2, note, msg)
		clear(msg)
		r, err := a.Call(context.Background(), 2, echo, req)
		if err != nil {
			t.Fatal(err)
		}
		clear(req)
		clear(answer)
		got := <-arrived
		if !bytes.Equal(r, []byte("answer")) || string(request) != "request" || string(got) != "message" {
			t.Fatalf("%q %q %q", r, request, got)
		}
	})
}

// TestPacketsCarryClocks runs two nodes whose clocks are an hour apart.
func TestPacketsCarryClocks(t *testing.T) {
	inNet(t, plain, func(t *testing.T, n *testNet) {
		ca, cb := hlc.New(func() int64 { return time.Now().Add(time.Hour).UnixNano() }, 0), hlc.NewSystem(0)
		a := n.Start(1, Hooks{Stamp: ca.Now, Observe: ca.Forward})
		b := n.Start(2, Hooks{Stamp: cb.Now, Observe: cb.Forward})
		var inHandler hlc.Timestamp
		inMessage := make(chan hlc.Timestamp, 1)
		b.Handle(echo, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) { inHandler = cb.Now(); return nil, nil })
		a.HandleMessage(note, func(kvpb.NodeID, []byte) { inMessage <- ca.Now() })
		before := ca.Now()
		if _, err := a.Call(context.Background(), 2, echo, nil); err != nil || !before.Less(inHandler) {
			t.Fatal(err, before, inHandler)
		}
		cb.Forward(hlc.Timestamp{WallTime: before.WallTime + int64(time.Hour)})
		sent := cb.Now()
		b.Send(1, note, nil)
		if got := <-inMessage; !sent.Less(got) {
			t.Fatal(sent, got)
		}
		cb.Forward(hlc.Timestamp{WallTime: before.WallTime + 3*int64(time.Hour)})
		if _, err := a.Call(context.Background(), 2, echo, nil); err != nil || ca.Now().Less(inHandler) {
			t.Fatal("the answer does not carry the clock: ", err)
		}
	})
}
