package rpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// listener stands for the one that SQL and nodes share: it reads the first bytes,
// and does the TLS handshake if it has certificates.
type listener struct {
	net.Listener
	n   *testNode
	tls *tls.Config
	wg  sync.WaitGroup
}

func listen(t testing.TB, n *testNode, cfg *tls.Config) *listener {
	t.Helper()
	nl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: nl, n: n, tls: cfg}
	l.wg.Go(func() {
		for {
			c, err := nl.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.serve(c) })
		}
	})
	t.Cleanup(func() {
		nl.Close()
		n.Close()
		l.wg.Wait()
	})
	return l
}

func (l *listener) serve(c net.Conn) {
	defer c.Close()
	if l.tls != nil {
		tc := tls.Server(c, l.tls)
		if tc.Handshake() == nil && tc.ConnectionState().NegotiatedProtocol == ALPN {
			l.n.ServeConn(tc, nil)
		}
		return
	}
	first := make([]byte, FirstBytes)
	if _, err := io.ReadFull(c, first); err != nil {
		return
	}
	if IsRPC(first) || first[0] == 0x16 {
		l.n.ServeConn(c, first)
	}
}

// pair returns two nodes that talk over TCP; the second is only called.
func pair(t testing.TB, tlsA, tlsB *tls.Config, terminate bool, change ...func(*Options)) (*testNode, *testNode) {
	var addr string
	w := &network{t: t, nodes: map[string]*testNode{}}
	tcp := func(o *Options) {
		o.Dial = nil
		o.Resolve = func(kvpb.NodeID) (string, bool) { return addr, true }
	}
	a := w.node(1, append(change, tcp, func(o *Options) { o.ClientTLS = tlsA })...)
	b := w.node(2, append(change, tcp, func(o *Options) { o.ServerTLS = tlsB })...)
	cfg := tlsB
	if !terminate {
		cfg = nil
	}
	addr = listen(t, b, cfg).Addr().String()
	return a, b
}

func TestTCP(t *testing.T) {
	a, b := pair(t, nil, nil, false)
	for _, size := range []int{0, 100, 10 << 20} {
		if resp, err := a.Call(t.Context(), 2, echo, payload(size)); err != nil || len(resp) != size {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	if !a.Send(2, note, []byte("x")) {
		t.Fatal("dropped")
	}
	<-b.notes
	b.Close()
	if _, err := a.Call(t.Context(), 2, echo, nil); err == nil {
		t.Fatal("a closed node answered")
	}
}

func TestIsRPC(t *testing.T) {
	for _, s := range []string{"", "LIC", "lich", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x54\x00\x03\x00\x00",
		"\x16\x03\x01\x02\x00\x01\x00\x01", "GET / HT", "*1\r\n$4\r\n", "\x04\x00\x00\x00\x01\x00\x00\x00"} {
		if IsRPC([]byte(s)) {
			t.Errorf("%q", s)
		}
	}
	if !IsRPC([]byte(magic[:FirstBytes])) {
		t.Error("our own")
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	var der []byte
	a.key, der = a.sign("authority", true)
	a.cert, _ = x509.ParseCertificate(der)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(name string, ca bool) (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: ca,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
		c.KeyUsage = x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, der
}

// config returns a configuration for both sides; without a name, one that shows
// no certificate.
func (a *authority) config(name string) *tls.Config {
	cfg := &tls.Config{RootCAs: a.pool, ClientCAs: a.pool, ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{ALPN, "postgresql"}}
	if name != "" {
		key, der := a.sign(name, false)
		cfg.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	}
	return cfg
}

func TestTLS(t *testing.T) {
	ca, otherCA := newAuthority(t), newAuthority(t)
	onlyNodes := func(o *Options) {
		o.VerifyPeer = func(st tls.ConnectionState) error {
			if cn := st.PeerCertificates[0].Subject.CommonName; cn != "node" {
				return errors.New("certificate of " + cn)
			}
			return nil
		}
	}
	stranger := otherCA.config("node")
	stranger.RootCAs = ca.pool
	for _, c := range []struct {
		name   string
		client *tls.Config
		want   string // in the caller's error or the acceptor's log; "": connected
	}{
		{"node", ca.config("node"), ""},
		{"a user's certificate", ca.config("alice"), "certificate of alice"},
		{"no certificate", ca.config(""), "no certificate"},
		{"wrong authority", otherCA.config("node"), "unknown authority"},
		{"unknown certificate", stranger, "certificate"},
		{"no TLS", nil, ""},
	} {
		for _, terminate := range []bool{false, true} {
			if c.client == nil && terminate {
				continue // the listener does not speak to it
			}
			a, b := pair(t, c.client, ca.config("node"), terminate, onlyNodes)
			_, err := a.Call(t.Context(), 2, echo, payload(100<<10))
			if c.client == nil {
				wantRefused(t, err, RefusedOther, "over TLS only")
				continue
			}
			a.Close()
			b.Close()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.want != "" && !errors.Is(err, ErrNotSent):
				t.Errorf("%s: %v", c.name, err)
			case c.want != "" && !strings.Contains(err.Error()+b.log.String(), c.want):
				t.Errorf("%s: %v; logged %s", c.name, err, b.log)
			}
		}
	}
}

// TestAllocations: a small call costs few allocations, both ends together.
func TestAllocations(t *testing.T) {
	a, _ := pair(t, nil, nil, false)
	req := payload(100)
	call := func() {
		if _, err := a.Call(t.Context(), 2, echo, req); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if n := testing.AllocsPerRun(500, call); n > 9 {
		t.Errorf("%v allocations per call", n)
	} else {
		t.Logf("%v allocations per call", n)
	}
}

func BenchmarkCall(b *testing.B) {
	n, _ := pair(b, nil, nil, false)
	req := payload(100)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := n.Call(b.Context(), 2, echo, req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := n.Call(b.Context(), 2, echo, req); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("1MiB", func(b *testing.B) {
		b.SetBytes(2 << 20)
		large := payload(1 << 20)
		for b.Loop() {
			if _, err := n.Call(b.Context(), 2, echo, large); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSend(b *testing.B) {
	n, peer := pair(b, nil, nil, false)
	msg := payload(100)
	peer.HandleMessage(60, func(kvpb.NodeID, []byte) {})
	b.ReportAllocs()
	for b.Loop() {
		n.Send(2, 60, msg)
	}
}
