package server

import (
	"container/list"
	"net"
	"sync"
)

// maxNewcomers bounds the connections of which nobody knows yet who calls: they have not sent
// their first bytes, or their TLS handshake is not over.
const maxNewcomers = 1000

// newcomers are such connections. Where there are too many, the oldest is closed, so that those
// who say who they are get in beside any number of silent ones.
type newcomers struct {
	most int

	mu sync.Mutex
	in list.List // of net.Conn, the oldest first
}

// enter counts a connection until known is called.
func (n *newcomers) enter(c net.Conn) (known func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.in.Len() >= n.most {
		_ = n.in.Remove(n.in.Front()).(net.Conn).Close()
	}
	e := n.in.PushBack(c)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.in.Remove(e) // does nothing if it has gone
	}
}
