package node

import (
	"context"
	"net"

	"github.com/lichendb/lichen/internal/pgwire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// newSQLServer builds the server for SQL clients.
func (n *Node) newSQLServer() *pgwire.Server {
	return pgwire.New(n.pgwireOptions(pgwire.Options{SQL: n.SQL.Server()}))
}

// newClosedSQLServer builds a server that refuses SQL clients with an error.
func (n *Node) newClosedSQLServer(why error) *pgwire.Server {
	closed := pgwire.New(n.pgwireOptions(pgwire.Options{Closed: why}))
	_ = closed.Shutdown(expired) // it has no connections
	return closed
}

func (n *Node) pgwireOptions(o pgwire.Options) pgwire.Options {
	o.Logger, o.Mem = n.log, n.Memory
	o.MaxConns, o.MaxRefused = n.o.MaxConns, n.o.MaxRefused
	if n.o.Certs != nil {
		o.TLS, o.Auth = n.o.Certs.ServerTLS(), pgwire.AuthEncrypted
		o.Certificate = n.o.Certs.Certificate
	}
	return o
}

// expired is an ended context: a shutdown with it waits for nobody.
var expired = func() context.Context {
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
	n.SQLServer().ServeConn(context.Background(), c, first)
}

// SQLServer returns the server for a SQL client that connects now.
func (n *Node) SQLServer() *pgwire.Server {
	if serving := n.serving.Load(); serving != nil {
		return serving
	}
	return n.notYet.Load()
}

// sayNotYet refuses SQL clients with the reason why the node does not serve yet.
func (n *Node) sayNotYet() {
	why := pgerr.New(pgerr.CannotConnectNow, "the node is starting up").WithHint("Try again in a moment.")
	if !n.cfg.SingleNode && n.Waiting() {
		why = pgerr.New(pgerr.CannotConnectNow, "the node is not part of a cluster yet").WithHint("%s.", howToInit)
	}
	n.notYet.Store(n.newClosedSQLServer(why))
}

// refuseSQL cuts clients off and refuses new ones with the error why, until acceptSQL.
func (n *Node) refuseSQL(why error) {
	n.servingMu.Lock()
	old := n.serving.Load()
	if old != nil && !n.draining.Load() {
		n.serving.Store(n.newClosedSQLServer(why))
	}
	n.servingMu.Unlock()
	if old != nil {
		_ = old.Shutdown(expired) // its error is that it cuts them off
	}
}

// acceptSQL serves clients again.
func (n *Node) acceptSQL() {
	n.servingMu.Lock()
	defer n.servingMu.Unlock()
	if n.serving.Load() != nil && !n.draining.Load() {
		n.serving.Store(n.newSQLServer())
	}
}
