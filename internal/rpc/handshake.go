package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// connect dials addr and shakes hands with the node there. If expect is 0, any node will do. The
// connection's reader is not started yet.
func (n *Node) connect(ctx context.Context, addr string, cl class, expect kvpb.NodeID) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, DialTimeout,
		fmt.Errorf("no connection to %s within %v", addr, DialTimeout))
	defer cancel()
	defer must.Report(n.o.OnFatal)
	nc, err := n.o.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	c, err := n.greet(ctx, nc, addr, cl, expect)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// greet performs the dialler's side of the handshake.
func (n *Node) greet(ctx context.Context, nc net.Conn, addr string, cl class, expect kvpb.NodeID) (*conn, error) {
	if n.o.ClientTLS != nil {
		var err error
		if nc, err = n.clientTLS(ctx, nc, addr); err != nil {
			return nil, err
		}
	}
	c := n.newConn(nc, cl, true)
	h := n.hello(cl, expect)
	buf := appendFrame([]byte(magic), frameHello, 0, 0, h.append(nil))
	sent := time.Now()
	if _, err := nc.Write(buf); err != nil {
		return nil, err
	}
	f, err := c.fr.next()
	own := n.o.Clock.PhysicalNow()
	rtt := time.Since(sent)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s closed the connection during the greeting", addr)
	case err != nil:
		return nil, fmt.Errorf("greeting %s: %w", addr, err)
	case f.typ == frameRefuse:
		if Refusal(f.code) == RefusedClock && expect != 0 {
			n.peer(expect).record(-n.o.MaxOffset-1, 0) // this clock is ahead of the peer's by more than that
		}
		r := &RefusedError{Reason: Refusal(f.code), Msg: string(f.payload)}
		n.twin(r)
		return nil, r
	case f.typ != frameWelcome:
		return nil, corrupt("type %d in place of a welcome", f.typ)
	}
	w, err := decodeHello(f.payload)
	if err != nil {
		return nil, err
	}
	if r := n.checkWelcome(w, expect); r != nil {
		return nil, r
	}
	c.peer = w.node
	if err := c.measured(rtt, w.physical, own); err != nil {
		return nil, err
	}
	if err := n.o.Clock.Update(hlc.Timestamp{WallTime: w.clock}); err != nil {
		return nil, refuse(RefusedClock, "clock of %s: %v", nodeName(w), err)
	}
	return c, nil
}

func (n *Node) clientTLS(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	cfg := n.o.ClientTLS.Clone()
	cfg.NextProtos = []string{ALPN}
	if cfg.ServerName == "" {
		cfg.ServerName = addr
		if host, _, err := net.SplitHostPort(addr); err == nil {
			cfg.ServerName = host
		}
	}
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	if err := n.checkTLS(tc.ConnectionState()); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return tc, nil
}

// checkTLS verifies that the other end of a TLS connection is a node.
func (n *Node) checkTLS(st tls.ConnectionState) error {
	switch {
	case st.NegotiatedProtocol != ALPN:
		return fmt.Errorf("the peer does not speak %s", ALPN)
	case len(st.VerifiedChains) == 0:
		return errors.New("the peer showed no certificate that this cluster's authority signed")
	case n.o.VerifyPeer != nil:
		return n.o.VerifyPeer(st)
	}
	return nil
}

// accept performs the acceptor's side of the handshake; first has been read already. A returned
// connection may be recorded in its incarnation, after an error too.
func (n *Node) accept(nc net.Conn, first []byte) (*conn, error) {
	ctx, cancel := context.WithTimeout(n.ctx, DialTimeout)
	defer cancel()
	defer must.Report(n.o.OnFatal)
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	c, err := n.welcome(ctx, nc, first)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return c, err
}

func (n *Node) welcome(ctx context.Context, nc net.Conn, first []byte) (*conn, error) {
	if len(first) > 0 {
		nc = &prefixConn{Conn: nc, first: first}
	}
	nc, plain, err := n.serverTLS(ctx, nc, first)
	if err != nil {
		return nil, err
	}
	c := n.newConn(nc, classCalls, false)
	m, err := c.fr.peek(len(magic))
	if err != nil {
		return nil, err
	}
	if string(m) != magic {
		return nil, corrupt("the connection starts with %q", m)
	}
	if _, err := c.fr.br.Discard(len(magic)); err != nil {
		return nil, err
	}
	f, err := c.fr.next()
	if err != nil {
		return nil, err
	}
	if f.typ != frameHello {
		return nil, corrupt("type %d in place of a hello", f.typ)
	}
	h, err := decodeHello(f.payload)
	if err != nil {
		return nil, err
	}
	var r *RefusedError
	if !plain {
		r = n.checkHello(h)
	} else {
		r = refuse(RefusedOther, "this node takes connections of other nodes over TLS only: start the peer with certificates")
	}
	if r == nil {
		r = n.admit(ctx, c, h)
	}
	if r != nil {
		_, err := nc.Write(appendFrame(nil, frameRefuse, uint16(r.Reason), 0, []byte(r.Msg)))
		return nil, errors.Join(r, err)
	}
	c.class, c.peer = h.class, h.node
	w := n.hello(h.class, h.node)
	_, err = nc.Write(appendFrame(nil, frameWelcome, 0, 0, w.append(nil)))
	return c, err
}

// serverTLS makes sure that the connection is encrypted if it must be; the listener may have done
// the TLS handshake. plain: the connection is not encrypted although it must be, and the peer
// should get an error that says so.
func (n *Node) serverTLS(ctx context.Context, nc net.Conn, first []byte) (c net.Conn, plain bool, err error) {
	st, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if p, isPrefix := nc.(*prefixConn); isPrefix {
		st, ok = p.Conn.(interface{ ConnectionState() tls.ConnectionState })
	}
	if ok {
		return nc, false, n.checkTLS(st.ConnectionState())
	}
	if n.o.ServerTLS == nil {
		return nc, false, nil
	}
	if IsRPC(first) {
		return nc, true, nil
	}
	cfg := n.o.ServerTLS.Clone()
	cfg.NextProtos = []string{ALPN}
	tc := tls.Server(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, false, err
	}
	return tc, false, n.checkTLS(tc.ConnectionState())
}

func (n *Node) hello(cl class, expect kvpb.NodeID) *hello {
	return &hello{
		protocol: n.o.ProtocolVersion, minProtocol: n.o.MinVersion,
		class: cl, node: n.o.NodeID(), expect: expect,
		physical: n.o.Clock.PhysicalNow(), clock: n.o.Clock.Reading().WallTime,
		cluster: n.o.ClusterID(), version: n.o.Version, incarnation: n.o.Incarnation(),
	}
}

// nodeName formats a node for messages to operators.
func nodeName(h *hello) string {
	if h.node == 0 {
		return "a node that has not joined yet"
	}
	return fmt.Sprintf("node %d", h.node)
}

func (n *Node) checkVersion(h *hello) *RefusedError {
	if h.protocol >= n.o.MinVersion && n.o.ProtocolVersion >= h.minProtocol {
		return nil
	}
	return refuse(RefusedVersion,
		"%s runs version %q (protocol %d, understands from %d on), the other side is version %q (protocol %d, understands from %d on): upgrade the older one step by step",
		nodeName(h), h.version, h.protocol, h.minProtocol, n.o.Version, n.o.ProtocolVersion, n.o.MinVersion)
}

// checkHello decides whether the dialler may connect.
func (n *Node) checkHello(h *hello) *RefusedError {
	if r := n.checkVersion(h); r != nil {
		return r
	}
	id, cluster := n.o.NodeID(), n.o.ClusterID()
	switch {
	case !h.class.oneWay() && h.class != classCalls:
		return refuse(RefusedVersion, "unknown kind of connection (%d)", h.class)
	case h.cluster != "" && cluster != "" && h.cluster != cluster:
		return refuse(RefusedCluster, "this node belongs to cluster %s, %s to cluster %s", cluster, nodeName(h), h.cluster)
	case h.expect == 0 && h.class == classCalls:
		// The dialler has only an address: it joins, or looks for a cluster.
	case h.expect == 0 || h.node == 0 || h.cluster == "":
		return refuse(RefusedCluster, "only nodes of cluster %s may connect; join it first", cluster)
	case cluster == "":
		return refuse(RefusedCluster, "this node is not part of a cluster yet")
	case h.node == id:
		return refuse(RefusedNode, "this node is node %d too: two processes run with copies of one store", id)
	case h.expect != id:
		return refuse(RefusedNode, "this address belongs to node %d, not to node %d", id, h.expect)
	}
	ahead := time.Duration(h.physical - n.o.Clock.PhysicalNow())
	if n.o.MaxOffset > 0 && ahead > n.o.MaxOffset {
		if h.node != 0 && h.node != id && h.cluster == cluster {
			n.peer(h.node).record(ahead, 0) // at least: the hello has been under way for a while
		}
		return refuse(RefusedClock, "the clock of %s is %v ahead, more than the maximum offset %v: synchronise the clocks",
			nodeName(h), ahead, n.o.MaxOffset)
	}
	if err := n.o.Clock.Update(hlc.Timestamp{WallTime: h.clock}); err != nil {
		return refuse(RefusedClock, "clock of %s: %v", nodeName(h), err)
	}
	return nil
}

// checkWelcome decides whether the dialler accepts the node that answered. The acceptor has made
// the same checks, but it may be older or faulty.
func (n *Node) checkWelcome(w *hello, expect kvpb.NodeID) *RefusedError {
	if r := n.checkVersion(w); r != nil {
		return r
	}
	cluster := n.o.ClusterID()
	switch {
	case w.cluster != "" && cluster != "" && w.cluster != cluster:
		return refuse(RefusedCluster, "%s belongs to cluster %s, this node to cluster %s", nodeName(w), w.cluster, cluster)
	case expect != 0 && w.node != expect:
		return refuse(RefusedNode, "%s lives at the address of node %d", nodeName(w), expect)
	case expect != 0 && n.otherIncarnation(expect, w.incarnation):
		return refuse(RefusedNode, "the process at this address is not the one that this node hears as node %d", expect)
	}
	return nil
}

// prefixConn is a connection whose first bytes have been read already.
type prefixConn struct {
	net.Conn
	first []byte
}

func (p *prefixConn) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
