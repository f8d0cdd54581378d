package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// SQLProtocol is the name under which TLS clients ask for the PostgreSQL protocol
// when they begin with TLS at once (ALPN).
const SQLProtocol = "postgresql"

// Node has the certificates of a running node.
type Node struct {
	source source
	cur    atomic.Pointer[bundle]
}

// LoadNode loads and checks a node's certificates.
func LoadNode(dir string) (*Node, error) { return LoadNodeFS(fs.Disk(), dir) }

// LoadNodeFS is LoadNode on another file system.
func LoadNodeFS(fsys fs.FS, dir string) (*Node, error) {
	n := &Node{source: nodeSource(fsys, dir)}
	if err := n.Reload(); err != nil {
		return nil, err
	}
	return n, nil
}

// Reload loads the certificates again, for handshakes from now on. After an error
// those of before stay in use.
func (n *Node) Reload() error {
	b, err := n.source.load(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	if cn := b.cert.Leaf.Subject.CommonName; cn != NodeName {
		return fmt.Errorf("%s is made out to %q, not to %q: run '%s --overwrite'", n.source.cert, cn, NodeName, n.source.create)
	}
	n.cur.Store(b)
	return nil
}

// Expires returns when the first of the node's certificates expires, the CA's
// included; the zero time if none are loaded.
func (n *Node) Expires() time.Time {
	if b := n.cur.Load(); b != nil {
		return b.expires
	}
	return time.Time{}
}

// Certificate returns the node's certificate, as new handshakes show it.
func (n *Node) Certificate() *tls.Certificate { return &n.cur.Load().cert }

// Hosts returns the host names and addresses for which the node's certificate is.
func (n *Node) Hosts() []string { return hosts(n.cur.Load().cert.Leaf) }

// Covers reports whether the node's certificate is for a host.
func (n *Node) Covers(host string) bool { return n.cur.Load().cert.Leaf.VerifyHostname(host) == nil }

func hosts(c *x509.Certificate) []string {
	out := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}

// perHandshake makes a configuration that is looked up for each handshake, so that
// Reload has an effect. There are no session tickets: they would outlive the
// certificates they were given for.
func (n *Node) perHandshake(pick func(*bundle, *tls.ClientHelloInfo) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			return pick(n.cur.Load(), h), nil
		},
	}
}

func (b *bundle) server(auth tls.ClientAuthType, alpn ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		Certificates:           []tls.Certificate{b.cert},
		ClientCAs:              b.roots,
		ClientAuth:             auth,
		NextProtos:             alpn,
		// Small records at first are for pages that show before they are there. An answer is read as a whole, and each record is a
		// system call.
		DynamicRecordSizingDisabled: true,
	}
}

// peerServer is for connections that other nodes open. Nodes speak TLS 1.3.
func (b *bundle) peerServer(alpn string) *tls.Config {
	c := b.server(tls.RequireAndVerifyClientCert, alpn)
	c.MinVersion = tls.VersionTLS13
	c.VerifyConnection = func(cs tls.ConnectionState) error { return checkPeer(cs, alpn, NodeName, RootName) }
	return c
}

// ServerTLS is for SQL clients: a client may show a certificate, which then must be
// one of the cluster's CA and is in ConnectionState.VerifiedChains.
func (n *Node) ServerTLS() *tls.Config {
	return n.perHandshake(func(b *bundle, _ *tls.ClientHelloInfo) *tls.Config {
		return b.server(tls.VerifyClientCertIfGiven, SQLProtocol)
	})
}

// HTTPServerTLS is for browsers and monitoring. Who shows a certificate, as admins do,
// must have it from this cluster's CA.
func (n *Node) HTTPServerTLS() *tls.Config {
	return n.perHandshake(func(b *bundle, _ *tls.ClientHelloInfo) *tls.Config {
		return b.server(tls.VerifyClientCertIfGiven, "h2", "http/1.1")
	})
}

// PeerServerTLS is for connections from other nodes, which ask for the protocol alpn
// and must show a certificate of a node, or, from the command line of those who
// operate the cluster, of root.
func (n *Node) PeerServerTLS(alpn string) *tls.Config {
	return n.perHandshake(func(b *bundle, _ *tls.ClientHelloInfo) *tls.Config { return b.peerServer(alpn) })
}

// ListenerTLS is for a listener that SQL clients and other nodes share: who asks for
// the protocol peerALPN is treated as by PeerServerTLS, all others as by ServerTLS.
// ConnectionState.NegotiatedProtocol tells afterwards which it was.
func (n *Node) ListenerTLS(peerALPN string) *tls.Config {
	return n.perHandshake(func(b *bundle, h *tls.ClientHelloInfo) *tls.Config {
		if slices.Contains(h.SupportedProtos, peerALPN) {
			return b.peerServer(peerALPN)
		}
		return b.server(tls.VerifyClientCertIfGiven, SQLProtocol)
	})
}

// PeerClientTLS is for connections to other nodes. Each needs the name or address of
// the host as ServerName, which the other node's certificate must contain. It shows
// the node's certificate of the time of the handshake, but keeps the CA's.
func (n *Node) PeerClientTLS(alpn string) *tls.Config {
	b := n.cur.Load()
	c := b.peerClient(alpn)
	c.Certificates = nil
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &n.cur.Load().cert, nil }
	return c
}

func (b *bundle) peerClient(alpn string) *tls.Config {
	return &tls.Config{
		MinVersion:       tls.VersionTLS13,
		RootCAs:          b.roots,
		Certificates:     []tls.Certificate{b.cert},
		NextProtos:       []string{alpn},
		VerifyConnection: func(cs tls.ConnectionState) error { return checkPeer(cs, alpn, NodeName) },
	}
}

// OperatorTLS is for command lines that speak with a node as nodes do: it shows root's
// certificate, or the node's if the directory has none of root. Each connection needs
// a ServerName, as with PeerClientTLS.
func OperatorTLS(dir, alpn string) (*tls.Config, error) { return operatorTLS(fs.Disk(), dir, alpn) }

func operatorTLS(fsys fs.FS, dir, alpn string) (*tls.Config, error) {
	root := ClientFiles(fsys, dir, RootName)
	b, err := root.load(RootName)
	if err != nil {
		if there, serr := exists(fsys, root.Cert); there || serr != nil {
			return nil, err
		}
		n, nerr := LoadNodeFS(fsys, dir)
		if nerr != nil {
			return nil, err // root's certificate is what operators should have
		}
		b = n.cur.Load()
	}
	return b.peerClient(alpn), nil
}

// checkPeer refuses what is at the other end of a connection unless it is one of
// those allowed: the handshake has verified its certificate, this looks at whose it
// is.
func checkPeer(cs tls.ConnectionState, alpn string, allowed ...string) error {
	if len(cs.VerifiedChains) == 0 {
		return errors.New("the other side of a connection between nodes showed no verified certificate")
	}
	if cn := cs.PeerCertificates[0].Subject.CommonName; !slices.Contains(allowed, cn) {
		return fmt.Errorf("the certificate of %q is not a node's, and a connection between nodes needs one", cn)
	}
	if cs.NegotiatedProtocol != alpn {
		return fmt.Errorf("the other node does not speak the protocol %q", alpn)
	}
	return nil
}

// CheckPresent returns nil if a node that is reached at host can start with the certificates in
// dir: the files are there. Else the error says which commands make them. Host may be empty.
func CheckPresent(dir, host string) error { return checkPresent(fs.Disk(), dir, host) }

func checkPresent(fsys fs.FS, dir, host string) error {
	createNode := "create-node localhost " + hostname()
	if host != "" && host != "localhost" && host != hostname() {
		createNode += " " + shellQuote(host)
	}
	s := nodeSource(fsys, dir)
	ca, err := exists(fsys, s.ca)
	if err != nil {
		return err
	}
	for _, p := range []string{s.cert, s.key} {
		there, err := exists(fsys, p)
		if err != nil {
			return err
		}
		if ca && !there {
			return fmt.Errorf("%s is missing. Make the node's certificate, for all names and addresses of this machine:\n%s\n%s",
				p, "  "+suggest(createNode, dir), orInsecure)
		}
	}
	if ca {
		return nil
	}
	return fmt.Errorf("there are no certificates in %s. Make a CA, and keep its key in a safe place; then certificates for this node and for a user:\n  %s\n  %s\n  %s\n%s",
		dir, suggest("create-ca", dir), suggest(createNode, dir), suggest("create-client root", dir), orInsecure)
}

const orInsecure = "Or start with --insecure, where every client that reaches the node is trusted."

func suggest(what, dir string) string {
	return fmt.Sprintf("lichen cert %s --certs-dir=%s --ca-key=my-safe-directory/ca.key", what, shellQuote(dir))
}

// hostname returns what a shell makes this machine's name of, if it is not known.
func hostname() string {
	h, err := os.Hostname()
	if err != nil || checkHost(h) != nil {
		return "$(hostname)"
	}
	return h
}
