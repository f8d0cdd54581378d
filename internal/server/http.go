package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lichendb/lichen/internal/console"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/security"
)

// httpHandler serves health, the status page, metrics, and profiles. It rejects requests that change the
// node if they come from pages of other sites, and all requests for an unknown host.
func (n *Node) httpHandler() http.Handler {
	mux := http.NewServeMux()
	n.register(mux)
	return n.knownHostsOnly(http.NewCrossOriginProtection().Handler(mux))
}

// register tells a mux of all that the node serves. What is open without a login is listed in docs/security.md.
func (n *Node) register(mux console.Mux) {
	n.console.Register(mux, n.statusPage)
	mux.HandleFunc("GET /status", n.statusPage)
	mux.HandleFunc("/health", n.health)
	mux.HandleFunc("/_status/vars", n.metricsHandler())
	for path, h := range n.debugHandlers() {
		mux.HandleFunc(path, n.adminOnly(h))
	}
}

// metricsHandler serves the metrics, to all or to admins only, as the cluster setting
// server.metrics.require_admin says.
func (n *Node) metricsHandler() http.HandlerFunc {
	reg := prometheus.NewRegistry()
	reg.MustRegister(newCollector(n))
	open := promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP
	guarded := n.adminOnly(open)
	return func(w http.ResponseWriter, r *http.Request) {
		if n.Settings.Get().MetricsRequireAdmin {
			guarded(w, r)
			return
		}
		open(w, r)
	}
}

// debugHandlers are the handlers for admins, by path.
func (n *Node) debugHandlers() map[string]http.HandlerFunc {
	h := map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/trace":   pprof.Trace,
	}
	if n.logDir != "" {
		h["GET /_debug/log"] = n.serveLog
	}
	if n.cfg.FaultHooks {
		h["/_debug/fault/clock"] = n.clockFault.ServeHTTP
		h["/_debug/fault/disk"] = newDiskFaults(n.KV.Store).ServeHTTP
		if !n.cfg.SingleNode {
			h["/_debug/fault/commit"] = n.commitFault.ServeHTTP
		}
	}
	return h
}

// isAdmin reports whether a request may see everything: it shows the certificate of
// root, or the node is open to all.
func (n *Node) isAdmin(r *http.Request) bool {
	if n.certs == nil {
		return true
	}
	return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && r.TLS.PeerCertificates[0].Subject.CommonName == security.RootName
}

// adminOnly keeps others from a handler.
func (n *Node) adminOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !n.isAdmin(r) {
			http.Error(w, "only for admins: connect with the client certificate of root (lichen cert create-client root)", http.StatusForbidden)
			return
		}
		h(w, r)
	}
}

// serveLog answers with the node's log, the older of its files first.
func (n *Node) serveLog(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, name := range []string{obs.OldLogName, obs.LogName} {
		f, err := os.Open(filepath.Join(n.logDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the log was never cut off
		}
		if err == nil {
			_, err = io.Copy(w, f)
			_ = f.Close() // it was only read
		}
		if err != nil {
			fmt.Fprintf(w, "\nERROR: %v\n", err)
		}
	}
}

// health answers 200 while the process lives. With ready=1, as a load balancer asks, it does so only
// while the node accepts SQL.
func (n *Node) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if ready := r.URL.Query().Get("ready"); ready != "" && ready != "0" {
		if why := n.AskReady(); why != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"status":%q}`+"\n", why)
			return
		}
	}
	fmt.Fprintln(w, `{"status":"ok"}`)
}
