package server

import (
	"net"
	"sync"
)

// Limits of connections where the process may have enough files open.
const (
	maxHTTP    = 1000 // connections to the HTTP listener
	maxRefused = 256  // SQL connections that are receiving why they are not served
)

// descriptors says who may have how many of the process's file descriptors open. A store that can't open a
// file ends its node, so clients leave it what it needs: a quarter for its tables, and an eighth for logs and
// for connections to other nodes.
type descriptors struct {
	newcomers, http, refused int
	sql                      int // connections of SQL clients
}

func shareDescriptors(all int) descriptors {
	some := max(all/16, 1)
	d := descriptors{newcomers: min(some, maxNewcomers), http: min(some, maxHTTP), refused: min(some, maxRefused)}
	d.sql = max(all-all/4-all/8-d.newcomers-d.http-d.refused, 1)
	return d
}

// limitedListener accepts no more connections than room has places: others wait in the system's queue.
type limitedListener struct {
	net.Listener
	room chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	l.room <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
