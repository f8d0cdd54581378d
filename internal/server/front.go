package server

import (
	"context"

	"github.com/lichendb/lichen/internal/pgwire"
)

// newFront builds what speaks with SQL clients.
func (n *Node) newFront() *pgwire.Server { return n.newFrontThatSays(nil) }

// newFrontThatSays builds what speaks with SQL clients, and what it says to them once
// it is closed.
func (n *Node) newFrontThatSays(closed error) *pgwire.Server {
	o := pgwire.Options{SQL: n.sql, Logger: n.log, Closed: closed}
	if n.certs != nil {
		o.TLS, o.Auth = n.certs.ServerTLS(), pgwire.AuthCertificate
	}
	return pgwire.New(o)
}

// closeFront cuts clients off and has new ones told why, until reopenFront.
func (n *Node) closeFront(why error) {
	closed := n.newFrontThatSays(why)
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = closed.Shutdown(now) // it has no connections
	n.fronts.Lock()
	old := n.serving.Load()
	if old != nil && !n.draining.Load() {
		n.serving.Store(closed)
	}
	n.fronts.Unlock()
	if old != nil {
		_ = old.Shutdown(now) // its error is that it cuts them off
	}
}

// reopenFront serves clients again.
func (n *Node) reopenFront() {
	n.fronts.Lock()
	defer n.fronts.Unlock()
	if n.serving.Load() != nil && !n.draining.Load() {
		n.serving.Store(n.newFront())
	}
}
