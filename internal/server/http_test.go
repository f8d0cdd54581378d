package server

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
)

// answer is what a handler answers to a request.
func answer(h http.Handler, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// single starts a node that is a cluster by itself.
func (c *testNodes) single(change func(*config.Node)) *Node {
	cfg := c.config()
	cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
	change(&cfg)
	n := c.listening(cfg, fs.NewMem())
	c.start(n)
	return n
}

// Faults can be asked for only where a flag allows it, and never by a page of another site.
func TestFaultHooks(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		with := c.single(func(cfg *config.Node) { cfg.FaultHooks = true }).httpHandler()
		without := c.single(func(*config.Node) {}).httpHandler()
		elsewhere := func(r *http.Request) { r.Header.Set("Origin", "http://elsewhere.example") }
		for _, x := range []struct {
			h      http.Handler
			change func(*http.Request)
			want   int
		}{
			{without, nil, http.StatusNotFound},
			{with, elsewhere, http.StatusForbidden},
			{with, nil, http.StatusOK},
		} {
			if w := answer(x.h, http.MethodPost, "/_debug/fault/clock?jump=1s", x.change); w.Code != x.want {
				t.Errorf("%d, %s, want %d", w.Code, w.Body, x.want)
			}
		}
	})
	cfg := config.Default()
	cfg.FaultHooks = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("fault hooks of a secure node: %v", err)
	}
}

// A page whose site's name leads to this machine does not get what the node answers.
func TestKnownHostsOnly(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(cfg *config.Node) { cfg.AdvertiseAddr = "Node1.example:26257" })
		for host, want := range map[string]int{
			"localhost": http.StatusOK, "LOCALHOST:8080": http.StatusOK, "127.0.0.1:8080": http.StatusOK, "10.1.2.3": http.StatusOK,
			"[::1]:8080": http.StatusOK, "[::1]": http.StatusOK, "[fe80::1%eth0]:8080": http.StatusOK, "node1.EXAMPLE.:80": http.StatusOK, "": http.StatusOK,
			"elsewhere.example": http.StatusMisdirectedRequest, "elsewhere.example:8080": http.StatusMisdirectedRequest,
			"127.0.0.1.elsewhere.example": http.StatusMisdirectedRequest, "localhost.elsewhere.example:8080": http.StatusMisdirectedRequest,
		} {
			for _, path := range []string{"/", "/health", "/_status/vars", "/debug/pprof/"} {
				if w := answer(n.httpHandler(), http.MethodGet, path, func(r *http.Request) { r.Host = host }); w.Code != want {
					t.Errorf("%s of %q: %d, want %d", path, host, w.Code, want)
				}
			}
		}
		n.certs = &security.Node{} // clients compare its certificate with the name
		defer func() { n.certs = nil }()
		elsewhere := func(r *http.Request) { r.Host = "balancer.example" }
		if w := answer(n.httpHandler(), http.MethodGet, "/health", elsewhere); w.Code != http.StatusOK {
			t.Errorf("a secure node by another name: %d", w.Code)
		}
	})
}

// Only who shows root's certificate looks into a secure node; metrics are open unless a
// setting closes them.
func TestAdminOnly(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		shows := func(user string) func(*http.Request) {
			cert := &x509.Certificate{Subject: pkix.Name{CommonName: user}}
			return func(r *http.Request) {
				r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
			}
		}
		nobody := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
		check := func(path string, who func(*http.Request), want int) {
			t.Helper()
			if w := answer(n.httpHandler(), http.MethodGet, path, who); w.Code != want {
				t.Errorf("%s: %d, %s, want %d", path, w.Code, w.Body, want)
			}
		}
		check("/debug/pprof/", nobody, http.StatusOK) // an insecure node is open to all
		n.certs = &security.Node{}
		defer func() { n.certs = nil }()
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap?debug=1"} {
			check(path, nobody, http.StatusForbidden)
			check(path, shows("alice"), http.StatusForbidden)
			check(path, shows(security.RootName), http.StatusOK)
		}
		check("/health", nobody, http.StatusOK)
		check("/_status/vars", nobody, http.StatusOK)
		n.Settings.Update(map[string]string{"server.metrics.require_admin": "true"})
		check("/_status/vars", nobody, http.StatusForbidden)
		check("/_status/vars", shows(security.RootName), http.StatusOK)
		for who, shown := range map[string]bool{"alice": false, security.RootName: true} {
			page := answer(n.httpHandler(), http.MethodGet, "/status", shows(who)).Body.String()
			if !strings.Contains(page, "This node: <strong>ready</strong>") || strings.Contains(page, n.ClusterID()) != shown {
				t.Errorf("the status page for %s: %s", who, page)
			}
		}
	})
}

// A node that has lost its quorum is not ready, nor does it call others available.
func TestReadyNeedsQuorum(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		c.awaitVoters(first, second, third)
		ready := func() int { return answer(first.httpHandler(), http.MethodGet, "/health?ready=1", nil).Code }
		if got := ready(); got != http.StatusOK {
			t.Fatalf("with all nodes: %d", got)
		}
		c.isolate(first)
		c.until("a node without a quorum is not ready", func() (bool, string) {
			w := answer(first.httpHandler(), http.MethodGet, "/health?ready=1", nil)
			return w.Code == http.StatusServiceUnavailable && strings.Contains(w.Body.String(), "no quorum"), w.Body.String()
		})
		for _, s := range first.Statuses() {
			if s.Available {
				t.Errorf("node %d is available to one without a quorum", s.ID)
			}
		}
	})
}

// TestStopIsAnnounced: a node that was stopped is not available to others from then on, though they
// count it as live a moment longer.
func TestStopIsAnnounced(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		c.awaitVoters(first, second, third)
		stopped := third.NodeID()
		c.stop(third)
		for _, s := range first.Statuses() {
			if s.Available == (s.ID == stopped) {
				t.Errorf("node %d is available: %v", s.ID, s.Available)
			}
		}
	})
}

// A node that drains serves new clients until load balancers have noticed, if there are any.
func TestDrainWaitsForLoadBalancers(t *testing.T) {
	for _, asked := range []bool{false, true} {
		withNodes(t, func(t *testing.T, c *testNodes) {
			n := c.single(func(*config.Node) {})
			if asked {
				answer(n.httpHandler(), http.MethodGet, "/health?ready=1", nil)
			}
			begun := time.Now()
			n.BeginDrain()
			if w := answer(n.httpHandler(), http.MethodGet, "/health?ready=1", nil); w.Code != http.StatusServiceUnavailable {
				t.Errorf("a draining node is ready: %d", w.Code)
			}
			if asked {
				<-time.After(n.Settings.Get().DrainWait / 2)
				_ = c.connect(n).Close(c.ctx)
			}
			c.stop(n)
			if took, wait := time.Since(begun), n.Settings.Get().DrainWait; asked != (took >= wait) {
				t.Errorf("asked %v: the drain took %s", asked, took)
			}
		})
	}
}
