package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// httpHandler serves health and metrics.
func (n *Node) httpHandler() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(newCollector(n))
	mux := http.NewServeMux()
	mux.HandleFunc("/health", n.health)
	mux.Handle("/_status/vars", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	if n.clockFault != nil {
		mux.Handle("/_debug/fault/clock", n.clockFault)
	}
	if n.cfg.Insecure {
		mux.Handle("/_debug/fault/disk", newDiskFaults(n.store))
	}
	if n.cfg.Insecure && !n.cfg.SingleNode {
		mux.Handle("/_debug/fault/commit", &n.commitFault)
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// health answers 200 while the process lives, and with ready=1 only while it
// accepts SQL: what a load balancer asks.
func (n *Node) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if ready := r.URL.Query().Get("ready"); ready != "" && ready != "0" && (!n.ready.Load() || n.clockBad.Load()) {
		w.WriteHeader(http.StatusServiceUnavailable)
		status := "starting"
		switch {
		case n.draining.Load():
			status = "draining"
		case n.clockBad.Load():
			status = "clock off"
		}
		fmt.Fprintf(w, `{"status":%q}`+"\n", status)
		return
	}
	fmt.Fprintln(w, `{"status":"ok"}`)
}
