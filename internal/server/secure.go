package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
)

const (
	// tlsHandshake is the first byte of a connection that begins with TLS.
	tlsHandshake = 0x16
	// lingerTime and lingerBytes bound how long a connection is kept after its
	// handshake failed, so that the other side can read why.
	lingerTime  = time.Second
	lingerBytes = 64 << 10
)

// loadCerts loads the node's certificates, unless it runs without.
func (n *Node) loadCerts() (err error) {
	switch {
	case n.cfg.Insecure:
		return nil
	case n.cfg.CertsDir == "":
		return errors.New("a node that is not insecure needs a directory of certificates")
	}
	n.certs, err = security.LoadNode(n.cfg.CertsDir)
	return err
}

// ReloadCerts loads the certificates again, for connections from now on. After an
// error those of before stay in use.
func (n *Node) ReloadCerts() error {
	if n.certs == nil {
		return errors.New("the node runs without certificates")
	}
	return n.certs.Reload()
}

// newRPC builds what speaks with other nodes and with the command line.
func (n *Node) newRPC() {
	o := rpc.Options{
		ClusterID: n.ClusterID, NodeID: n.NodeID, Version: Version, Clock: n.clock, MaxOffset: n.cfg.MaxOffset, Logger: n.log, OnFatal: n.fatal,
		Resolve: func(id kvpb.NodeID) (string, bool) {
			if n.kv.Live == nil {
				return "", false
			}
			i, ok := n.kv.Live.Node(id)
			return i.Addr, ok && i.Addr != ""
		},
		Life: func() int64 { return n.kv.Life }, OnTwin: n.endAsTwin,
		Dial: n.dial, Urgent: []rpc.Method{kvnode.MethodLiveness},
	}
	if n.cfg.SingleNode {
		o.Clock = hlc.NewSystem(n.cfg.MaxOffset) // who calls does not set this node's clock
	}
	if n.certs != nil {
		o.ServerTLS, o.ClientTLS = n.certs.PeerServerTLS(rpc.ALPN), n.certs.PeerClientTLS(rpc.ALPN)
	}
	n.rpc = rpc.New(o)
	n.handleAdmin()
}

// httpListener encrypts HTTP if the node has certificates.
func (n *Node) httpListener() net.Listener {
	if n.certs == nil {
		return n.httpLn
	}
	return tls.NewListener(n.httpLn, n.certs.HTTPServerTLS())
}

// serveTLS serves a connection of the shared listener that begins with TLS: the
// protocol that is negotiated tells who is calling. known is called once that is over.
func (n *Node) serveTLS(c net.Conn, first []byte, known func()) {
	t := tls.Server(wire.NewOutput(&replayed{Conn: c, first: first}), n.certs.ListenerTLS(rpc.ALPN))
	ctx, cancel := context.WithTimeout(context.Background(), sniffTimeout)
	err := t.HandshakeContext(ctx)
	cancel()
	known()
	if err != nil {
		n.log.Info("TLS handshake failed", "remote", c.RemoteAddr(), "err", err)
		linger(c)
		_ = c.Close()
		return
	}
	if t.ConnectionState().NegotiatedProtocol == rpc.ALPN {
		n.rpc.ServeConn(t, nil)
		return
	}
	n.front().ServeConn(context.Background(), t, nil)
}

// linger lets the other side read why its handshake failed: closing a connection
// with unread input makes the system drop what was sent.
func linger(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, lingerBytes) // it ends in one way or another
}

// replayed is a connection of which some bytes were read already.
type replayed struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (r *replayed) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		k := copy(p, r.first)
		r.first = r.first[k:]
		return k, nil
	}
	return r.Conn.Read(p)
}

// SyscallConn implements syscall.Conn: who looks whether the other side has gone needs the
// socket.
func (r *replayed) SyscallConn() (syscall.RawConn, error) {
	if s, ok := r.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite closes the sending half, as a TLS connection does at its end.
func (r *replayed) CloseWrite() error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// reachable returns the address by which others reach a listener: the host as it was
// configured, since certificates are made out to names, or this machine's name
// where none was.
func reachable(configured string, l net.Listener) string {
	host, port, err := net.SplitHostPort(configured)
	if err != nil {
		return configured
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			host = "localhost"
		}
	}
	if l != nil {
		if _, p, err := net.SplitHostPort(l.Addr().String()); err == nil {
			port = p
		}
	}
	return net.JoinHostPort(host, port)
}

// AdvertisedAddr returns the address at which others reach the node.
func (n *Node) AdvertisedAddr() string { return n.advertiseAddr() }

// AdvertisedHTTPAddr returns the address at which others reach its HTTP listener.
func (n *Node) AdvertisedHTTPAddr() string {
	addr := n.cfg.HTTPAddr
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		// The names of the two listeners are the same by default.
		if own, _, err := net.SplitHostPort(n.advertiseAddr()); err == nil {
			addr = net.JoinHostPort(own, port)
		}
	}
	return reachable(addr, n.httpLn)
}
