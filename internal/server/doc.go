// Package server runs a node on a machine. It gives node.Node a file system, a clock, certificates and
// listeners, serves health, metrics and profiles, and ends the process after a fatal error.
//
// Above it is cli; below it node, the node itself.
//
//	                  ┌─ first bytes: TLS ──► handshake ──► protocol: nodes │ SQL clients
//	shared listener ──┤
//	                  └─ plain ─────────────► a node's greeting │ a startup message
//
//	HTTP listener ──► knownHostsOnly ──► /health, /_status/vars, /status, the console
//	                                 └─► adminOnly ──► /debug/pprof, /_debug
//
// Read in this order:
//
//	node.go         Node: New, Start
//	listeners.go    the shared listener
//	descriptors.go  the file descriptors that clients leave the stores
//	newcomers.go    connections before authentication
//	secure.go       TLS
//	http.go         HTTP handlers
//	hosts.go        accepted host names
//	statuspage.go   /status
//	console.go      the console of package console
//	metrics.go      metrics; process.go: those of the process
//	sampler.go      metrics of the past
//	traces.go       where traces of statements go
//	disks.go        capacity of the disks
//	encryption.go   which stores are encrypted
//	faults_*.go     faults that tests inject
//
// Invariants:
//
//	N1. /health?ready=1 answers 200 only while the node is ready (health; invariant 2 of node).
//	N2. Only admins change a node or look into it over HTTP (adminOnly; TestAdminOnly).
//	N3. A node without certificates answers HTTP only under its own names (knownHostsOnly; TestKnownHostsOnly).
package server
