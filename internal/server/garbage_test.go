package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
)

// guarded is a node with certificates on ports of the loopback, as strangers find it.
type guarded struct {
	t testing.TB
	*Node
	dir string
}

func newGuarded(tb testing.TB) *guarded {
	tb.Helper()
	dir := tb.TempDir()
	cr := security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	if err := errors.Join(cr.CA(), cr.Node([]string{"localhost", "127.0.0.1"}), cr.Client("root")); err != nil {
		tb.Fatal(err)
	}
	cfg := config.Default()
	cfg.Stores, cfg.SingleNode, cfg.CertsDir, cfg.Drain = config.Dirs("n"), true, dir, 0
	cfg.ListenAddr, cfg.HTTPAddr, cfg.CacheBytes, cfg.MaxMemory = "127.0.0.1:0", "127.0.0.1:0", 4<<20, 64<<20
	n, err := New(cfg, Options{FS: fs.NewMem(), Logger: slog.New(slog.DiscardHandler), NoAutoStats: true})
	if err == nil {
		err = n.Start(context.Background())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return &guarded{tb, n, dir}
}

// The ways to a node's ports: in clear, or within TLS, without a client's certificate and for some protocol.
var ways = []struct {
	http, tls bool
	alpn      string
}{
	{}, {tls: true}, {tls: true, alpn: "postgresql"}, {tls: true, alpn: rpc.ALPN}, {tls: true, alpn: "h2"},
	{http: true}, {http: true, tls: true}, {http: true, tls: true, alpn: "h2"}, {http: true, tls: true, alpn: rpc.ALPN},
}

// probeTimeout is how long a probe may take: the node does not wait for more of a client that has shut its side down.
const probeTimeout = 2 * time.Minute

// probe sends a port bytes, and nothing after them, and returns what it answers until it ends the connection.
func (g *guarded) probe(t testing.TB, way int, data []byte) []byte {
	t.Helper()
	w := ways[way%len(ways)]
	addr := g.Addr()
	if w.http {
		addr = g.HTTPAddr()
	}
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		t.Fatal(err)
	}
	var end interface{ CloseWrite() error } = c.(*net.TCPConn)
	if w.tls {
		cfg := &tls.Config{InsecureSkipVerify: true}
		if w.alpn != "" {
			cfg.NextProtos = []string{w.alpn}
		}
		s := tls.Client(c, cfg)
		if s.Handshake() != nil {
			return nil // it does not speak that protocol here
		}
		c, end = s, s
	}
	_, _ = c.Write(data) // the node may have hung up
	_ = end.CloseWrite()
	got, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the node does not end the connection: way %d, sent %q, got %q", way, data, got)
	}
	return got
}

// knock is what scanners of ports send.
var knock = [][]byte{
	nil, {0}, {0x16}, []byte("\r\n\r\n"), []byte("GET / HTTP/1.0\r\n\r\n"), []byte("GET /debug/pprof/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	[]byte("OPTIONS * RTSP/1.0\r\n\r\n"), []byte("SSH-2.0-scan\r\n"), []byte("HELP\r\n"), []byte("EHLO scan\r\n"), []byte("\x03\x00\x00\x0b\x06\xe0\x00\x00\x00\x00\x00"),
	[]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03"), []byte("\x16\x03\x01\xff\xff\x01\x00\xff\xfc\x03\x03"), []byte("\x16\x03\x00\x00\x02\x01\x00"),
	[]byte("\x00\x00\x00\xa4\xff\x53\x4d\x42\x72\x00\x00\x00\x00\x08\x01\x40"), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), []byte("*1\r\n$4\r\nPING\r\n"),
	[]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f"), []byte("\x00\x00\x00\x08\x04\xd2\x16\x30"), []byte("\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x01\x00\x00\x00\x00"),
	[]byte("\x00\x00\x00\x26\x00\x03\x00\x00user\x00root\x00database\x00defaultdb\x00\x00"), []byte("\x00\x00\x00\x08\x00\x02\x00\x00"), []byte("\x7f\xff\xff\xff\x00\x03\x00\x00"),
	bytes.Repeat([]byte{0xff}, 4096), bytes.Repeat([]byte{0}, 4096), bytes.Repeat([]byte("A"), 100_000),
	[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 1000)), []byte("POST /api/v2/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n{"),
	[]byte("POST /api/v2/sql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
	[]byte("lich"), []byte("LichenRPC"), []byte("LCRP\x00\x00\x00\x00\x00\x00\x00\x00"),
}

// FuzzPorts sends any bytes to each port of a node with certificates, with and without TLS. The node hangs up, tells nothing of
// the cluster, and neither panics nor lets anybody in.
func FuzzPorts(f *testing.F) {
	for _, data := range knock {
		for way := range ways {
			f.Add(uint8(way), data)
		}
	}
	g := newGuarded(f)
	f.Fuzz(func(t *testing.T, way uint8, data []byte) {
		got := g.probe(t, int(way), data)
		for _, secret := range []string{g.ClusterID(), "R\x00\x00\x00\x08\x00\x00\x00\x00", "goroutine"} {
			if bytes.Contains(got, []byte(secret)) {
				t.Errorf("way %d: sent %q, got %q", way, data, got)
			}
		}
		if m := g.SQLServer().Metrics(); m.Panics != 0 {
			t.Fatalf("a panic: way %d, sent %q", way, data)
		}
	})
}

// usage is what a process holds that garbage could cost it.
type usage struct {
	goroutines, files int
	heap              uint64
}

func measure(t testing.TB) usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return usage{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// TestGarbage: as much garbage as a scan of ports sends, at every port of a node with certificates, costs it nothing that stays, and
// the next clients are served. Some of who send it hang up, some say nothing more.
func TestGarbage(t *testing.T) {
	g := newGuarded(t)
	g.mustServe()
	scan := func(rounds int) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for range rounds {
			for way := range ways {
				for _, data := range knock {
					g.probe(t, way, data)
				}
				noise := make([]byte, 1+rnd.IntN(2000))
				for i := range noise {
					noise[i] = byte(rnd.Uint32())
				}
				g.probe(t, way, noise)
			}
		}
	}
	scan(1) // buffers that are kept
	before := measure(t)
	var silent []net.Conn
	for i := range 200 {
		addr := []net.Addr{g.Addr(), g.HTTPAddr()}[i%2]
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if data := knock[i%len(knock)]; i%4 > 1 {
			_, _ = c.Write(data[:min(3, len(data))]) // too little to know what it wants
		}
		silent = append(silent, c)
	}
	scan(3)
	g.mustServe()
	for _, c := range silent {
		_ = c.Close()
	}
	var after usage
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < probeTimeout; <-tick.C {
		after = measure(t)
		if after.goroutines <= before.goroutines+3 && after.files <= before.files+1 && after.heap < before.heap+8<<20 {
			break
		}
	}
	if after.goroutines > before.goroutines+3 || after.files > before.files+1 || after.heap >= before.heap+8<<20 {
		t.Errorf("before the scan %+v, after it %+v", before, after)
	}
	g.mustServe()
	if m := g.SQLServer().Metrics(); m.Panics != 0 || m.Sessions != 0 {
		t.Errorf("the scan led to %+v", m)
	}
}

// mustServe checks that the node serves a client with a certificate, and answers over HTTP.
func (g *guarded) mustServe() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	q := url.Values{
		"sslmode": {"verify-full"}, "sslrootcert": {filepath.Join(g.dir, security.CACert)},
		"sslcert": {filepath.Join(g.dir, security.ClientCert("root"))}, "sslkey": {filepath.Join(g.dir, security.ClientKey("root"))},
	}
	c, err := pgx.Connect(ctx, "postgres://root@"+g.Addr().String()+"/defaultdb?"+q.Encode())
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "SELECT 1"); err != nil {
		g.t.Error(err)
	}
	if err := c.Close(ctx); err != nil {
		g.t.Error(err)
	}
	web := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	r, err := (&http.Client{Transport: web, Timeout: probeTimeout}).Get("https://" + g.HTTPAddr().String() + "/health?ready=1")
	if err != nil {
		g.t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusOK {
		g.t.Errorf("health: %s, %v", r.Status, err)
	}
}
