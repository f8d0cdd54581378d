package server

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// Silent connections beyond the limit make room for those that come after them, the oldest first;
// those that are known do not count.
func TestNewcomers(t *testing.T) {
	n := newcomers{most: 2}
	var conns []net.Conn
	enter := func() (known func()) {
		c, other := net.Pipe()
		t.Cleanup(func() { _, _ = c.Close(), other.Close() })
		conns = append(conns, c)
		return n.enter(c)
	}
	enter()()
	second := enter()
	enter()
	enter()
	second() // it has been closed
	if n.in.Len() != 2 {
		t.Errorf("%d connections count, want 2", n.in.Len())
	}
	for i, c := range conns {
		want := os.ErrDeadlineExceeded // open
		if i == 1 {
			want = io.ErrClosedPipe
		}
		_ = c.SetReadDeadline(time.Unix(1, 0))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("connection %d: %v, want %v", i, err, want)
		}
	}
}
