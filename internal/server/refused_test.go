package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/security"
)

// logText is what a node logs.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), s)
}

// attempt builds and starts a node that is not to come up, and returns why.
func (c *testNodes) attempt(store fs.FS, log *logText, change func(*config.Node)) error {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.Join = config.Dirs("n"), nil
	change(&cfg)
	o := c.options(store)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	n, err := New(cfg, o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	if err := n.Start(ctx); err != nil {
		return err
	}
	c.stop(n)
	return nil
}

// founded starts the first node of a cluster on a file system.
func (c *testNodes) founded(store fs.FS, change func(*config.Node)) *Node {
	c.t.Helper()
	cfg := c.config()
	cfg.Stores, cfg.ListenAddr, cfg.Join = config.Dirs("n"), "localhost:0", nil
	change(&cfg)
	n, err := New(cfg, c.options(store))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := n.Init(); err != nil {
		c.t.Fatal(err)
	}
	c.start(n)
	return n
}

// TestRefusedStarts: what can't work is refused, and the message says what to do.
func TestRefusedStarts(t *testing.T) { withNodes(t, testRefusedStarts) }

func testRefusedStarts(t *testing.T, c *testNodes) {
	own := fs.NewMem()
	first := c.founded(own, func(*config.Node) {})
	other := c.founded(fs.NewMem(), func(*config.Node) {})
	addr := first.AdvertisedAddr()

	if err := first.Init(); err == nil || !strings.Contains(err.Error(), "has been initialized already") {
		t.Errorf("init twice: %v", err)
	}

	// Another node's address.
	log := &logText{}
	err := c.attempt(fs.NewMem(), log, func(cfg *config.Node) { cfg.Join, cfg.AdvertiseAddr = []string{addr}, addr })
	if err == nil || !strings.Contains(err.Error(), "node 1 answers at "+addr) || !strings.Contains(err.Error(), "--advertise-addr") {
		t.Errorf("two nodes with one address: %v", err)
	}

	// A node of one cluster at the addresses of another.
	second := fs.NewMem()
	join := func(cfg *config.Node) { cfg.Join = []string{addr} }
	if err := c.attempt(second, log, join); err != nil {
		t.Fatal(err)
	}
	err = c.attempt(second, log, func(cfg *config.Node) { cfg.Join = []string{other.AdvertisedAddr()} })
	if err == nil || !strings.Contains(err.Error(), other.ClusterID()) || !strings.Contains(err.Error(), first.ClusterID()) {
		t.Errorf("another cluster: %v", err)
	}

	// A cluster of one node that is to join another one. Addresses at which nobody answers do
	// not matter.
	alone := fs.NewMem()
	lone := c.founded(alone, func(*config.Node) {})
	loneAddr, loneID := lone.AdvertisedAddr(), lone.ClusterID()
	c.stop(lone)
	err = c.attempt(alone, log, func(cfg *config.Node) { cfg.Join = []string{"127.0.0.1:1", loneAddr, addr} })
	if err == nil || !strings.Contains(err.Error(), first.ClusterID()) || !strings.Contains(err.Error(), loneID) || !strings.Contains(err.Error(), "empty --store") {
		t.Errorf("a cluster of one node told to join another: %v", err)
	}
	if err := c.attempt(alone, log, func(cfg *config.Node) { cfg.Join = []string{"127.0.0.1:1"} }); err != nil {
		t.Errorf("a cluster of one node whose --join address does not answer: %v", err)
	}

	// A node that was taken out.
	if err := first.SetMembership(c.ctx, node.MembershipRequest{Node: 2, To: node.Decommissioned}); err != nil {
		t.Fatal(err)
	}
	err = c.attempt(second, log, join)
	if err == nil || !strings.Contains(err.Error(), "node 2 was decommissioned") || !strings.Contains(err.Error(), "empty store") {
		t.Errorf("a node that was decommissioned: %v", err)
	}
}

// TestSameStoreTwice: a store has one process.
func TestSameStoreTwice(t *testing.T) { withNodes(t, testSameStoreTwice) }

func testSameStoreTwice(t *testing.T, c *testNodes) {
	dir := filepath.Join(t.TempDir(), "store")
	at := func(cfg *config.Node) { cfg.Stores, cfg.SingleNode = config.Dirs(dir), true }
	cfg := c.config()
	at(&cfg)
	n, err := New(cfg, c.options(fs.Disk()))
	if err != nil {
		t.Fatal(err)
	}
	c.start(n)
	err = c.attempt(fs.Disk(), &logText{}, at)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the same store twice: %v", err)
	}
}

// TestInsecureAmongSecure: a node without certificates is refused by those that have
// some, and told what to do; addresses without an answer are logged and tried on.
func TestInsecureAmongSecure(t *testing.T) { withNodes(t, testInsecureAmongSecure) }

func testInsecureAmongSecure(t *testing.T, c *testNodes) {
	dir := t.TempDir()
	cr := security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	if err := errors.Join(cr.CA(), cr.Node([]string{"localhost"}), cr.Client("root")); err != nil {
		t.Fatal(err)
	}
	secure := c.founded(fs.NewMem(), func(cfg *config.Node) { cfg.Insecure, cfg.CertsDir = false, dir })
	if why := secure.CertificateGap(); why != "" {
		t.Errorf("a certificate for the node's address: %s", why)
	}
	secure.cfg.AdvertiseAddr = "10.1.2.3:26257"
	if why := secure.CertificateGap(); !strings.Contains(why, "certificate is for localhost only") || !strings.Contains(why, "with 10.1.2.3 among the hosts") {
		t.Errorf("a certificate for another address: %q", why)
	}
	secure.cfg.AdvertiseAddr = ""
	log := &logText{}
	err := c.attempt(fs.NewMem(), log, func(cfg *config.Node) { cfg.Join = []string{"127.0.0.1:1", secure.AdvertisedAddr()} })
	if err == nil || !strings.Contains(err.Error(), "start the peer with certificates") {
		t.Errorf("a node without certificates: %v", err)
	}
	if !log.has("127.0.0.1:1") || !log.has("trying on") {
		t.Errorf("the log does not tell of an address without an answer: %s", log.b.String())
	}
}
