// Package server is one node: it builds every part in order, wires them, starts
// them and stops them. It is the only place that does.
//
// Above it is cli; below it everything else. Read node.go (Node: New, Start,
// Stop), http.go (health and metrics), metrics.go.
//
// Invariants:
//
//	N1. Parts are stopped in the reverse of the order in which they were started
//	    (Stop).
//	N2. /health?ready=1 answers 200 only while the node accepts SQL (ready).
package server
