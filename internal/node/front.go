package node

import (
	"context"
	"net"

	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// newFront builds what speaks with SQL clients.
func (n *Node) newFront() *pgwire.Server {
	return pgwire.New(n.frontOptions(pgwire.Options{SQL: n.SQL.Server()}))
}

// newClosedFront builds what tells SQL clients why they are not served.
func (n *Node) newClosedFront(why error) *pgwire.Server {
	closed := pgwire.New(n.frontOptions(pgwire.Options{Closed: why}))
	_ = closed.Shutdown(over) // it has no connections
	return closed
}

func (n *Node) frontOptions(o pgwire.Options) pgwire.Options {
	o.Logger, o.Mem = n.log, n.Memory
	if n.o.Certs != nil {
		o.TLS, o.Auth = n.o.Certs.ServerTLS(), pgwire.AuthCertificate
	}
	return o
}

// over is the context of a shutdown that waits for nobody.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// ServeConn serves a connection, of a node or a SQL client, of which the first bytes were read.
func (n *Node) ServeConn(c net.Conn, first []byte) {
	if rpc.IsRPC(first) {
		n.RPC.ServeConn(c, first)
		return
	}
	n.Front().ServeConn(context.Background(), c, first)
}

// Front returns what speaks with a SQL client that connects now.
func (n *Node) Front() *pgwire.Server {
	if front := n.serving.Load(); front != nil {
		return front
	}
	return n.notYet.Load()
}

// sayNotYet answers SQL clients why they are not served yet.
func (n *Node) sayNotYet() {
	why := pgerr.New(pgerr.CannotConnectNow, "the node is starting up").WithHint("Try again in a moment.")
	if !n.cfg.SingleNode && n.Waiting() {
		why = pgerr.New(pgerr.CannotConnectNow, "the node is not part of a cluster yet").WithHint("%s.", howToInit)
	}
	n.notYet.Store(n.newClosedFront(why))
}

// closeFront cuts clients off and answers new ones why, until reopenFront.
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
