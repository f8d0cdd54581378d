package cli

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// worldCycle is the number of regions in which demo --global starts its nodes. The last region is for nodes
// that are added, as by \demo add region=asia-northeast1.
const worldCycle = 3

// worldRegions are the regions of demo --global; worldTrips are the round-trip times between them and
// within one.
var (
	worldRegions = [...]string{"us-east1", "us-west1", "europe-west1", "asia-northeast1"}
	worldTrips   = [...][4]time.Duration{
		{0, 66 * time.Millisecond, 64 * time.Millisecond, 156 * time.Millisecond},
		{66 * time.Millisecond, 0, 146 * time.Millisecond, 98 * time.Millisecond},
		{64 * time.Millisecond, 146 * time.Millisecond, 0, 224 * time.Millisecond},
		{156 * time.Millisecond, 98 * time.Millisecond, 224 * time.Millisecond, 0},
	}
)

// worldLocality returns the locality of node i, from 0, of demo --global.
func worldLocality(i int) string {
	return fmt.Sprintf("region=%s,az=%c", worldRegions[i%worldCycle], 'b'+i/worldCycle%3)
}

// worldRegion returns the index of a locality's region, 0 if it is not among the regions.
func worldRegion(locality string) int {
	for i, r := range worldRegions {
		for tier := range strings.SplitSeq(locality, ",") {
			if tier == "region="+r {
				return i
			}
		}
	}
	return 0
}

// dial connects one node to another with the latency between their regions.
func (d *demoCluster) dial(ctx context.Context, from, addr string) (net.Conn, error) {
	d.mu.Lock()
	to := d.sites[addr]
	d.mu.Unlock()
	delay := worldTrips[worldRegion(from)][worldRegion(to)] / 2
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil || delay == 0 {
		return c, err
	}
	return newFarConn(c, delay), nil
}

// maxInFlight bounds the packets on their way in one direction of a farConn.
const maxInFlight = 1 << 12

// farConn is a connection with latency.
type farConn struct {
	net.Conn
	delay    time.Duration
	out, in  chan packet
	closed   chan struct{}
	once     sync.Once
	rest     []byte // of the packet that is being read
	writeErr struct {
		sync.Mutex
		err error
	}
}

type packet struct {
	data []byte
	err  error
	due  time.Time
}

func newFarConn(c net.Conn, delay time.Duration) *farConn {
	f := &farConn{Conn: c, delay: delay, out: make(chan packet, maxInFlight), in: make(chan packet, maxInFlight), closed: make(chan struct{})}
	go f.send()
	go f.receive()
	return f
}

// arrive waits until a packet is due. It returns false if the connection was closed.
func (f *farConn) arrive(p packet) bool {
	t := time.NewTimer(time.Until(p.due))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.closed:
		return false
	}
}

func (f *farConn) send() {
	for {
		select {
		case <-f.closed:
			return
		case p := <-f.out:
			if !f.arrive(p) {
				return
			}
			if _, err := f.Conn.Write(p.data); err != nil {
				f.writeErr.Lock()
				f.writeErr.err = err
				f.writeErr.Unlock()
				return
			}
		}
	}
}

func (f *farConn) receive() {
	for {
		buf := make([]byte, 64<<10)
		k, err := f.Conn.Read(buf)
		select {
		case f.in <- packet{data: buf[:k], err: err, due: time.Now().Add(f.delay)}:
		case <-f.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements net.Conn.
func (f *farConn) Read(b []byte) (int, error) {
	for len(f.rest) == 0 {
		select {
		case p := <-f.in:
			if !f.arrive(p) {
				return 0, net.ErrClosed
			}
			if f.rest = p.data; len(f.rest) == 0 && p.err != nil {
				return 0, p.err
			}
		case <-f.closed:
			return 0, net.ErrClosed
		}
	}
	k := copy(b, f.rest)
	f.rest = f.rest[k:]
	return k, nil
}

// Write implements net.Conn.
func (f *farConn) Write(b []byte) (int, error) {
	f.writeErr.Lock()
	err := f.writeErr.err
	f.writeErr.Unlock()
	if err != nil {
		return 0, err
	}
	select {
	case f.out <- packet{data: append([]byte(nil), b...), due: time.Now().Add(f.delay)}:
		return len(b), nil
	case <-f.closed:
		return 0, net.ErrClosed
	}
}

// Close implements net.Conn.
func (f *farConn) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.Conn.Close()
}
