package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

const testALPN = "lichen-test"

// handshake connects a client and a server and returns what each said at the end,
// and what the server knows of the connection.
func handshake(t testing.TB, server, client *tls.Config) (st tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	a, b := connected(t)
	done := make(chan struct{})
	s := tls.Server(a, server)
	go func() {
		defer close(done)
		if serverErr = s.Handshake(); serverErr == nil {
			_, serverErr = s.Write([]byte("!"))
		}
		st = s.ConnectionState()
		_, _ = io.Copy(io.Discard, a) // closing with unread input would drop the alert
	}()
	c := tls.Client(b, client)
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = io.ReadFull(c, make([]byte, 1))
	}
	_ = b.Close()
	<-done
	return st, serverErr, clientErr
}

// connected returns both ends of a connection.
func connected(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if a, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// to sets the host that a client asks for.
func to(host string, c *tls.Config) *tls.Config {
	c.ServerName = host
	return c
}

// good checks that both sides were content.
func good(t testing.TB, what string, serverErr, clientErr error) {
	t.Helper()
	if serverErr != nil || clientErr != nil {
		t.Errorf("%s: server: %v, client: %v", what, serverErr, clientErr)
	}
}

func TestPeers(t *testing.T) {
	c, other := newCluster(t, "certs"), newCluster(t, "certs")
	n, foreign := c.node(), other.node()
	c.must(c.Client("alice"))
	client := must(ClientTLSFS(c.fs, "certs", "alice"))
	client.ServerName, client.NextProtos = "localhost", []string{testALPN}

	for _, host := range []string{"localhost", "127.0.0.1"} {
		st, serr, cerr := handshake(t, n.PeerServerTLS(testALPN), to(host, n.PeerClientTLS(testALPN)))
		good(t, host, serr, cerr)
		if st.NegotiatedProtocol != testALPN || st.Version != tls.VersionTLS13 {
			t.Errorf("protocol %q, version %x", st.NegotiatedProtocol, st.Version)
		}
	}
	_, serr, _ := handshake(t, n.PeerServerTLS(testALPN), client)
	wants(t, "a client", serr, `the certificate of "alice" is not a node's`)
	for range 2 { // with the node's certificate, then with root's
		_, serr, cerr := handshake(t, n.PeerServerTLS(testALPN), to("localhost", must(operatorTLS(c.fs, "certs", testALPN))))
		good(t, "operator", serr, cerr)
		over := c.Creator
		over.Overwrite = true
		c.must(over.Client("root"))
	}
	_, err := operatorTLS(c.fs, "nosuch", testALPN)
	wants(t, "no certificates", err, "nosuch/ca.crt is missing")
	client.Certificates = nil
	_, serr, cerr := handshake(t, n.PeerServerTLS(testALPN), client)
	wants(t, "nobody", serr, "didn't provide a certificate")
	wants(t, "nobody, client", Explain(cerr), "asks for a certificate")
	_, _, cerr = handshake(t, n.PeerServerTLS(testALPN), to("localhost", foreign.PeerClientTLS(testALPN)))
	wants(t, "client of another cluster", Explain(cerr), "not signed by a CA that this side trusts")
	_, _, cerr = handshake(t, n.PeerServerTLS(testALPN), to("elsewhere", n.PeerClientTLS(testALPN)))
	wants(t, "other host", Explain(cerr), "not for elsewhere but for localhost, 127.0.0.1", "create-node")
	if serr, _, cerr := handshake(t, n.PeerServerTLS(testALPN), to("localhost", n.PeerClientTLS("other"))); cerr == nil {
		t.Errorf("other protocol: %v", serr)
	}
	// The server that is asked is no node, but has a server certificate of the CA.
	server := n.cur.Load().server(tls.NoClientCert)
	if _, _, cerr := handshake(t, server, to("localhost", n.PeerClientTLS(testALPN))); cerr == nil {
		t.Error("a server without the protocol was accepted")
	}
	// A user's certificate does not make a server a node, root's neither.
	server = must(LoadNodeFS(c.fs, "certs")).cur.Load().server(tls.NoClientCert, testALPN)
	rootKey := must(readFile(c.fs, "certs/client.root.key", true))
	rootPair := must(tls.X509KeyPair(must(readFile(c.fs, "certs/client.root.crt", false)), rootKey))
	server.Certificates = []tls.Certificate{rootPair}
	if _, _, cerr := handshake(t, server, to("localhost", n.PeerClientTLS(testALPN))); cerr == nil {
		t.Error("root's certificate was accepted for a node's")
	}
	// A node of another cluster that trusts ours is refused by us.
	foreign.cur.Load().roots = n.cur.Load().roots
	_, serr, cerr = handshake(t, n.PeerServerTLS(testALPN), to("localhost", foreign.PeerClientTLS(testALPN)))
	wants(t, "node of another cluster", serr, "unknown authority")
	wants(t, "node of another cluster, client", Explain(cerr), "did not sign it")
}

func TestServerTLS(t *testing.T) {
	c, other := newCluster(t, "certs"), newCluster(t, "certs")
	n := c.node()
	c.must(c.Client("root"))
	other.must(other.Client("root"))
	client := must(ClientTLSFS(c.fs, "certs", "root"))
	client.ServerName = "localhost"
	for _, server := range []*tls.Config{n.ServerTLS(), n.ListenerTLS(testALPN)} {
		st, serr, cerr := handshake(t, server, client)
		good(t, "client", serr, cerr)
		if len(st.VerifiedChains) == 0 || st.PeerCertificates[0].Subject.CommonName != "root" {
			t.Errorf("the server knows %v", st.PeerCertificates)
		}
		bare := &tls.Config{RootCAs: client.RootCAs, ServerName: "localhost", MaxVersion: tls.VersionTLS12, NextProtos: []string{SQLProtocol}}
		st, serr, cerr = handshake(t, server, bare)
		good(t, "client without a certificate", serr, cerr)
		if len(st.VerifiedChains) > 0 || st.NegotiatedProtocol != SQLProtocol {
			t.Errorf("the server knows %v, protocol %q", st.PeerCertificates, st.NegotiatedProtocol)
		}
		foreign := must(ClientTLSFS(other.fs, "certs", "root"))
		foreign.ServerName, foreign.RootCAs = "localhost", client.RootCAs
		_, serr, cerr = handshake(t, server, foreign)
		wants(t, "other CA", serr, "unknown authority")
		wants(t, "other CA, client", Explain(cerr), "did not sign it")
		old := &tls.Config{RootCAs: client.RootCAs, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		_, serr, _ = handshake(t, server, old)
		wants(t, "TLS 1.1", serr, "unsupported versions")
	}
	// On a shared listener, who asks for the nodes' protocol must be a node.
	st, serr, cerr := handshake(t, n.ListenerTLS(testALPN), to("localhost", n.PeerClientTLS(testALPN)))
	good(t, "node", serr, cerr)
	if st.NegotiatedProtocol != testALPN {
		t.Errorf("protocol %q", st.NegotiatedProtocol)
	}
	c.must(c.Client("alice"))
	client = must(ClientTLSFS(c.fs, "certs", "alice"))
	client.ServerName, client.NextProtos = "localhost", []string{SQLProtocol, testALPN}
	_, serr, _ = handshake(t, n.ListenerTLS(testALPN), client)
	wants(t, "client that asks for both", serr, "not a node's")
	browser := &tls.Config{RootCAs: client.RootCAs, ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"}}
	st, serr, cerr = handshake(t, n.HTTPServerTLS(), browser)
	good(t, "browser", serr, cerr)
	if st.NegotiatedProtocol != "h2" {
		t.Errorf("protocol %q", st.NegotiatedProtocol)
	}
}

// TestReload replaces the certificates under configurations that exist.
func TestReload(t *testing.T) {
	c := newCluster(t, "certs")
	n := c.node()
	server := n.ServerTLS()
	first := n.cur.Load().roots
	again := c.Creator
	again.Overwrite = true
	c.must(again.CA())
	wants(t, "certificate of the old CA", n.Reload(), "not signed by the CA")
	_, serr, cerr := handshake(t, server, &tls.Config{RootCAs: first, ServerName: "localhost"})
	good(t, "before", serr, cerr)
	c.must(again.Node([]string{"elsewhere"}))
	c.must(n.Reload())
	_, _, cerr = handshake(t, server, &tls.Config{RootCAs: first, ServerName: "elsewhere"})
	wants(t, "old CA", cerr, "unknown authority")
	_, serr, cerr = handshake(t, server, &tls.Config{RootCAs: n.cur.Load().roots, ServerName: "elsewhere"})
	good(t, "after", serr, cerr)
}

func TestExplain(t *testing.T) {
	plain := errors.New("something else")
	if got := Explain(plain); got != plain {
		t.Errorf("got %v", got)
	}
	c := newCluster(t, "certs")
	late := c.Creator
	late.Lifetime = time.Hour
	late.Now = time.Now().Add(-2 * time.Hour)
	late.Overwrite = true
	c.must(late.Node([]string{"localhost"}))
	n := &Node{source: nodeSource(c.fs, "certs")}
	b, err := n.source.load() // without checks
	c.must(err)
	n.cur.Store(b)
	_, _, cerr := handshake(t, n.ServerTLS(), &tls.Config{RootCAs: b.roots, ServerName: "localhost"})
	wants(t, "expired", Explain(cerr), "the server's certificate expired on ", "create-node --overwrite")
	var invalid x509.CertificateInvalidError
	if !errors.As(Explain(cerr), &invalid) {
		t.Error("the cause is lost")
	}
	a, z := connected(t)
	if _, err := a.Write([]byte("E no TLS here")); err != nil {
		t.Fatal(err)
	}
	wants(t, "no TLS", Explain(tls.Client(z, &tls.Config{ServerName: "x"}).Handshake()), "--insecure")
}
