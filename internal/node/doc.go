// Package node is a node of a cluster: its identity and membership, its start, drain and stop, and its
// reaction to a stalled disk or a wrong clock. It builds the key-value part (kvnode), the SQL part
// (sqlnode), the connections to other nodes (rpc) and the service for SQL clients (pgwire), in order, and
// stops them in the reverse order.
//
// Above it are server, which adds listeners, certificates and HTTP, and sim, which runs the same node
// over a simulated network, disk and clock. A node sees nothing of its machine but its Options.
//
//	New ─▶ stores opened, handlers set; clients receive what the node waits for
//	Start ─▶ ids from the cluster (cluster.go) ─▶ heartbeats ─▶ gateway ─▶ membership checked
//	      ─▶ ranges ─▶ catalog ─▶ ready
//	BeginDrain ─▶ not ready ─▶ leaderships to others ─▶ sessions notified ─▶ nothing is served
//	Stop ─▶ (the same) ─▶ background work ends ─▶ registered as gone ─▶ stores closed
//
// Read node.go (Node, Options), cluster.go (how a node joins a cluster), membership.go
// (decommissioning), duplicate.go (two processes of one node), drain.go, stop.go, sqlservice.go (the service for SQL
// clients), admin.go and decommission.go (requests of operators), clockwatch.go, diskwatch.go, retry.go (steps of
// the start that are repeated), settings.go (defaults by flags).
//
// # Invariants
//
//  1. Parts are stopped in the reverse of the order in which they were started. (shut)
//  2. A node reports that it is ready only while it accepts SQL and the ranges that every statement
//     needs have a quorum. (NotReady)
//  3. No node acts on a change of a node's membership before the record of it is
//     durable. (SetMembership)
//  4. Of two processes that run as one node with copies of its store at most one goes on. The other
//     one learns of the first from the nodes that it calls, before they accept anything else from
//     it, or from their node registries (endAsTwin; invariant 7 of rpc; TestTwin in server). A member greets the
//     --join addresses before it takes part in anything (checkJoin). A process that was paused meanwhile
//     may serve a little when it wakes up: reads of the past, and ranges of which it has the only replica.
//  5. A drain first says that the node is not ready, then transfers the leaderships, then ends
//     sessions. A node that has drained leads nothing that others could lead. (BeginDrain; TestDrain in sim)
//  6. A node that was decommissioned does not start again. (checkMembership; TestRemovedStaysOut in sim)
//  7. A node that has been silent since the others started can be decommissioned. (everMember;
//     TestReplacedAfterRestart in sim)
package node
