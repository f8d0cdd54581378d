// Package server puts a node on a machine: it gives node.Node a file system, a clock, certificates and
// listeners, tells those who look at it how it does, and ends the process when it can't go on.
//
// Above it is cli; below it node, which does what the node does. Read node.go (Node: New,
// Start), listeners.go (who is calling), newcomers.go (connections of unknown callers), secure.go (TLS),
// http.go (health, metrics, what looks into the process), hosts.go (the names under which it answers), statuspage.go, metrics.go,
// disks.go (the node's stores), faults_*.go (which tests ask for).
//
// Invariants:
//
//	N1. /health?ready=1 answers 200 only while the node is ready (health; invariant 2 of node).
//	N2. A meta record is replaced only by that of a later generation (address.Registry.Write).
//	N3. What changes a node or looks into it is answered to admins only (adminOnly; TestAdminOnly).
//	N4. A node without certificates answers HTTP only under its own names (knownHostsOnly; TestKnownHostsOnly).
package server
