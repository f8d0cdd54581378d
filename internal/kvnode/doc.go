// Package kvnode is the key-value part of a node: stores, liveness, the addresses of ranges, the
// gateway, and what looks after ranges. It builds these parts in order and connects them; what
// they decide lies in their own packages.
//
// Above it are sqlnode, which adds SQL, node, which adds membership of a cluster, and
// sim, which builds the same nodes over a simulated network, disk and clock. Below it is everything from rebalance to
// store.
//
//	New ─▶ stores opened, clock waited for, handlers set
//	       (the node gets its identity; Store.Start, Live.Start)
//	OpenGateway ─▶ Router, DB
//	StartRanges ─▶ measuring, merging, placing, checking
//	(what runs by Options.Go ends) ─▶ Disconnect ─▶ Store.Close
//
// Read node.go (Node, Options), network.go (what other nodes ask), ranges.go, gateways.go (whose
// transactions go on), addresses.go (the meta records), leave.go (who leads in this node's place), settings.go (cluster settings),
// disks.go (a disk that is full, slow or stalled).
//
// # Invariants
//
//  1. No time is shown that lies further ahead of the other nodes than a quarter of the maximum
//     offset at the start. (awaitClock)
//  2. No two incarnations of a node have the same number. (New: the clock never shows a time twice;
//     TestIncarnations)
//  3. A transaction whose gateway has started again, or was removed, does not go on; one
//     whose gateway has just started has as long to send a heartbeat as any other. (gatewayAlive,
//     newGateways; maxNewGateways bounds them; TestNewGateways, TestNewGatewaysAreBounded)
//  4. A replica whose disk stands still is asked nothing: others lead. (sender, localRanges)
package kvnode
