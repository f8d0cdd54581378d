package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
)

const (
	// tlsHandshake is the first byte of a connection that begins with TLS.
	tlsHandshake = 0x16
)

// loadCerts loads the node's certificates, unless the node is insecure.
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

// CertificateGap returns a remedy if the certificate is not for the advertised address, so that clients
// and other nodes refuse it; "" if it is.
func (n *Node) CertificateGap() string {
	host := bareHost(n.AdvertisedAddr())
	if n.certs == nil || n.certs.Covers(host) {
		return ""
	}
	return fmt.Sprintf("others can't connect to %s: the node's certificate is for %s only. Run 'lichen cert create-node --overwrite' with %s among the hosts, "+
		"and send the node SIGHUP; or start it with an --advertise-addr that the certificate is for",
		n.AdvertisedAddr(), strings.Join(n.certs.Hosts(), ", "), host)
}

// ReloadCerts loads the certificates again, for new connections. After an error the old ones stay in use.
func (n *Node) ReloadCerts() error {
	if n.certs == nil {
		return errors.New("the node runs without certificates")
	}
	return n.certs.Reload()
}

// certificateExpires is when the first of the node's certificates expires, in seconds since 1970; 0 if it has none.
func (n *Node) certificateExpires() float64 {
	if n.certs == nil || n.certs.Expires().IsZero() {
		return 0
	}
	return float64(n.certs.Expires().Unix())
}

// httpListener encrypts HTTP if the node has certificates.
func (n *Node) httpListener() net.Listener {
	l := &limitedListener{n.httpLn, make(chan struct{}, n.descriptors.http)}
	if n.certs == nil {
		return l
	}
	return tls.NewListener(l, n.certs.HTTPServerTLS())
}

// serveTLS serves a connection of the shared listener that begins with TLS. The negotiated protocol
// tells nodes from SQL clients. known is called after the handshake.
func (n *Node) serveTLS(c net.Conn, first []byte, known func()) {
	t := tls.Server(wire.NewOutput(&wire.Replay{Conn: c, First: first}), n.certs.ListenerTLS(rpc.ALPN))
	ctx, cancel := context.WithTimeout(context.Background(), sniffTimeout)
	err := t.HandshakeContext(ctx)
	cancel()
	known()
	if err != nil {
		n.log.Info("TLS handshake failed", "remote", c.RemoteAddr(), "err", err)
		wire.Linger(c)
		_ = c.Close()
		return
	}
	if t.ConnectionState().NegotiatedProtocol == rpc.ALPN {
		n.RPC.ServeConn(t, nil)
		return
	}
	n.SQLServer().ServeConn(context.Background(), t, nil)
}
