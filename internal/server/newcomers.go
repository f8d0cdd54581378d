package server

import (
	"container/list"
	"net"
	"sync"
)

// maxNewcomers bounds the connections that have not sent their first bytes, or have not completed their
// TLS handshake.
const maxNewcomers = 1000

// newcomers are such connections. If there are too many, the oldest is closed. So clients get in beside
// any number of silent connections.
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
