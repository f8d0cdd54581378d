package node

import (
	"context"
	"net"

	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// newFront builds the server for SQL clients.
func (n *Node) newFront() *pgwire.Server {
	return pgwire.New(n.frontOptions(pgwire.Options{SQL: n.SQL.Server()}))
}

// newClosedFront builds a server that refuses SQL clients with an error.
func (n *Node) newClosedFront(why error) *pgwire.Server {
	closed := pgwire.New(n.frontOptions(pgwire.Options{Closed: why}))
	_ = closed.Shutdown(over) // it has no connections
	return closed
}

func (n *Node) frontOptions(o pgwire.Options) pgwire.Options {
	o.Logger, o.Mem = n.log, n.Memory
	o.MaxConns, o.MaxRefused = n.o.MaxConns, n.o.MaxRefused
	if n.o.Certs != nil {
		o.TLS, o.Auth = n.o.Certs.ServerTLS(), pgwire.AuthEncrypted
		o.Certificate = n.o.Certs.Certificate
	}
	return o
}

// over is an ended context: a shutdown with it waits for nobody.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// ServeConn serves a connection of a node or a SQL client. first has the bytes already read.
func (n *Node) ServeConn(c net.Conn, first []byte) {
	if rpc.IsRPC(first) {
		n.RPC.ServeConn(c, first)
		return
	}
	n.Front().ServeConn(context.Background(), c, first)
}

// Front returns the server for a SQL client that connects now.
func (n *Node) Front() *pgwire.Server {
	if front := n.serving.Load(); front != nil {
		return front
	}
	return n.notYet.Load()
}

// sayNotYet refuses SQL clients with the reason why the node does not serve yet.
func (n *Node) sayNotYet() {
	why := pgerr.New(pgerr.CannotConnectNow, "the node is starting up").WithHint("Try again in a moment.")
	if !n.cfg.SingleNode && n.Waiting() {
		why = pgerr.New(pgerr.CannotConnectNow, "the node is not part of a cluster yet").WithHint("%s.", howToInit)
	}
	n.notYet.Store(n.newClosedFront(why))
}

// closeFront cuts clients off and refuses new ones with the error why, until reopenFront.
func (n *Node) closeFront(why error) {
	n.fronts.Lock()
	old := n.serving.Load()
	if old != nil && !n.draining.Load() {
		n.serving.Store(n.newClosedFront(why))
	}
	n.fronts.Unlock()
	if old != nil {
		_ = old.Shutdown(over) // its error is that it cuts them off
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
