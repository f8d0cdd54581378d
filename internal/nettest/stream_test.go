package nettest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// streams connects two nodes.
func streams(t *testing.T, q Quality) (n *Network, near, far net.Conn) {
	t.Helper()
	n = NewNetwork(NetworkOptions{Seed: 1, Quality: q})
	a, b := n.Start(1, Hooks{}), n.Start(2, Hooks{})
	ln := b.Listen()
	near, err := a.Dial(t.Context(), Addr(2))
	if err != nil {
		t.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return n, near, far
}

// TestStreamKeepsOrder: what is written arrives whole and in order over links that lose packets and
// are cut for a while, and then the end.
func TestStreamKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := LAN()
		q.Loss = 0.2
		n, near, far := streams(t, q)
		var want []byte
		go func() {
			for i := range 500 {
				if i == 100 {
					heal := n.Partition([]kvpb.NodeID{1}, []kvpb.NodeID{2})
					time.AfterFunc(3*time.Second, heal)
				}
				p := bytes.Repeat([]byte{byte(i)}, i*10)
				want = append(want, p...)
				if _, err := near.Write(p); err != nil {
					t.Error(err)
				}
			}
			_ = near.Close()
		}()
		got, err := io.ReadAll(far)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
		}
		n.Close()
	})
}

// TestStreamEnds: a process that dies resets its connections, a machine that loses power is not heard of,
// and who writes to it gives up.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for end, want := range map[End]error{Killed: syscall.ECONNRESET, PoweredOff: syscall.ETIMEDOUT} {
			n, near, _ := streams(t, LAN())
			n.Crash(2, end)
			if _, err := near.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("%v: %v, want %v", end, err, want)
			}
			n.Close()
		}
	})
}

// TestDialFails: nobody listens, or the link is cut.
func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork(NetworkOptions{Seed: 1})
		a := n.Start(1, Hooks{})
		n.Start(2, Hooks{})
		if _, err := a.Dial(t.Context(), Addr(2)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		n.Cut(1, 2)
		if _, err := a.Dial(t.Context(), Addr(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		n.Close()
	})
}
