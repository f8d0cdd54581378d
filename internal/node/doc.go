// Package node is a node of a cluster: its identity and membership, its start, drain and stop, and what it
// does about a disk that stands still or a clock that is wrong. It builds the key-value part (kvnode), the SQL part (sqlnode),
// what speaks with other nodes (rpc) and what speaks with SQL clients (pgwire), in order, and stops
// them in the reverse order.
//
// Above it are server, which adds listeners, certificates and HTTP, and sim, which runs the same node
// over a simulated network, disk and clock: Options are all that a node sees of its machine.
//
//	New ─▶ stores opened, handlers set; clients receive what the node waits for
//	Start ─▶ ids from the cluster (cluster.go) ─▶ heartbeats ─▶ gateway ─▶ membership checked
//	      ─▶ ranges ─▶ catalog ─▶ ready
//	BeginDrain ─▶ not ready ─▶ leaderships to others ─▶ sessions notified ─▶ nothing is served
//	Stop ─▶ (the same) ─▶ background work ends ─▶ registered as gone ─▶ stores closed
//
// Read node.go (Node, Options), cluster.go (how a node becomes part of a cluster), membership.go
// (decommissioning), twin.go (two processes of one node), drain.go, stop.go, front.go (what speaks with SQL clients),
// admin.go and held.go (what those who operate the cluster ask), clockwatch.go, diskwatch.go,
// again.go (steps of the start that pass), settings.go (defaults by flags).
//
// # Invariants
//
//  1. Parts are stopped in the reverse of the order in which they were started. (shut)
//  2. A node says that it is ready only while it accepts SQL and has a quorum for what every
//     statement needs. (NotReady)
//  3. No node acts on a change of a node's membership before the record of it is
//     durable. (SetMembership)
//  4. Of two processes that run as one node with copies of its store one at most goes on: the
//     other is told by the nodes that it calls, before they have heard anything else of it, or
//     by their node registries (endAsTwin; invariant 7 of rpc; TestTwin). A member greets the
//     --join addresses before it takes part in anything (checkJoin). What a process that was
//     paused still serves alone, when it wakes up, are reads of the past and ranges of which
//     it has the only replica.
//  5. A drain first says that the node is not ready, then transfers the leaderships, then ends
//     sessions. A node that has drained leads nothing that others could lead. (BeginDrain; TestDrain)
//  6. A node that was decommissioned does not start again. (checkMembership; TestRemovedStaysOut)
//  7. A node that nobody has heard of since the others started can be decommissioned. (everMember;
//     TestReplacedAfterRestart)
package node
