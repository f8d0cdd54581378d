package server

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/lichendb/lichen/internal/rpc"
)

// firstBytes is how much of a connection tells who is calling, sniffTimeout how
// long that may take.
const (
	firstBytes   = 8
	sniffTimeout = 30 * time.Second
)

// startCluster makes the node part of its cluster.
func (n *Node) startCluster(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	if n.isMember() {
		if err := n.checkJoin(ctx); err != nil {
			return err
		}
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	n.sayNotYet()
	if err := n.checkOwnAddress(ctx); err != nil {
		return err
	}
	n.kv.Live.Start()
	return nil
}

// accept serves the connections of the shared listener: nodes and SQL clients.
func (n *Node) accept() {
	for {
		c, err := n.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			n.log.Error("listener", "err", err)
			<-time.After(acceptBackoff)
			continue
		}
		go n.serveConn(c)
	}
}

// acceptBackoff keeps a listener that fails, for want of descriptors perhaps, from
// spinning.
const acceptBackoff = 10 * time.Millisecond

// serveConn finds out who is calling.
func (n *Node) serveConn(c net.Conn) {
	known := n.newcomers.enter(c)
	defer known()
	_ = c.SetReadDeadline(time.Now().Add(sniffTimeout))
	first := make([]byte, firstBytes)
	k, err := io.ReadFull(c, first)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	first = first[:k]
	if n.certs != nil && first[0] == tlsHandshake {
		n.serveTLS(c, first, known)
		return
	}
	known()
	if rpc.IsRPC(first) {
		n.rpc.ServeConn(c, first)
		return
	}
	n.front().ServeConn(context.Background(), c, first)
}
