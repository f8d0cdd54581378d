package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// sockets returns both ends of a TCP connection.
func sockets(t testing.TB) (server, client net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close()
		_ = client.Close()
	})
	return server, client
}

func message(typ byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4))
	return append(b, body...)
}

// source is a connection that yields bytes in pieces of some size.
type source struct {
	net.Conn
	data []byte
	size int
}

func (s *source) SetReadDeadline(time.Time) error { return nil }

func (s *source) Read(b []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.size)], s.data)
	s.data = s.data[n:]
	return n, nil
}

func TestNextInPieces(t *testing.T) {
	var bodies []string
	for _, n := range []int{0, 1, 63, 64, readSize - 6, readSize - 5, readSize - 4, readSize, 100_000, 3, 70_000, 0} {
		bodies = append(bodies, string(bytes.Repeat([]byte{byte(n)}, n)))
	}
	var data []byte
	for _, b := range bodies {
		data = append(data, message('Q', b)...)
	}
	for _, size := range []int{1, 5, 64, 1000, 1 << 20} {
		for _, first := range []int{0, 1, 7, 20_000} {
			c := NewConn(&source{data: data[first:], size: size}, &Buffers{}, data[:first])
			for i, want := range bodies {
				typ, body, err := c.Next()
				if err != nil || typ != 'Q' || string(body) != want {
					t.Fatalf("pieces of %d: message %d: %q, %d bytes, %v", size, i, typ, len(body), err)
				}
			}
			if _, _, err := c.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
			if s := c.TakeStats(); s.BytesIn != uint64(len(data)) || s.Messages != uint64(len(bodies)) {
				t.Errorf("stats %+v", s)
			}
		}
	}
}

func TestTruncated(t *testing.T) {
	data := message('Q', "abc")
	for n := 1; n < len(data); n++ {
		c := NewConn(&source{data: data[:n], size: 100}, &Buffers{}, nil)
		if _, _, err := c.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestLimits(t *testing.T) {
	for name, header := range map[string][]byte{
		"unknown type": {'z', 0, 0, 0, 4}, "too short": {'Q', 0, 0, 0, 3}, "negative": {'Q', 0xff, 0xff, 0xff, 0xff},
		"long Sync": {'S', 0, 0, 0x27, 0x11}, "long Query": {'Q', 0x40, 0, 0, 0},
	} {
		c := NewConn(&source{data: header, size: 100}, &Buffers{}, nil)
		if _, _, err := c.Next(); pgerr.CodeOf(err) != pgerr.ProtocolViolation {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnnouncedLength checks W2: an announced length costs no memory.
func TestAnnouncedLength(t *testing.T) {
	c := NewConn(&source{data: append([]byte{'Q', 0x3f, 0xff, 0xff, 0xff}, make([]byte, 100_000)...), size: 1 << 20}, &Buffers{}, nil)
	if _, _, err := c.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if cap(c.in) > 300_000 {
		t.Errorf("a buffer of %d bytes for 100,000", cap(c.in))
	}
}

// TestIdleHoldsNothing checks W1 on a socket and on another connection.
func TestIdleHoldsNothing(t *testing.T) {
	server, client := sockets(t)
	c := NewConn(server, &Buffers{}, nil)
	if c.raw == nil {
		t.Fatal("no raw access to a socket")
	}
	for _, body := range []string{"x", string(make([]byte, 100_000))} {
		go func() { _, _ = client.Write(message('Q', body)) }()
		if _, got, err := c.Next(); err != nil || len(got) != len(body) {
			t.Fatal(len(got), err)
		}
		c.CommandComplete("X")
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, _, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Time{})
		if c.in != nil || c.pooled != nil || c.out != nil || c.held != nil {
			t.Errorf("after a message of %d bytes the idle connection holds buffers", len(body))
		}
	}
	// Output that waits for Flush is kept.
	c.CommandComplete("Y")
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, _, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) || c.Pending() != 7 {
		t.Errorf("%v, %d bytes pending", err, c.Pending())
	}
}

func TestWake(t *testing.T) {
	server, _ := sockets(t)
	c := NewConn(server, &Buffers{}, nil)
	done := make(chan error, 1)
	go func() {
		_, _, err := c.Next()
		done <- err
	}()
	c.Wake()
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) || !c.Woken() {
		t.Error(err)
	}
	// A deadline set afterwards does not undo it.
	_ = c.SetReadDeadline(time.Time{})
	if _, _, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestSyncFollows(t *testing.T) {
	data := append(message('E', "\x00\x00\x00\x00\x00"), message('S', "")...)
	for n, want := range map[int]bool{len(data): true, len(data) - 1: false, len(data) - 5: false} {
		c := NewConn(&source{data: data[:n], size: 100}, &Buffers{}, nil)
		if _, _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
		if c.SyncFollows() != want {
			t.Errorf("%d bytes: %v", n, !want)
		}
	}
}

func TestBody(t *testing.T) {
	m := NewBody([]byte("a\x00\x01\x00\x02\x00\x00\x00\x03xyz"))
	s, b, i, j, r := string(m.String()), m.Byte(), m.Int16(), m.Int32(), string(m.Bytes(3))
	if s != "a" || b != 1 || i != 2 || j != 3 || r != "xyz" || m.Err() != nil {
		t.Error(s, b, i, j, r, m.Err())
	}
	for name, f := range map[string]func(*Body){
		"byte": func(m *Body) { m.Bytes(3); m.Byte() }, "int16": func(m *Body) { m.Bytes(2); m.Int16() },
		"int32": func(m *Body) { m.Int32() }, "string": func(m *Body) { m.String() }, "bytes": func(m *Body) { m.Bytes(4) },
		"negative": func(m *Body) { m.Bytes(-2) }, "left over": func(m *Body) { m.Byte() },
	} {
		m := NewBody([]byte("abc"))
		f(&m)
		if pgerr.CodeOf(m.Err()) != pgerr.ProtocolViolation {
			t.Errorf("%s: %v", name, m.Err())
		}
	}
}

func TestStartupMessageLimits(t *testing.T) {
	for _, n := range []uint32{0, 7, MaxStartup + 1, 1 << 31} {
		c := NewConn(&source{data: binary.BigEndian.AppendUint32(nil, n), size: 100}, &Buffers{}, nil)
		if _, _, err := c.StartupMessage(); pgerr.CodeOf(err) != pgerr.ProtocolViolation {
			t.Errorf("length %d: %v", n, err)
		}
	}
}

// FuzzNext checks that cutting the input differently changes nothing.
func FuzzNext(f *testing.F) {
	f.Add(append(message('P', "x\x00y\x00\x00\x00"), message('S', "")...), byte(3))
	f.Add([]byte{'d', 0, 0, 0x40, 0, 1}, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		whole := NewConn(&source{data: data, size: len(data) + 1}, &Buffers{}, nil)
		cut := NewConn(&source{data: data, size: int(size) + 1}, &Buffers{}, nil)
		for {
			t1, b1, err1 := whole.Next()
			t2, b2, err2 := cut.Next()
			if t1 != t2 || !bytes.Equal(b1, b2) || (err1 == nil) != (err2 == nil) {
				t.Fatalf("%q %q %v, in pieces %q %q %v", t1, b1, err1, t2, b2, err2)
			}
			if err1 != nil {
				return
			}
		}
	})
}

// TestInterrupt interrupts writes to a client that reads in small pieces, again and again:
// what arrives is what was written.
func TestInterrupt(t *testing.T) {
	server, nc := net.Pipe()
	c := NewConn(server, &Buffers{}, nil)
	got := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(nc)
		got <- b
	}()
	var want []byte
	interrupted := 0
	for i := range 200 {
		body := bytes.Repeat([]byte{byte(i)}, 100*i)
		want = append(want, message('d', string(body))...)
		c.Begin('d')
		c.Bytes(body)
		c.End()
		if i%3 == 0 {
			c.Interrupt()
		}
		switch err := c.Flush(); {
		case errors.Is(err, ErrInterrupted):
			interrupted++
		case err != nil:
			t.Fatal(err)
		}
		if i%5 == 0 {
			c.Resume()
		}
	}
	c.Resume()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if !bytes.Equal(<-got, want) {
		t.Error("what arrived is not what was written")
	}
	if interrupted < 50 {
		t.Errorf("interrupted %d times only", interrupted)
	}
}
