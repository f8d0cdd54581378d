// Package server is one node: it builds every part in order, wires them, starts
// them and stops them. It is the only place that does.
//
// Above it is cli; below it everything else. The key-value part of a node is kvnode's,
// the SQL part sqlnode's; this package adds the membership of a cluster, the listeners and HTTP. Read node.go (Node: New,
// Start, Stop), network.go and cluster.go (how nodes find one another), secure.go (TLS), twin.go,
// admin.go and drain.go (what those who operate the cluster ask for), http.go (health and metrics),
// statuspage.go, metrics.go, disks.go (the node's stores), diskwatch.go (a disk that stands still),
// clockwatch.go (a node whose clock is off serves nothing), front.go (what speaks with SQL clients),
// newcomers.go (connections of unknown callers), settings.go (defaults by flags), held.go (ranges
// without a quorum), again.go (steps of the start that pass), stop.go, faults_*.go (which tests ask for).
//
// Invariants:
//
//	N1. Parts are stopped in the reverse of the order in which they were started
//	    (Stop).
//	N2. /health?ready=1 answers 200 only while the node accepts SQL and has a quorum for
//	    what every statement needs (notReady).
//	N3. A meta record is replaced only by that of a later generation (address.Registry.Write).
//	N4. No node acts on a change of a node's membership before the record of it is
//	    durable (handleMembership).
//	N5. Of two processes that run as one node with copies of its store one at most goes on: the
//	    other is told by the nodes that it calls, before they have heard anything else of it, or
//	    by their node registries (endAsTwin; invariant 7 of rpc; TestTwin). A member greets the
//	    --join addresses before it takes part in anything (checkJoin). What a process that was
//	    paused still serves alone, when it wakes up, are reads of the past and ranges of which
//	    it has the only replica.
package server
