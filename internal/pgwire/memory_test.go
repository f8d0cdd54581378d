package pgwire

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// maxIdleBytes is what an idle connection may cost, its session and its
// goroutine included.
const maxIdleBytes = 20 << 10

// TestIdleMemory measures what connections cost that have run a query each and
// wait for the next.
func TestIdleMemory(t *testing.T) {
	_, addr := newServer(t, nil)
	const conns = 300
	startup := packet(3<<16, params("user", "root", "database", "defaultdb"))
	query := []byte("Q\x00\x00\x00\x20select count(*) from generate_series(1, 10)\x00")
	query[4] = byte(len(query) - 1)
	open := func() net.Conn {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetDeadline(time.Now().Add(timeout))
		for _, msg := range [][]byte{startup, query} {
			if _, err := nc.Write(msg); err != nil {
				t.Fatal(err)
			}
			readUntilReady(t, nc)
		}
		return nc
	}
	open() // what the first connection makes is shared
	before := memory()
	list := make([]net.Conn, conns)
	for i := range list {
		list[i] = open()
	}
	used := memory() - before
	t.Logf("%d bytes for each of %d idle connections", used/conns, conns)
	if used/conns > maxIdleBytes {
		t.Errorf("an idle connection costs %d bytes, limit %d", used/conns, maxIdleBytes)
	}
	runtime.KeepAlive(list)
}

// memory returns the bytes in use after the garbage is gone. Each collection
// halves the stacks that have become too large.
func memory() int {
	var m runtime.MemStats
	for range 5 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// readUntilReady reads messages up to ReadyForQuery.
func readUntilReady(t testing.TB, r io.Reader) {
	t.Helper()
	var h [5]byte
	for {
		if _, err := io.ReadFull(r, h[:]); err != nil {
			t.Fatal(err)
		}
		n := int64(h[1])<<24 | int64(h[2])<<16 | int64(h[3])<<8 | int64(h[4])
		if _, err := io.CopyN(io.Discard, r, n-4); err != nil {
			t.Fatal(err)
		}
		if h[0] == 'E' {
			t.Error("the server answered with an error")
		}
		if h[0] == 'Z' {
			return
		}
	}
}
