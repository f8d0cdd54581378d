package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	echo   Method = FirstMethod + iota // answers the request
	hang                               // answers when its context ends
	broken                             // answers an error
	note                               // message
	nobody                             // has no handler
)

// network joins nodes by pipes: one address per node.
type network struct {
	t     testing.TB
	mu    sync.Mutex
	nodes map[string]*testNode
	dials int
	pipes []*pipe
	rate  int // bytes a second; 0: no limit
}

func newNetwork(t *testing.T) *network { return &network{t: t, nodes: map[string]*testNode{}} }

func addrOf(id kvpb.NodeID) string { return fmt.Sprintf("node%d", id) }

// pipe is an end of a connection that can be made to lose everything, to block, or
// to be slow.
type pipe struct {
	net.Conn
	w     *network
	lose  atomic.Bool
	block atomic.Pointer[chan struct{}] // a write waits until it is closed
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.lose.Load() {
		return len(b), nil
	}
	if ch := p.block.Load(); ch != nil {
		<-*ch
	}
	if p.w.rate == 0 {
		return p.Conn.Write(b)
	}
	for n := 0; n < len(b); {
		end := min(n+4<<10, len(b))
		pass(time.Second * time.Duration(end-n) / time.Duration(p.w.rate))
		if _, err := p.Conn.Write(b[n:end]); err != nil {
			return n, err
		}
		n = end
	}
	return len(b), nil
}

func (w *network) dial(_ context.Context, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials++
	n := w.nodes[addr]
	if n == nil {
		return nil, errors.New("no route to " + addr)
	}
	a, b := net.Pipe()
	pa, pb := &pipe{Conn: a, w: w}, &pipe{Conn: b, w: w}
	w.pipes = append(w.pipes, pa, pb)
	go n.ServeConn(pb, nil)
	return pa, nil
}

func (w *network) lose(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pipes {
		p.lose.Store(yes)
	}
}

// block makes writes wait until the result is called.
func (w *network) block() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan struct{})
	for _, p := range w.pipes {
		p.block.Store(&ch)
	}
	return func() { close(ch) }
}

func (w *network) setAddr(addr string, n *testNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[addr] = n
}

type received struct {
	from kvpb.NodeID
	msg  []byte
}

// testNode is a node with the handlers of the tests.
type testNode struct {
	*Node
	clock   *hlc.Clock
	shift   atomic.Int64 // of its physical clock
	notes   chan received
	hanging chan struct{}      // a value for each hang that has begun
	gone    chan error         // and for each that has ended
	seen    chan hlc.Timestamp // the clock in each call of echo, as far as read
	log     *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// node starts a node with an id of cluster c1; change alters its options.
func (w *network) node(id kvpb.NodeID, change ...func(*Options)) *testNode {
	w.t.Helper()
	tn := &testNode{
		notes: make(chan received, 10000), hanging: make(chan struct{}, 1000), gone: make(chan error, 1000),
		seen: make(chan hlc.Timestamp, 1), log: &syncBuffer{},
	}
	tn.clock = hlc.New(func() int64 { return time.Now().UnixNano() + tn.shift.Load() }, 250*time.Millisecond)
	o := Options{
		ClusterID: func() string { return "c1" }, NodeID: func() kvpb.NodeID { return id },
		Version: "test", Clock: tn.clock, MaxOffset: 250 * time.Millisecond,
		Resolve: func(id kvpb.NodeID) (string, bool) { return addrOf(id), id < 100 },
		Dial:    w.dial, Logger: slog.New(slog.NewTextHandler(tn.log, nil)),
	}
	for _, f := range change {
		f(&o)
	}
	tn.Node = New(o)
	tn.Handle(echo, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		select {
		case tn.seen <- tn.clock.Now():
		default:
		}
		return req, nil
	})
	tn.Handle(hang, func(ctx context.Context, _ kvpb.NodeID, _ []byte) ([]byte, error) {
		tn.hanging <- struct{}{}
		<-ctx.Done()
		tn.gone <- ctx.Err()
		return nil, ctx.Err()
	})
	tn.Handle(broken, func(_ context.Context, from kvpb.NodeID, _ []byte) ([]byte, error) {
		return nil, fmt.Errorf("no luck for %d", from)
	})
	tn.HandleMessage(note, func(from kvpb.NodeID, msg []byte) { tn.notes <- received{from, msg} })
	w.setAddr(addrOf(id), tn)
	w.t.Cleanup(tn.Close)
	return tn
}

func wantRefused(t *testing.T, err error, r Refusal, text string) {
	t.Helper()
	var re *RefusedError
	if !errors.Is(err, ErrNotSent) || !errors.As(err, &re) || re.Reason != r ||
		!bytes.Contains([]byte(err.Error()), []byte(text)) {
		t.Fatalf("got %v, want refusal %d with %q", err, r, text)
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}
